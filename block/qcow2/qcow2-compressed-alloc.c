/* SPDX-License-Identifier: MIT */
/* Host bytes for compressed clusters: packed one after the other (qcow2 sheet section 7). */
#include <errno.h>

#include "block/qcow2/qcow2-clusters.h"
#include "block/qcow2/qcow2-refcount.h"

/* Can the cluster that holds the cursor take one more reference? */
static int coroutine_fn cursor_usable(Qcow2State *s, bool *usable)
{
    uint64_t value;
    int ret = qcow2_refcount_read_locked(s, s->refs.compressed_cursor, &value);

    *usable = ret == 0 && value > 0 && value < s->geo.refcount_max;
    return ret;
}

/* Place @bytes at the cursor, going on into a new cluster when that is the next one. Sets *@host_off, 0 when it cannot
 * be done; then a new cluster may have been taken: *@fresh. */
static int coroutine_fn place_at_cursor(Qcow2State *s, uint64_t bytes, uint64_t *host_off, uint64_t *fresh)
{
    uint64_t at = s->refs.compressed_cursor, room = s->geo.cluster_bytes - qcow2_in_cluster(&s->geo, at), one = 1;
    bool usable;
    int ret = cursor_usable(s, &usable);

    if (ret < 0 || !usable) {
        return ret;
    }
    if (bytes > room) {
        int64_t next = qcow2_clusters_alloc_data_locked(s, at + room, &one);
        if (next < 0) {
            return next;
        }
        if ((uint64_t)next != at + room) {
            *fresh = next;
            return 0;
        }
    }
    ret = qcow2_refcount_add_locked(s, at >> s->geo.cluster_bits, 1, 1);
    if (ret < 0) {
        if (bytes > room) {
            qcow2_clusters_unalloc_locked(s, at + room, s->geo.cluster_bytes);
        }
        return ret;
    }
    *host_off = at;
    return 0;
}

int64_t coroutine_fn qcow2_clusters_alloc_compressed_locked(Qcow2State *s, uint64_t bytes)
{
    uint64_t host_off = 0, fresh = 0, one = 1;

    g_assert(bytes > 0 && bytes < s->geo.cluster_bytes && co_mutex_is_held(&s->meta_lock));
    if (s->refs.compressed_cursor != 0) {
        int ret = place_at_cursor(s, bytes, &host_off, &fresh);
        if (ret < 0) {
            return ret;
        }
    }
    if (host_off == 0) {
        int64_t ret = fresh != 0 ? (int64_t)fresh : qcow2_clusters_alloc_data_locked(s, 0, &one);
        if (ret < 0) {
            return ret;
        }
        host_off = ret;
    }
    if (host_off + bytes > qcow2_compressed_max_off(&s->geo)) {
        qcow2_clusters_unalloc_locked(s, host_off, bytes);
        return -EFBIG;
    }
    uint64_t end = host_off + bytes;
    s->refs.compressed_cursor = qcow2_in_cluster(&s->geo, end) != 0 ? end : 0;
    return host_off;
}
