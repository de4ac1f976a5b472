/* SPDX-License-Identifier: MIT */
#include "crypto/hash/hmac-sha256-x86.h"

#include <immintrin.h>

#define SHA_FN static inline __attribute__((always_inline, target("sha,sse4.1,ssse3")))

/* Round constants, FIPS 180-4 section 4.2.2. */
static const uint32_t _Alignas(16) round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

/* The state as the instructions want it: words A B E F and C D G H, highest lane first. */
typedef struct State {
    __m128i abef, cdgh;
} State;

SHA_FN State state_load(const uint32_t *w)
{
    __m128i dcba = _mm_loadu_si128((const __m128i *)w), hgfe = _mm_loadu_si128((const __m128i *)(w + 4));
    __m128i badc = _mm_shuffle_epi32(dcba, 0xb1), efgh = _mm_shuffle_epi32(hgfe, 0x1b);

    return (State){_mm_alignr_epi8(badc, efgh, 8), _mm_blend_epi16(efgh, badc, 0xf0)};
}

/* Back to words in order, as message words 0..3 and 4..7. */
SHA_FN void state_words(State s, __m128i *w0, __m128i *w1)
{
    __m128i feba = _mm_shuffle_epi32(s.abef, 0x1b), dchg = _mm_shuffle_epi32(s.cdgh, 0xb1);

    *w0 = _mm_blend_epi16(feba, dchg, 0xf0);
    *w1 = _mm_alignr_epi8(dchg, feba, 8);
}

/* Four rounds with message words @w. */
#define ROUNDS(i, w)                                                                                                   \
    k = _mm_add_epi32(w, _mm_load_si128((const __m128i *)(round_constants + (i))));                                    \
    s.cdgh = _mm_sha256rnds2_epu32(s.cdgh, s.abef, k);                                                                 \
    s.abef = _mm_sha256rnds2_epu32(s.abef, s.cdgh, _mm_shuffle_epi32(k, 0x0e));

/* The next four words of the schedule, in the place of the oldest. */
#define SCHEDULE(a, b, c, d)                                                                                           \
    a = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(a, b), _mm_alignr_epi8(d, c, 4)), d);

#define FOUR(i)                                                                                                        \
    SCHEDULE(w0, w1, w2, w3)                                                                                           \
    ROUNDS(i, w0)                                                                                                      \
    SCHEDULE(w1, w2, w3, w0) ROUNDS((i) + 4, w1) SCHEDULE(w2, w3, w0, w1) ROUNDS((i) + 8, w2) SCHEDULE(w3, w0, w1, w2) \
        ROUNDS((i) + 12, w3)

/* Compress a second block of 32 bytes (words @w0, @w1) and the padding of 96 bytes in all. */
SHA_FN State compress_digest(State start, __m128i w0, __m128i w1)
{
    __m128i w2 = _mm_set_epi32(0, 0, 0, (int)0x80000000), w3 = _mm_set_epi32(96 * 8, 0, 0, 0), k;
    State s = start;

    ROUNDS(0, w0)
    ROUNDS(4, w1) ROUNDS(8, w2) ROUNDS(12, w3) FOUR(16) FOUR(32) FOUR(48) s.abef = _mm_add_epi32(s.abef, start.abef);
    s.cdgh = _mm_add_epi32(s.cdgh, start.cdgh);
    return s;
}

__attribute__((target("sha,sse4.1,ssse3"))) void hmac_sha256_chain_x86(const uint32_t inner[static 8],
                                                                       const uint32_t outer[static 8],
                                                                       uint8_t u[static 32], uint8_t acc[static 32],
                                                                       uint64_t count)
{
    const __m128i swap = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    const State in = state_load(inner), out = state_load(outer);
    __m128i w0 = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)u), swap);
    __m128i w1 = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(u + 16)), swap);
    __m128i a0 = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)acc), swap);
    __m128i a1 = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(acc + 16)), swap);

    for (uint64_t n = 0; n < count; n++) {
        state_words(compress_digest(in, w0, w1), &w0, &w1);
        state_words(compress_digest(out, w0, w1), &w0, &w1);
        a0 = _mm_xor_si128(a0, w0);
        a1 = _mm_xor_si128(a1, w1);
    }
    _mm_storeu_si128((__m128i *)u, _mm_shuffle_epi8(w0, swap));
    _mm_storeu_si128((__m128i *)(u + 16), _mm_shuffle_epi8(w1, swap));
    _mm_storeu_si128((__m128i *)acc, _mm_shuffle_epi8(a0, swap));
    _mm_storeu_si128((__m128i *)(acc + 16), _mm_shuffle_epi8(a1, swap));
}
