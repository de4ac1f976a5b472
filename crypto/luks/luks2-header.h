/* SPDX-License-Identifier: MIT */
/* The binary header of a LUKS2 copy: decode, verify, encode. Pure; no I/O, no key, no JSON. Context: any. */
#ifndef QBLOCK_CRYPTO_LUKS2_HEADER_H
#define QBLOCK_CRYPTO_LUKS2_HEADER_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "crypto/hash/hash.h"
#include "crypto/luks/luks2-format.h"

typedef struct Luks2Header {
    uint64_t copy_bytes; /* of one copy: binary header and JSON area */
    uint64_t seqid;      /* one more with each update */
    HashAlg checksum;
    char label[LUKS2_LABEL_BYTES + 1]; /* may hold anything */
    char subsystem[LUKS2_LABEL_BYTES + 1];
    char uuid[LUKS_UUID_BYTES + 1];
} Luks2Header;

bool luks2_header_size_valid(uint64_t copy_bytes);

/* Decode the first LUKS2_BINARY_BYTES of copy @copy (0, 1), found at @offset bytes, without the checksum. Errors:
 * QB_ERROR_CORRUPT, QB_ERROR_UNSUPPORTED for a version or checksum algorithm. */
bool luks2_header_decode(const uint8_t buf[static LUKS2_BINARY_BYTES], unsigned copy, uint64_t offset, Luks2Header *h,
                         GError **errp);

/* Verify the checksum over all of a copy and that its JSON area ends in zeros. @area has h->copy_bytes; it is changed
 * meanwhile and restored. */
bool luks2_header_verify(uint8_t *area, const Luks2Header *h, GError **errp);

/* Write copy @copy with its JSON text and checksum to @area (h->copy_bytes). @salt makes the checksum unique.
 * False: the text does not fit. */
bool luks2_header_encode(const Luks2Header *h, unsigned copy, const uint8_t salt[static LUKS2_HEADER_SALT_BYTES],
                         const char *json, uint8_t *area, GError **errp);

/* Where copy @copy begins. */
static inline uint64_t luks2_header_offset(const Luks2Header *h, unsigned copy)
{
    return copy * h->copy_bytes;
}

/* Where the areas of the key slots begin: behind both copies. */
static inline uint64_t luks2_header_end(const Luks2Header *h)
{
    return LUKS2_COPIES * h->copy_bytes;
}

#endif
