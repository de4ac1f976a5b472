/* SPDX-License-Identifier: MIT */
/* Codec work of qcow2 away from the locks: compression, decompression, encryption and decryption jobs all reach
 * thread_pool_submit_co() by way of util/offload, the ciphers through block/crypt-io with its bounce buffers.
 *
 * None may be called with meta_lock held (asserted). */
#ifndef QBLOCK_BLOCK_QCOW2_THREADS_H
#define QBLOCK_BLOCK_QCOW2_THREADS_H

#include "block/qcow2/state/qcow2-int.h"

/* Compress @bytes at @in into @out (capacity @out_bytes). Length of the result; -ENOMEM: does not fit; -EIO. */
ssize_t coroutine_fn qcow2_co_compress(Qcow2State *s, const void *in, size_t bytes, void *out, size_t out_bytes);
/* Fill exactly @out_bytes from the stream in @in. 0; -EIO on a bad stream. */
int coroutine_fn qcow2_co_decompress(Qcow2State *s, const void *in, size_t bytes, void *out, size_t out_bytes);

/* Read or write guest data of an encrypted image: rw->bytes at @host_off of the data file, which hold the guest bytes
 * at @guest_off; the IV follows from one or the other, as the image's method has it. rw->offset is not used.
 * 0 or -errno. */
int coroutine_fn qcow2_co_read_encrypted(Qcow2State *s, uint64_t host_off, uint64_t guest_off, const BlockRw *rw);
int coroutine_fn qcow2_co_write_encrypted(Qcow2State *s, uint64_t host_off, uint64_t guest_off, const BlockRw *rw);

#endif
