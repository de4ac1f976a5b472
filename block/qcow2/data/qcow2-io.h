/* SPDX-License-Identifier: MIT */
/* The data path: what the driver table calls. */
#ifndef QBLOCK_BLOCK_QCOW2_IO_H
#define QBLOCK_BLOCK_QCOW2_IO_H

#include "block/qcow2/state/qcow2-int.h"

int coroutine_fn qcow2_co_read(BlockNode *node, const BlockRw *rw);
int coroutine_fn qcow2_co_write(BlockNode *node, const BlockRw *rw); /* BLOCK_REQ_COMPRESSED included */
int coroutine_fn qcow2_co_write_zeroes(BlockNode *node, int64_t guest_off, int64_t bytes, unsigned flags);
int coroutine_fn qcow2_co_discard(BlockNode *node, int64_t guest_off, int64_t bytes);
int coroutine_fn qcow2_co_status(BlockNode *node, int64_t guest_off, int64_t bytes, BlockStatus *st);
/* See co_reads_zero of the driver table: by the tables, and the file's word for clusters in plain text. */
bool coroutine_fn qcow2_co_reads_zero(BlockNode *node, int64_t guest_off, int64_t bytes);
int coroutine_fn qcow2_co_flush(BlockNode *node);

/* Drop every mapping of the whole clusters in the range (falls through to backing); for shrink. meta_lock held. */
int coroutine_fn qcow2_drop_range_locked(Qcow2State *s, uint64_t guest_off, uint64_t bytes);

#endif
