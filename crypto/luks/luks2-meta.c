/* SPDX-License-Identifier: MIT */
#include "crypto/luks/luks2-meta.h"

#include <string.h>

#include "crypto/luks/luks-names.h"
#include "crypto/luks/luks2-meta-int.h"
#include "util/base/error.h"
#include "util/base/units.h"

/* ---- ciphers --------------------------------------------------------------------------------------------------- */

bool luks2_cipher_parse(const char *encryption, uint32_t key_bytes, uint32_t sector_bytes, SectorCipherSpec *out,
                        GError **errp)
{
    g_auto(GStrv) parts = g_strsplit(encryption, "-", 2);
    LuksAlgs algs;

    if (!parts[0] || !parts[1] || strlen(parts[1]) >= LUKS_NAME_BYTES || strlen(parts[0]) >= LUKS_NAME_BYTES) {
        g_autofree char *printable = luks2_json_printable(encryption);

        error_set_code(errp, QB_ERROR_UNSUPPORTED, "Encryption '%s' not supported", printable);
        return false;
    }
    if (!luks_names_parse_cipher(parts[0], parts[1], key_bytes, sector_bytes, &algs, errp)) {
        return false;
    }
    *out = algs.sector;
    return true;
}

char *luks2_cipher_text(const SectorCipherSpec *spec)
{
    bool hash = ivgen_needs_hash(spec->ivgen);

    if (spec->mode == CIPHER_ECB) {
        return g_strdup_printf("%s-ecb", cipher_alg_family(spec->cipher));
    }
    return g_strdup_printf("%s-%s-%s%s%s", cipher_alg_family(spec->cipher), cipher_mode_name(spec->mode),
                           ivgen_name(spec->ivgen), hash ? ":" : "", hash ? hash_name(spec->ivgen_hash) : "");
}

/* ---- segments -------------------------------------------------------------------------------------------------- */

static bool sector_bytes_valid(uint32_t bytes)
{
    return is_power_of_2(bytes) && bytes >= LUKS_SECTOR_BYTES && bytes <= LUKS2_MAX_SECTOR_BYTES;
}

/* "backup-previous" and the like: what a reencryption leaves in place. */
static bool parse_flags(const Luks2JsonAt *at, Luks2Segment *s, GError **errp)
{
    g_autoptr(GPtrArray) flags = luks2_json_strings(at, "flags", errp);

    for (guint i = 0; flags && i < flags->len; i++) {
        s->backup |= g_str_has_prefix(flags->pdata[i], "backup");
    }
    return flags;
}

static bool parse_place(const Luks2JsonAt *at, Luks2Segment *s, GError **errp)
{
    const char *size;

    if (!luks2_json_u64(at, "offset", &s->offset, errp) || !luks2_json_string(at, "size", &size, errp)) {
        return false;
    }
    if (s->offset % LUKS_SECTOR_BYTES) {
        return luks2_json_fail(at, "offset", errp, "%" G_GUINT64_FORMAT " is not a multiple of 512", s->offset);
    }
    if (s->offset > INT64_MAX) {
        return luks2_json_fail(at, "offset", errp, "%" G_GUINT64_FORMAT " is too large", s->offset);
    }
    if (g_str_equal(size, "dynamic")) {
        return true;
    }
    if (!luks2_json_u64(at, "size", &s->bytes, errp)) {
        return false;
    }
    if (s->bytes == 0 || s->bytes % s->sector_bytes || s->bytes > INT64_MAX - s->offset) {
        return luks2_json_fail(at, "size", errp,
                               "%" G_GUINT64_FORMAT " is not a multiple of the sector size %" G_GUINT32_FORMAT
                               " above zero, or ends beyond 2^63",
                               s->bytes, s->sector_bytes);
    }
    return true;
}

