/* SPDX-License-Identifier: MIT */
/* plain and plain64: the sector number itself, little-endian, in 32 or 64 bits. */
#include "crypto/cipher/ivgen-int.h"

#include "util/base/endian.h"

/* One store for both halves: a cipher row that reads the IV at once gets it from the store, instead of waiting until
 * two stores have reached the cache. */
static void store_iv(uint8_t *iv, uint64_t number)
{
    typedef uint64_t Halves __attribute__((vector_size(CIPHER_IV_BYTES)));
    Halves halves = {htole64(number), 0};

    memcpy(iv, &halves, sizeof(halves));
}

static int plain64_fill(void *state, uint64_t first, unsigned step, size_t count, uint8_t *ivs)
{
    for (size_t i = 0; i < count; i++) {
        store_iv(ivs + i * CIPHER_IV_BYTES, first + i * step);
    }
    return 0;
}

static int plain_fill(void *state, uint64_t first, unsigned step, size_t count, uint8_t *ivs)
{
    for (size_t i = 0; i < count; i++) {
        store_iv(ivs + i * CIPHER_IV_BYTES, (uint32_t)(first + i * step));
    }
    return 0;
}

const IvGenRule ivgen_rule_plain = {.name = "plain", .fill = plain_fill};
const IvGenRule ivgen_rule_plain64 = {.name = "plain64", .fill = plain64_fill};
