/* SPDX-License-Identifier: MIT */
/* The nettle row: every cipher in every mode, from the library's block functions and its generic modes. */
#include "crypto/cipher/cipher-int.h"

#include <errno.h>
#include <nettle/aes.h>
#include <nettle/cast128.h>
#include <nettle/cbc.h>
#include <nettle/ctr.h>
#include <nettle/nettle-meta.h>
#include <nettle/serpent.h>
#include <nettle/twofish.h>
#include <nettle/xts.h>

#include "util/base/secbuf.h"

static const struct nettle_cipher *const nettle_ops[CIPHER_COUNT] = {
    [CIPHER_AES_128] = &nettle_aes128,         [CIPHER_AES_192] = &nettle_aes192,
    [CIPHER_AES_256] = &nettle_aes256,         [CIPHER_SERPENT_128] = &nettle_serpent128,
    [CIPHER_SERPENT_192] = &nettle_serpent192, [CIPHER_SERPENT_256] = &nettle_serpent256,
    [CIPHER_TWOFISH_128] = &nettle_twofish128, [CIPHER_TWOFISH_192] = &nettle_twofish192,
    [CIPHER_TWOFISH_256] = &nettle_twofish256, [CIPHER_CAST5_128] = &nettle_cast128,
};

typedef union BlockCtx {
    struct aes128_ctx aes128;
    struct aes192_ctx aes192;
    struct aes256_ctx aes256;
    struct serpent_ctx serpent;
    struct twofish_ctx twofish;
    struct cast128_ctx cast128;
} BlockCtx;

typedef struct NettleCtx {
    const struct nettle_cipher *ops;
    CipherMode mode;
    SecBuf *memory;           /* that it lies in: a key schedule is as good as the key */
    BlockCtx enc, dec, tweak; /* tweak: xts only */
} NettleCtx;

static bool nettle_row_supports(CipherAlg alg, CipherMode mode)
{
    return nettle_ops[alg] && (mode != CIPHER_XTS || nettle_ops[alg]->block_size == XTS_BLOCK_SIZE);
}

static void *nettle_row_ctx_new(CipherAlg alg, CipherMode mode, const uint8_t *key, size_t key_len, GError **errp)
{
    SecBuf *memory = secbuf_new(sizeof(NettleCtx));
    NettleCtx *ctx = (NettleCtx *)secbuf_data(memory);

    ctx->memory = memory;
    ctx->ops = nettle_ops[alg];
    ctx->mode = mode;
    g_assert(ctx->ops->context_size <= sizeof(BlockCtx));
    ctx->ops->set_encrypt_key(&ctx->enc, key);
    ctx->ops->set_decrypt_key(&ctx->dec, key);
    if (mode == CIPHER_XTS) {
        ctx->ops->set_encrypt_key(&ctx->tweak, key + key_len / 2);
    }
    return ctx;
}

static void nettle_row_ctx_free(void *opaque)
{
    secbuf_free(((NettleCtx *)opaque)->memory);
}

static int nettle_row_encrypt(void *opaque, uint8_t *ivs, size_t sector_bytes, size_t count, const uint8_t *in,
                              uint8_t *out)
{
    NettleCtx *ctx = opaque;
    const struct nettle_cipher *ops = ctx->ops;

    if (ctx->mode == CIPHER_ECB) {
        ops->encrypt(&ctx->enc, sector_bytes * count, out, in);
        return 0;
    }
    for (size_t i = 0; i < count; i++, in += sector_bytes, out += sector_bytes) {
        uint8_t *iv = ivs + i * CIPHER_IV_BYTES;

        switch (ctx->mode) {
        case CIPHER_CBC:
            cbc_encrypt(&ctx->enc, ops->encrypt, ops->block_size, iv, sector_bytes, out, in);
            break;
        case CIPHER_XTS:
            xts_encrypt_message(&ctx->enc, &ctx->tweak, ops->encrypt, iv, sector_bytes, out, in);
            break;
        case CIPHER_CTR:
            ctr_crypt(&ctx->enc, ops->encrypt, ops->block_size, iv, sector_bytes, out, in);
            break;
        default:
            g_assert_not_reached();
        }
    }
    return 0;
}

static int nettle_row_decrypt(void *opaque, uint8_t *ivs, size_t sector_bytes, size_t count, const uint8_t *in,
                              uint8_t *out)
{
    NettleCtx *ctx = opaque;
    const struct nettle_cipher *ops = ctx->ops;

    if (ctx->mode == CIPHER_ECB) {
        ops->decrypt(&ctx->dec, sector_bytes * count, out, in);
        return 0;
    }
    if (ctx->mode == CIPHER_CTR) {
        return nettle_row_encrypt(opaque, ivs, sector_bytes, count, in, out);
    }
    for (size_t i = 0; i < count; i++, in += sector_bytes, out += sector_bytes) {
        uint8_t *iv = ivs + i * CIPHER_IV_BYTES;

        if (ctx->mode == CIPHER_CBC) {
            cbc_decrypt(&ctx->dec, ops->decrypt, ops->block_size, iv, sector_bytes, out, in);
        } else {
            xts_decrypt_message(&ctx->dec, &ctx->tweak, ops->decrypt, ops->encrypt, iv, sector_bytes, out, in);
        }
    }
    return 0;
}

const CipherDriver cipher_driver_nettle = {
    .name = "nettle",
    .supports = nettle_row_supports,
    .ctx_new = nettle_row_ctx_new,
    .ctx_free = nettle_row_ctx_free,
    .encrypt = nettle_row_encrypt,
    .decrypt = nettle_row_decrypt,
};
