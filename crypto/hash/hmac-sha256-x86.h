/* SPDX-License-Identifier: MIT */
/* The PBKDF2 chain of HMAC-SHA-256 with the CPU's SHA instructions: every message of the chain is one block whose
 * padding is fixed, so nothing but compressions is left. x86-64 only. Context: any; pure. */
#ifndef QBLOCK_CRYPTO_HMAC_SHA256_X86_H
#define QBLOCK_CRYPTO_HMAC_SHA256_X86_H

#include <stdint.h>

/* As hmac_key_chain(); @inner, @outer: the eight state words after the padded key. The CPU must have cpu_has_sha(). */
void hmac_sha256_chain_x86(const uint32_t inner[static 8], const uint32_t outer[static 8], uint8_t u[static 32],
                           uint8_t acc[static 32], uint64_t count);

#endif
