/* SPDX-License-Identifier: MIT */
/* Hashes: one table of algorithms, whole-message digests. Context: any; pure. */
#ifndef QBLOCK_CRYPTO_HASH_H
#define QBLOCK_CRYPTO_HASH_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "crypto/base/random.h"

typedef enum HashAlg {
    HASH_MD5,
    HASH_SHA1,
    HASH_SHA224,
    HASH_SHA256,
    HASH_SHA384,
    HASH_SHA512,
    HASH_RIPEMD160,
    HASH_SM3, /* only where nettle has it */
    HASH_COUNT
} HashAlg;
#define HASH_MAX_BYTES 64
#define HASH_MAX_BLOCK_BYTES 128

const char *hash_name(HashAlg alg);                  /* "sha256" */
bool hash_from_name(const char *name, HashAlg *alg); /* case sensitive; false if unknown or not in this build */
bool hash_supported(HashAlg alg);                    /* in this build */
size_t hash_bytes(HashAlg alg);                      /* digest length */
size_t hash_block_bytes(HashAlg alg);                /* length of the blocks it works on; <= HASH_MAX_BLOCK_BYTES */

/* Digest of @len bytes into @out (hash_bytes()); cannot fail for an algorithm that is supported. */
void hash_compute(HashAlg alg, const void *data, size_t len, uint8_t *out);

/* Every hash against a known answer, every row of it; false names the wrong one. For crypto_init(). */
bool hash_self_test(GError **errp);

#endif
