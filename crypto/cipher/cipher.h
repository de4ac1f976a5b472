/* SPDX-License-Identifier: MIT */
/* Ciphers: a driver table whose rows encrypt runs of sectors with one key.
 *
 * A Cipher is keyed once and used by one thread at a time. Rows, best first: vector AES where the CPU has it, gnutls,
 * nettle for what gnutls lacks. Requests of a size for which the kernel's ciphers (AF_ALG) have been measured to be
 * faster than the best row go to those. A row is used for a cipher and mode only after it has passed the known answers
 * of cipher-kat.c in this process, which the first use asks for.
 * QBLOCK_CIPHER=<row or its first word> puts a row first where it supports the algorithm; the layer does not start when
 * this machine cannot use it. */
#ifndef QBLOCK_CRYPTO_CIPHER_H
#define QBLOCK_CRYPTO_CIPHER_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum CipherAlg {
    CIPHER_AES_128,
    CIPHER_AES_192,
    CIPHER_AES_256,
    CIPHER_SERPENT_128,
    CIPHER_SERPENT_192,
    CIPHER_SERPENT_256,
    CIPHER_TWOFISH_128,
    CIPHER_TWOFISH_192,
    CIPHER_TWOFISH_256,
    CIPHER_CAST5_128,
    CIPHER_3DES,
    CIPHER_DES,
    CIPHER_COUNT
} CipherAlg;
typedef enum CipherMode { CIPHER_ECB, CIPHER_CBC, CIPHER_XTS, CIPHER_CTR, CIPHER_MODE_COUNT } CipherMode;
#define CIPHER_IV_BYTES 16      /* stride of IV arrays; an 8-byte-block cipher uses the first 8 of each */
#define CIPHER_MAX_KEY_BYTES 64 /* xts: both halves */
/* Long work comes in runs of at least that much: a row for large requests is used from there on at the latest. */
#define CIPHER_LONG_RUN_BYTES (64 * 1024)

const char *cipher_alg_name(CipherAlg alg); /* "aes-256" */
bool cipher_alg_from_name(const char *name, CipherAlg *alg);
const char *cipher_alg_family(CipherAlg alg); /* "aes": the name without the key size */
/* The member of a family with keys of @key_bytes (xts not doubled). */
bool cipher_alg_from_family(const char *family, size_t key_bytes, CipherAlg *alg);
bool cipher_family_known(const char *family);
const char *cipher_mode_name(CipherMode mode); /* "xts" */
bool cipher_mode_from_name(const char *name, CipherMode *mode);
size_t cipher_key_bytes(CipherAlg alg, CipherMode mode); /* doubled for xts */
size_t cipher_block_bytes(CipherAlg alg);

/* Some row does it. Starts the layer. */
bool cipher_supported(CipherAlg alg, CipherMode mode);
/* The same with an error that names what is missing: "Algorithm '3des' not supported", "Unsupported cipher mode xts".
 * */
bool cipher_check_supported(CipherAlg alg, CipherMode mode, GError **errp);

typedef struct Cipher Cipher;
/* Keyed handle from the best row. Errors name algorithm, mode and key size. */
Cipher *cipher_new(CipherAlg alg, CipherMode mode, const uint8_t *key, size_t key_len, GError **errp);
/* From the row of that exact name, untested rows included; NULL with errp when it is not there. For tests and
 * benches. */
Cipher *cipher_new_from_row(const char *row, CipherAlg alg, CipherMode mode, const uint8_t *key, size_t key_len,
                            GError **errp);
void cipher_free(Cipher *c); /* wipes; NULL allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Cipher, cipher_free)
const char *cipher_row(const Cipher *c); /* name of the row that does small requests, and mostly all */

/* Names of the rows of this build that this machine can run, in order of preference; NULL past the end. */
const char *cipher_row_name_at(size_t i);

/* One run: @count sectors of @sector_bytes each, consecutive in @in and @out, IV of sector i at ivs + 16 * i (ignored
 * by ecb). In place (in == out) or disjoint; any alignment; sector_bytes a multiple of the cipher block. @ivs may be
 * overwritten. 0 or -EIO (library failure, a bug). Context: any, one thread at a time. */
int cipher_encrypt_sectors(Cipher *c, uint8_t *ivs, size_t sector_bytes, size_t count, const uint8_t *in, uint8_t *out);
int cipher_decrypt_sectors(Cipher *c, uint8_t *ivs, size_t sector_bytes, size_t count, const uint8_t *in, uint8_t *out);

/* False when no row passes for AES, or QBLOCK_CIPHER names none that can be used. Called once, by crypto_init(). */
bool cipher_self_test(GError **errp);

#endif
