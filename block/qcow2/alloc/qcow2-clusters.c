/* SPDX-License-Identifier: MIT */
#include "block/qcow2/alloc/qcow2-clusters.h"

#include <errno.h>
#include <inttypes.h>

#include "block/qcow2/state/qcow2-overlap.h"
#include "block/qcow2/state/qcow2-reader.h"
#include "block/qcow2/alloc/qcow2-refcount.h"
#include "util/base/trace.h"

/* Count the free run [@first, +@count) as used, unless something is wrong with it. @what: for the message. */
static int64_t coroutine_fn take_run(Qcow2State *s, uint64_t first, uint64_t count, const char *what)
{
    uint64_t host_off = first << s->geo.cluster_bits, bytes = count << s->geo.cluster_bits;

    /* Cluster 0 is the header: a refcount of 0 there means the counts are wrong (section 17). */
    if (first == 0) {
        return qcow2_mark_corrupt(s, true, "Preventing invalid allocation of %s at offset 0", what);
    }
    if (first + count > (uint64_t)QCOW2_MAX_HOST_OFF >> s->geo.cluster_bits) {
        return -EFBIG;
    }
    int ret = qcow2_check_overlap(s, 0, host_off, bytes);
    if (ret < 0) {
        return ret;
    }
    ret = qcow2_refcount_add_locked(s, first, count, 1);
    return ret < 0 ? ret : (int64_t)host_off;
}

/* Make the blocks of a run; as qcow2_refblock_ensure_locked(). A table that has to grow for it is put behind the run,
 * with room for the blocks that push the run back: put at its own old end, it would cut the run, and a long run would
 * find no place before the table is large. */
static int coroutine_fn ensure_blocks(Qcow2State *s, uint64_t first, uint64_t count)
{
    uint64_t last_idx = (first + count - 1) >> s->geo.refblock_bits;

    if (last_idx >= s->refs.entries && !s->refs.failed) {
        int ret = qcow2_reftable_grow_locked(s, first + count + (count >> (s->geo.refblock_bits - 1)) + 1);
        return ret < 0 ? ret : 1;
    }
    for (uint64_t idx = first >> s->geo.refblock_bits; idx <= last_idx; idx++) {
        int ret = qcow2_refblock_ensure_locked(s, MAX(first, idx << s->geo.refblock_bits));
        if (ret != 0) {
            return ret;
        }
    }
    return 0;
}

int64_t coroutine_fn qcow2_clusters_alloc_locked(Qcow2State *s, uint64_t bytes)
{
    uint64_t want = qcow2_clusters(&s->geo, bytes), first, count;

    g_assert(want > 0 && co_mutex_is_held(&s->meta_lock));
    for (;;) {
        uint64_t from = s->refs.free_cursor;
        bool lowest = true;
        do {
            int ret = qcow2_refcount_find_free_locked(s, from, want, &first, &count);
            if (ret < 0) {
                return ret;
            }
            if (lowest) {
                s->refs.free_cursor = first;
                lowest = false;
            }
            from = first + count;
        } while (count < want);

        int ret = ensure_blocks(s, first, want);
        if (ret < 0) {
            return ret;
        }
        if (ret == 0) {
            break;
        }
    }
    int64_t host_off = take_run(s, first, want, "metadata");
    if (host_off >= 0 && s->refs.free_cursor == first) {
        s->refs.free_cursor = first + want;
    }
    return host_off;
}

int64_t coroutine_fn qcow2_clusters_alloc_data_locked(Qcow2State *s, uint64_t wanted_off, uint64_t *clusters)
{
    uint64_t wanted = wanted_off >> s->geo.cluster_bits, first, count;

    g_assert(*clusters > 0 && co_mutex_is_held(&s->meta_lock));
    for (;;) {
        bool at_wanted = wanted > 0;
        int ret =
            qcow2_refcount_find_free_locked(s, at_wanted ? wanted : s->refs.free_cursor, *clusters, &first, &count);
        if (ret == 0 && at_wanted && first != wanted) {
            at_wanted = false;
            ret = qcow2_refcount_find_free_locked(s, s->refs.free_cursor, *clusters, &first, &count);
        }
        if (ret == 0) {
            ret = ensure_blocks(s, first, count);
        }
        if (ret < 0) {
            return ret;
        }
        if (ret == 0) {
            if (!at_wanted || first == s->refs.free_cursor) {
                s->refs.free_cursor = first;
            }
            break;
        }
    }
    int64_t host_off = take_run(s, first, count, "data cluster");
    if (host_off < 0) {
        return host_off;
    }
    if (first == s->refs.free_cursor) {
        s->refs.free_cursor = first + count;
    }
    *clusters = count;
    return host_off;
}

