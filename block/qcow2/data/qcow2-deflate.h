/* SPDX-License-Identifier: MIT */
/* The raw deflate codec of compressed clusters. Pure; one context per thread, kept. Source: qcow2 sheet section 7. */
#ifndef QBLOCK_BLOCK_QCOW2_DEFLATE_H
#define QBLOCK_BLOCK_QCOW2_DEFLATE_H

#include <stddef.h>
#include <sys/types.h>

/* Compress @bytes at @in into @out. Length of the stream; -ENOMEM when it does not fit into @out_bytes (or there is no
 * memory for a context: the caller stores the cluster plain either way); -EIO. Context: any thread; does not yield. */
ssize_t qcow2_deflate(const void *in, size_t bytes, void *out, size_t out_bytes);

/* Fill exactly @out_bytes from the stream at @in; what follows the stream is ignored. 0; -EIO on a bad or short stream;
 * -ENOMEM. Context: any thread; does not yield. */
int qcow2_inflate(const void *in, size_t bytes, void *out, size_t out_bytes);

#endif
