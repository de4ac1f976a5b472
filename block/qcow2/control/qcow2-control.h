/* SPDX-License-Identifier: MIT */
/* The control path of qcow2: what the driver table calls beside the data path (qcow2-io.h). */
#ifndef QBLOCK_BLOCK_QCOW2_CONTROL_H
#define QBLOCK_BLOCK_QCOW2_CONTROL_H

#include "block/qcow2/state/qcow2-int.h"

/* --- qcow2-open --- */
bool coroutine_fn qcow2_open(BlockNode *node, OptDict *options, unsigned flags, GError **errp);
int coroutine_fn qcow2_close(BlockNode *node);
/* Read L1 and refcount table anew and forget all cached tables: after a repair wrote behind their back. The image is
 * flushed; no request runs. Context: coroutine, meta_lock held. */
bool coroutine_fn qcow2_reload_tables_locked(Qcow2State *s, GError **errp);

/* --- qcow2-create --- */
bool coroutine_fn qcow2_create(const char *filename, OptDict *options, GError **errp);

/* --- qcow2-resize --- */
bool coroutine_fn qcow2_truncate(BlockNode *node, int64_t bytes, BlockPrealloc prealloc, GError **errp);

/* --- qcow2-measure --- */
bool coroutine_fn qcow2_measure(const OptDict *options, BlockNode *node, BlockMeasure *out, GError **errp);

/* --- qcow2-info --- */
int coroutine_fn qcow2_get_info(BlockNode *node, BlockInfo *info);
InfoTree *coroutine_fn qcow2_specific_info(BlockNode *node, GError **errp);

/* --- qcow2-verify --- */
int coroutine_fn qcow2_check(BlockNode *node, BlockCheckResult *res, unsigned fix);

#endif
