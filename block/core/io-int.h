/* SPDX-License-Identifier: MIT */
/* Inside of the request path, shared by io, io-pad, io-zero, copy-on-read and resize.
 *
 * A request is checked, tracked in node->reqs, and then done by the functions below, which take it for granted that it
 * is both. FUA is emulated by the entry functions alone. */
#ifndef QBLOCK_BLOCK_IO_INT_H
#define QBLOCK_BLOCK_IO_INT_H

#include "block/block-int.h"

/* Is [@offset, @offset+@bytes) a range this node can be asked for? -EIO outside of it; -EPERM for a write to a
 * read-only node or any I/O of one opened for facts only. */
int block_io_check(const BlockNode *node, int64_t offset, int64_t bytes, bool is_write);

/* Hand an aligned request to the driver, in pieces it can take, with the flags it knows. */
int coroutine_fn block_io_driver_read(BlockNode *node, const BlockRw *rw);
int coroutine_fn block_io_driver_write(BlockNode *node, const BlockRw *rw);

/* The same for any alignment: head and tail are padded to request_align. A write reads the blocks it shares with others
 * first, so its request must be serialising over the aligned range. -ENOMEM without memory for the pads. */
int coroutine_fn block_io_padded_read(BlockNode *node, const BlockRw *rw);
int coroutine_fn block_io_padded_write(BlockNode *node, const BlockRw *rw);
/* Whichever of the two a read needs; and the same tracked as a request of its own. */
int coroutine_fn block_io_any_read(BlockNode *node, const BlockRw *rw);
int coroutine_fn block_io_tracked_read(BlockNode *node, const BlockRw *rw);

/* Write zeros over any range, in pieces the driver can take, with zero data where it cannot (unless @flags has
 * BLOCK_REQ_NO_FALLBACK). Its request must be serialising. */
int coroutine_fn block_io_zero(BlockNode *node, int64_t offset, int64_t bytes, unsigned flags);

/* Enter a request that changes data; serialising ones cover whole blocks of request_align. */
void coroutine_fn block_io_begin_write(BlockNode *node, Req *req, int64_t offset, int64_t bytes, bool serialising);
/* Leave it: what a flush must cover has grown, and with it perhaps a growable node. */
void coroutine_fn block_io_end_write(BlockNode *node, Req *req, int64_t end);

static inline bool block_io_is_aligned(const BlockNode *node, int64_t offset, int64_t bytes)
{
    return (((uint64_t)offset | (uint64_t)bytes) & (node->limits.request_align - 1)) == 0;
}

#endif
