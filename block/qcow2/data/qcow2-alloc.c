/* SPDX-License-Identifier: MIT */
#include "block/qcow2/data/qcow2-alloc.h"

#include <errno.h>
#include <inttypes.h>

#include "block/qcow2/alloc/qcow2-clusters.h"
#include "block/qcow2/map/qcow2-flush.h"
#include "block/qcow2/state/qcow2-overlap.h"
#include "block/qcow2/data/qcow2-join.h"
#include "block/qcow2/map/qcow2-map.h"
#include "util/base/trace.h"

/* Frees that wait for a flush are bounded, or the file would grow while much of it is free. */
static const uint64_t MAX_PENDING_FREE_BYTES = 64 * MIB;
/* A run with its edges stays well below the largest request of the layer below. */
static const uint64_t MAX_RUN_BYTES = GIB;

void coroutine_fn qcow2_meta_lock(Qcow2State *s, const char *why)
{
    co_mutex_lock(&s->meta_lock);
    trace(TRACE_QCOW2, "meta_lock", "why=%s", why);
}

void coroutine_fn qcow2_meta_unlock(Qcow2State *s, const char *why)
{
    trace(TRACE_QCOW2, "meta_unlock", "why=%s", why);
    co_mutex_unlock(&s->meta_lock);
}

static int coroutine_fn set_dirty_bit(Qcow2State *s)
{
    s->header.incompatible |= QCOW2_INCOMPAT_DIRTY;
    int ret = qcow2_write_header_locked(s);
    if (ret == 0) {
        ret = block_co_flush(s->node->file);
    }
    if (ret < 0) {
        s->header.incompatible &= ~QCOW2_INCOMPAT_DIRTY;
        return ret;
    }
    s->dirty_bit_set = true;
    return 0;
}

int coroutine_fn qcow2_prepare_change_locked(Qcow2State *s)
{
    int ret = 0;

    g_assert(co_mutex_is_held(&s->meta_lock));
    if (s->corrupt) {
        return -ENOMEDIUM;
    }
    if (qcow2_cache_pressure(s->l2) || qcow2_cache_pressure(s->refblocks) ||
        s->refs.pending_free_bytes > MAX_PENDING_FREE_BYTES) {
        ret = qcow2_flush_metadata_locked(s, false);
    }
    if (ret == 0 && s->lazy_refcounts && !s->dirty_bit_set) {
        ret = set_dirty_bit(s);
    }
    return ret;
}

void qcow2_link_begin_locked(Qcow2State *s, Qcow2Link *link)
{
    co_queue_init(&link->waiters);
    link->open = false;
    link->joins = NULL;
    qcow2_cache_lock(s->l2);
    link->prev = NULL;
    link->next = s->links;
    if (s->links) {
        s->links->prev = link;
    }
    s->links = link;
    qcow2_cache_unlock(s->l2);
}

void qcow2_link_end_locked(Qcow2State *s, Qcow2Link *link)
{
    qcow2_cache_lock(s->l2);
    *(link->prev ? &link->prev->next : &s->links) = link->next;
    if (link->next) {
        link->next->prev = link->prev;
    }
    co_queue_wake_all(&link->waiters);
    qcow2_cache_unlock(s->l2);
}

/* A pending link that touches the range, or NULL. Guard or meta_lock held. */
static Qcow2Link *find_link(const Qcow2State *s, uint64_t guest_off, uint64_t bytes)
{
    for (Qcow2Link *l = s->links; l; l = l->next) {
        if (l->guest_off < guest_off + bytes && guest_off < l->guest_off + (l->clusters << s->geo.cluster_bits)) {
            return l;
        }
    }
    return NULL;
}

bool coroutine_fn qcow2_links_wait_locked(Qcow2State *s, uint64_t guest_off, uint64_t bytes)
{
    g_assert(co_mutex_is_held(&s->meta_lock));
    Qcow2Link *l = find_link(s, guest_off, bytes);

    if (!l) {
        return false;
    }
    qcow2_cache_lock(s->l2);
    co_mutex_unlock(&s->meta_lock); /* the link cannot end before we wait for it: that takes the guard too */
    qcow2_cache_wait_locked(s->l2, &l->waiters);
    qcow2_cache_unlock(s->l2);
    co_mutex_lock(&s->meta_lock);
    return true;
}

/* The same without meta_lock: those who wait for one link go on at once when it ends, not one after the other. The data
 * goes along if the link still takes it. */
static bool coroutine_fn wait_for_link(Qcow2State *s, Qcow2Join *join)
{
    qcow2_cache_lock(s->l2);
    Qcow2Link *l = find_link(s, join->guest_off, 1);

    if (l) {
        qcow2_join_locked(s, l, join);
        qcow2_cache_wait_locked(s->l2, &l->waiters);
    }
    qcow2_cache_unlock(s->l2);
    return l != NULL;
}

static bool may_write_in_place(Qcow2Kind kind, bool copied)
{
    return kind == QCOW2_KIND_NORMAL && copied;
}

/* An L2 entry gone wrong must not make guest data overwrite metadata. */
static int coroutine_fn set_in_place(Qcow2State *s, Qcow2WriteRun *run, uint64_t guest_off, uint64_t bytes,
                                     uint64_t host_off)
{
    run->guest_off = guest_off;
    run->bytes = bytes;
    run->host_off = host_off;
    run->in_place = true;
    run->joined = false;
    run->head_bytes = run->tail_bytes = 0;
    return qcow2_check_overlap(s, 0, host_off, bytes);
}

