/* SPDX-License-Identifier: MIT */
#include "bench/aes-limit.h"

#ifdef __x86_64__
#include <glib.h>
#include <immintrin.h>

#include "crypto/base/cpu-x86.h"

/* Eight chains hide the latency of the instruction. The asm statements keep the compiler from seeing that nobody wants
 * the result, and from moving the registers to memory. */
#define LIMIT_FUNC(func, features, VEC, KIND, lanes, aesenc)                                                           \
    __attribute__((target(features))) static void func(unsigned rounds, size_t blocks)                                 \
    {                                                                                                                  \
        VEC x0 = {0}, x1 = {1}, x2 = {2}, x3 = {3}, x4 = {4}, x5 = {5}, x6 = {6}, x7 = {7}, k = {8};                   \
                                                                                                                       \
        for (size_t done = 0; done < blocks; done += 8 * (lanes)) {                                                    \
            for (unsigned r = 0; r < rounds; r++) {                                                                    \
                x0 = aesenc(x0, k);                                                                                    \
                x1 = aesenc(x1, k);                                                                                    \
                x2 = aesenc(x2, k);                                                                                    \
                x3 = aesenc(x3, k);                                                                                    \
                x4 = aesenc(x4, k);                                                                                    \
                x5 = aesenc(x5, k);                                                                                    \
                x6 = aesenc(x6, k);                                                                                    \
                x7 = aesenc(x7, k);                                                                                    \
            }                                                                                                          \
        }                                                                                                              \
        __asm__ volatile("" : "+" KIND(x0), "+" KIND(x1), "+" KIND(x2), "+" KIND(x3));                                 \
        __asm__ volatile("" : "+" KIND(x4), "+" KIND(x5), "+" KIND(x6), "+" KIND(x7));                                 \
    }

LIMIT_FUNC(rounds_128, "aes,sse4.1", __m128i, "x", 1, _mm_aesenc_si128)
LIMIT_FUNC(rounds_256, "vaes,avx2", __m256i, "x", 2, _mm256_aesenc_epi128)
LIMIT_FUNC(rounds_512, "vaes,avx512f", __m512i, "v", 4, _mm512_aesenc_epi128)

static const AesLimit limits[] = {
    {"limit-512", cpu_has_vaes_avx512, rounds_512},
    {"limit-256", cpu_has_vaes_avx2, rounds_256},
    {"limit-128", cpu_has_aesni, rounds_128},
};

const AesLimit *aes_limit_at(size_t i)
{
    for (size_t k = 0; k < G_N_ELEMENTS(limits); k++) {
        if (limits[k].available() && i-- == 0) {
            return &limits[k];
        }
    }
    return NULL;
}
#else
const AesLimit *aes_limit_at(size_t i)
{
    return NULL;
}
#endif
