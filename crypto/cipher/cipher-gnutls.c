/* SPDX-License-Identifier: MIT */
/* The gnutls row: AES in cbc and xts with whatever CPU help the library has. It takes one IV for each call, so a run
 * costs two library calls a sector. Its key schedules lie in memory of its own, wiped when freed, but neither locked
 * nor out of core dumps. Its ECB would need a fresh IV per block; the nettle row does that better. */
#include "crypto/cipher/cipher-int.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

#include "util/base/error.h"

static gnutls_cipher_algorithm_t find_algorithm(CipherAlg alg, CipherMode mode)
{
    static const struct {
        CipherAlg alg;
        CipherMode mode;
        gnutls_cipher_algorithm_t id;
    } table[] = {
        {CIPHER_AES_128, CIPHER_CBC, GNUTLS_CIPHER_AES_128_CBC},
        {CIPHER_AES_192, CIPHER_CBC, GNUTLS_CIPHER_AES_192_CBC},
        {CIPHER_AES_256, CIPHER_CBC, GNUTLS_CIPHER_AES_256_CBC},
        {CIPHER_AES_128, CIPHER_XTS, GNUTLS_CIPHER_AES_128_XTS},
        {CIPHER_AES_256, CIPHER_XTS, GNUTLS_CIPHER_AES_256_XTS},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(table); i++) {
        if (table[i].alg == alg && table[i].mode == mode) {
            return table[i].id;
        }
    }
    return GNUTLS_CIPHER_UNKNOWN;
}

static bool gnutls_row_supports(CipherAlg alg, CipherMode mode)
{
    gnutls_cipher_algorithm_t id = find_algorithm(alg, mode);

    return id != GNUTLS_CIPHER_UNKNOWN && gnutls_cipher_get_key_size(id) == cipher_key_bytes(alg, mode);
}

static void *gnutls_row_ctx_new(CipherAlg alg, CipherMode mode, const uint8_t *key, size_t key_len, GError **errp)
{
    gnutls_cipher_hd_t ctx;
    uint8_t zero_iv[CIPHER_IV_BYTES] = {0};
    gnutls_datum_t k = {(unsigned char *)key, key_len}, iv = {zero_iv, sizeof(zero_iv)};
    int ret = gnutls_cipher_init(&ctx, find_algorithm(alg, mode), &k, &iv);

    if (ret < 0) {
        error_set(errp, "Unable to key %s-%s: %s", cipher_alg_name(alg), cipher_mode_name(mode), gnutls_strerror(ret));
        return NULL;
    }
    return ctx;
}

static void gnutls_row_ctx_free(void *ctx)
{
    gnutls_cipher_deinit(ctx);
}

static int gnutls_row_encrypt(void *ctx, uint8_t *ivs, size_t sector_bytes, size_t count, const uint8_t *in,
                              uint8_t *out)
{
    for (size_t i = 0; i < count; i++, in += sector_bytes, out += sector_bytes) {
        gnutls_cipher_set_iv(ctx, ivs + i * CIPHER_IV_BYTES, CIPHER_IV_BYTES);
        if (gnutls_cipher_encrypt2(ctx, in, sector_bytes, out, sector_bytes) < 0) {
            return -EIO;
        }
    }
    return 0;
}

static int gnutls_row_decrypt(void *ctx, uint8_t *ivs, size_t sector_bytes, size_t count, const uint8_t *in,
                              uint8_t *out)
{
    for (size_t i = 0; i < count; i++, in += sector_bytes, out += sector_bytes) {
        gnutls_cipher_set_iv(ctx, ivs + i * CIPHER_IV_BYTES, CIPHER_IV_BYTES);
        if (gnutls_cipher_decrypt2(ctx, in, sector_bytes, out, sector_bytes) < 0) {
            return -EIO;
        }
    }
    return 0;
}

const CipherDriver cipher_driver_gnutls = {
    .name = "gnutls",
    .supports = gnutls_row_supports,
    .ctx_new = gnutls_row_ctx_new,
    .ctx_free = gnutls_row_ctx_free,
    .encrypt = gnutls_row_encrypt,
    .decrypt = gnutls_row_decrypt,
};
