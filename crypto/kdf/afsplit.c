/* SPDX-License-Identifier: MIT */
#include "crypto/kdf/afsplit.h"

#include <string.h>

#include "crypto/base/random.h"
#include "util/base/endian.h"
#include "util/base/secbuf.h"

static void xor_into(uint8_t *to, const uint8_t *from, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        to[i] ^= from[i];
    }
}

void afsplit_diffuse(HashAlg hash, uint8_t *block, size_t len)
{
    size_t digest_len = hash_bytes(hash);
    uint8_t piece[4 + HASH_MAX_BYTES], digest[HASH_MAX_BYTES];

    for (size_t start = 0, j = 0; start < len; start += digest_len, j++) {
        size_t n = MIN(digest_len, len - start);

        store_be32(piece, j);
        memcpy(piece + 4, block + start, n);
        hash_compute(hash, piece, 4 + n, digest);
        memcpy(block + start, digest, n);
    }
    mem_wipe(piece, sizeof(piece));
    mem_wipe(digest, sizeof(digest));
}

/* d of the sheet: the mixed sum of all stripes but the last. */
static void mix_stripes(HashAlg hash, const uint8_t *in, size_t key_len, size_t stripes, uint8_t *d)
{
    memset(d, 0, key_len);
    for (size_t i = 0; i + 1 < stripes; i++) {
        xor_into(d, in + i * key_len, key_len);
        afsplit_diffuse(hash, d, key_len);
    }
}

bool afsplit_split(HashAlg hash, const uint8_t *key, size_t key_len, size_t stripes, uint8_t *out, GError **errp)
{
    uint8_t *last = out + (stripes - 1) * key_len;

    g_assert(key_len <= AFSPLIT_MAX_KEY_BYTES && stripes >= 1);
    if (!random_bytes(out, (stripes - 1) * key_len, errp)) {
        return false;
    }
    mix_stripes(hash, out, key_len, stripes, last);
    xor_into(last, key, key_len);
    return true;
}

void afsplit_merge(HashAlg hash, const uint8_t *in, size_t key_len, size_t stripes, uint8_t *key)
{
    g_assert(key_len <= AFSPLIT_MAX_KEY_BYTES && stripes >= 1);
    mix_stripes(hash, in, key_len, stripes, key);
    xor_into(key, in + (stripes - 1) * key_len, key_len);
}
