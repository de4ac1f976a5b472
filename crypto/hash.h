/* SPDX-License-Identifier: MIT */
/* Hashes, HMAC and the random source. Context: any. */
#ifndef QBLOCK_CRYPTO_HASH_H
#define QBLOCK_CRYPTO_HASH_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum HashAlg { HASH_MD5, HASH_SHA1, HASH_SHA224, HASH_SHA256, HASH_SHA384, HASH_SHA512, HASH_RIPEMD160, HASH_COUNT } HashAlg;
#define HASH_MAX_BYTES 64

const char *hash_name(HashAlg alg);                /* "sha256" */
bool hash_from_name(const char *name, HashAlg *alg); /* false if unknown */
bool hash_supported(HashAlg alg);                  /* has a working row */
size_t hash_bytes(HashAlg alg);                    /* digest length */

/* Digest of @len bytes into @out (hash_bytes()). */
bool hash_compute(HashAlg alg, const void *data, size_t len, uint8_t *out, GError **errp);
bool hmac_compute(HashAlg alg, const void *key, size_t key_len, const void *data, size_t len, uint8_t *out, GError **errp);

/* The only random source. */
bool random_bytes(void *buf, size_t len, GError **errp);

#endif
