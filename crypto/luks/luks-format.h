/* SPDX-License-Identifier: MIT */
/* LUKS1 on disk: offsets, sizes and constants (LUKS sheet sections 1 and 2). All integers are big-endian. */
#ifndef QBLOCK_CRYPTO_LUKS_FORMAT_H
#define QBLOCK_CRYPTO_LUKS_FORMAT_H

#define LUKS_MAGIC "LUKS\xba\xbe"
#define LUKS_MAGIC_BYTES 6
#define LUKS_VERSION_1 1

#define LUKS_SECTOR_BYTES 512
#define LUKS_NAME_BYTES 32 /* cipher name, cipher mode, hash spec: NUL-padded, NUL-terminated */
#define LUKS_DIGEST_BYTES 20
#define LUKS_SALT_BYTES 32
#define LUKS_UUID_BYTES 40
#define LUKS_SLOTS 8
#define LUKS_SLOT_BYTES 48
#define LUKS_STRIPES 4000
#define LUKS_SLOT_ENABLED 0x00AC71F3u
#define LUKS_SLOT_DISABLED 0x0000DEADu
#define LUKS_HEADER_BYTES 592
#define LUKS_HEADER_AREA_BYTES 4096 /* kept for the header; zero behind its end */
#define LUKS_HEADER_AREA_SECTORS (LUKS_HEADER_AREA_BYTES / LUKS_SECTOR_BYTES)
#define LUKS_SLOT_ALIGN_SECTORS 8
#define LUKS_MAX_KEY_BYTES 1024 /* our limit, before anything is multiplied by LUKS_STRIPES */

/* Offsets in the header. */
enum {
    LUKS_OFF_MAGIC = 0,
    LUKS_OFF_VERSION = 6,
    LUKS_OFF_CIPHER_NAME = 8,
    LUKS_OFF_CIPHER_MODE = 40,
    LUKS_OFF_HASH_SPEC = 72,
    LUKS_OFF_PAYLOAD = 104,
    LUKS_OFF_KEY_BYTES = 108,
    LUKS_OFF_DIGEST = 112,
    LUKS_OFF_DIGEST_SALT = 132,
    LUKS_OFF_DIGEST_ITERATIONS = 164,
    LUKS_OFF_UUID = 168,
    LUKS_OFF_SLOTS = 208,
};

/* Offsets in a key slot. */
enum {
    LUKS_SLOT_OFF_STATE = 0,
    LUKS_SLOT_OFF_ITERATIONS = 4,
    LUKS_SLOT_OFF_SALT = 8,
    LUKS_SLOT_OFF_MATERIAL = 40,
    LUKS_SLOT_OFF_STRIPES = 44,
};

#endif
