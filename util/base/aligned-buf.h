/* SPDX-License-Identifier: MIT */
/* Page-aligned I/O buffers, try-allocated, with a bounded cache per thread. From a MiB on they have huge pages of their
 * own where the system has any.
 *
 * Sizes may come from an image or a request, so failure is an answer (NULL), never an abort. Up to
 * ALIGNED_BUF_CACHE_BYTES of freed buffers of 4 KiB .. 4 MiB are kept per thread and given out again, so that the data
 * path in steady state asks the system for nothing. A buffer may be freed on another thread than the one that took it.
 * Buffers are not zeroed. Context: any. */
#ifndef QBLOCK_UTIL_ALIGNED_BUF_H
#define QBLOCK_UTIL_ALIGNED_BUF_H

#include <glib.h>
#include <stddef.h>

#define ALIGNED_BUF_ALIGN 4096
#define ALIGNED_BUF_CACHE_BYTES (32u << 20)

/* @bytes > 0. NULL when there is no memory. Free with aligned_buf_free(). */
void *aligned_buf_try_new(size_t bytes);

/* @buf may be NULL. */
void aligned_buf_free(void *buf);

/* Give this thread's cached buffers back to the system; called by a thread about to end. */
void aligned_buf_drain_cache(void);

typedef void AlignedBuf;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AlignedBuf, aligned_buf_free)
/* "g_autoaligned mem = aligned_buf_try_new(n);" declares a void pointer that frees itself. */
#define g_autoaligned g_autoptr(AlignedBuf)

#endif
