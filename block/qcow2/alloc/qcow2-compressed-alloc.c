/* SPDX-License-Identifier: MIT */
/* Host bytes for compressed clusters: packed one after the other (qcow2 sheet section 7). */
#include <errno.h>

#include "block/qcow2/alloc/qcow2-clusters.h"
#include "block/qcow2/alloc/qcow2-refcount.h"

/* A cursor is the host offset of the free rest of a partly filled cluster; 0 = none. */
static uint64_t room_at(const Qcow2State *s, uint64_t cursor)
{
    return cursor ? s->geo.cluster_bytes - qcow2_in_cluster(&s->geo, cursor) : 0;
}

/* Can the cluster that holds the cursor take one more reference? */
static int coroutine_fn cursor_usable(Qcow2State *s, uint64_t cursor, bool *usable)
{
    uint64_t value;
    int ret = qcow2_refcount_read_locked(s, cursor, &value);

    *usable = ret == 0 && value > 0 && value < s->geo.refcount_max;
    return ret;
}

static void advance(Qcow2State *s, uint64_t *cursor, uint64_t bytes)
{
    *cursor = bytes < room_at(s, *cursor) ? *cursor + bytes : 0;
}

/* Place @bytes in the free rest at *@cursor. Sets *@host_off when they fit and the cluster can be used. */
static int coroutine_fn place_inside(Qcow2State *s, uint64_t *cursor, uint64_t bytes, uint64_t *host_off)
{
    bool usable;

    if (bytes > room_at(s, *cursor)) {
        return 0;
    }
    int ret = cursor_usable(s, *cursor, &usable);
    if (ret < 0 || !usable) {
        return ret;
    }
    ret = qcow2_refcount_add_locked(s, *cursor >> s->geo.cluster_bits, 1, 1);
    if (ret == 0) {
        *host_off = *cursor;
        advance(s, cursor, bytes);
    }
    return ret;
}

/* The smallest of the rests left behind that @bytes fit in; NULL if none. */
static uint64_t *best_rest(Qcow2State *s, uint64_t bytes)
{
    uint64_t *best = NULL;

    for (unsigned i = 0; i < QCOW2_COMPRESSED_RESTS; i++) {
        uint64_t *rest = &s->refs.compressed_rests[i];
        if (room_at(s, *rest) >= bytes && (!best || room_at(s, *rest) < room_at(s, *best))) {
            best = rest;
        }
    }
    return best;
}

/* The cursor goes elsewhere: keep what it leaves, in place of the smallest rest. */
static void leave_rest(Qcow2State *s)
{
    uint64_t *least = &s->refs.compressed_rests[0];

    for (unsigned i = 1; i < QCOW2_COMPRESSED_RESTS; i++) {
        if (room_at(s, s->refs.compressed_rests[i]) < room_at(s, *least)) {
            least = &s->refs.compressed_rests[i];
        }
    }
    if (room_at(s, *least) < room_at(s, s->refs.compressed_cursor)) {
        *least = s->refs.compressed_cursor;
    }
    s->refs.compressed_cursor = 0;
}

/* Place @bytes in a new cluster, from the cursor on when that is the next one, and put the cursor behind them. */
static int coroutine_fn place_in_new(Qcow2State *s, uint64_t bytes, uint64_t *host_off)
{
    uint64_t at = s->refs.compressed_cursor, room = room_at(s, at), one = 1;
    bool usable = false;
    int ret = at ? cursor_usable(s, at, &usable) : 0;

    if (ret < 0) {
        return ret;
    }
    int64_t next = qcow2_clusters_alloc_data_locked(s, usable ? at + room : 0, &one);
    if (next < 0) {
        return next;
    }
    if (usable && (uint64_t)next == at + room && bytes > room) {
        ret = qcow2_refcount_add_locked(s, at >> s->geo.cluster_bits, 1, 1);
        if (ret < 0) {
            qcow2_clusters_unalloc_locked(s, next, s->geo.cluster_bytes);
            return ret;
        }
        *host_off = at;
        bytes -= room;
    } else {
        leave_rest(s);
        *host_off = next;
    }
    s->refs.compressed_cursor = next;
    advance(s, &s->refs.compressed_cursor, bytes);
    return 0;
}

int64_t coroutine_fn qcow2_clusters_alloc_compressed_locked(Qcow2State *s, uint64_t bytes)
{
    uint64_t host_off = 0;

    g_assert(bytes > 0 && bytes < s->geo.cluster_bytes && co_mutex_is_held(&s->meta_lock));
    int ret = place_inside(s, &s->refs.compressed_cursor, bytes, &host_off);
    for (uint64_t *rest; ret == 0 && host_off == 0 && (rest = best_rest(s, bytes)) != NULL;) {
        ret = place_inside(s, rest, bytes, &host_off);
        if (ret == 0 && host_off == 0) {
            *rest = 0; /* of no use any more */
        }
    }
    if (ret == 0 && host_off == 0) {
        ret = place_in_new(s, bytes, &host_off);
    }
    if (ret < 0) {
        return ret;
    }
    if (host_off + bytes > qcow2_compressed_max_off(&s->geo)) {
        qcow2_clusters_unalloc_locked(s, host_off, bytes);
        return -EFBIG;
    }
    return host_off;
}
