/* SPDX-License-Identifier: MIT */
/* L2 tables for writing: made or copied on demand. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "block/qcow2/alloc/qcow2-clusters.h"
#include "block/qcow2/state/qcow2-overlap.h"
#include "block/qcow2/map/qcow2-map.h"
#include "util/base/trace.h"

/* A table in a new cluster, holding what @old holds (NULL: empty), in place of L1 entry @l1_idx. */
static int coroutine_fn make_table(Qcow2State *s, uint64_t l1_idx, const void *old, void **table)
{
    int64_t host_off = qcow2_clusters_alloc_locked(s, s->geo.cluster_bytes);

    if (host_off < 0) {
        return host_off;
    }
    int ret = qcow2_cache_get_new(s->l2, host_off, table);
    if (ret < 0) {
        qcow2_clusters_unalloc_locked(s, host_off, s->geo.cluster_bytes);
        return ret;
    }
    if (old) {
        memcpy(*table, old, s->geo.cluster_bytes);
    }
    /* The cluster gets its room on the disk before any data can take it: on a full disk, what was written earlier must
     * still find its way into the table at the next flush. */
    ret = block_co_pwrite(s->node->file, host_off, *table, s->geo.cluster_bytes, 0);
    if (ret < 0) {
        qcow2_cache_put(s->l2, table);
        qcow2_cache_drop(s->l2, host_off);
        qcow2_clusters_unalloc_locked(s, host_off, s->geo.cluster_bytes);
        return ret;
    }
    qcow2_l1_set_entry_locked(s, l1_idx, host_off | QCOW2_OFLAG_COPIED);
    trace(TRACE_QCOW2, "l2_new", "l1_idx=%" PRIu64 " host=0x%" PRIx64 " copy=%d", l1_idx, (uint64_t)host_off, !!old);
    return 0;
}

/* The table at @old_off is shared: go on with a copy. */
static int coroutine_fn copy_table(Qcow2State *s, uint64_t l1_idx, uint64_t old_off, void **table)
{
    void *old;
    int ret = qcow2_cache_get(s->l2, old_off, &old);

    if (ret < 0) {
        return ret;
    }
    ret = make_table(s, l1_idx, old, table);
    qcow2_cache_put(s->l2, &old);
    if (ret < 0) {
        return ret;
    }
    qcow2_cache_drop(s->l2, old_off);
    qcow2_clusters_free_locked(s, old_off, s->geo.cluster_bytes, QCOW2_FREE_OTHER);
    return 0;
}

int coroutine_fn qcow2_l2_get_writable_locked(Qcow2State *s, uint64_t guest_off, void **table)
{
    uint64_t l1_idx = qcow2_l1_idx(&s->geo, guest_off);

    g_assert(co_mutex_is_held(&s->meta_lock));
    if (l1_idx >= s->l1.size) {
        int ret = qcow2_l1_grow_locked(s, l1_idx + 1);
        if (ret < 0) {
            return ret;
        }
    }
    uint64_t entry = s->l1.table[l1_idx], off = entry & QCOW2_L1_OFF_MASK;
    if (off == 0) {
        return make_table(s, l1_idx, NULL, table);
    }
    if (qcow2_in_cluster(&s->geo, off) != 0) {
        return qcow2_mark_corrupt(s, true, "L2 table offset %#" PRIx64 " unaligned (L1 index: %#" PRIx64 ")", off,
                                  l1_idx);
    }
    if (!(entry & QCOW2_OFLAG_COPIED)) {
        return copy_table(s, l1_idx, off, table);
    }
    /* An L1 entry gone wrong must not make us write over other metadata. */
    int ret = qcow2_check_overlap(s, QCOW2_OL_ACTIVE_L2, off, s->geo.cluster_bytes);
    return ret < 0 ? ret : qcow2_cache_get(s->l2, off, table);
}

void coroutine_fn qcow2_entry_free_locked(Qcow2State *s, uint64_t entry, int kind)
{
    uint64_t off = entry & QCOW2_L2_OFF_MASK;

    switch (qcow2_entry_kind(s, entry)) {
    case QCOW2_KIND_NORMAL:
    case QCOW2_KIND_ZERO_ALLOC:
        if (qcow2_in_cluster(&s->geo, off) != 0) {
            qcow2_mark_corrupt(s, false, "Cannot free unaligned cluster %#" PRIx64, off);
            break;
        }
        qcow2_clusters_free_locked(s, off, s->geo.cluster_bytes, kind);
        break;
    case QCOW2_KIND_COMPRESSED: {
        Qcow2CompressedExtent e = qcow2_compressed_decode(&s->geo, entry);
        qcow2_clusters_free_locked(s, e.host_off, e.bytes, kind);
        break;
    }
    case QCOW2_KIND_UNALLOCATED:
    case QCOW2_KIND_ZERO_PLAIN:
        break;
    }
}
