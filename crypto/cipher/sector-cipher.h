/* SPDX-License-Identifier: MIT */
/* SectorCipher: the unit of disk encryption - a keyed cipher, an IV rule and scratch for a batch of IVs, for one user
 * at a time. A run takes no lock, allocates nothing and schedules no key. */
#ifndef QBLOCK_CRYPTO_SECTOR_CIPHER_H
#define QBLOCK_CRYPTO_SECTOR_CIPHER_H

#include <glib.h>
#include <stdint.h>

#include "crypto/cipher/cipher.h"
#include "crypto/cipher/ivgen.h"

#define SECTOR_CIPHER_IV_UNIT 512 /* IV numbers count this many bytes whatever the sector size */

/* What is encrypted how; plain data. */
typedef struct SectorCipherSpec {
    CipherAlg cipher;
    CipherMode mode;
    IvGenAlg ivgen;
    HashAlg ivgen_hash; /* essiv only */
    size_t sector_bytes; /* multiple of SECTOR_CIPHER_IV_UNIT */
} SectorCipherSpec;

typedef struct SectorCipher SectorCipher;

SectorCipher *sector_cipher_new(const SectorCipherSpec *spec, const uint8_t *key, size_t key_len, GError **errp);
void sector_cipher_free(SectorCipher *sc); /* wipes; NULL allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SectorCipher, sector_cipher_free)

/* True when sector_cipher_new() would work with a good key. */
bool sector_cipher_check(const SectorCipherSpec *spec, GError **errp);

/* @bytes: multiple of the sector size; the first sector has IV number @first_iv. In place or disjoint. 0 or -EIO. */
int sector_cipher_encrypt(SectorCipher *sc, uint64_t first_iv, const uint8_t *in, uint8_t *out, size_t bytes);
int sector_cipher_decrypt(SectorCipher *sc, uint64_t first_iv, const uint8_t *in, uint8_t *out, size_t bytes);

const char *sector_cipher_row(const SectorCipher *sc); /* name of the cipher row */

#endif
