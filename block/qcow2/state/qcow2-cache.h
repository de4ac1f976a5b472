/* SPDX-License-Identifier: MIT */
/* A cache of whole metadata tables (L2 tables or refcount blocks), one cluster each, as on disk (big-endian).
 *
 * Reading a table has a state and a wait queue of its own, so nobody else waits for it. The cache never writes by
 * itself: dirty tables stay until qcow2_cache_write_dirty(), which only the ordered flush calls; when dirty tables fill
 * the soft limit qcow2_cache_pressure() says so, and the next allocating request flushes first. Clean unpinned tables
 * are dropped least recently used first. */
#ifndef QBLOCK_BLOCK_QCOW2_CACHE_H
#define QBLOCK_BLOCK_QCOW2_CACHE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "block/block.h"
#include "util/coroutine/co-lock.h"

typedef struct Qcow2Cache Qcow2Cache;

/* @file: borrowed. @soft_limit_bytes: at least two tables are kept whatever it says. */
Qcow2Cache *qcow2_cache_new(BlockNode *file, uint64_t table_bytes, uint64_t soft_limit_bytes);
void qcow2_cache_free(Qcow2Cache *c); /* NULL allowed; dirty tables are dropped: flush before */

/* The guard of table contents. No yield while held, but for _wait_locked, which drops it and takes it again: who wakes
 * the queue holds it. */
void qcow2_cache_lock(Qcow2Cache *c);
void qcow2_cache_unlock(Qcow2Cache *c);
void coroutine_fn qcow2_cache_wait_locked(Qcow2Cache *c, CoQueue *q);

/* The table at @host_off if it is cached and read: a pointer valid while the guard is held. NULL on a miss.
 * Context: any, guard held. */
void *qcow2_cache_peek_locked(Qcow2Cache *c, uint64_t host_off);

/* Is the table at @host_off cached or being read? Context: any, guard held. */
bool qcow2_cache_contains_locked(Qcow2Cache *c, uint64_t host_off);

/* Pin the table at @host_off, reading it on a miss. 0 and *@table; -ENOMEM, or errno of the read. Unpin with _put.
 * Context: coroutine, guard not held; yields on a miss. */
int coroutine_fn qcow2_cache_get(Qcow2Cache *c, uint64_t host_off, void **table);
/* Pin a zero-filled table for a newly allocated cluster, without reading; dirty from the start. */
int qcow2_cache_get_new(Qcow2Cache *c, uint64_t host_off, void **table);
void qcow2_cache_put(Qcow2Cache *c, void **table); /* nulls *@table */
/* @table is pinned and was changed. Context: any, guard not held; _locked: guard held. */
void qcow2_cache_mark_dirty(Qcow2Cache *c, void *table);
void qcow2_cache_mark_dirty_locked(Qcow2Cache *c, void *table);

bool qcow2_cache_is_dirty(Qcow2Cache *c);
bool qcow2_cache_pressure(Qcow2Cache *c);
/* Write every dirty table, neighbours in one I/O; no sync. On error the tables not written stay dirty.
 * Context: coroutine, guard not held; the caller's meta_lock keeps the contents still, so nothing is copied. */
int coroutine_fn qcow2_cache_write_dirty(Qcow2Cache *c);
/* Forget the table at @host_off (its cluster was freed), dirty or not. Who still pins it keeps a stale copy, which is
 * freed at the last unpin. */
void qcow2_cache_drop(Qcow2Cache *c, uint64_t host_off);

#endif
