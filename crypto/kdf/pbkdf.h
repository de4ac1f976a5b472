/* SPDX-License-Identifier: MIT */
/* PBKDF2 (RFC 8018): derivation with the independent output blocks on several threads, and calibration. */
#ifndef QBLOCK_CRYPTO_PBKDF_H
#define QBLOCK_CRYPTO_PBKDF_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "crypto/hash/hash.h"

/* Derive @out_len bytes. Output blocks of one digest length each are derived in parallel on the thread pool, the caller
 * taking a share; short derivations stay on the caller's thread. @iterations >= 1. Context: any but worker; blocks. */
void pbkdf2_derive(HashAlg alg, const void *pass, size_t pass_len, const void *salt, size_t salt_len,
                   uint64_t iterations, uint8_t *out, size_t out_len);

/* Iterations per second of CPU time of one thread for one @out_len output (all its blocks), by the portable row, so
 * that a user of the common tools waits about the time asked for. Measured in well under 0.05 s of CPU, once per
 * algorithm and process. 0 with errp when it cannot be measured. Context: any. */
uint64_t pbkdf2_rate(HashAlg alg, size_t out_len, GError **errp);

/* Iterations for @ms milliseconds at @rate a second, at least PBKDF2_MIN_ITERATIONS.
 * False: "PBKDF iterations <n> larger than 4294967295". */
#define PBKDF2_MIN_ITERATIONS 1000
bool pbkdf2_iterations_for_time(uint64_t rate, uint64_t ms, uint64_t divisor, uint32_t *iterations, GError **errp);

#endif
