/* SPDX-License-Identifier: MIT */
#include "crypto/cipher-vector.h"

#include <immintrin.h>
#include <stdlib.h>
#include <string.h>

#include "util/secbuf.h"

#define AESNI        __attribute__((target("aes,sse4.1")))
#define AESNI_INLINE static inline __attribute__((always_inline, target("aes,sse4.1")))

enum { MAX_LANES = 8 }; /* sectors side by side: hides the latency of the AES instructions */

bool vector_supports(CipherAlg alg, CipherMode mode)
{
    return alg <= CIPHER_AES_256 && mode != CIPHER_CTR;
}

void *vector_ctx_new(CipherAlg alg, CipherMode mode, const uint8_t *key, size_t key_len, GError **errp)
{
    VectorCtx *ctx = aligned_alloc(_Alignof(VectorCtx), sizeof(*ctx));
    size_t half = mode == CIPHER_XTS ? key_len / 2 : key_len;

    g_assert(ctx); /* a few hundred bytes: as g_new() */
    memset(ctx, 0, sizeof(*ctx));
    ctx->mode = mode;
    aes_keys_expand(&ctx->data, key, half);
    if (mode == CIPHER_XTS) {
        aes_keys_expand(&ctx->tweak, key + half, half);
    }
    return ctx;
}

void vector_ctx_free(void *opaque)
{
    mem_wipe(opaque, sizeof(VectorCtx));
    free(opaque);
}

/* @lanes (a constant at each call) sectors at once. */
AESNI_INLINE void cbc_encrypt_lanes(const AesKeys *keys, int lanes, const uint8_t *ivs, size_t sector_bytes,
                                    const uint8_t *in, uint8_t *out)
{
    const __m128i *rk = (const __m128i *)keys->enc;
    __m128i x[MAX_LANES];

    for (int i = 0; i < lanes; i++) {
        x[i] = _mm_loadu_si128((const __m128i *)(ivs + i * CIPHER_IV_BYTES));
    }
    for (size_t pos = 0; pos < sector_bytes; pos += AES_BLOCK_BYTES) {
        for (int i = 0; i < lanes; i++) {
            __m128i plain = _mm_loadu_si128((const __m128i *)(in + i * sector_bytes + pos));
            x[i] = _mm_xor_si128(_mm_xor_si128(x[i], plain), rk[0]);
        }
        for (int r = 1; r < keys->rounds; r++) {
            for (int i = 0; i < lanes; i++) {
                x[i] = _mm_aesenc_si128(x[i], rk[r]);
            }
        }
        for (int i = 0; i < lanes; i++) {
            x[i] = _mm_aesenclast_si128(x[i], rk[keys->rounds]);
            _mm_storeu_si128((__m128i *)(out + i * sector_bytes + pos), x[i]);
        }
    }
}

AESNI int vector_cbc_encrypt(const VectorCtx *ctx, const uint8_t *ivs, size_t sector_bytes, size_t count,
                             const uint8_t *in, uint8_t *out)
{
    while (count > 0) {
        size_t n = count >= 8 ? 8 : count >= 4 ? 4 : count >= 2 ? 2 : 1;

        switch (n) {
        case 8:
            cbc_encrypt_lanes(&ctx->data, 8, ivs, sector_bytes, in, out);
            break;
        case 4:
            cbc_encrypt_lanes(&ctx->data, 4, ivs, sector_bytes, in, out);
            break;
        case 2:
            cbc_encrypt_lanes(&ctx->data, 2, ivs, sector_bytes, in, out);
            break;
        default:
            cbc_encrypt_lanes(&ctx->data, 1, ivs, sector_bytes, in, out);
        }
        count -= n;
        ivs += n * CIPHER_IV_BYTES;
        in += n * sector_bytes;
        out += n * sector_bytes;
    }
    return 0;
}
