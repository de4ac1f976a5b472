/* SPDX-License-Identifier: MIT */
/* What a row of the cipher table provides; for crypto/cipher*.c only. */
#ifndef QBLOCK_CRYPTO_CIPHER_INT_H
#define QBLOCK_CRYPTO_CIPHER_INT_H

#include "crypto/cipher/cipher.h"

/* Encrypt or decrypt a run; arguments as cipher_encrypt_sectors(). */
typedef int CipherRunFunc(void *ctx, uint8_t *ivs, size_t sector_bytes, size_t count, const uint8_t *in, uint8_t *out);

typedef struct CipherDriver {
    const char *name;
    bool (*available)(void); /* this CPU and library; NULL = always */
    bool (*supports)(CipherAlg alg, CipherMode mode);
    /* @key_len is cipher_key_bytes(). NULL with errp when the library refuses. */
    void *(*ctx_new)(CipherAlg alg, CipherMode mode, const uint8_t *key, size_t key_len, GError **errp);
    void (*ctx_free)(void *ctx); /* wipes the key schedule */
    CipherRunFunc *encrypt, *decrypt;
} CipherDriver;

extern const CipherDriver cipher_driver_gnutls, cipher_driver_nettle, cipher_driver_afalg;

/* True when @driver gives the known answers of @alg's family in @mode, all key sizes it supports. Context: any; pure.
 * */
bool cipher_driver_self_test(const CipherDriver *driver, CipherAlg alg, CipherMode mode, GError **errp);

#endif
