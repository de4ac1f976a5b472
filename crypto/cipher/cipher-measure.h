/* SPDX-License-Identifier: MIT */
/* From which request size on one row of the cipher table is faster than another, on this machine; for
 * crypto/cipher*.c. */
#ifndef QBLOCK_CRYPTO_CIPHER_MEASURE_H
#define QBLOCK_CRYPTO_CIPHER_MEASURE_H

#include "crypto/cipher/cipher-int.h"

#define CIPHER_NEVER SIZE_MAX

/* The smallest request, of those tried, from which on @theirs needs at most nine tenths of the time of @mine;
 * CIPHER_NEVER where there is none. Requests are runs of 512-byte sectors. Takes some milliseconds, less where @theirs
 * loses the largest request. A row that fails is never faster. Context: any. */
size_t cipher_measure_crossover(const CipherDriver *mine, const CipherDriver *theirs, CipherAlg alg, CipherMode mode,
                                bool encrypt);

#endif
