/* SPDX-License-Identifier: MIT */
/* LUKS names to table rows and back: "aes" + "xts-plain64" + 64 key bytes is AES-256, XTS, plain64 (LUKS sheet
 * section 3). Pure. Context: any. */
#ifndef QBLOCK_CRYPTO_LUKS_NAMES_H
#define QBLOCK_CRYPTO_LUKS_NAMES_H

#include <glib.h>
#include <stdbool.h>

#include "crypto/luks/luks-header.h"
#include "crypto/cipher/sector-cipher.h"

/* The algorithms of a volume. */
typedef struct LuksAlgs {
    SectorCipherSpec sector;
    bool has_ivgen_hash; /* stored in the mode text; used by essiv, ignored by the plain rules */
    HashAlg hash;        /* of key derivation and the splitter */
} LuksAlgs;

/* What the header's names mean and whether this build does it. Errors name the thing: "Cipher mode 'x' not supported",
 * "IV generator 'x' not supported", "Hash algorithm 'x' not supported", ... */
bool luks_names_parse(const LuksHeader *h, LuksAlgs *algs, GError **errp);

/* The cipher alone: name, mode text and key size to @algs->sector, has_ivgen_hash. @sector_bytes as SectorCipherSpec
 * has it. */
bool luks_names_parse_cipher(const char *cipher_name, const char *cipher_mode, uint32_t key_bytes, size_t sector_bytes,
                             LuksAlgs *algs, GError **errp);

/* Fill the three name fields of @h. "Cipher name '%s' is too long for LUKS header". */
bool luks_names_store(const LuksAlgs *algs, LuksHeader *h, GError **errp);

#endif
