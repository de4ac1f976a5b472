/* SPDX-License-Identifier: MIT */
/* The LUKS1 header as a plain struct: decode, validate, encode. Pure; no I/O, no key. Context: any. */
#ifndef QBLOCK_CRYPTO_LUKS_HEADER_H
#define QBLOCK_CRYPTO_LUKS_HEADER_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "crypto/luks/luks-format.h"

typedef struct LuksSlot {
    bool active;
    uint32_t iterations;
    uint8_t salt[LUKS_SALT_BYTES];
    uint32_t material_sector; /* of 512 bytes, from the start of the header */
    uint32_t stripes;
} LuksSlot;

typedef struct LuksHeader {
    char cipher_name[LUKS_NAME_BYTES]; /* these three are NUL-terminated */
    char cipher_mode[LUKS_NAME_BYTES];
    char hash_spec[LUKS_NAME_BYTES];
    uint32_t payload_sector; /* 0: the payload is in another file */
    uint32_t key_bytes;      /* of the master key; 1 .. LUKS_MAX_KEY_BYTES */
    uint8_t digest[LUKS_DIGEST_BYTES];
    uint8_t digest_salt[LUKS_SALT_BYTES];
    uint32_t digest_iterations;
    char uuid[LUKS_UUID_BYTES + 1];
    LuksSlot slots[LUKS_SLOTS];
} LuksHeader;

/* True when @buf starts with the magic; *@version is set then. */
bool luks_header_probe(const uint8_t *buf, size_t len, unsigned *version);

/* Decode and check every rule of LUKS sheet section 5 that needs no knowledge of ciphers. @area_bytes: what the key
 * material and the payload offset must lie in. Errors: QB_ERROR_CORRUPT, or QB_ERROR_UNSUPPORTED for a version. */
bool luks_header_decode(const uint8_t buf[static LUKS_HEADER_BYTES], uint64_t area_bytes, LuksHeader *h, GError **errp);

/* @h must be one that decoding would accept. */
void luks_header_encode(const LuksHeader *h, uint8_t buf[static LUKS_HEADER_BYTES]);

/* Geometry, LUKS sheet section 2. */
uint32_t luks_material_bytes(uint32_t key_bytes);   /* key_bytes * LUKS_STRIPES, in whole sectors */
uint32_t luks_slot_spacing(uint32_t key_bytes);     /* sectors from one slot's material to the next */
uint32_t luks_payload_sector(uint32_t key_bytes);   /* first sector behind all slots */

/* An empty header of that key size: all slots disabled, material and payload placed by the rules. Names, salts,
 * digest and UUID are zero. */
void luks_header_init(LuksHeader *h, uint32_t key_bytes);

#endif
