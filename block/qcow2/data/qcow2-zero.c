/* SPDX-License-Identifier: MIT */
/* Zero writes, discards and drops: changes of L2 entries that move no data. Rules: qcow2 sheet section 9. */
#include <errno.h>
#include <inttypes.h>

#include "block/qcow2/data/qcow2-alloc.h"
#include "block/qcow2/alloc/qcow2-clusters.h"
#include "block/qcow2/data/qcow2-io.h"
#include "block/qcow2/map/qcow2-map.h"
#include "util/base/trace.h"

/* What becomes of an entry: its new value. When that keeps no host cluster, the old one's clusters are freed. */
typedef uint64_t EntryRule(const Qcow2State *s, uint64_t entry);

static uint64_t zero_keeping_cluster(const Qcow2State *s, uint64_t entry)
{
    switch (qcow2_entry_kind(s, entry)) {
    case QCOW2_KIND_NORMAL:
    case QCOW2_KIND_ZERO_ALLOC:
        return entry | QCOW2_OFLAG_ZERO;
    default:
        return QCOW2_OFLAG_ZERO;
    }
}

static uint64_t zero_unmapping(const Qcow2State *s, uint64_t entry)
{
    return QCOW2_OFLAG_ZERO;
}

static uint64_t unmap(const Qcow2State *s, uint64_t entry)
{
    return 0;
}

static bool has_backing(const Qcow2State *s)
{
    return s->node->backing || s->node->backing_name;
}

/* A discard leaves what reads as zeros without a cluster alone. */
static uint64_t discard_to_zero(const Qcow2State *s, uint64_t entry)
{
    Qcow2Kind kind = qcow2_entry_kind(s, entry);

    if (kind == QCOW2_KIND_UNALLOCATED && !has_backing(s)) {
        return entry;
    }
    return QCOW2_OFLAG_ZERO;
}

typedef struct Change {
    EntryRule *rule;
    Qcow2FreeKind free_kind;
    const char *what;
} Change;

static bool keeps_cluster(uint64_t old, uint64_t new)
{
    return (new &QCOW2_L2_OFF_MASK) != 0 || old == new;
}

/* Apply @c to the clusters of one L2 table. */
static int coroutine_fn change_entries(Qcow2State *s, uint64_t guest_off, uint64_t clusters, const Change *c)
{
    unsigned idx = qcow2_l2_idx(&s->geo, guest_off);
    void *table;
    int ret = qcow2_l2_get_writable_locked(s, guest_off, &table);

    if (ret < 0) {
        return ret;
    }
    bool changed = false;
    for (uint64_t i = 0; i < clusters; i++) {
        uint64_t old = qcow2_l2_entry(s, table, idx + i), new = c->rule(s, old);
        changed |= old != new;
        if (!keeps_cluster(old, new)) {
            qcow2_entry_free_locked(s, old, c->free_kind);
        }
    }
    if (changed) {
        qcow2_cache_lock(s->l2);
        for (uint64_t i = 0; i < clusters; i++) {
            qcow2_l2_set_entry(s, table, idx + i, c->rule(s, qcow2_l2_entry(s, table, idx + i)));
        }
        qcow2_cache_mark_dirty_locked(s->l2, table);
        qcow2_cache_unlock(s->l2);
    }
    qcow2_cache_put(s->l2, &table);
    return 0;
}

/* Would the change leave an empty table as it is? Then none is made. */
static bool empty_stays_empty(const Qcow2State *s, uint64_t guest_off, const Change *c)
{
    uint64_t l1_idx = qcow2_l1_idx(&s->geo, guest_off);

    return (l1_idx >= s->l1.size || (s->l1.table[l1_idx] & QCOW2_L1_OFF_MASK) == 0) && c->rule(s, 0) == 0;
}

/* Apply @c to whole clusters, a table at a time. Context: coroutine, meta_lock held (and dropped while links are waited
 * for). */
static int coroutine_fn change_range_locked(Qcow2State *s, uint64_t guest_off, uint64_t bytes, const Change *c)
{
    uint64_t span = UINT64_C(1) << (s->geo.cluster_bits + s->geo.l2_bits), end = guest_off + bytes;

    while (guest_off < end) {
        uint64_t n = MIN(end - guest_off, span - (guest_off & (span - 1)));
        if (qcow2_links_wait_locked(s, guest_off, n)) {
            continue;
        }
        if (!empty_stays_empty(s, guest_off, c)) {
            int ret = qcow2_prepare_change_locked(s);
            if (ret == 0) {
                ret = change_entries(s, guest_off, n >> s->geo.cluster_bits, c);
            }
            if (ret < 0) {
                return ret;
            }
        }
        guest_off += n;
    }
    trace(TRACE_QCOW2, "change", "what=%s end=0x%" PRIx64 " bytes=%" PRIu64, c->what, end, bytes);
    return 0;
}

int coroutine_fn qcow2_drop_range_locked(Qcow2State *s, uint64_t guest_off, uint64_t bytes)
{
    static const Change drop = {unmap, QCOW2_FREE_SNAPSHOT, "drop"};
    uint64_t start = qcow2_cluster_end(&s->geo, guest_off), end = qcow2_cluster_start(&s->geo, guest_off + bytes);

    return start < end ? change_range_locked(s, start, end - start, &drop) : 0;
}

