/* SPDX-License-Identifier: MIT */
/* PBKDF2 (RFC 8018): derivation with the independent output blocks on several threads, and calibration. */
#ifndef QBLOCK_CRYPTO_PBKDF_H
#define QBLOCK_CRYPTO_PBKDF_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "crypto/hash.h"

/* Derive @out_len bytes. Output blocks of one digest length each are derived in parallel on the thread pool, the caller
 * taking a share. @iterations >= 1. Context: any but worker; blocks. */
bool pbkdf2_derive(HashAlg alg, const void *pass, size_t pass_len, const void *salt, size_t salt_len, uint64_t iterations,
                   uint8_t *out, size_t out_len, GError **errp);

/* Iterations per second of CPU time of one thread for one @out_len output (all its blocks), measured in well under 0.05 s
 * of CPU; results are kept per (alg, blocks) for the process. 0 with errp when it cannot be measured. */
uint64_t pbkdf2_rate(HashAlg alg, size_t out_len, GError **errp);

#endif
