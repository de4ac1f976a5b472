/* SPDX-License-Identifier: MIT */
/* IV rules of disk encryption: sector numbers to initialisation vectors (LUKS sheet section 3). */
#ifndef QBLOCK_CRYPTO_IVGEN_H
#define QBLOCK_CRYPTO_IVGEN_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "crypto/cipher/cipher.h"
#include "crypto/hash/hash.h"

typedef enum IvGenAlg { IVGEN_PLAIN, IVGEN_PLAIN64, IVGEN_ESSIV, IVGEN_COUNT } IvGenAlg;

const char *ivgen_name(IvGenAlg alg); /* "plain64" */
bool ivgen_from_name(const char *name, IvGenAlg *alg);
bool ivgen_needs_hash(IvGenAlg alg); /* essiv */

/* One generator is used by one thread at a time. */
typedef struct IvGen IvGen;

/* @cipher, @key: those of the volume, @hash: of essiv; plain rules ignore all three.
 * Errors: "No AES cipher with key size 20 available", "Cipher cast5-128 not supported with essiv". */
IvGen *ivgen_new(IvGenAlg alg, CipherAlg cipher, HashAlg hash, const uint8_t *key, size_t key_len, GError **errp);
void ivgen_free(IvGen *g); /* wipes; NULL allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IvGen, ivgen_free)

/* True when ivgen_new() would work with these (no key needed). */
bool ivgen_check(IvGenAlg alg, CipherAlg cipher, HashAlg hash, GError **errp);

/* IVs of @count sectors: numbers @first, @first + @step, ... CIPHER_IV_BYTES each. 0 or -EIO. Context: any. */
int ivgen_fill(IvGen *g, uint64_t first, unsigned step, size_t count, uint8_t *ivs);

#endif
