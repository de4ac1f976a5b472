/* SPDX-License-Identifier: MIT */
#include "crypto/luks/luks-names.h"

#include <string.h>

#include "util/base/error.h"

#define unsupported(errp, ...) error_set_code(errp, QB_ERROR_UNSUPPORTED, __VA_ARGS__)

/* @what with @name in it, which comes from the disk and may hold anything: escaped for the terminal. */
static bool refuse_name(GError **errp, const char *what, const char *name)
{
    g_autofree char *printable = g_strescape(name, NULL);

    unsupported(errp, "%s '%s' not supported", what, printable);
    return false;
}

static bool parse_hash(const char *name, HashAlg *hash, GError **errp)
{
    return hash_from_name(name, hash) || refuse_name(errp, "Hash algorithm", name);
}

/* "<ivgen>[:<hash>]". A hash behind a plain rule is legal, kept, and has no effect. */
static bool parse_ivgen(char *text, LuksAlgs *algs, GError **errp)
{
    char *colon = strchr(text, ':');

    if (colon) {
        *colon = '\0';
        if (!parse_hash(colon + 1, &algs->sector.ivgen_hash, errp)) {
            return false;
        }
        algs->has_ivgen_hash = true;
    }
    if (!ivgen_from_name(text, &algs->sector.ivgen)) {
        return refuse_name(errp, "IV generator", text);
    }
    if (ivgen_needs_hash(algs->sector.ivgen) && !colon) {
        error_set_code(errp, QB_ERROR_CORRUPT, "Missing IV generator hash specification");
        return false;
    }
    return true;
}

/* "<mode>-<ivgen>[:<hash>]". The kernel's tool writes plain "ecb", which needs no IV rule. */
static bool parse_mode(const char *stored, LuksAlgs *algs, GError **errp)
{
    char text[LUKS_NAME_BYTES];
    char *dash;

    g_strlcpy(text, stored, sizeof(text));
    if (!strcmp(text, cipher_mode_name(CIPHER_ECB))) {
        algs->sector.mode = CIPHER_ECB;
        algs->sector.ivgen = IVGEN_PLAIN64;
        return true;
    }
    dash = strchr(text, '-');
    if (!dash) {
        g_autofree char *printable = g_strescape(text, NULL);

        error_set_code(errp, QB_ERROR_CORRUPT, "Unexpected cipher mode string format '%s'", printable);
        return false;
    }
    *dash = '\0';
    if (!cipher_mode_from_name(text, &algs->sector.mode)) {
        return refuse_name(errp, "Cipher mode", text);
    }
    return parse_ivgen(dash + 1, algs, errp);
}

static bool parse_cipher(const char *name, uint32_t key_bytes, LuksAlgs *algs, GError **errp)
{
    size_t cipher_key_bytes = key_bytes;

    if (algs->sector.mode == CIPHER_XTS) {
        cipher_key_bytes = key_bytes % 2 ? 0 : key_bytes / 2;
    }
    if (!cipher_alg_from_family(name, cipher_key_bytes, &algs->sector.cipher)) {
        g_autofree char *printable = g_strescape(name, NULL);

        unsupported(errp, "Algorithm '%s' with key size %" G_GUINT32_FORMAT " bytes not supported", printable,
                    key_bytes);
        return false;
    }
    return sector_cipher_check(&algs->sector, errp);
}

bool luks_names_parse_cipher(const char *cipher_name, const char *cipher_mode, uint32_t key_bytes, size_t sector_bytes,
                             LuksAlgs *algs, GError **errp)
{
    memset(algs, 0, sizeof(*algs));
    algs->sector.sector_bytes = sector_bytes;
    return parse_mode(cipher_mode, algs, errp) && parse_cipher(cipher_name, key_bytes, algs, errp);
}

bool luks_names_parse(const LuksHeader *h, LuksAlgs *algs, GError **errp)
{
    memset(algs, 0, sizeof(*algs));
    algs->sector.sector_bytes = LUKS_SECTOR_BYTES;
    return parse_mode(h->cipher_mode, algs, errp) && parse_hash(h->hash_spec, &algs->hash, errp) &&
           parse_cipher(h->cipher_name, h->key_bytes, algs, errp);
}

static bool store_name(char *field, const char *text, const char *what, GError **errp)
{
    if (strlen(text) >= LUKS_NAME_BYTES) {
        error_set(errp, "%s '%s' is too long for LUKS header", what, text);
        return false;
    }
    memset(field, 0, LUKS_NAME_BYTES);
    strcpy(field, text);
    return true;
}

bool luks_names_store(const LuksAlgs *algs, LuksHeader *h, GError **errp)
{
    const SectorCipherSpec *s = &algs->sector;
    g_autofree char *mode =
        g_strdup_printf("%s-%s%s%s", cipher_mode_name(s->mode), ivgen_name(s->ivgen), algs->has_ivgen_hash ? ":" : "",
                        algs->has_ivgen_hash ? hash_name(s->ivgen_hash) : "");

    return store_name(h->cipher_name, cipher_alg_family(s->cipher), "Cipher name", errp) &&
           store_name(h->cipher_mode, mode, "Cipher mode", errp) &&
           store_name(h->hash_spec, hash_name(algs->hash), "Hash name", errp);
}
