/* SPDX-License-Identifier: MIT */
/* CipherSlots: sector ciphers of one key, lent to whichever thread runs a job.
 *
 * They are made on demand and kept for the next borrower; the exchange is lock-free. Owns the key. */
#ifndef QBLOCK_CRYPTO_CIPHER_SLOTS_H
#define QBLOCK_CRYPTO_CIPHER_SLOTS_H

#include "crypto/cipher/sector-cipher.h"
#include "util/base/secbuf.h"

typedef struct CipherSlots CipherSlots;

/* Takes a copy of @key. Makes the first cipher, so that a bad key or combination is an error here. */
CipherSlots *cipher_slots_new(const SectorCipherSpec *spec, const SecBuf *key, GError **errp);
void cipher_slots_free(CipherSlots *s); /* nothing may be lent; NULL allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CipherSlots, cipher_slots_free)

/* Borrow a sector cipher for one run and give it back, on the same thread or another. NULL: the cipher library
 * refused to make one more. Context: any, several threads at once. */
SectorCipher *cipher_slots_get(CipherSlots *s);
void cipher_slots_put(CipherSlots *s, SectorCipher *sc);

const SectorCipherSpec *cipher_slots_spec(const CipherSlots *s);
const SecBuf *cipher_slots_key(const CipherSlots *s); /* borrowed */

#endif
