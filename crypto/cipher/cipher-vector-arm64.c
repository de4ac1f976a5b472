/* SPDX-License-Identifier: MIT */
/* AES over runs of sectors with the ARMv8 crypto extensions: one block a register. The build compiles this file and
 * aes-keys.c for a CPU that has them; they are called only where cpu_has_arm64_crypto(). */
#include "crypto/cipher/cipher-vector.h"

#include <arm_neon.h>

#include "crypto/base/cpu-arm64.h"

#define VEC       uint8x16_t
#define VEC_LANES 1
#define VEC_ENTRY static
#define VEC_FN    static inline __attribute__((always_inline))

VEC_FN VEC vec_load(const uint8_t *p)
{
    return vld1q_u8(p);
}

VEC_FN void vec_store(uint8_t *p, VEC v)
{
    vst1q_u8(p, v);
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
    return veorq_u8(a, b);
}

VEC_FN VEC vec_chain(VEC a, VEC b)
{
    return a;
}

/* AESE and AESD begin with adding a key, so each round adds the one of the round before. */
VEC_FN VEC vec_begin(VEC x, VEC k)
{
    return x;
}

VEC_FN VEC vec_enc_round(VEC x, VEC p, VEC k)
{
    return vaesmcq_u8(vaeseq_u8(x, p));
}

VEC_FN VEC vec_enc_last(VEC x, VEC p, VEC k)
{
    return veorq_u8(vaeseq_u8(x, p), k);
}

VEC_FN VEC vec_dec_round(VEC x, VEC p, VEC k)
{
    return vaesimcq_u8(vaesdq_u8(x, p));
}

VEC_FN VEC vec_dec_last(VEC x, VEC p, VEC k)
{
    return veorq_u8(vaesdq_u8(x, p), k);
}

/* @v, a number of 64 bits in the upper half, times 0x87: bits that left a block at the top come back at the bottom. */
VEC_FN VEC reduce(uint64x2_t v)
{
    poly64x2_t factor = vreinterpretq_p64_u64(vdupq_n_u64(0x87));

    return vreinterpretq_u8_p128(vmull_high_p64(vreinterpretq_p64_u64(v), factor));
}

/* v * x^n in GF(2^128), 0 < n < 8 an immediate: what leaves the lower half at the top goes to the upper one. */
#define MUL_X(v, n) fold(vshlq_n_u64(vreinterpretq_u64_u8(v), n), vshrq_n_u64(vreinterpretq_u64_u8(v), 64 - (n)))

VEC_FN VEC fold(uint64x2_t shifted, uint64x2_t spill)
{
    uint64x2_t up = vextq_u64(vdupq_n_u64(0), spill, 1);

    return veorq_u8(vreinterpretq_u8_u64(veorq_u64(shifted, up)), reduce(spill));
}

/* v * x^8: a shift by a byte. */
VEC_FN VEC mul_x8(VEC v)
{
    uint64x2_t top = vshrq_n_u64(vreinterpretq_u64_u8(v), 56); /* of the upper half: the byte that leaves */

    return veorq_u8(vextq_u8(vdupq_n_u8(0), v, 15), reduce(top));
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

const CipherDriver cipher_driver_vector_arm64 = {
    .name = "vector-arm64",
    .available = cpu_has_arm64_crypto,
    .supports = vector_supports,
    .ctx_new = vector_ctx_new,
    .ctx_free = vector_ctx_free,
    .encrypt = vector_encrypt,
    .decrypt = vector_decrypt,
};
