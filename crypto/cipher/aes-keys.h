/* SPDX-License-Identifier: MIT */
/* AES key schedules for the vector rows, expanded with the CPU's AES instructions: constant time, no table. x86-64 and
 * arm64 only. Context: any; pure. */
#ifndef QBLOCK_CRYPTO_AES_KEYS_H
#define QBLOCK_CRYPTO_AES_KEYS_H

#include <stddef.h>
#include <stdint.h>

#define AES_BLOCK_BYTES 16
#define AES_MAX_ROUNDS 14

typedef struct AesKeys {
    _Alignas(64) uint8_t enc[AES_MAX_ROUNDS + 1][AES_BLOCK_BYTES];
    _Alignas(64) uint8_t dec[AES_MAX_ROUNDS + 1][AES_BLOCK_BYTES]; /* inverse cipher, in order of use */
    int rounds;
} AesKeys;

/* @key_len: 16, 24 or 32. The CPU must have its AES instructions. */
void aes_keys_expand(AesKeys *k, const uint8_t *key, size_t key_len);

#endif
