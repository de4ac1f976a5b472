/* SPDX-License-Identifier: MIT */
#include "block/qcow2/control/qcow2-prealloc.h"

#include "block/qcow2/alloc/qcow2-clusters.h"
#include "block/qcow2/map/qcow2-flush.h"
#include "block/qcow2/map/qcow2-map.h"
#include "util/base/error.h"

/* Clusters of the same L2 table from @guest_off on, all unmapped or all mapped. */
static uint64_t run_of_table(Qcow2State *s, const void *table, uint64_t guest_off, uint64_t guest_end, bool *unmapped)
{
    unsigned first = qcow2_l2_idx(&s->geo, guest_off);
    uint64_t max = MIN((1u << s->geo.l2_bits) - first, qcow2_clusters(&s->geo, guest_end - guest_off));
    uint64_t n = 1;

    qcow2_cache_lock(s->l2);
    *unmapped = qcow2_l2_entry(s, table, first) == 0;
    while (n < max && (qcow2_l2_entry(s, table, first + n) == 0) == *unmapped) {
        n++;
    }
    qcow2_cache_unlock(s->l2);
    return n;
}

/* Are clusters mapped with the flag that says they read as zeros? Encrypted ones must be, as zeros in the file are none
 * for the guest; and those on a device may be, whose old bytes would take long to overwrite. A plain image in a file
 * maps clusters that hold zeros. v2 has no flag: encrypted clusters are undefined there. */
static bool flags_zero(const Qcow2State *s)
{
    return s->geo.version >= 3 && (s->header.crypt_method != QCOW2_CRYPT_NONE || block_node_on_device(s->data));
}

static void map_run(Qcow2State *s, void *table, uint64_t guest_off, uint64_t host_off, uint64_t clusters)
{
    unsigned first = qcow2_l2_idx(&s->geo, guest_off);
    uint64_t flags = QCOW2_OFLAG_COPIED | (flags_zero(s) ? QCOW2_OFLAG_ZERO : 0);

    qcow2_cache_lock(s->l2);
    for (uint64_t i = 0; i < clusters; i++) {
        qcow2_l2_set_entry(s, table, first + i, (host_off + (i << s->geo.cluster_bits)) | flags);
    }
    qcow2_cache_unlock(s->l2);
    qcow2_cache_mark_dirty(s->l2, table);
}

/* Make [@host_off, +@bytes) zeros in the file: what lies below its end may hold old data, above it the file grows. */
static bool coroutine_fn provide_space(Qcow2State *s, uint64_t host_off, uint64_t bytes, BlockPrealloc mode,
                                       GError **errp)
{
    BlockNode *file = s->node->file;
    int64_t file_bytes = block_getlength(file);
    uint64_t end = host_off + bytes;

    if (file_bytes < 0) {
        error_set_errno(errp, -file_bytes, "Could not get the size of the image file");
        return false;
    }
    if (host_off < (uint64_t)file_bytes && !(flags_zero(s) && block_node_on_device(file))) {
        unsigned flags = mode == BLOCK_PREALLOC_METADATA ? BLOCK_REQ_MAY_UNMAP : 0;
        int ret = block_co_pwrite_zeroes(file, host_off, MIN(end, (uint64_t)file_bytes) - host_off, flags);

        if (ret < 0) {
            error_set_errno(errp, -ret, "Could not preallocate data clusters");
            return false;
        }
    }
    BlockPrealloc below = mode == BLOCK_PREALLOC_METADATA ? BLOCK_PREALLOC_OFF : mode;
    return end <= (uint64_t)file_bytes || block_co_truncate(file, end, below, errp);
}

/* Map one run of the table pinned at @table. *@clusters: cut to what was mapped. */
static bool coroutine_fn fill_run(Qcow2State *s, void *table, uint64_t guest_off, uint64_t *clusters,
                                  uint64_t *wanted_off, BlockPrealloc mode, GError **errp)
{
    int64_t host_off = qcow2_clusters_alloc_data_locked(s, *wanted_off, clusters);

    if (host_off < 0) {
        error_set_errno(errp, -host_off, "Could not preallocate metadata");
        return false;
    }
    uint64_t bytes = *clusters << s->geo.cluster_bits;
    if (!provide_space(s, host_off, bytes, mode, errp)) {
        qcow2_clusters_unalloc_locked(s, host_off, bytes);
        return false;
    }
    map_run(s, table, guest_off, host_off, *clusters);
    *wanted_off = host_off + bytes;
    return true;
}

/* Fill what one L2 table maps of the range. *@guest_off is moved behind it. */
static bool coroutine_fn fill_table(Qcow2State *s, void *table, uint64_t *guest_off, uint64_t guest_end,
                                    BlockPrealloc mode, GError **errp)
{
    uint64_t l1_idx = qcow2_l1_idx(&s->geo, *guest_off), wanted_off = 0;

    while (*guest_off < guest_end && qcow2_l1_idx(&s->geo, *guest_off) == l1_idx) {
        bool unmapped;
        uint64_t n = run_of_table(s, table, *guest_off, guest_end, &unmapped);

        if (unmapped && !fill_run(s, table, *guest_off, &n, &wanted_off, mode, errp)) {
            return false;
        }
        *guest_off += n << s->geo.cluster_bits;
    }
    return true;
}

static bool coroutine_fn flush_when_full(Qcow2State *s, GError **errp)
{
    if (!qcow2_cache_pressure(s->l2) && !qcow2_cache_pressure(s->refblocks)) {
        return true;
    }
    int ret = qcow2_flush_metadata_locked(s, false);
    if (ret < 0) {
        error_set_errno(errp, -ret, "Could not preallocate metadata");
        return false;
    }
    return true;
}

bool coroutine_fn qcow2_preallocate(Qcow2State *s, uint64_t guest_off, uint64_t guest_end, BlockPrealloc mode,
                                    GError **errp)
{
    CO_MUTEX_GUARD(&s->meta_lock);

    /* A cluster that the range starts in may show the backing file before it: mapped, it would hide that. */
    guest_off = s->node->backing || s->node->backing_name ? qcow2_cluster_end(&s->geo, guest_off)
                                                          : qcow2_cluster_start(&s->geo, guest_off);
    while (guest_off < guest_end) {
        void *table;
        int ret = qcow2_l2_get_writable_locked(s, guest_off, &table);

        if (ret < 0) {
            error_set_errno(errp, -ret, "Could not preallocate metadata");
            return false;
        }
        bool ok = fill_table(s, table, &guest_off, guest_end, mode, errp);
        qcow2_cache_put(s->l2, &table);
        if (!ok || !flush_when_full(s, errp)) {
            return false;
        }
    }
    return true;
}
