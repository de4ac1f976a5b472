/* SPDX-License-Identifier: MIT */
/* Passwords to keys as LUKS2 key slots ask for it: argon2id, argon2i (RFC 9106, by libargon2 where the build has it),
 * PBKDF2; and the choice of parameters for a time.
 *
 * Deriving takes the time and memory the parameters ask for, within the limits of luks2-format.h and of this machine.
 * Context: any but worker; blocks. */
#ifndef QBLOCK_CRYPTO_LUKS2_KDF_H
#define QBLOCK_CRYPTO_LUKS2_KDF_H

#include "crypto/hash/hash.h"
#include "crypto/luks/luks2-format.h"
#include "util/base/secbuf.h"

typedef enum Luks2KdfAlg { LUKS2_KDF_ARGON2ID, LUKS2_KDF_ARGON2I, LUKS2_KDF_PBKDF2, LUKS2_KDF_COUNT } Luks2KdfAlg;

typedef struct Luks2Kdf {
    Luks2KdfAlg alg;
    uint8_t salt[LUKS2_MAX_SALT_BYTES];
    size_t salt_bytes;
    HashAlg hash;        /* pbkdf2 only */
    uint32_t iterations; /* pbkdf2 only */
    uint32_t passes, memory_kib, lanes; /* argon2 only; "time", "memory", "cpus" in the metadata */
} Luks2Kdf;

const char *luks2_kdf_name(Luks2KdfAlg alg); /* "argon2id" */
bool luks2_kdf_from_name(const char *name, Luks2KdfAlg *alg);

/* This build and machine can derive by @kdf. QB_ERROR_UNSUPPORTED: "Key derivation 'argon2id' is not supported by this
 * build", "... needs 4194304 KiB of memory, this machine has ..." */
bool luks2_kdf_check(const Luks2Kdf *kdf, GError **errp);

/* Derive @out_bytes. Errors: those of luks2_kdf_check(), no memory. */
bool luks2_kdf_derive(const Luks2Kdf *kdf, const SecBuf *password, uint8_t *out, size_t out_bytes, GError **errp);

/* Fill all but alg and hash: a random salt, and parameters that take about @ms milliseconds here. argon2: at least four
 * passes and 64 MiB, at most 1 GiB and half of the machine's memory, up to four lanes; who asks for less than
 * LUKS2_KDF_QUICK_MS gets less memory than that, down to 1 MiB. */
#define LUKS2_KDF_QUICK_MS 250
bool luks2_kdf_calibrate(Luks2Kdf *kdf, uint64_t ms, size_t out_bytes, GError **errp);

#endif
