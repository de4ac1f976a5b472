/* SPDX-License-Identifier: MIT */
#include "crypto/cipher/aes-keys.h"

#include <glib.h>
#include <string.h>

/* SubWord of FIPS 197 is the last round of four equal columns, for ShiftRows does not change those. InvMixColumns is an
 * instruction of its own. */
#ifdef __x86_64__
#include <immintrin.h>

#define AES_INSN __attribute__((target("aes,sse4.1")))

AES_INSN static uint32_t sub_word(uint32_t w)
{
    return _mm_cvtsi128_si32(_mm_aesenclast_si128(_mm_set1_epi32(w), _mm_setzero_si128()));
}

AES_INSN static void inv_mix_columns(const uint8_t *in, uint8_t *out)
{
    _mm_store_si128((__m128i *)out, _mm_aesimc_si128(_mm_load_si128((const __m128i *)in)));
}
#else
#include <arm_neon.h>

static uint32_t sub_word(uint32_t w)
{
    return vgetq_lane_u32(vreinterpretq_u32_u8(vaeseq_u8(vreinterpretq_u8_u32(vdupq_n_u32(w)), vdupq_n_u8(0))), 0);
}

static void inv_mix_columns(const uint8_t *in, uint8_t *out)
{
    vst1q_u8(out, vaesimcq_u8(vld1q_u8(in)));
}
#endif

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

void aes_keys_expand(AesKeys *k, const uint8_t *key, size_t key_len)
{
    G_STATIC_ASSERT(G_BYTE_ORDER == G_LITTLE_ENDIAN);

    k->rounds = key_len / 4 + 6;
    g_assert(k->rounds == 10 || k->rounds == 12 || k->rounds == 14);
    memcpy(k->enc, key, key_len);
    expand_words((uint32_t *)k->enc, key_len / 4, 4 * (k->rounds + 1));
    memcpy(k->dec[0], k->enc[k->rounds], AES_BLOCK_BYTES);
    for (int i = 1; i < k->rounds; i++) {
        inv_mix_columns(k->enc[k->rounds - i], k->dec[i]);
    }
    memcpy(k->dec[k->rounds], k->enc[0], AES_BLOCK_BYTES);
}
