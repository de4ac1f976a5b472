/* SPDX-License-Identifier: MIT */
/* Clusters for a guest write: allocation, pending links, copy-on-write edges, publication. */
#ifndef QBLOCK_BLOCK_QCOW2_ALLOC_H
#define QBLOCK_BLOCK_QCOW2_ALLOC_H

#include "block/qcow2/state/qcow2-int.h"

/* One run of a write and where it goes. */
typedef struct Qcow2WriteRun {
    uint64_t guest_off, bytes; /* guest bytes of this run */
    uint64_t host_off;         /* of guest_off */
    bool in_place;             /* no link: clusters are mapped and ours */
    bool joined;               /* no link and nothing left to do: another's write had this data too */
    Qcow2Link link;            /* else: pending, in s->links */
    uint64_t head_bytes, tail_bytes; /* copy-on-write before and after, inside the link's clusters */
} Qcow2WriteRun;

/* Prepare the next run of the write @rw, from @done bytes on: in place, newly allocated with a pending link, or joined
 * to a link and done with it. Waits for pending links that touch the same clusters. The run is cut to one
 * host-contiguous piece.
 * @rw->place: its turn is awaited before anything is allocated; NULL = order does not matter.
 * Returns 0 or -errno (-ENOSPC, -EIO, ...). Context: coroutine, no lock held. */
int coroutine_fn qcow2_write_run_begin(Qcow2State *s, const BlockRw *rw, uint64_t done, Qcow2WriteRun *run);

/* Publish the run's clusters in the L2 table and free what they replace (data is written). Wakes waiters.
 * Context: coroutine, no lock held. */
int coroutine_fn qcow2_write_run_link(Qcow2State *s, Qcow2WriteRun *run);
/* Give the run's clusters back after a failed write. Wakes waiters. */
void coroutine_fn qcow2_write_run_abort(Qcow2State *s, Qcow2WriteRun *run);

/* Take and release meta_lock; @why shows in traces. Context: coroutine. */
void coroutine_fn qcow2_meta_lock(Qcow2State *s, const char *why);
void coroutine_fn qcow2_meta_unlock(Qcow2State *s, const char *why);

/* Before anything is allocated or unmapped: flush when dirty tables or pending frees fill their limits, set the dirty
 * bit of lazy refcounts. 0 or -errno. Context: coroutine, meta_lock held. */
int coroutine_fn qcow2_prepare_change_locked(Qcow2State *s);

/* Put a link in flight, end it (wakes who waits for it). Context: meta_lock held. */
void qcow2_link_begin_locked(Qcow2State *s, Qcow2Link *link);
void qcow2_link_end_locked(Qcow2State *s, Qcow2Link *link);

/* Wait until no pending link touches [@guest_off, +@bytes). Context: coroutine, meta_lock held (dropped while waiting);
 * true if it waited: the caller looks again. */
bool coroutine_fn qcow2_links_wait_locked(Qcow2State *s, uint64_t guest_off, uint64_t bytes);

#endif
