/* SPDX-License-Identifier: MIT */
/* Key slots: seal the master key under a password, open it again (LUKS sheet section 3). All of it takes the time the
 * iteration counts ask for. Context: any but worker; blocks. */
#ifndef QBLOCK_CRYPTO_LUKS_KEYSLOT_H
#define QBLOCK_CRYPTO_LUKS_KEYSLOT_H

#include "crypto/volume/block.h"
#include "crypto/luks/luks-header.h"
#include "crypto/luks/luks-names.h"
#include "util/base/secbuf.h"

/* Try active slot @i. True with *@key set when it opens, true with *@key NULL when the password is another one, false
 * with errp when the slot cannot be read or tried. Caller frees *@key. */
bool luks_keyslot_try(const LuksHeader *h, const LuksAlgs *algs, size_t i, const SecBuf *password, const CryptoIo *io,
                      SecBuf **key, GError **errp);

/* Try all active slots in order; *@slot (may be NULL) is the one that opened.
 * NULL: QB_ERROR_PASSPHRASE "Invalid password, cannot unlock any keyslot", or what kept a slot from being read. */
SecBuf *luks_keyslot_find(const LuksHeader *h, const LuksAlgs *algs, const SecBuf *password, const CryptoIo *io,
                          size_t *slot, GError **errp);

/* Write the key material of slot @i and mark it active in @h (salt, iterations); the header itself is the caller's to
 * write, afterwards. */
bool luks_keyslot_seal(LuksHeader *h, const LuksAlgs *algs, size_t i, const SecBuf *password, const SecBuf *key,
                       uint32_t iterations, const CryptoIo *io, GError **errp);

/* The digest that proves a master key, by the salt and iterations of @h. */
void luks_key_digest(const LuksHeader *h, const LuksAlgs *algs, const SecBuf *key,
                     uint8_t digest[static LUKS_DIGEST_BYTES]);

#endif
