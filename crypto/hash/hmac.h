/* SPDX-License-Identifier: MIT */
/* HMAC (RFC 2104) with the padded key hashed once, so that each further message costs only its own blocks. */
#ifndef QBLOCK_CRYPTO_HMAC_H
#define QBLOCK_CRYPTO_HMAC_H

#include <glib.h>
#include <stddef.h>
#include <stdint.h>

#include "crypto/hash/hash.h"

/* A keyed HMAC; fixed after hmac_key_new(), so several threads may use one at once. */
typedef struct HmacKey HmacKey;

HmacKey *hmac_key_new(HashAlg alg, const void *key, size_t key_len);
void hmac_key_free(HmacKey *k); /* wipes; NULL allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HmacKey, hmac_key_free)

/* HMAC of @a followed by @b (either may be empty) into @out, hash_bytes() long. */
void hmac_key_digest(const HmacKey *k, const void *a, size_t a_len, const void *b, size_t b_len, uint8_t *out);

/* The inner loop of PBKDF2: @count times u = HMAC(u), acc ^= u; both are hash_bytes() long. */
void hmac_key_chain(const HmacKey *k, uint8_t *u, uint8_t *acc, uint64_t count);

/* As hmac_key_chain(), always by the portable row: what other tools on this machine are likely to need for it. */
void hmac_key_chain_portable(const HmacKey *k, uint8_t *u, uint8_t *acc, uint64_t count);

/* Every accelerated chain against the portable one. For crypto_init(). */
bool hmac_self_test(GError **errp);

#endif
