/* SPDX-License-Identifier: MIT */
/* The ordered metadata flush; see the invariants in qcow2-int.h.
 *
 * meta_lock is held throughout, so no table changes under way and no link is published between two steps:
 *   1 refcount blocks          counts before what relies on them (I1), blocks before the table (I3)
 *   2 sync                     with 1, and with guest data of mappings to be written in 4 (I2)
 *   3 refcount table, sync     (I3, I1: a count that the table does not reach counts nothing)
 *   4 L2 tables
 *   5 sync, L1 table           tables before the entry that points at them (I3)
 *   6 sync, frees              mappings are gone on disk before counts drop or clusters are given out again (I4)
 * A step with nothing to write is left out, and so is a sync that nothing needs. */
#include "block/qcow2/map/qcow2-flush.h"

#include <inttypes.h>

#include "block/qcow2/alloc/qcow2-clusters.h"
#include "block/qcow2/map/qcow2-map.h"
#include "block/qcow2/alloc/qcow2-refcount.h"
#include "util/base/trace.h"

/* Everything written so far is stable afterwards. The caller holds meta_lock, so nothing is linked meanwhile. */
static int coroutine_fn sync_files(Qcow2State *s, const char *why)
{
    int ret = block_co_flush(s->node->file);

    if (ret == 0 && s->data != s->node->file) {
        ret = block_co_flush(s->data);
    }
    if (ret == 0) {
        s->refs.blocks_unsynced = false;
        s->data_unsynced = false;
    }
    trace(TRACE_QCOW2, "flush_sync", "why=%s ret=%d", why, ret);
    return ret;
}

/* Steps 1-3. */
static int coroutine_fn flush_refcounts(Qcow2State *s)
{
    bool ordered = !s->dirty_bit_set;
    bool more = s->refs.table_dirty || qcow2_cache_is_dirty(s->l2) || s->l1.any_dirty;
    int ret = 0;

    if (qcow2_cache_is_dirty(s->refblocks)) {
        s->refs.blocks_unsynced = true;
        ret = qcow2_cache_write_dirty(s->refblocks);
        trace(TRACE_QCOW2, "flush_refblocks", "ret=%d", ret);
    }
    /* With the dirty bit on disk refcounts are rebuilt after a crash and need no order; data still does. */
    if (ret == 0 && more && ((s->refs.blocks_unsynced && ordered) || s->data_unsynced)) {
        ret = sync_files(s, "refcounts and data");
    }
    if (ret == 0 && s->refs.table_dirty) {
        ret = qcow2_reftable_write_dirty_locked(s);
        if (ret == 0 && ordered) {
            ret = sync_files(s, "refcount table");
        }
    }
    return ret;
}

/* Steps 4 and 5. */
static int coroutine_fn flush_mappings(Qcow2State *s)
{
    int ret = 0;

    if (qcow2_cache_is_dirty(s->l2)) {
        ret = qcow2_cache_write_dirty(s->l2);
        trace(TRACE_QCOW2, "flush_l2", "ret=%d", ret);
    }
    /* Also when no L2 table was dirty: a flush that failed here may have written them. */
    if (ret == 0 && s->l1.any_dirty) {
        ret = sync_files(s, "L2");
        if (ret == 0) {
            ret = qcow2_l1_write_dirty_locked(s);
        }
    }
    return ret;
}

static int coroutine_fn flush_once(Qcow2State *s)
{
    int ret = flush_refcounts(s);

    if (ret == 0) {
        ret = flush_mappings(s);
    }
    if (ret == 0 && s->refs.pending_frees->len > 0) {
        ret = sync_files(s, "frees");
        if (ret == 0) {
            ret = qcow2_clusters_apply_frees_locked(s);
        }
    }
    return ret;
}

int coroutine_fn qcow2_flush_metadata_locked(Qcow2State *s, bool again)
{
    g_assert(co_mutex_is_held(&s->meta_lock));
    if (!s->refs.pending_frees) {
        return 0; /* opened read-only: nothing can be dirty */
    }
    int ret = flush_once(s);
    if (ret == 0 && again) {
        ret = flush_once(s);
    }
    return ret;
}
