/* SPDX-License-Identifier: MIT */
/* Opening and making encrypted volumes: the one table of formats. Legacy AES of qcow2, LUKS1, LUKS2. */
#ifndef QBLOCK_CRYPTO_BLOCK_OPEN_H
#define QBLOCK_CRYPTO_BLOCK_OPEN_H

#include "crypto/volume/block.h"

/* Open. @options has "key-secret"; taken keys are removed. @prefix ("encrypt." or "") is for error texts only.
 * @area_bytes: what the header may not exceed (file or header-area length).
 * NULL: QB_ERROR_PASSPHRASE "Invalid password, cannot unlock any keyslot"; texts of the LUKS sheet section 5.
 * Context: any but worker; blocks for the key derivation. */
CryptoBlock *crypto_block_open(CryptoFormat format, OptDict *options, const char *prefix, const CryptoIo *io,
                               uint64_t area_bytes, unsigned flags, GError **errp);

/* Create a new header with one key slot and open it. @options: the create options without prefix (key-secret,
 * cipher-alg, ...); taken keys are removed. With detached-header=on the payload is at the start of another file. */
CryptoBlock *crypto_block_create(CryptoFormat format, OptDict *options, const char *prefix, const CryptoIo *io,
                                 GError **errp);

/* Bytes of header (payload offset) that creating with @options would need; no I/O. False on bad options. */
bool crypto_block_measure(CryptoFormat format, const OptDict *options, const char *prefix, uint64_t *header_bytes,
                          GError **errp);

#endif
