/* SPDX-License-Identifier: MIT */
/* Ciphers: a driver table whose rows encrypt runs of sectors with one key.
 *
 * A Cipher is keyed once and used by one thread at a time. Rows: gnutls (default), nettle for what gnutls lacks, vector AES
 * where the CPU has it. QBLOCK_CIPHER=<row> forces a row where it supports the algorithm. */
#ifndef QBLOCK_CRYPTO_CIPHER_H
#define QBLOCK_CRYPTO_CIPHER_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum CipherAlg {
    CIPHER_AES_128, CIPHER_AES_192, CIPHER_AES_256,
    CIPHER_SERPENT_128, CIPHER_SERPENT_192, CIPHER_SERPENT_256,
    CIPHER_TWOFISH_128, CIPHER_TWOFISH_192, CIPHER_TWOFISH_256,
    CIPHER_CAST5_128, CIPHER_3DES, CIPHER_DES,
    CIPHER_COUNT
} CipherAlg;
typedef enum CipherMode { CIPHER_ECB, CIPHER_CBC, CIPHER_XTS, CIPHER_CTR, CIPHER_MODE_COUNT } CipherMode;
#define CIPHER_IV_BYTES 16 /* stride of IV arrays; an 8-byte-block cipher uses the first 8 of each */

const char *cipher_alg_name(CipherAlg alg); /* "aes-256" */
bool cipher_alg_from_name(const char *name, CipherAlg *alg);
const char *cipher_mode_name(CipherMode mode); /* "xts" */
bool cipher_mode_from_name(const char *name, CipherMode *mode);
size_t cipher_key_bytes(CipherAlg alg, CipherMode mode); /* doubled for xts */
size_t cipher_block_bytes(CipherAlg alg);
bool cipher_supported(CipherAlg alg, CipherMode mode);   /* some row does it */

/* One run: @count sectors of @sector_bytes each, consecutive in @in and @out, IV of sector i at ivs + 16 * i (ignored by
 * ecb). In place (in == out) or disjoint; any alignment; sector_bytes a multiple of the cipher block. */
typedef struct CipherDriver {
    const char *name;
    bool (*available)(void);                              /* this CPU and library */
    bool (*supports)(CipherAlg alg, CipherMode mode);
    void *(*ctx_new)(CipherAlg alg, CipherMode mode, const uint8_t *key, size_t key_len, GError **errp);
    void (*ctx_free)(void *ctx);                          /* wipes the key schedule */
    int (*encrypt)(void *ctx, const uint8_t *ivs, size_t sector_bytes, size_t count, const uint8_t *in, uint8_t *out);
    int (*decrypt)(void *ctx, const uint8_t *ivs, size_t sector_bytes, size_t count, const uint8_t *in, uint8_t *out);
} CipherDriver;

typedef struct Cipher Cipher;
/* Keyed handle from the best row. Errors name algorithm, mode and key size. */
Cipher *cipher_new(CipherAlg alg, CipherMode mode, const uint8_t *key, size_t key_len, GError **errp);
void cipher_free(Cipher *c);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Cipher, cipher_free)
const char *cipher_row(const Cipher *c); /* the driver row's name */
/* 0 or -EIO (library failure, a bug). Context: any, one thread at a time. */
int cipher_encrypt_sectors(Cipher *c, const uint8_t *ivs, size_t sector_bytes, size_t count, const uint8_t *in, uint8_t *out);
int cipher_decrypt_sectors(Cipher *c, const uint8_t *ivs, size_t sector_bytes, size_t count, const uint8_t *in, uint8_t *out);

#endif
