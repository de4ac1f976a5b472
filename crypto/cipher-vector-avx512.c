/* SPDX-License-Identifier: MIT */
/* AES over runs of sectors with VAES on 512-bit registers: four blocks a register. */
#include "crypto/cipher-vector.h"

#include <immintrin.h>

#include "crypto/cpu-x86.h"

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

/* Two mask bits of 64-bit elements a lane; memory behind the mask is not touched. */
VEC_FN __mmask8 lane_mask(size_t lanes)
{
    return (1u << (2 * lanes)) - 1;
}

VEC_FN VEC vec_load_part(const uint8_t *p, size_t lanes)
{
    return _mm512_maskz_loadu_epi64(lane_mask(lanes), p);
}

VEC_FN void vec_store_part(uint8_t *p, VEC v, size_t lanes)
{
    _mm512_mask_storeu_epi64(p, lane_mask(lanes), v);
}

VEC_FN VEC vec_broadcast(const uint8_t *p)
{
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)p));
}

VEC_FN VEC vec_xor(VEC a, VEC b)
{
    return _mm512_xor_si512(a, b);
}

VEC_FN VEC vec_aesenc(VEC x, VEC k)
{
    return _mm512_aesenc_epi128(x, k);
}

VEC_FN VEC vec_aesenclast(VEC x, VEC k)
{
    return _mm512_aesenclast_epi128(x, k);
}

VEC_FN VEC vec_aesdec(VEC x, VEC k)
{
    return _mm512_aesdec_epi128(x, k);
}

VEC_FN VEC vec_aesdeclast(VEC x, VEC k)
{
    return _mm512_aesdeclast_epi128(x, k);
}

VEC_FN VEC vec_chain(VEC a, VEC b)
{
    return _mm512_alignr_epi64(b, a, 6);
}

/* Multiplication by x^n in GF(2^128): @shifted are the halves shifted left by n, @spill the bits that left them. Those
 * of the lower half go to the upper one, those of the upper one come back at the bottom times 0x87. */
VEC_FN VEC fold(VEC shifted, VEC spill)
{
    VEC carry = _mm512_clmulepi64_epi128(spill, _mm512_set1_epi64(0x87), 0x01);

    return _mm512_xor_si512(_mm512_xor_si512(shifted, _mm512_bslli_epi128(spill, 8)), carry);
}

/* v * x^(8n): a shift by n whole bytes. */
#define MUL_X_BYTES(v, n)                                                                                              \
    _mm512_xor_si512(_mm512_bslli_epi128(v, n),                                                                        \
                     _mm512_clmulepi64_epi128(_mm512_bsrli_epi128(v, 16 - (n)), _mm512_set1_epi64(0x87), 0x00))

VEC_FN void vec_first_tweaks(VEC *t, const uint8_t *first)
{
    VEC all = vec_broadcast(first);

    /* Lane i times x^i; a shift by 64 gives zero. */
    t[0] = fold(_mm512_sllv_epi64(all, _mm512_set_epi64(3, 3, 2, 2, 1, 1, 0, 0)),
                _mm512_srlv_epi64(all, _mm512_set_epi64(61, 61, 62, 62, 63, 63, 64, 64)));
    t[1] = fold(_mm512_slli_epi64(t[0], 4), _mm512_srli_epi64(t[0], 60));
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

#include "crypto/aes-vector.h"

const CipherDriver cipher_driver_vector_avx512 = {
    .name = "vector-avx512",
    .available = cpu_has_vaes_avx512,
    .supports = vector_supports,
    .ctx_new = vector_ctx_new,
    .ctx_free = vector_ctx_free,
    .encrypt = vector_encrypt,
    .decrypt = vector_decrypt,
};
