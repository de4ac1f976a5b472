/* SPDX-License-Identifier: MIT */
/* The zstd codec of compressed clusters. Pure; one context per thread, kept. Source: qcow2 sheet section 7. */
#ifndef QBLOCK_BLOCK_QCOW2_ZSTD_H
#define QBLOCK_BLOCK_QCOW2_ZSTD_H

#include <stddef.h>
#include <sys/types.h>

/* Compress @bytes at @in into @out as one frame. Length of the frame; -ENOMEM when it does not fit into @out_bytes;
 * -EIO. Context: any thread; does not yield. */
ssize_t qcow2_zstd_compress(const void *in, size_t bytes, void *out, size_t out_bytes);

/* Fill exactly @out_bytes from the frames at @in; what follows is ignored. 0; -EIO on bad or short input; -ENOMEM.
 * Context: any thread; does not yield. */
int qcow2_zstd_decompress(const void *in, size_t bytes, void *out, size_t out_bytes);

#endif
