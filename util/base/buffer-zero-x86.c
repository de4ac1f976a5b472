/* SPDX-License-Identifier: MIT */
/* AVX2 and AVX-512 scans. Loads are unaligned on purpose: on every CPU that has these sets an unaligned load inside a
 * cache line costs the same, and page-aligned buffers (the common case) never straddle one. */
#include "util/base/buffer-zero-int.h"

#if defined(__x86_64__)

#include <immintrin.h>

bool buffer_zero_has_avx512(void)
{
    return __builtin_cpu_supports("avx512f");
}

bool buffer_zero_has_avx2(void)
{
    return __builtin_cpu_supports("avx2");
}

__attribute__((target("avx512f"))) bool buffer_zero_scan_avx512(const uint8_t *buf, size_t bytes)
{
    const uint8_t *last = buf + bytes - 256;
    bool at_end = false;

    /* The last step starts at @last and may overlap the one before it. */
    for (const uint8_t *p = buf; !at_end; p += 256) {
        if (p >= last) {
            p = last;
            at_end = true;
        }
        __m512i a = _mm512_or_si512(_mm512_loadu_si512(p), _mm512_loadu_si512(p + 64));
        __m512i b = _mm512_or_si512(_mm512_loadu_si512(p + 128), _mm512_loadu_si512(p + 192));
        __m512i v = _mm512_or_si512(a, b);
        if (_mm512_test_epi64_mask(v, v)) {
            return false;
        }
    }
    return true;
}

__attribute__((target("avx2"))) static inline __m256i load_or_64(const uint8_t *p)
{
    return _mm256_or_si256(_mm256_loadu_si256((const __m256i *)p), _mm256_loadu_si256((const __m256i *)(p + 32)));
}

__attribute__((target("avx2"))) bool buffer_zero_scan_avx2(const uint8_t *buf, size_t bytes)
{
    const uint8_t *last = buf + bytes - 128;
    bool at_end = false;

    for (const uint8_t *p = buf; !at_end; p += 128) {
        if (p >= last) {
            p = last;
            at_end = true;
        }
        __m256i v = _mm256_or_si256(load_or_64(p), load_or_64(p + 64));
        if (!_mm256_testz_si256(v, v)) {
            return false;
        }
    }
    return true;
}

#endif
