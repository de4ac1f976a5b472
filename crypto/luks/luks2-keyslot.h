/* SPDX-License-Identifier: MIT */
/* LUKS2 key slots: seal the volume key under a password, open it again, wipe it (LUKS sheet section 10, "Keys").
 * Sealing and opening take the time and memory of the slot's key derivation. Context: any but worker; blocks. */
#ifndef QBLOCK_CRYPTO_LUKS2_KEYSLOT_H
#define QBLOCK_CRYPTO_LUKS2_KEYSLOT_H

#include "crypto/volume/block.h"
#include "crypto/luks/luks2-meta.h"
#include "util/base/secbuf.h"

/* Try one usable slot. True with *@key set when it opens, true with *@key NULL when the password is another one, false
 * with errp when the slot cannot be read or tried. Caller frees *@key. */
bool luks2_keyslot_try(const Luks2Keyslot *slot, const Luks2Digest *digest, const SecBuf *password, const CryptoIo *io,
                       SecBuf **key, GError **errp);

/* Try the slots of the volume, preferred ones first; those of priority "ignore" are for who asks for them by id.
 * *@slot (may be NULL) is the one that opened, borrowed.
 * NULL: QB_ERROR_PASSPHRASE "Invalid password, cannot unlock any keyslot", with the reason behind it when some slot
 * could not be tried; QB_ERROR_UNSUPPORTED when none could; what kept a slot from being read. */
SecBuf *luks2_keyslot_find(const Luks2Meta *m, const Luks2Volume *v, const SecBuf *password, const CryptoIo *io,
                           const Luks2Keyslot **slot, GError **errp);

/* An id that no slot has. False: "Can't add a keyslot - all keyslots are in use". */
bool luks2_keyslot_free_id(const Luks2Meta *m, unsigned *id, GError **errp);

/* Room for the key material of a @key_bytes volume key: fills key_bytes, area.offset, area.bytes. False: none is
 * left. */
bool luks2_keyslot_place(const Luks2Meta *m, const Luks2Header *h, uint32_t key_bytes, Luks2Keyslot *slot,
                         GError **errp);

/* Write the key material of a slot that is filled but for that. The header that names it is the caller's to store,
 * after. */
bool luks2_keyslot_seal(const Luks2Keyslot *slot, const SecBuf *password, const SecBuf *key, const CryptoIo *io,
                        GError **errp);

/* Overwrite the area of a slot with noise and make that stable. The header that no longer names it is stored before. */
bool luks2_keyslot_wipe(const Luks2Keyslot *slot, const CryptoIo *io, GError **errp);

/* The digest that proves a volume key: d->digest_bytes, by its hash, salt and iterations. */
void luks2_digest_compute(const Luks2Digest *d, const SecBuf *key, uint8_t out[static HASH_MAX_BYTES]);

#endif
