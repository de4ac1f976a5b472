/* SPDX-License-Identifier: MIT */
/* The data path and the ordered metadata flush: what the driver table calls. */
#ifndef QBLOCK_BLOCK_QCOW2_IO_H
#define QBLOCK_BLOCK_QCOW2_IO_H

#include "block/qcow2/qcow2-int.h"

int coroutine_fn qcow2_co_read(BlockNode *node, const BlockRw *rw);
int coroutine_fn qcow2_co_write(BlockNode *node, const BlockRw *rw); /* BLOCK_REQ_COMPRESSED included */
int coroutine_fn qcow2_co_write_zeroes(BlockNode *node, int64_t guest_off, int64_t bytes, unsigned flags);
int coroutine_fn qcow2_co_discard(BlockNode *node, int64_t guest_off, int64_t bytes);
int coroutine_fn qcow2_co_status(BlockNode *node, int64_t guest_off, int64_t bytes, BlockStatus *st);
/* See co_reads_zero of the driver table: by the tables, and the file's word for clusters in plain text. */
bool coroutine_fn qcow2_co_reads_zero(BlockNode *node, int64_t guest_off, int64_t bytes);
int coroutine_fn qcow2_co_flush(BlockNode *node);

/* Write all dirty metadata in the order of the invariants (qcow2-int.h), syncing between the steps, then apply pending
 * frees. @again: also write what the frees changed (close). Context: coroutine, meta_lock held. */
int coroutine_fn qcow2_flush_metadata_locked(Qcow2State *s, bool again);

/* Drop every mapping of the whole clusters in the range (falls through to backing); for shrink. meta_lock held. */
int coroutine_fn qcow2_drop_range_locked(Qcow2State *s, uint64_t guest_off, uint64_t bytes);

/* Would a write of the range hit metadata other than @ignore (QCOW2_OL_*)? Returns 0, or -EIO with the image marked
 * corrupt "Preventing invalid write on metadata (overlaps with %s)". Context: coroutine, neither guard held. */
enum {
    QCOW2_OL_HEADER = 1, QCOW2_OL_ACTIVE_L1 = 2, QCOW2_OL_ACTIVE_L2 = 4, QCOW2_OL_REFTABLE = 8, QCOW2_OL_REFBLOCK = 16,
    QCOW2_OL_SNAPSHOT_TABLE = 32, QCOW2_OL_INACTIVE_L1 = 64, QCOW2_OL_INACTIVE_L2 = 128, QCOW2_OL_BITMAP_DIR = 256,
    QCOW2_OL_CONSTANT = 0x12b, QCOW2_OL_CACHED = 0x17f, QCOW2_OL_ALL = 0x1ff
};
int coroutine_fn qcow2_check_overlap(Qcow2State *s, unsigned ignore, uint64_t host_off, uint64_t bytes);

#endif
