/* SPDX-License-Identifier: MIT */
/* Scatter lists: an IoVec is a view on memory it does not own.
 *
 * The vector array is inline up to IOVEC_INLINE elements, on the heap above; the memory the elements point at always
 * belongs to the caller. Offsets and lengths are bytes. Context: any; pure. */
#ifndef QBLOCK_UTIL_IOV_H
#define QBLOCK_UTIL_IOV_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "util/base/buffer-zero.h"

#define IOVEC_INLINE 4

typedef struct IoVec {
    struct iovec *iov; /* == local until more than IOVEC_INLINE elements are added */
    int niov;
    int capacity;
    size_t size; /* bytes in all */
    struct iovec local[IOVEC_INLINE];
} IoVec;

/* An IoVec must not be copied by assignment: iov may point into itself. */
void iovec_init(IoVec *v);
void iovec_init_buf(IoVec *v, void *buf, size_t bytes);
void iovec_destroy(IoVec *v); /* frees a heap array only; safe to call twice */
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IoVec, iovec_destroy)

/* Empty @v, keeping its array. */
void iovec_reset(IoVec *v);
void iovec_add(IoVec *v, void *buf, size_t bytes); /* zero bytes adds nothing */

/* Append to @v the part [@off, @off+@bytes) of @src; the range must lie inside @src. */
void iovec_add_slice(IoVec *v, const IoVec *src, size_t off, size_t bytes);

/* Copy between a flat buffer and the range [@off, @off+@bytes) of the list; the range must lie inside. */
void iovec_to_buf(const IoVec *v, size_t off, void *buf, size_t bytes);
void iovec_from_buf(const IoVec *v, size_t off, const void *buf, size_t bytes);
void iovec_memset(const IoVec *v, size_t off, int fill, size_t bytes);

/* True when [@off, @off+@bytes) is all zero bytes. */
bool iovec_is_zero(const IoVec *v, size_t off, size_t bytes);

/* If [@off, @off+@bytes) is one contiguous piece of memory (elements that follow each other in memory count), its
 * address; else NULL. NULL for an empty range. */
void *iovec_flat(const IoVec *v, size_t off, size_t bytes);

/* True when every element in the range has address and length multiples of @align. */
bool iovec_is_aligned(const IoVec *v, size_t off, size_t bytes, size_t align);

#endif