int coroutine_fn qcow2_clusters_ref_locked(Qcow2State *s, uint64_t host_off, uint64_t bytes)
{
    uint64_t first = host_off >> s->geo.cluster_bits;
    uint64_t count = qcow2_clusters(&s->geo, qcow2_in_cluster(&s->geo, host_off) + bytes);
    int ret;

    if (count == 0) {
        return 0;
    }
    do {
        ret = ensure_blocks(s, first, count);
    } while (ret > 0);
    return ret < 0 ? ret : qcow2_refcount_add_locked(s, first, count, 1);
}

static void forget_cursor(const Qcow2State *s, uint64_t *cursor, uint64_t first, uint64_t count)
{
    uint64_t at = *cursor >> s->geo.cluster_bits;

    if (at >= first && at < first + count) {
        *cursor = 0;
    }
}

/* No compressed cursor may survive the cluster it points into. */
static void forget_cursors(Qcow2State *s, uint64_t first, uint64_t count)
{
    forget_cursor(s, &s->refs.compressed_cursor, first, count);
    for (unsigned i = 0; i < QCOW2_COMPRESSED_RESTS; i++) {
        forget_cursor(s, &s->refs.compressed_rests[i], first, count);
    }
}

int coroutine_fn qcow2_clusters_unalloc_locked(Qcow2State *s, uint64_t host_off, uint64_t bytes)
{
    uint64_t first = host_off >> s->geo.cluster_bits;
    uint64_t count = qcow2_clusters(&s->geo, qcow2_in_cluster(&s->geo, host_off) + bytes);
    int ret = qcow2_refcount_add_locked(s, first, count, -1);

    if (ret == 0) {
        s->refs.free_cursor = MIN(s->refs.free_cursor, first);
        forget_cursors(s, first, count);
    }
    return ret;
}

void qcow2_clusters_free_locked(Qcow2State *s, uint64_t host_off, uint64_t bytes, Qcow2FreeKind kind)
{
    GArray *frees = s->refs.pending_frees;
    Qcow2PendingFree *last = frees->len > 0 ? &g_array_index(frees, Qcow2PendingFree, frees->len - 1) : NULL;

    s->refs.pending_free_bytes += bytes;
    /* Only whole clusters join: of compressed ones each range is a reference of its own. */
    if (last && last->kind == (int)kind && last->host_off + last->bytes == host_off &&
        qcow2_in_cluster(&s->geo, last->host_off | host_off | bytes) == 0) {
        last->bytes += bytes;
        return;
    }
    Qcow2PendingFree range = {host_off, bytes, kind};
    g_array_append_val(frees, range);
}

/* Tell the layer below about clusters that nobody will refer to any more. Before their counts drop, and so before
 * anybody can be given them: a late discard would erase the new owner's data. A discard that fails costs space only. */
static void coroutine_fn pass_discards(Qcow2State *s, const Qcow2PendingFree *f, uint64_t first, uint64_t count)
{
    if (!s->discard_passes[f->kind]) {
        return;
    }
    for (uint64_t i = 0, run = 0, value; i <= count; i++) {
        if (i < count && qcow2_refcount_read_locked(s, (first + i) << s->geo.cluster_bits, &value) == 0 && value == 1) {
            run++;
            continue;
        }
        if (run > 0) {
            block_co_pdiscard(s->data, (first + i - run) << s->geo.cluster_bits, run << s->geo.cluster_bits);
        }
        run = 0;
    }
}

static void coroutine_fn apply_free(Qcow2State *s, const Qcow2PendingFree *f)
{
    uint64_t first = f->host_off >> s->geo.cluster_bits;
    uint64_t count = qcow2_clusters(&s->geo, qcow2_in_cluster(&s->geo, f->host_off) + f->bytes);

    pass_discards(s, f, first, count);
    int ret = qcow2_clusters_unalloc_locked(s, f->host_off, f->bytes);
    /* A count that cannot be lowered is a leak, which the check mends; the request that freed it was done all the same.
     */
    trace(TRACE_QCOW2, "free", "host=0x%" PRIx64 " clusters=%" PRIu64 " ret=%d", f->host_off, count, ret);
}

int coroutine_fn qcow2_clusters_apply_frees_locked(Qcow2State *s)
{
    GArray *frees = s->refs.pending_frees;
    guint kept = 0;

    g_assert(co_mutex_is_held(&s->meta_lock));
    for (guint i = 0; i < frees->len; i++) {
        Qcow2PendingFree f = g_array_index(frees, Qcow2PendingFree, i);
        if (qcow2_readers_overlap(s, f.host_off, f.bytes)) {
            g_array_index(frees, Qcow2PendingFree, kept++) = f;
            continue;
        }
        apply_free(s, &f);
        s->refs.pending_free_bytes -= f.bytes;
    }
    g_array_set_size(frees, kept);
    return 0;
}
