/* SPDX-License-Identifier: MIT */
/* AES over runs of sectors with VAES on 512-bit registers: four blocks a register. */
#include "crypto/cipher/cipher-vector.h"

#include <immintrin.h>

#include "crypto/base/cpu-x86.h"

#define VEC       __m512i
#define VEC_LANES 4
#define VEC_ENTRY __attribute__((target("aes,pclmul,avx2,avx512f,avx512bw,avx512vl,vaes,vpclmulqdq"))) static
#define VEC_FN                                                                                                         \
    static inline __attribute__((always_inline, target("aes,pclmul,avx2,avx512f,avx512bw,avx512vl,vaes,vpclmulqdq")))

VEC_FN VEC vec_load(const uint8_t *p)
{
    return _mm512_loadu_si512(p);
}

VEC_FN void vec_store(uint8_t *p, VEC v)
{
    _mm512_storeu_si512(p, v);
}

VEC_FN __m128i block_load(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}

VEC_FN VEC vec_load_apart(const uint8_t *p, size_t lanes)
{
    VEC v = _mm512_zextsi128_si512(block_load(p));

    if (lanes > 1) {
        v = _mm512_inserti32x4(v, block_load(p + 16), 1);
    }
    if (lanes > 2) {
        v = _mm512_inserti32x4(v, block_load(p + 32), 2);
    }
    return lanes > 3 ? _mm512_inserti32x4(v, block_load(p + 48), 3) : v;
}

/* No masked store: it would not be forwarded to a load that soon follows. */
VEC_FN void vec_store_part(uint8_t *p, VEC v, size_t lanes)
{
    if (lanes == VEC_LANES) {
        vec_store(p, v);
        return;
    }
    if (lanes == 1) {
        _mm_storeu_si128((__m128i *)p, _mm512_castsi512_si128(v));
        return;
    }
    _mm256_storeu_si256((__m256i *)p, _mm512_castsi512_si256(v));
    if (lanes == 3) {
        _mm_storeu_si128((__m128i *)(p + 32), _mm512_extracti32x4_epi32(v, 2));
    }
}

VEC_FN VEC vec_broadcast(const uint8_t *p)
{
    return _mm512_broadcast_i32x4(block_load(p));
}

VEC_FN VEC vec_xor(VEC a, VEC b)
{
    return _mm512_xor_si512(a, b);
}

VEC_FN VEC vec_begin(VEC x, VEC k)
{
    return vec_xor(x, k);
}

VEC_FN VEC vec_enc_round(VEC x, VEC p, VEC k)
{
    return _mm512_aesenc_epi128(x, k);
}

VEC_FN VEC vec_enc_last(VEC x, VEC p, VEC k)
{
    return _mm512_aesenclast_epi128(x, k);
}

VEC_FN VEC vec_dec_round(VEC x, VEC p, VEC k)
{
    return _mm512_aesdec_epi128(x, k);
}

VEC_FN VEC vec_dec_last(VEC x, VEC p, VEC k)
{
    return _mm512_aesdeclast_epi128(x, k);
}

VEC_FN VEC vec_chain(VEC a, VEC b)
{
    return _mm512_alignr_epi64(b, a, 6);
}

/* Lane i of @v times its power of x, given in @powers (both halves of a lane), below x^64: products of the halves
 * instead of shifts, for those are done by the port that AES needs. */
VEC_FN VEC mul_powers(VEC v, VEC powers)
{
    VEC low = _mm512_clmulepi64_epi128(v, powers, 0x00), high = _mm512_clmulepi64_epi128(v, powers, 0x01);
    VEC carry = _mm512_clmulepi64_epi128(high, _mm512_set1_epi64(0x87), 0x01); /* what leaves at the top comes back */

    return _mm512_xor_si512(_mm512_xor_si512(low, _mm512_bslli_epi128(high, 8)), carry);
}

/* v * x^(8n): a shift by n whole bytes. */
#define MUL_X_BYTES(v, n)                                                                                              \
    _mm512_xor_si512(_mm512_bslli_epi128(v, n),                                                                        \
                     _mm512_clmulepi64_epi128(_mm512_bsrli_epi128(v, 16 - (n)), _mm512_set1_epi64(0x87), 0x00))

VEC_FN void vec_first_tweaks(VEC *t, const uint8_t *first)
{
    VEC all = vec_broadcast(first);

    t[0] = mul_powers(all, _mm512_set_epi64(8, 8, 4, 4, 2, 2, 1, 1));
    t[1] = mul_powers(all, _mm512_set_epi64(128, 128, 64, 64, 32, 32, 16, 16));
    t[2] = MUL_X_BYTES(t[0], 1);
    t[3] = MUL_X_BYTES(t[1], 1);
    t[4] = MUL_X_BYTES(t[0], 2);
    t[5] = MUL_X_BYTES(t[1], 2);
    t[6] = MUL_X_BYTES(t[0], 3);
    t[7] = MUL_X_BYTES(t[1], 3);
}

VEC_FN void vec_next_tweaks(VEC *t)
{
    t[0] = MUL_X_BYTES(t[0], 4);
    t[1] = MUL_X_BYTES(t[1], 4);
    t[2] = MUL_X_BYTES(t[2], 4);
    t[3] = MUL_X_BYTES(t[3], 4);
    t[4] = MUL_X_BYTES(t[4], 4);
    t[5] = MUL_X_BYTES(t[5], 4);
    t[6] = MUL_X_BYTES(t[6], 4);
    t[7] = MUL_X_BYTES(t[7], 4);
}

#include "crypto/cipher/aes-vector.h"

const CipherDriver cipher_driver_vector_avx512 = {
    .name = "vector-avx512",
    .available = cpu_has_vaes_avx512,
    .supports = vector_supports,
    .ctx_new = vector_ctx_new,
    .ctx_free = vector_ctx_free,
    .encrypt = vector_encrypt,
    .decrypt = vector_decrypt,
};
