/* SPDX-License-Identifier: MIT */
/* LUKS2 on disk: offsets, sizes and limits (LUKS sheet section 10). All integers are big-endian. */
#ifndef QBLOCK_CRYPTO_LUKS2_FORMAT_H
#define QBLOCK_CRYPTO_LUKS2_FORMAT_H

#include "crypto/luks/luks-format.h"

#define LUKS2_MAGIC_SECOND "SKUL\xba\xbe" /* the first copy has LUKS_MAGIC */
#define LUKS_VERSION_2 2

#define LUKS2_COPIES 2
#define LUKS2_BINARY_BYTES 4096 /* of each copy; its JSON area follows */
#define LUKS2_LABEL_BYTES 48
#define LUKS2_CHECKSUM_NAME_BYTES 32
#define LUKS2_HEADER_SALT_BYTES 64
#define LUKS2_CHECKSUM_BYTES 64

/* A copy has LUKS2_MIN_COPY_BYTES << (0 .. LUKS2_COPY_SIZES - 1) bytes. */
#define LUKS2_MIN_COPY_BYTES 16384
#define LUKS2_COPY_SIZES 9
#define LUKS2_MAX_COPY_BYTES (LUKS2_MIN_COPY_BYTES << (LUKS2_COPY_SIZES - 1))

/* Offsets in a copy. */
enum {
    LUKS2_OFF_MAGIC = 0,
    LUKS2_OFF_VERSION = 6,
    LUKS2_OFF_COPY_BYTES = 8,
    LUKS2_OFF_SEQID = 16,
    LUKS2_OFF_LABEL = 24,
    LUKS2_OFF_CHECKSUM_NAME = 72,
    LUKS2_OFF_SALT = 104,
    LUKS2_OFF_UUID = 168,
    LUKS2_OFF_SUBSYSTEM = 208,
    LUKS2_OFF_OWN_OFFSET = 256,
    LUKS2_OFF_CHECKSUM = 448,
    LUKS2_OFF_JSON = 4096,
};

/* Of the metadata. */
#define LUKS2_MAX_IDS 32 /* of each kind of object; ids are 0 .. 31 */
#define LUKS2_MAX_DIGESTS 8
#define LUKS2_AREA_ALIGN 4096
#define LUKS2_MAX_KEYSLOTS_BYTES (128u << 20)
#define LUKS2_SALT_BYTES 32 /* of new volumes */
#define LUKS2_MAX_SALT_BYTES 64
#define LUKS2_MAX_SECTOR_BYTES 4096
#define LUKS2_DEFAULT_DATA_OFFSET (16u << 20)

/* Our limits on what a header may ask of the machine. The cost of argon2 is passes times KiB; 2^31 of them take about
 * half an hour, as long as the largest PBKDF2 count. */
#define LUKS2_MAX_JSON_DEPTH 32
#define LUKS2_MAX_JSON_VALUES 65536
#define LUKS2_MAX_ARGON2_KIB (4u << 20)
#define LUKS2_MAX_ARGON2_LANES 64
#define LUKS2_MAX_ARGON2_COST (UINT64_C(1) << 31)

#endif