/* End of a request for section 9's purposes: the rest of the last cluster of the disk counts as covered. */
static uint64_t whole_clusters_end(const Qcow2State *s, uint64_t end)
{
    return end >= (uint64_t)s->node->total_bytes ? qcow2_cluster_end(&s->geo, end) : end;
}

/* Do @bytes at @guest_off, parts of one cluster that no data is mapped for, read as zeros? Beyond the disk all do. */
static int coroutine_fn rest_is_zero(Qcow2State *s, uint64_t guest_off, uint64_t bytes, bool *zero)
{
    int64_t length = s->node->total_bytes;
    BlockStatus st;

    *zero = true;
    if (guest_off >= (uint64_t)length) {
        return 0;
    }
    int64_t in_backing = s->node->backing ? block_getlength(s->node->backing) : 0;
    uint64_t end = MIN(guest_off + bytes, (uint64_t)MIN(length, MAX(in_backing, 0)));
    while (guest_off < end && *zero) {
        int ret = block_co_status_above(s->node->backing, NULL, guest_off, end - guest_off, &st);
        if (ret < 0) {
            return ret;
        }
        *zero = (st.flags & BLOCK_STATUS_ZERO) && st.bytes > 0;
        guest_off += st.bytes;
    }
    return 0;
}

/* Zero the cluster at @cluster_off of which the request covers a part. It may become a zero cluster only if it maps no
 * data and its bytes outside the request, before @from and after @to, are zeros as well. */
static int coroutine_fn zero_partial_locked(Qcow2State *s, uint64_t cluster_off, uint64_t from, uint64_t to,
                                            const Change *c)
{
    uint64_t n = 1, cluster_end = cluster_off + s->geo.cluster_bytes;
    Qcow2Map map;
    bool zero = true;

    while (qcow2_links_wait_locked(s, cluster_off, 1)) {
        /* who was allocating it has mapped data there now */
    }
    int ret = qcow2_lookup(s, cluster_off, &n, &map, NULL);
    if (ret < 0) {
        return ret;
    }
    if (map.kind == QCOW2_KIND_NORMAL || map.kind == QCOW2_KIND_COMPRESSED) {
        return -ENOTSUP;
    }
    if (map.kind == QCOW2_KIND_UNALLOCATED) {
        ret = rest_is_zero(s, cluster_off, from - cluster_off, &zero);
        if (ret == 0 && zero) {
            ret = rest_is_zero(s, to, cluster_end - to, &zero);
        }
        if (ret < 0 || !zero) {
            return ret < 0 ? ret : -ENOTSUP;
        }
    }
    return change_range_locked(s, cluster_off, s->geo.cluster_bytes, c);
}

/* A partial first cluster, whole ones, a partial last cluster. When an edge cannot be done, the caller writes zeros
 * over all of it, so what was done before does no harm. */
static int coroutine_fn write_zeroes_locked(Qcow2State *s, uint64_t guest_off, uint64_t bytes, const Change *c)
{
    uint64_t end = whole_clusters_end(s, guest_off + bytes), from = guest_off;
    int ret = 0;

    while (ret == 0 && from < end) {
        uint64_t start = qcow2_cluster_start(&s->geo, from), to = qcow2_cluster_start(&s->geo, end);
        if (from != start || to == start) {
            to = MIN(end, start + s->geo.cluster_bytes);
            ret = zero_partial_locked(s, start, from, to, c);
        } else {
            ret = change_range_locked(s, from, to - from, c);
        }
        from = to;
    }
    return ret;
}

int coroutine_fn qcow2_co_write_zeroes(BlockNode *node, int64_t guest_off, int64_t bytes, unsigned flags)
{
    static const Change keep = {zero_keeping_cluster, QCOW2_FREE_REQUEST, "zero"};
    static const Change unmapping = {zero_unmapping, QCOW2_FREE_REQUEST, "zero-unmap"};
    static const Change v2 = {unmap, QCOW2_FREE_REQUEST, "zero-v2"};
    Qcow2State *s = qcow2_state(node);
    const Change *c = flags & BLOCK_REQ_MAY_UNMAP ? &unmapping : &keep;

    if (s->geo.version < 3) {
        if (has_backing(s)) {
            return -ENOTSUP;
        }
        c = &v2;
    }
    qcow2_meta_lock(s, "zero");
    int ret = write_zeroes_locked(s, guest_off, bytes, c);
    qcow2_meta_unlock(s, "zero");
    return ret;
}

int coroutine_fn qcow2_co_discard(BlockNode *node, int64_t guest_off, int64_t bytes)
{
    static const Change v3 = {discard_to_zero, QCOW2_FREE_REQUEST, "discard"};
    static const Change v2 = {unmap, QCOW2_FREE_REQUEST, "discard-v2"};
    Qcow2State *s = qcow2_state(node);
    uint64_t start = qcow2_cluster_end(&s->geo, guest_off);
    uint64_t end = qcow2_cluster_start(&s->geo, whole_clusters_end(s, guest_off + bytes));

    if (s->geo.version < 3 && has_backing(s)) {
        return -ENOTSUP;
    }
    if (start >= end) {
        return 0;
    }
    qcow2_meta_lock(s, "discard");
    int ret = change_range_locked(s, start, end - start, s->geo.version < 3 ? &v2 : &v3);
    qcow2_meta_unlock(s, "discard");
    return ret;
}
