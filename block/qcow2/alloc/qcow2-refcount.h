/* SPDX-License-Identifier: MIT */
/* Refcounts of host clusters: the table, its blocks, and runs of counts. Policy (which cluster to take, when to free)
 * is qcow2-clusters. Everything is under meta_lock. Source: qcow2 sheet section 5. */
#ifndef QBLOCK_BLOCK_QCOW2_REFCOUNT_H
#define QBLOCK_BLOCK_QCOW2_REFCOUNT_H

#include "block/qcow2/state/qcow2-int.h"

/* Pin the block of table entry @table_idx. 0 and *@block, NULL where there is none (all its counts are 0); -EIO if the
 * table is corrupt (the image is marked so); errno of the read. Unpin with qcow2_cache_put(s->refblocks). */
int coroutine_fn qcow2_refblock_get_locked(Qcow2State *s, uint64_t table_idx, void **block);

/* Make sure that the block counting @cluster exists; grows the table when needed. 1: something was made, so clusters
 * were taken and what the caller knew of free ones is void; 0: it was there; -errno. */
int coroutine_fn qcow2_refblock_ensure_locked(Qcow2State *s, uint64_t cluster);

/* Add @delta to the counts of @count clusters from @first; their blocks exist (else -EINVAL). All or nothing: -EINVAL
 * when a count would leave 0..refcount_max, errno of a block read. */
int coroutine_fn qcow2_refcount_add_locked(Qcow2State *s, uint64_t first, uint64_t count, int delta);

/* The first run of free clusters at or after @from: *@first and *@count, cut to @max. Beyond the table everything is
 * free, so there always is one. 0 or -errno. */
int coroutine_fn qcow2_refcount_find_free_locked(Qcow2State *s, uint64_t from, uint64_t max, uint64_t *first,
                                                 uint64_t *count);

/* Replace the table by a bigger one that covers the clusters before @end_cluster, and lies behind them (invariant I5).
 * The old table's reach ended before. 0 or -errno. */
int coroutine_fn qcow2_reftable_grow_locked(Qcow2State *s, uint64_t end_cluster);

/* Write the changed table entries (no sync). The blocks they name are stable (I3). */
int coroutine_fn qcow2_reftable_write_dirty_locked(Qcow2State *s);

/* Note that table entry @idx changed. */
void qcow2_reftable_set_entry_locked(Qcow2State *s, uint64_t idx, uint64_t block_off);

#endif
