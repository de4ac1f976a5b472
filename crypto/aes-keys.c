/* SPDX-License-Identifier: MIT */
#include "crypto/aes-keys.h"

#include <glib.h>
#include <immintrin.h>
#include <string.h>

#define AESNI __attribute__((target("aes,sse4.1")))

/* SubWord of FIPS 197: with four equal columns ShiftRows changes nothing, so the last round is four S-boxes. */
AESNI static uint32_t sub_word(uint32_t w)
{
    return _mm_cvtsi128_si32(_mm_aesenclast_si128(_mm_set1_epi32(w), _mm_setzero_si128()));
}

static uint32_t rotate_bytes(uint32_t w)
{
    return w >> 8 | w << 24; /* words are little-endian: the first byte is the lowest */
}

/* KeyExpansion, FIPS 197 section 5.2. */
static void expand_words(uint32_t *w, size_t key_words, size_t total)
{
    uint32_t rcon = 1;

    for (size_t i = key_words; i < total; i++) {
        uint32_t t = w[i - 1];

        if (i % key_words == 0) {
            t = sub_word(rotate_bytes(t)) ^ rcon;
            rcon = (rcon << 1) ^ (rcon & 0x80 ? 0x11b : 0);
        } else if (key_words > 6 && i % key_words == 4) {
            t = sub_word(t);
        }
        w[i] = w[i - key_words] ^ t;
    }
}

AESNI void aes_keys_expand(AesKeys *k, const uint8_t *key, size_t key_len)
{
    G_STATIC_ASSERT(G_BYTE_ORDER == G_LITTLE_ENDIAN);

    k->rounds = key_len / 4 + 6;
    g_assert(k->rounds == 10 || k->rounds == 12 || k->rounds == 14);
    memcpy(k->enc, key, key_len);
    expand_words((uint32_t *)k->enc, key_len / 4, 4 * (k->rounds + 1));
    for (int i = 0; i <= k->rounds; i++) {
        __m128i rk = _mm_load_si128((const __m128i *)k->enc[k->rounds - i]);

        if (i > 0 && i < k->rounds) {
            rk = _mm_aesimc_si128(rk);
        }
        _mm_store_si128((__m128i *)k->dec[i], rk);
    }
}
