/* SPDX-License-Identifier: MIT */
/* What an IV rule provides; for crypto/ivgen*.c only. */
#ifndef QBLOCK_CRYPTO_IVGEN_INT_H
#define QBLOCK_CRYPTO_IVGEN_INT_H

#include "crypto/cipher/ivgen.h"

typedef struct IvGenRule {
    const char *name;
    bool needs_hash;
    bool (*check)(CipherAlg cipher, HashAlg hash, GError **errp); /* NULL = everything goes */
    /* A keyed state; NULL callback = the rule has none. */
    void *(*state_new)(CipherAlg cipher, HashAlg hash, const uint8_t *key, size_t key_len, GError **errp);
    void (*state_free)(void *state);
    int (*fill)(void *state, uint64_t first, unsigned step, size_t count, uint8_t *ivs);
} IvGenRule;

extern const IvGenRule ivgen_rule_plain, ivgen_rule_plain64, ivgen_rule_essiv;

#endif
