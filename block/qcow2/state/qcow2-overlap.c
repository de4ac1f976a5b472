/* SPDX-License-Identifier: MIT */
/* Refuse writes onto metadata (qcow2 sheet section 17), from what is in memory. */
#include "block/qcow2/state/qcow2-overlap.h"

#include <inttypes.h>


/* Above so many entries the L1 and refcount tables are not scanned on each write; cached tables are still found. */
enum { SCAN_ENTRIES = 8192 };

static bool ranges_overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes)
{
    return b_bytes > 0 && a < b + b_bytes && b < a + a_bytes;
}

static bool cached_table_hit(const Qcow2State *s, Qcow2Cache *cache, uint64_t first_off, uint64_t end_off)
{
    for (uint64_t off = first_off; off < end_off; off += s->geo.cluster_bytes) {
        if (qcow2_cache_contains_locked(cache, off)) {
            return true;
        }
    }
    return false;
}

/* Does a table of host offsets name a cluster that the range touches? A table too long to scan each time is asked
 * only when the cache knows such a cluster (which may be a leftover, so the cache alone does not decide). */
static bool table_names(const Qcow2State *s, const uint64_t *table, uint64_t entries, uint64_t mask, Qcow2Cache *cache,
                        uint64_t first_off, uint64_t end_off)
{
    bool hit = false;

    if (entries > SCAN_ENTRIES && !cached_table_hit(s, cache, first_off, end_off)) {
        return false;
    }
    /* No early exit: the loop is there to be vectorised, and a hit is the rare case. */
    for (uint64_t i = 0; i < entries; i++) {
        uint64_t off = table[i] & mask;
        hit |= (off - first_off < end_off - first_off) & (off != 0);
    }
    return hit;
}

/* Guard of the L2 cache held. */
static const char *find_fixed(const Qcow2State *s, unsigned kinds, uint64_t off, uint64_t bytes)
{
    if ((kinds & QCOW2_OL_HEADER) && off < s->geo.cluster_bytes) {
        return "qcow2_header";
    }
    if ((kinds & QCOW2_OL_ACTIVE_L1) && ranges_overlap(off, bytes, s->l1.host_off, s->l1.size * sizeof(uint64_t))) {
        return "active L1 table";
    }
    if ((kinds & QCOW2_OL_REFTABLE) &&
        ranges_overlap(off, bytes, s->refs.host_off, s->refs.entries * sizeof(uint64_t))) {
        return "refcount table";
    }
    return NULL;
}

static const char *find_overlap(Qcow2State *s, unsigned kinds, uint64_t off, uint64_t bytes)
{
    uint64_t first_off = qcow2_cluster_start(&s->geo, off), end_off = qcow2_cluster_end(&s->geo, off + bytes);
    const char *what;

    qcow2_cache_lock(s->l2);
    what = find_fixed(s, kinds, off, bytes);
    if (!what && (kinds & QCOW2_OL_ACTIVE_L2) &&
        table_names(s, s->l1.table, s->l1.size, QCOW2_L1_OFF_MASK, s->l2, first_off, end_off)) {
        what = "active L2 table";
    }
    if (!what && (kinds & QCOW2_OL_REFBLOCK)) {
        qcow2_cache_lock(s->refblocks);
        if (table_names(s, s->refs.table, s->refs.used_entries, QCOW2_REFTABLE_OFF_MASK, s->refblocks, first_off,
                        end_off)) {
            what = "refcount block";
        }
        qcow2_cache_unlock(s->refblocks);
    }
    qcow2_cache_unlock(s->l2);
    return what;
}

int coroutine_fn qcow2_check_overlap(Qcow2State *s, unsigned ignore, uint64_t host_off, uint64_t bytes)
{
    const char *what = find_overlap(s, s->overlap_check & ~ignore, host_off, bytes);

    if (!what) {
        return 0;
    }
    return qcow2_mark_corrupt(s, true, "Preventing invalid write on metadata (overlaps with %s)", what);
}
