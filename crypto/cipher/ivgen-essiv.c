/* SPDX-License-Identifier: MIT */
/* essiv: the sector number encrypted under a hash of the volume key. Keyed once; a batch of IVs is one ECB run. */
#include "crypto/cipher/ivgen-int.h"

#include <string.h>

#include "util/base/endian.h"
#include "util/base/error.h"
#include "util/base/secbuf.h"

/* The IV cipher is the volume's family with keys as long as the digest. */
static bool essiv_cipher(CipherAlg cipher, HashAlg hash, CipherAlg *out, GError **errp)
{
    static const struct {
        const char *family, *title;
    } families[] = {{"aes", "AES"}, {"serpent", "Serpent"}, {"twofish", "Twofish"}};
    const char *family = cipher_alg_family(cipher);

    for (size_t i = 0; i < G_N_ELEMENTS(families); i++) {
        if (strcmp(family, families[i].family)) {
            continue;
        }
        if (!cipher_alg_from_family(family, hash_bytes(hash), out)) {
            error_set_code(errp, QB_ERROR_UNSUPPORTED, "No %s cipher with key size %zu available", families[i].title,
                           hash_bytes(hash));
            return false;
        }
        return true;
    }
    error_set_code(errp, QB_ERROR_UNSUPPORTED, "Cipher %s not supported with essiv", cipher_alg_name(cipher));
    return false;
}

static bool essiv_check(CipherAlg cipher, HashAlg hash, GError **errp)
{
    CipherAlg iv_cipher;

    return essiv_cipher(cipher, hash, &iv_cipher, errp);
}

static void *essiv_state_new(CipherAlg cipher, HashAlg hash, const uint8_t *key, size_t key_len, GError **errp)
{
    uint8_t salt[HASH_MAX_BYTES];
    CipherAlg iv_cipher;
    Cipher *c;

    if (!essiv_cipher(cipher, hash, &iv_cipher, errp)) {
        return NULL;
    }
    hash_compute(hash, key, key_len, salt);
    c = cipher_new(iv_cipher, CIPHER_ECB, salt, hash_bytes(hash), errp);
    mem_wipe(salt, sizeof(salt));
    return c;
}

static void essiv_state_free(void *state)
{
    cipher_free(state);
}

static int essiv_fill(void *state, uint64_t first, unsigned step, size_t count, uint8_t *ivs)
{
    for (size_t i = 0; i < count; i++) {
        store_le64(ivs + i * CIPHER_IV_BYTES, first + i * step);
        store_le64(ivs + i * CIPHER_IV_BYTES + 8, 0);
    }
    return cipher_encrypt_sectors(state, NULL, CIPHER_IV_BYTES, count, ivs, ivs);
}

const IvGenRule ivgen_rule_essiv = {
    .name = "essiv",
    .needs_hash = true,
    .check = essiv_check,
    .state_new = essiv_state_new,
    .state_free = essiv_state_free,
    .fill = essiv_fill,
};
