/* SPDX-License-Identifier: MIT */
#include "crypto/cipher/cipher-vector.h"

bool vector_supports(CipherAlg alg, CipherMode mode)
{
    return alg <= CIPHER_AES_256 && mode != CIPHER_CTR;
}

void *vector_ctx_new(CipherAlg alg, CipherMode mode, const uint8_t *key, size_t key_len, GError **errp)
{
    SecBuf *memory = secbuf_new(sizeof(VectorCtx));
    VectorCtx *ctx = (VectorCtx *)secbuf_data(memory);
    size_t half = mode == CIPHER_XTS ? key_len / 2 : key_len;

    G_STATIC_ASSERT(_Alignof(VectorCtx) <= SECBUF_ALIGN);
    ctx->memory = memory;
    ctx->mode = mode;
    aes_keys_expand(&ctx->data, key, half);
    if (mode == CIPHER_XTS) {
        aes_keys_expand(&ctx->tweak, key + half, half);
    }
    return ctx;
}

void vector_ctx_free(void *opaque)
{
    secbuf_free(((VectorCtx *)opaque)->memory);
}