/* Clusters from @start that no link in flight touches, at most @max. The first is known to be free of them. */
static uint64_t clusters_before_next_link(const Qcow2State *s, uint64_t start, uint64_t max)
{
    for (const Qcow2Link *l = s->links; l; l = l->next) {
        if (l->guest_off > start) {
            max = MIN(max, (l->guest_off - start) >> s->geo.cluster_bits);
        }
    }
    return max;
}

/* Clusters for up to @max L2 entries from @idx, none of which can be written in place: those that a preallocated zero
 * entry already owns, else new ones. Fills link->host_off, ->clusters and ->reused. */
static int coroutine_fn choose_clusters(Qcow2State *s, const void *table, unsigned idx, uint64_t max, Qcow2Link *link)
{
    uint64_t first = qcow2_l2_entry(s, table, idx), n = 1, wanted = 0;
    bool first_ours = first & QCOW2_OFLAG_COPIED && qcow2_entry_kind(s, first) == QCOW2_KIND_ZERO_ALLOC;

    link->reused = first_ours;
    if (first_ours) {
        while (n < max && qcow2_l2_entry(s, table, idx + n) == first + (n << s->geo.cluster_bits)) {
            n++;
        }
        link->host_off = first & QCOW2_L2_OFF_MASK;
        link->clusters = n;
        return qcow2_check_overlap(s, 0, link->host_off, n << s->geo.cluster_bits);
    }
    while (n < max && !(qcow2_l2_entry(s, table, idx + n) & QCOW2_OFLAG_COPIED)) {
        n++;
    }
    if (idx > 0) {
        uint64_t before = qcow2_l2_entry(s, table, idx - 1);
        if (qcow2_entry_kind(s, before) == QCOW2_KIND_NORMAL) {
            wanted = qcow2_cluster_start(&s->geo, before & QCOW2_L2_OFF_MASK) + s->geo.cluster_bytes;
        }
    }
    int64_t host_off = qcow2_clusters_alloc_data_locked(s, wanted, &n);
    if (host_off < 0) {
        return host_off;
    }
    link->host_off = host_off;
    link->clusters = n;
    return 0;
}

static int coroutine_fn allocate_run(Qcow2State *s, uint64_t guest_off, uint64_t bytes, Qcow2WriteRun *run)
{
    uint64_t in_cluster = qcow2_in_cluster(&s->geo, guest_off), start = guest_off - in_cluster;
    unsigned idx = qcow2_l2_idx(&s->geo, guest_off);
    uint64_t max = qcow2_clusters(&s->geo, in_cluster + MIN(bytes, MAX_RUN_BYTES));
    void *table;
    int ret = qcow2_l2_get_writable_locked(s, guest_off, &table);

    if (ret < 0) {
        return ret;
    }
    max = MIN(max, (UINT64_C(1) << s->geo.l2_bits) - idx);
    max = clusters_before_next_link(s, start, max);
    ret = choose_clusters(s, table, idx, max, &run->link);
    qcow2_cache_put(s->l2, &table);
    if (ret < 0) {
        return ret;
    }
    run->link.guest_off = start;
    qcow2_link_begin_locked(s, &run->link);
    uint64_t run_bytes = run->link.clusters << s->geo.cluster_bits;
    run->in_place = run->joined = false;
    run->guest_off = guest_off;
    run->bytes = MIN(bytes, run_bytes - in_cluster);
    run->host_off = run->link.host_off + in_cluster;
    run->head_bytes = in_cluster;
    run->tail_bytes = run_bytes - in_cluster - run->bytes;
    trace(TRACE_QCOW2, "alloc",
          "guest=0x%" PRIx64 " bytes=%" PRIu64 " host=0x%" PRIx64 " clusters=%" PRIu64 " reused=%d", guest_off,
          run->bytes, run->link.host_off, run->link.clusters, run->link.reused);
    return 0;
}

/* 1: a link came in between, all is to be looked at again without the lock. */
static int coroutine_fn begin_locked(Qcow2State *s, uint64_t guest_off, uint64_t bytes, Qcow2WriteRun *run)
{
    uint64_t n = bytes;
    Qcow2Map map;

    if (find_link(s, guest_off, 1)) {
        return 1;
    }
    int ret = qcow2_lookup(s, guest_off, &n, &map, NULL);
    if (ret < 0) {
        return ret;
    }
    if (may_write_in_place(map.kind, map.copied)) {
        return set_in_place(s, run, guest_off, n, map.host_off);
    }
    ret = qcow2_prepare_change_locked(s);
    return ret < 0 ? ret : allocate_run(s, guest_off, bytes, run);
}

int coroutine_fn qcow2_write_run_begin(Qcow2State *s, const BlockRw *rw, uint64_t done, Qcow2WriteRun *run)
{
    uint64_t guest_off = rw->offset + done, bytes = rw->bytes - done;
    int ret;

    do {
        Qcow2Join join = {.guest_off = guest_off, .bytes = bytes, .iov = rw->iov, .iov_off = rw->iov_off + done};
        uint64_t n = bytes;
        Qcow2Map map;

        ret = qcow2_lookup(s, guest_off, &n, &map, NULL);
        if (ret < 0) {
            return ret;
        }
        if (may_write_in_place(map.kind, map.copied)) {
            return set_in_place(s, run, guest_off, n, map.host_off);
        }
        if (wait_for_link(s, &join)) {
            if (join.done) {
                *run = (Qcow2WriteRun){.guest_off = guest_off, .bytes = join.bytes, .joined = true};
                return 0;
            }
            ret = 1;
            continue;
        }
        block_place_wait(rw->place);
        qcow2_meta_lock(s, "alloc");
        ret = begin_locked(s, guest_off, bytes, run);
        qcow2_meta_unlock(s, "alloc");
    } while (ret > 0);
    return ret;
}
