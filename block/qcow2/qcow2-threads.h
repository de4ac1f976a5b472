/* SPDX-License-Identifier: MIT */
/* Codec work of qcow2 away from the locks: compression and decompression jobs, through thread_pool_submit_co() by way of
 * util/offload; encryption jobs go the same way through block/crypt-io. */
#ifndef QBLOCK_BLOCK_QCOW2_THREADS_H
#define QBLOCK_BLOCK_QCOW2_THREADS_H

#include "block/qcow2/qcow2-int.h"

/* Compress @bytes at @in into @out (capacity @out_bytes). Length of the result; -ENOMEM: does not fit; -EIO. */
ssize_t coroutine_fn qcow2_co_compress(Qcow2State *s, const void *in, size_t bytes, void *out, size_t out_bytes);
/* Fill exactly @out_bytes from the stream in @in. 0; -EIO on a bad stream. */
int coroutine_fn qcow2_co_decompress(Qcow2State *s, const void *in, size_t bytes, void *out, size_t out_bytes);

/* En/decrypt at host offset @host_off / guest offset @guest_off; picks the IV base of the image's method. In place allowed. */
int coroutine_fn qcow2_co_encrypt(Qcow2State *s, uint64_t host_off, uint64_t guest_off, const void *in, void *out, size_t bytes);
int coroutine_fn qcow2_co_decrypt(Qcow2State *s, uint64_t host_off, uint64_t guest_off, const void *in, void *out, size_t bytes);

#endif
