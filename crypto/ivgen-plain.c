/* SPDX-License-Identifier: MIT */
/* plain and plain64: the sector number itself, little-endian, in 32 or 64 bits. */
#include "crypto/ivgen-int.h"

#include "util/endian.h"

static int plain64_fill(void *state, uint64_t first, unsigned step, size_t count, uint8_t *ivs)
{
    for (size_t i = 0; i < count; i++) {
        store_le64(ivs + i * CIPHER_IV_BYTES, first + i * step);
        store_le64(ivs + i * CIPHER_IV_BYTES + 8, 0);
    }
    return 0;
}

static int plain_fill(void *state, uint64_t first, unsigned step, size_t count, uint8_t *ivs)
{
    for (size_t i = 0; i < count; i++) {
        store_le64(ivs + i * CIPHER_IV_BYTES, (uint32_t)(first + i * step));
        store_le64(ivs + i * CIPHER_IV_BYTES + 8, 0);
    }
    return 0;
}

const IvGenRule ivgen_rule_plain = {.name = "plain", .fill = plain_fill};
const IvGenRule ivgen_rule_plain64 = {.name = "plain64", .fill = plain64_fill};
