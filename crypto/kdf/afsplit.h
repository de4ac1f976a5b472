/* SPDX-License-Identifier: MIT */
/* The anti-forensic splitter of LUKS (LUKS sheet section 3): a key spread over stripes, all of which are needed to
 * get it back. Context: any; pure but for the random source. */
#ifndef QBLOCK_CRYPTO_AFSPLIT_H
#define QBLOCK_CRYPTO_AFSPLIT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "crypto/hash/hash.h"

#define AFSPLIT_MAX_KEY_BYTES 1024

/* Spread @key over @stripes pieces of @key_len bytes (<= AFSPLIT_MAX_KEY_BYTES); @out has stripes * key_len bytes.
 * False when there is no randomness. */
bool afsplit_split(HashAlg hash, const uint8_t *key, size_t key_len, size_t stripes, uint8_t *out, GError **errp);

/* The inverse; anything is merged into something. */
void afsplit_merge(HashAlg hash, const uint8_t *in, size_t key_len, size_t stripes, uint8_t *key);

/* The mixing step, in place; for tests. */
void afsplit_diffuse(HashAlg hash, uint8_t *block, size_t len);

#endif
