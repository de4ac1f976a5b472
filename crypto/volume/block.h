/* SPDX-License-Identifier: MIT */
/* CryptoBlock: an opened disk-encryption format; turns sectors and their numbers into ciphertext and back.
 *
 * It owns the master key and a pool of sector ciphers (cipher, IV rule and scratch, keyed once), lent for one run
 * each. I/O on the header goes through callbacks. Opening and making one is crypto/formats. Sources: qcow2 sheet
 * section 12, LUKS sheet. */
#ifndef QBLOCK_CRYPTO_BLOCK_H
#define QBLOCK_CRYPTO_BLOCK_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/output/info-tree.h"
#include "util/options/optdict.h"
#include "util/options/options.h"

typedef enum CryptoFormat {
    CRYPTO_FORMAT_QCOW,
    CRYPTO_FORMAT_LUKS,     /* version 1, the one that qcow2 may hold */
    CRYPTO_FORMAT_LUKS2,
    CRYPTO_FORMAT_LUKS_ANY, /* open: as the header says; create: as option "luks-version" says, default 1 */
} CryptoFormat;

/* Header access; offsets are bytes from the start of the header area. 0 or -errno, whole length or error.
 * Called in the caller's own context (may yield when that is a coroutine). */
typedef struct CryptoIo {
    int (*read)(void *opaque, uint64_t offset, void *buf, size_t bytes);
    int (*write)(void *opaque, uint64_t offset, const void *buf, size_t bytes);
    int (*flush)(void *opaque); /* NULL = not needed */
    /* Create only: called once with the header area's length in bytes before the first write; NULL = not needed. */
    bool (*reserve)(void *opaque, uint64_t header_bytes, GError **errp);
    void *opaque;
} CryptoIo;

typedef struct CryptoBlock CryptoBlock;

enum {
    CRYPTO_OPEN_NO_IO = 1,  /* no key needed: header facts only (info) */
    CRYPTO_OPEN_REPAIR = 2, /* a damaged copy of the header may be rewritten from a good one */
};

/* Add or erase key slots of a header that is opened with its key. @options: those of CRYPTO_LUKS_AMEND_OPTS without
 * prefix; taken keys are removed. @force: also what may lose the data. Cut off at any write, the volume still opens by
 * a password that opened it before or by the new one. Errors: texts of the LUKS sheet section 6.
 * Context: as crypto_block_open(); no other call but data I/O on @b meanwhile. */
bool crypto_block_amend(CryptoBlock *b, OptDict *options, const CryptoIo *io, bool force, GError **errp);

void crypto_block_free(CryptoBlock *b); /* wipes keys; NULL allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CryptoBlock, crypto_block_free)

CryptoFormat crypto_block_format(const CryptoBlock *b); /* never CRYPTO_FORMAT_LUKS_ANY */
uint64_t crypto_block_payload_offset(const CryptoBlock *b); /* bytes */
uint64_t crypto_block_payload_bytes(const CryptoBlock *b);  /* 0: to the end of the file */
size_t crypto_block_sector_bytes(const CryptoBlock *b);     /* 512; LUKS2: up to 4096 */
bool crypto_block_has_key(const CryptoBlock *b);            /* false after CRYPTO_OPEN_NO_IO */

/* En/decrypt @bytes (multiple of the sector size) at @offset (bytes; offset/512 is the first IV number). @in == @out or
 * disjoint. Borrows a sector cipher for the run; takes no lock in the loop. 0 or -errno (-ENOMEM, -EIO).
 * Context: any, several threads at once; does not yield. */
int crypto_block_encrypt(CryptoBlock *b, uint64_t offset, const uint8_t *in, uint8_t *out, size_t bytes);
int crypto_block_decrypt(CryptoBlock *b, uint64_t offset, const uint8_t *in, uint8_t *out, size_t bytes);

/* Measured cost of one sector in picoseconds, for util/offload; measured lazily once per process, row, algorithm and
 * direction. Context: any. */
uint64_t crypto_block_ps_per_sector(CryptoBlock *b, bool encrypt);

/* What info reports (LUKS sheet section 8), as an object. Caller frees. For the legacy format: {}. */
InfoTree *crypto_block_info(const CryptoBlock *b);

/* "luks" / "aes" probing: true when @buf starts with a LUKS header. */
bool crypto_luks_probe(const uint8_t *buf, size_t len, unsigned *version);

/* LUKS create options as elements of a driver's table, each name behind the literal @prefix ("" or "encrypt."). */
#define CRYPTO_LUKS_CREATE_OPTS(prefix) \
    {prefix "key-secret", OPT_TYPE_STR, "ID of the secret that provides the keyslot passphrase"}, \
    {prefix "cipher-alg", OPT_TYPE_STR, "Name of encryption cipher algorithm"}, \
    {prefix "cipher-mode", OPT_TYPE_STR, "Name of encryption cipher mode"}, \
    {prefix "ivgen-alg", OPT_TYPE_STR, "Name of IV generator algorithm"}, \
    {prefix "ivgen-hash-alg", OPT_TYPE_STR, "Name of IV generator hash algorithm"}, \
    {prefix "hash-alg", OPT_TYPE_STR, "Name of encryption hash algorithm"}, \
    {prefix "iter-time", OPT_TYPE_NUM, "Time to spend in PBKDF in milliseconds"}

/* Those that CRYPTO_FORMAT_LUKS_ANY takes besides. */
#define CRYPTO_LUKS2_CREATE_OPTS \
    {"luks-version", OPT_TYPE_NUM, "LUKS version of the header (1 or 2)"}, \
    {"pbkdf", OPT_TYPE_STR, "Key derivation of LUKS version 2: argon2id (default), argon2i or pbkdf2"}, \
    {"sector-size", OPT_TYPE_SIZE, "Encryption sector size of LUKS version 2 in bytes"}

/* Bytes of an encryption sector that creating with @options makes; @options have passed crypto_block_measure(). */
size_t crypto_luks_create_sector_bytes(const OptDict *options);

/* The same without a prefix, ended by a NULL name. */
extern const OptDesc crypto_luks_create_opts[];

/* What can be amended, likewise. */
#define CRYPTO_LUKS_AMEND_OPTS(prefix) \
    {prefix "state", OPT_TYPE_STR, "Select new state of affected keyslots (active/inactive)"}, \
    {prefix "new-secret", OPT_TYPE_STR, "ID of the secret that provides the passphrase of an added keyslot"}, \
    {prefix "old-secret", OPT_TYPE_STR, "Select all keyslots that match this password"}, \
    {prefix "keyslot", OPT_TYPE_NUM, "Select a single keyslot to modify explicitly"}, \
    {prefix "iter-time", OPT_TYPE_NUM, "Time to spend in PBKDF in milliseconds"}

extern const OptDesc crypto_luks_amend_opts[];

#endif