static bool parse_segment(const Luks2JsonAt *at, Luks2Segment *s, GError **errp)
{
    const char *type, *encryption;

    s->sector_bytes = LUKS_SECTOR_BYTES;
    if (!luks2_json_string(at, "type", &type, errp) || !parse_flags(at, s, errp)) {
        return false;
    }
    if (!g_str_equal(type, "crypt")) {
        g_autofree char *printable = luks2_json_printable(type);

        s->unusable = g_strdup_printf("segment %u of type '%s'", s->id, printable);
        return parse_place(at, s, errp);
    }
    if (!luks2_json_uint(at, "sector_size", 0, UINT32_MAX, &s->sector_bytes, errp)) {
        return false;
    }
    if (!sector_bytes_valid(s->sector_bytes)) {
        return luks2_json_fail(at, "sector_size", errp, "%" G_GUINT32_FORMAT " is none of 512, 1024, 2048 and 4096",
                               s->sector_bytes);
    }
    if (luks2_json_has(at, "integrity")) {
        s->unusable = g_strdup_printf("segment %u with integrity protection", s->id);
    }
    if (!parse_place(at, s, errp) || !luks2_json_u64(at, "iv_tweak", &s->iv_tweak, errp) ||
        !luks2_json_string(at, "encryption", &encryption, errp)) {
        return false;
    }
    s->encryption = g_strdup(encryption);
    return true;
}

/* ---- digests and tokens ---------------------------------------------------------------------------------------- */

static bool parse_digest(const Luks2JsonAt *at, Luks2Digest *d, GError **errp)
{
    const char *type, *hash;

    if (!luks2_json_string(at, "type", &type, errp) || !luks2_json_ids(at, "keyslots", &d->keyslots, errp) ||
        !luks2_json_ids(at, "segments", &d->segments, errp)) {
        return false;
    }
    if (!g_str_equal(type, "pbkdf2")) {
        g_autofree char *printable = luks2_json_printable(type);

        d->unusable = g_strdup_printf("digest %u of type '%s'", d->id, printable);
        return true;
    }
    if (!luks2_json_string(at, "hash", &hash, errp) ||
        !luks2_json_uint(at, "iterations", 1, UINT32_MAX, &d->iterations, errp) ||
        !luks2_json_bytes(at, "salt", d->salt, sizeof(d->salt), &d->salt_bytes, errp) ||
        !luks2_json_bytes(at, "digest", d->digest, sizeof(d->digest), &d->digest_bytes, errp)) {
        return false;
    }
    /* Shorter than the 20 bytes of a converted LUKS1 header it would prove little. */
    if (d->digest_bytes < LUKS_DIGEST_BYTES) {
        return luks2_json_fail(at, "digest", errp, "has %zu bytes, less than %d", d->digest_bytes, LUKS_DIGEST_BYTES);
    }
    if (!hash_from_name(hash, &d->hash)) {
        g_autofree char *printable = luks2_json_printable(hash);

        d->unusable = g_strdup_printf("digest %u with hash '%s'", d->id, printable);
    }
    return true;
}

static bool parse_token(const Luks2JsonAt *at, Luks2Token *t, GError **errp)
{
    const char *type;

    if (!luks2_json_string(at, "type", &type, errp) || !luks2_json_ids(at, "keyslots", &t->keyslots, errp)) {
        return false;
    }
    t->type = g_strdup(type);
    return true;
}

/* ---- sections -------------------------------------------------------------------------------------------------- */

typedef bool ParseOne(Luks2Meta *m, const Luks2JsonAt *at, unsigned id, GError **errp);

static bool one_keyslot(Luks2Meta *m, const Luks2JsonAt *at, unsigned id, GError **errp)
{
    Luks2Keyslot *s = &m->keyslots[m->keyslot_count++];

    s->id = id;
    return luks2_meta_parse_keyslot(at, s, errp);
}

static bool one_segment(Luks2Meta *m, const Luks2JsonAt *at, unsigned id, GError **errp)
{
    Luks2Segment *s = &m->segments[m->segment_count++];

    s->id = id;
    return parse_segment(at, s, errp);
}

static bool one_digest(Luks2Meta *m, const Luks2JsonAt *at, unsigned id, GError **errp)
{
    Luks2Digest *d;

    if (m->digest_count == LUKS2_MAX_DIGESTS) {
        return luks2_json_fail(at, NULL, errp, "is one of more than %d digests", LUKS2_MAX_DIGESTS);
    }
    d = &m->digests[m->digest_count++];
    d->id = id;
    return parse_digest(at, d, errp);
}

