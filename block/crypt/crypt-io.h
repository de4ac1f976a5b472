/* SPDX-License-Identifier: MIT */
/* Encrypted reads and writes of a child node: bounce buffers plus cipher jobs through util/offload.
 *
 * Used by luks and qcow2. Guest buffers never hold ciphertext and are never written by a write, unless the request says
 * BLOCK_REQ_OWN_BUFFER; then the cipher runs in place. Bounce buffers are at most CRYPT_IO_BOUNCE_BYTES each. */
#ifndef QBLOCK_BLOCK_CRYPT_IO_H
#define QBLOCK_BLOCK_CRYPT_IO_H

#include "block/block.h"
#include "crypto/volume/block.h"
#include "util/offload/offload.h"

#define CRYPT_IO_BOUNCE_BYTES (1u << 20)

typedef struct CryptIo {
    CryptoBlock *crypto;
    OffloadMode mode; /* encrypt-in-parallel */
} CryptIo;

/* Cipher jobs. @offset/512 is the first IV number; @bytes a multiple of the crypto's sector size; may yield; no lock is
 * held. */
int coroutine_fn crypt_io_encrypt_co(const CryptIo *c, uint64_t offset, const uint8_t *in, uint8_t *out, size_t bytes);
int coroutine_fn crypt_io_decrypt_co(const CryptIo *c, uint64_t offset, const uint8_t *in, uint8_t *out, size_t bytes);
/* From a scatter list into flat @out. */
int coroutine_fn crypt_io_encrypt_iov_co(const CryptIo *c, uint64_t offset, const IoVec *in, size_t in_off,
                                         uint8_t *out, size_t bytes);

/* Read rw->bytes at @host_off of @child, decrypt with IVs from @iv_off, deliver to the request's memory. rw->offset is
 * not used. All multiples of the crypto's sector size, @host_off of 512. */
int coroutine_fn crypt_io_co_read(const CryptIo *c, BlockNode *child, uint64_t host_off, uint64_t iv_off,
                                  const BlockRw *rw);
int coroutine_fn crypt_io_co_write(const CryptIo *c, BlockNode *child, uint64_t host_off, uint64_t iv_off,
                                   const BlockRw *rw);

/* "on" / "off" / "auto". */
bool offload_mode_from_name(const char *name, OffloadMode *out);

#endif
