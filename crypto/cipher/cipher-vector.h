/* SPDX-License-Identifier: MIT */
/* What the vector AES rows share: the keyed context and the serial mode. For crypto/cipher-vector*.c only; on CPUs that
 * have such a row. */
#ifndef QBLOCK_CRYPTO_CIPHER_VECTOR_H
#define QBLOCK_CRYPTO_CIPHER_VECTOR_H

#include "crypto/cipher/aes-keys.h"
#include "crypto/cipher/cipher-int.h"
#include "util/base/secbuf.h"

/* Read only once made. */
typedef struct VectorCtx {
    AesKeys data, tweak; /* tweak: xts only */
    CipherMode mode;
    SecBuf *memory; /* that it lies in: a key schedule is as good as the key */
} VectorCtx;

bool vector_supports(CipherAlg alg, CipherMode mode); /* aes in ecb, cbc, xts */
void *vector_ctx_new(CipherAlg alg, CipherMode mode, const uint8_t *key, size_t key_len, GError **errp);
void vector_ctx_free(void *ctx);

/* Of the row with 16-byte registers, which already saturate the CPU (crypto/aes-vector-cbc.h). */
int vector_cbc_encrypt(const VectorCtx *ctx, const uint8_t *ivs, size_t sector_bytes, size_t count, const uint8_t *in,
                       uint8_t *out);

#ifdef __x86_64__
extern const CipherDriver cipher_driver_vector_avx512, cipher_driver_vector_avx2, cipher_driver_vector_aesni;
#else
extern const CipherDriver cipher_driver_vector_arm64;
#endif

#endif