static bool one_token(Luks2Meta *m, const Luks2JsonAt *at, unsigned id, GError **errp)
{
    Luks2Token *t = &m->tokens[m->token_count++];

    t->id = id;
    return parse_token(at, t, errp);
}

/* Ids are distinct and below LUKS2_MAX_IDS, so the arrays hold them all. */
static bool parse_section(Luks2Meta *m, const Luks2JsonAt *root, const char *name, ParseOne *parse, GError **errp)
{
    Luks2JsonAt section, one;
    uint32_t ids;

    if (!luks2_json_object(root, name, &section, errp) || !luks2_json_members(&section, &ids, errp)) {
        return false;
    }
    for (unsigned id = 0; id < LUKS2_MAX_IDS; id++) {
        if (!(ids >> id & 1)) {
            continue;
        }
        if (!luks2_json_member(&section, id, &one, errp) || !parse(m, &one, id, errp)) {
            return false;
        }
    }
    return true;
}

static bool parse_config(Luks2Meta *m, const Luks2JsonAt *root, const Luks2Header *h, GError **errp)
{
    Luks2JsonAt config, requirements;
    uint64_t json_bytes;

    if (!luks2_json_object(root, "config", &config, errp) || !luks2_json_u64(&config, "json_size", &json_bytes, errp) ||
        !luks2_json_u64(&config, "keyslots_size", &m->keyslots_bytes, errp)) {
        return false;
    }
    if (json_bytes != h->copy_bytes - LUKS2_OFF_JSON) {
        return luks2_json_fail(&config, "json_size", errp,
                               "%" G_GUINT64_FORMAT " is not the %" G_GUINT64_FORMAT " bytes of the header", json_bytes,
                               h->copy_bytes - LUKS2_OFF_JSON);
    }
    if (m->keyslots_bytes % LUKS2_AREA_ALIGN || m->keyslots_bytes > LUKS2_MAX_KEYSLOTS_BYTES) {
        return luks2_json_fail(&config, "keyslots_size", errp,
                               "%" G_GUINT64_FORMAT " is not a multiple of 4096 up to 128 MiB", m->keyslots_bytes);
    }
    if (!luks2_json_has(&config, "requirements")) {
        m->requirements = g_ptr_array_new();
        return true;
    }
    if (!luks2_json_object(&config, "requirements", &requirements, errp)) {
        return false;
    }
    m->requirements = luks2_json_strings(&requirements, "mandatory", errp);
    return m->requirements;
}

Luks2Meta *luks2_meta_parse(const char *json, const Luks2Header *h, GError **errp)
{
    g_autoptr(Luks2Meta) m = g_new0(Luks2Meta, 1);
    Luks2JsonAt root;

    m->root = luks2_json_parse(json, errp);
    if (!m->root) {
        return NULL;
    }
    root = luks2_json_root(m->root);
    if (!parse_config(m, &root, h, errp) || !parse_section(m, &root, "keyslots", one_keyslot, errp) ||
        !parse_section(m, &root, "segments", one_segment, errp) ||
        !parse_section(m, &root, "digests", one_digest, errp) || !parse_section(m, &root, "tokens", one_token, errp) ||
        !luks2_meta_check(m, h, errp)) {
        return NULL;
    }
    return g_steal_pointer(&m);
}

char *luks2_meta_text(const Luks2Meta *m)
{
    return luks2_json_text(m->root);
}

void luks2_meta_free(Luks2Meta *m)
{
    if (!m) {
        return;
    }
    for (size_t i = 0; i < m->keyslot_count; i++) {
        g_free(m->keyslots[i].type);
        g_free(m->keyslots[i].unusable);
    }
    for (size_t i = 0; i < m->segment_count; i++) {
        g_free(m->segments[i].unusable);
        g_free(m->segments[i].encryption);
    }
    for (size_t i = 0; i < m->digest_count; i++) {
        g_free(m->digests[i].unusable);
    }
    for (size_t i = 0; i < m->token_count; i++) {
        g_free(m->tokens[i].type);
    }
    g_clear_pointer(&m->requirements, g_ptr_array_unref);
    g_clear_pointer(&m->root, json_node_unref);
    g_free(m);
}
