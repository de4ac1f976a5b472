/* SPDX-License-Identifier: MIT */
/* Runs of sectors with their answers, as they go from a program of this machine to one of another: cipher-answers.c
 * writes them, arm64-cipher.c asks for the same. Both machines are little-endian with the same layout of structs. */
#ifndef QBLOCK_TESTS_CIPHER_ANSWERS_H
#define QBLOCK_TESTS_CIPHER_ANSWERS_H

#include <stdint.h>

#include "crypto/cipher/cipher.h"

enum { ANSWER_MAX_BYTES = 64 * 1024, ANSWER_MAX_SECTORS = 100 };

/* Followed by the sectors' IVs, the input and the output. */
typedef struct Answer {
    uint32_t alg, mode, encrypt; /* CipherAlg, CipherMode, bool */
    uint32_t sector_bytes, count;
    uint32_t skew; /* bytes by which the buffers are out of line */
    uint8_t key[CIPHER_MAX_KEY_BYTES];
} Answer;

#endif
