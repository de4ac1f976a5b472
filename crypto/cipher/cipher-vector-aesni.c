/* SPDX-License-Identifier: MIT */
/* AES over runs of sectors with AES-NI: one block a register. */
#include "crypto/cipher/cipher-vector.h"

#include <immintrin.h>

#include "crypto/base/cpu-x86.h"

#define VEC       __m128i
#define VEC_LANES 1
#define VEC_ENTRY __attribute__((target("aes,pclmul,sse4.1"))) static
#define VEC_FN    static inline __attribute__((always_inline, target("aes,pclmul,sse4.1")))

VEC_FN VEC vec_load(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}

VEC_FN void vec_store(uint8_t *p, VEC v)
{
    _mm_storeu_si128((__m128i *)p, v);
}

VEC_FN VEC vec_load_apart(const uint8_t *p, size_t lanes)
{
    return vec_load(p);
}

VEC_FN void vec_store_part(uint8_t *p, VEC v, size_t lanes)
{
    vec_store(p, v);
}

VEC_FN VEC vec_broadcast(const uint8_t *p)
{
    return vec_load(p);
}

VEC_FN VEC vec_xor(VEC a, VEC b)
{
    return _mm_xor_si128(a, b);
}

VEC_FN VEC vec_begin(VEC x, VEC k)
{
    return vec_xor(x, k);
}

VEC_FN VEC vec_enc_round(VEC x, VEC p, VEC k)
{
    return _mm_aesenc_si128(x, k);
}

VEC_FN VEC vec_enc_last(VEC x, VEC p, VEC k)
{
    return _mm_aesenclast_si128(x, k);
}

VEC_FN VEC vec_dec_round(VEC x, VEC p, VEC k)
{
    return _mm_aesdec_si128(x, k);
}

VEC_FN VEC vec_dec_last(VEC x, VEC p, VEC k)
{
    return _mm_aesdeclast_si128(x, k);
}

VEC_FN VEC vec_chain(VEC a, VEC b)
{
    return a;
}

/* v * x^n in GF(2^128), 0 < n < 8 an immediate: what leaves at the top comes back times 0x87. */
#define MUL_X(v, n)                                                                                                    \
    _mm_xor_si128(_mm_xor_si128(_mm_slli_epi64(v, n), _mm_bslli_si128(_mm_srli_epi64(v, 64 - (n)), 8)),                \
                  _mm_clmulepi64_si128(_mm_srli_epi64(v, 64 - (n)), _mm_set_epi64x(0, 0x87), 0x01))

/* v * x^8: a shift by a byte. */
VEC_FN VEC mul_x8(VEC v)
{
    VEC carry = _mm_clmulepi64_si128(_mm_bsrli_si128(v, 15), _mm_set_epi64x(0, 0x87), 0x00);

    return _mm_xor_si128(_mm_bslli_si128(v, 1), carry);
}

VEC_FN void vec_first_tweaks(VEC *t, const uint8_t *first)
{
    t[0] = vec_load(first);
    t[1] = MUL_X(t[0], 1);
    t[2] = MUL_X(t[0], 2);
    t[3] = MUL_X(t[0], 3);
    t[4] = MUL_X(t[0], 4);
    t[5] = MUL_X(t[0], 5);
    t[6] = MUL_X(t[0], 6);
    t[7] = MUL_X(t[0], 7);
}

VEC_FN void vec_next_tweaks(VEC *t)
{
    t[0] = mul_x8(t[0]);
    t[1] = mul_x8(t[1]);
    t[2] = mul_x8(t[2]);
    t[3] = mul_x8(t[3]);
    t[4] = mul_x8(t[4]);
    t[5] = mul_x8(t[5]);
    t[6] = mul_x8(t[6]);
    t[7] = mul_x8(t[7]);
}

#include "crypto/cipher/aes-vector.h"
#include "crypto/cipher/aes-vector-cbc.h"

const CipherDriver cipher_driver_vector_aesni = {
    .name = "vector-aesni",
    .available = cpu_has_aesni,
    .supports = vector_supports,
    .ctx_new = vector_ctx_new,
    .ctx_free = vector_ctx_free,
    .encrypt = vector_encrypt,
    .decrypt = vector_decrypt,
};
