/* SPDX-License-Identifier: MIT */
/* AES over runs of sectors with VAES on 256-bit registers: two blocks a register. */
#include "crypto/cipher/cipher-vector.h"

#include <immintrin.h>

#include "crypto/base/cpu-x86.h"

#define VEC       __m256i
#define VEC_LANES 2
#define VEC_ENTRY __attribute__((target("aes,pclmul,avx2,vaes,vpclmulqdq"))) static
#define VEC_FN    static inline __attribute__((always_inline, target("aes,pclmul,avx2,vaes,vpclmulqdq")))

VEC_FN VEC vec_load(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

VEC_FN void vec_store(uint8_t *p, VEC v)
{
    _mm256_storeu_si256((__m256i *)p, v);
}

VEC_FN VEC vec_load_apart(const uint8_t *p, size_t lanes)
{
    VEC v = _mm256_zextsi128_si256(_mm_loadu_si128((const __m128i *)p));

    return lanes > 1 ? _mm256_inserti128_si256(v, _mm_loadu_si128((const __m128i *)(p + 16)), 1) : v;
}

VEC_FN void vec_store_part(uint8_t *p, VEC v, size_t lanes)
{
    if (lanes == VEC_LANES) {
        vec_store(p, v);
    } else {
        _mm_storeu_si128((__m128i *)p, _mm256_castsi256_si128(v));
    }
}

VEC_FN VEC vec_broadcast(const uint8_t *p)
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)p));
}

VEC_FN VEC vec_xor(VEC a, VEC b)
{
    return _mm256_xor_si256(a, b);
}

VEC_FN VEC vec_begin(VEC x, VEC k)
{
    return vec_xor(x, k);
}

VEC_FN VEC vec_enc_round(VEC x, VEC p, VEC k)
{
    return _mm256_aesenc_epi128(x, k);
}

VEC_FN VEC vec_enc_last(VEC x, VEC p, VEC k)
{
    return _mm256_aesenclast_epi128(x, k);
}

VEC_FN VEC vec_dec_round(VEC x, VEC p, VEC k)
{
    return _mm256_aesdec_epi128(x, k);
}

VEC_FN VEC vec_dec_last(VEC x, VEC p, VEC k)
{
    return _mm256_aesdeclast_epi128(x, k);
}

VEC_FN VEC vec_chain(VEC a, VEC b)
{
    return _mm256_permute2x128_si256(a, b, 0x21);
}

/* What shifting left by @left bits pushes out of each half ends up in the upper half, or back at the bottom times 0x87:
 * multiplication by x^left in GF(2^128). @spill holds the bits that left the halves. */
VEC_FN VEC fold(VEC shifted, VEC spill)
{
    VEC carry = _mm256_clmulepi64_epi128(spill, _mm256_set1_epi64x(0x87), 0x01);

    return _mm256_xor_si256(_mm256_xor_si256(shifted, _mm256_bslli_epi128(spill, 8)), carry);
}

#define MUL_X(v, n) fold(_mm256_slli_epi64(v, n), _mm256_srli_epi64(v, 64 - (n)))

/* v * x^8 and v * x^16: shifts by whole bytes. */
#define MUL_X_BYTES(v, n)                                                                                              \
    _mm256_xor_si256(_mm256_bslli_epi128(v, n),                                                                        \
                     _mm256_clmulepi64_epi128(_mm256_bsrli_epi128(v, 16 - (n)), _mm256_set1_epi64x(0x87), 0x00))

VEC_FN void vec_first_tweaks(VEC *t, const uint8_t *first)
{
    VEC both = vec_broadcast(first);

    /* Lane i times x^i; a shift by 64 gives zero. */
    t[0] = fold(_mm256_sllv_epi64(both, _mm256_set_epi64x(1, 1, 0, 0)),
                _mm256_srlv_epi64(both, _mm256_set_epi64x(63, 63, 64, 64)));
    t[1] = MUL_X(t[0], 2);
    t[2] = MUL_X(t[0], 4);
    t[3] = MUL_X(t[0], 6);
    t[4] = MUL_X_BYTES(t[0], 1);
    t[5] = MUL_X_BYTES(t[1], 1);
    t[6] = MUL_X_BYTES(t[2], 1);
    t[7] = MUL_X_BYTES(t[3], 1);
}

VEC_FN void vec_next_tweaks(VEC *t)
{
    t[0] = MUL_X_BYTES(t[0], 2);
    t[1] = MUL_X_BYTES(t[1], 2);
    t[2] = MUL_X_BYTES(t[2], 2);
    t[3] = MUL_X_BYTES(t[3], 2);
    t[4] = MUL_X_BYTES(t[4], 2);
    t[5] = MUL_X_BYTES(t[5], 2);
    t[6] = MUL_X_BYTES(t[6], 2);
    t[7] = MUL_X_BYTES(t[7], 2);
}

#include "crypto/cipher/aes-vector.h"

const CipherDriver cipher_driver_vector_avx2 = {
    .name = "vector-avx2",
    .available = cpu_has_vaes_avx2,
    .supports = vector_supports,
    .ctx_new = vector_ctx_new,
    .ctx_free = vector_ctx_free,
    .encrypt = vector_encrypt,
    .decrypt = vector_decrypt,
};
