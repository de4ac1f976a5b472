/* SPDX-License-Identifier: MIT */
/* The encryption of an image: opens or makes the LUKS header inside the file, or the headerless legacy AES.
 *
 * Source: qcow2 sheet section 12. The header area is found by the extension of section 4 and lies in refcounted
 * clusters; only metadata sees it. */
#ifndef QBLOCK_BLOCK_QCOW2_CRYPTO_H
#define QBLOCK_BLOCK_QCOW2_CRYPTO_H

#include "block/qcow2/state/qcow2-int.h"

/* Open what the header names into s->crypt, taking "encrypt.*" out of @options; without encryption only checks those.
 * @flags: BLOCK_OPEN_*; with NO_IO no key is asked for. Context: coroutine (open). */
bool coroutine_fn qcow2_crypto_open(Qcow2State *s, OptDict *options, unsigned flags, GError **errp);

/* Encrypt a new, empty image: allocates and fills the header area, then writes the image header. @format:
 * CRYPTO_FORMAT_*. @options: create options without "encrypt."; taken keys are removed. Context: coroutine, no
 * lock held. */
bool coroutine_fn qcow2_crypto_create(Qcow2State *s, CryptoFormat format, OptDict *options, GError **errp);

/* Amend: key slots of the LUKS header, crypto_block_amend(). @options: "encrypt.*" only. Context: coroutine, no lock
 * held. */
bool coroutine_fn qcow2_amend(BlockNode *node, OptDict *options, bool force, GError **errp);
extern const OptDesc qcow2_amend_opts[];

/* "aes" or "luks"; false on any other. Context: any. */
bool qcow2_crypto_format_from_name(const char *name, CryptoFormat *format);
const char *qcow2_crypto_method_name(uint32_t crypt_method); /* NULL for none */

void qcow2_crypto_close(Qcow2State *s);

#endif
