/* SPDX-License-Identifier: MIT */
#include "crypto/cipher-vector.h"

#include <immintrin.h>

#define AESNI __attribute__((target("aes,sse4.1")))

enum { LANES = 8 }; /* sectors side by side: hides the latency of the AES instructions */

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

/* Written out, so that array elements are registers whatever the compiler thinks of loops. */
#define EACH_LANE(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7)

#define LANE_IV(i)    x[i] = _mm_loadu_si128((const __m128i *)(ivs + lane[i] * CIPHER_IV_BYTES));
#define LANE_LOAD(i)  x[i] = _mm_xor_si128(x[i], _mm_loadu_si128((const __m128i *)(in + lane[i] * sector_bytes + pos)));
#define LANE_XOR(i)   x[i] = _mm_xor_si128(x[i], k);
#define LANE_ENC(i)   x[i] = _mm_aesenc_si128(x[i], k);
#define LANE_LAST(i)  x[i] = _mm_aesenclast_si128(x[i], k);
#define LANE_STORE(i) _mm_storeu_si128((__m128i *)(out + lane[i] * sector_bytes + pos), x[i]);

/* Up to LANES sectors. Where there are fewer, the spare lanes do the last one again: its plaintext is read before any
 * of them stores, and they all store the same. That costs nothing, for a single lane waits as long for its latencies.
 */
AESNI static void cbc_encrypt_lanes(const AesKeys *keys, size_t sectors, const uint8_t *ivs, size_t sector_bytes,
                                    const uint8_t *in, uint8_t *out)
{
    const __m128i *rk = (const __m128i *)keys->enc;
    __m128i x[LANES], k;
    size_t lane[LANES];

    for (size_t i = 0; i < LANES; i++) {
        lane[i] = MIN(i, sectors - 1);
    }
    EACH_LANE(LANE_IV)
    for (size_t pos = 0; pos < sector_bytes; pos += AES_BLOCK_BYTES) {
        EACH_LANE(LANE_LOAD)
        k = rk[0];
        EACH_LANE(LANE_XOR)
        for (int r = 1; r < keys->rounds; r++) {
            k = rk[r];
            EACH_LANE(LANE_ENC)
        }
        k = rk[keys->rounds];
        EACH_LANE(LANE_LAST)
        EACH_LANE(LANE_STORE)
    }
}

int vector_cbc_encrypt(const VectorCtx *ctx, const uint8_t *ivs, size_t sector_bytes, size_t count, const uint8_t *in,
                       uint8_t *out)
{
    while (count > 0) {
        size_t n = MIN(count, LANES);

        cbc_encrypt_lanes(&ctx->data, n, ivs, sector_bytes, in, out);
        count -= n;
        ivs += n * CIPHER_IV_BYTES;
        in += n * sector_bytes;
        out += n * sector_bytes;
    }
    return 0;
}
