/* SPDX-License-Identifier: MIT */
#include "block/qcow2/alloc/qcow2-refcount.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "block/qcow2/alloc/qcow2-clusters.h"
#include "block/qcow2/state/qcow2-overlap.h"
#include "util/base/endian.h"
#include "util/base/trace.h"

static uint64_t block_counts(const Qcow2State *s)
{
    return UINT64_C(1) << s->geo.refblock_bits;
}

static uint64_t get_count(const Qcow2State *s, const void *block, uint64_t idx)
{
    /* The default width has a short cut: this is the inner loop of the free-cluster scan. */
    if (s->geo.refcount_order == 4) {
        return load_be16((const uint8_t *)block + 2 * idx);
    }
    return qcow2_refcount_get(block, s->geo.refcount_order, idx);
}

int coroutine_fn qcow2_refblock_get_locked(Qcow2State *s, uint64_t table_idx, void **block)
{
    *block = NULL;
    if (table_idx >= s->refs.entries) {
        return 0;
    }
    uint64_t off = s->refs.table[table_idx] & QCOW2_REFTABLE_OFF_MASK;
    if (off == 0) {
        return 0;
    }
    if (qcow2_in_cluster(&s->geo, off) != 0) {
        return qcow2_mark_corrupt(s, true, "Refblock offset %#" PRIx64 " unaligned (reftable index: %#" PRIx64 ")", off,
                                  table_idx);
    }
    return qcow2_cache_get(s->refblocks, off, block);
}

int coroutine_fn qcow2_refcount_read_locked(Qcow2State *s, uint64_t host_off, uint64_t *value)
{
    uint64_t cluster = host_off >> s->geo.cluster_bits;
    void *block;
    int ret = qcow2_refblock_get_locked(s, cluster >> s->geo.refblock_bits, &block);

    *value = 0;
    if (ret < 0 || !block) {
        return ret;
    }
    *value = get_count(s, block, cluster & (block_counts(s) - 1));
    qcow2_cache_put(s->refblocks, &block);
    return 0;
}

/* Can all @count counts from @first take @delta? */
static bool may_add(const Qcow2State *s, const void *block, uint64_t first, uint64_t count, int delta)
{
    for (uint64_t i = first; i < first + count; i++) {
        uint64_t value = get_count(s, block, i);
        if (delta < 0 ? value < (uint64_t)-delta : value > s->geo.refcount_max - delta) {
            return false;
        }
    }
    return true;
}

/* The part of an addition that lies in one block. */
static int coroutine_fn add_in_block(Qcow2State *s, uint64_t cluster, uint64_t count, int delta)
{
    uint64_t table_idx = cluster >> s->geo.refblock_bits, first = cluster & (block_counts(s) - 1);
    void *block;
    int ret = qcow2_refblock_get_locked(s, table_idx, &block);

    if (ret < 0) {
        return ret;
    }
    if (!block) {
        return -EINVAL;
    }
    ret = -EINVAL;
    if (may_add(s, block, first, count, delta)) {
        uint64_t block_off = s->refs.table[table_idx] & QCOW2_REFTABLE_OFF_MASK;
        ret = qcow2_check_overlap(s, QCOW2_OL_REFBLOCK, block_off, s->geo.cluster_bytes);
        for (uint64_t i = first; ret == 0 && i < first + count; i++) {
            qcow2_refcount_set(block, s->geo.refcount_order, i, get_count(s, block, i) + delta);
        }
        if (ret == 0) {
            qcow2_cache_mark_dirty(s->refblocks, block);
        }
    }
    qcow2_cache_put(s->refblocks, &block);
    return ret;
}

int coroutine_fn qcow2_refcount_add_locked(Qcow2State *s, uint64_t first, uint64_t count, int delta)
{
    for (uint64_t done = 0, n; done < count; done += n) {
        uint64_t cluster = first + done;
        n = MIN(count - done, block_counts(s) - (cluster & (block_counts(s) - 1)));
        int ret = add_in_block(s, cluster, n, delta);
        if (ret < 0) {
            if (done > 0) {
                qcow2_refcount_add_locked(s, first, done, -delta);
            }
            return ret;
        }
    }
    return 0;
}

/* Free counts from *@cluster to the end of its block or to *@run == @max: extends the run, or looks for its start while
 * *@run is 0. True when the run has ended. */
static bool scan_block(const Qcow2State *s, const void *block, uint64_t *cluster, uint64_t *run, uint64_t max)
{
    uint64_t mask = block_counts(s) - 1;

    do {
        if (!block || get_count(s, block, *cluster & mask) == 0) {
            (*run)++;
        } else if (*run > 0) {
            return true;
        }
        (*cluster)++;
    } while (*run < max && (*cluster & mask) != 0);
    return *run == max;
}

int coroutine_fn qcow2_refcount_find_free_locked(Qcow2State *s, uint64_t from, uint64_t max, uint64_t *first,
                                                 uint64_t *count)
{
    uint64_t cluster = from, run = 0;
    bool ended = false;

    g_assert(max > 0);
    while (!ended && cluster >> s->geo.refblock_bits < s->refs.entries) {
        void *block;
        int ret = qcow2_refblock_get_locked(s, cluster >> s->geo.refblock_bits, &block);
        if (ret < 0) {
            return ret;
        }
        if (!block) {
            uint64_t in_block = block_counts(s) - (cluster & (block_counts(s) - 1)), n = MIN(max - run, in_block);
            cluster += n;
            run += n;
            ended = run == max;
            continue;
        }
        ended = scan_block(s, block, &cluster, &run, max);
        qcow2_cache_put(s->refblocks, &block);
    }
    *first = cluster - run;
    *count = ended ? run : max;
    return 0;
}

/* Where a new block goes: the first free cluster. When no block counts that one yet, a block for it comes first. */
int coroutine_fn qcow2_refblock_ensure_locked(Qcow2State *s, uint64_t cluster)
{
    uint64_t table_idx = cluster >> s->geo.refblock_bits, home, n;
    void *block;

    if (s->refs.failed) {
        return s->refs.failed;
    }
    if (table_idx >= s->refs.entries) {
        int ret = qcow2_reftable_grow_locked(s, cluster + 1);
        return ret < 0 ? ret : 1;
    }
    if ((s->refs.table[table_idx] & QCOW2_REFTABLE_OFF_MASK) != 0) {
        return 0;
    }

    int ret = qcow2_refcount_find_free_locked(s, s->refs.free_cursor, 1, &home, &n);
    if (ret < 0) {
        return ret;
    }
    if (home == 0) {
        return qcow2_mark_corrupt(s, true, "Preventing invalid allocation of refcount block at offset 0");
    }
    bool counts_itself = home >> s->geo.refblock_bits == table_idx;
    if (!counts_itself) {
        ret = qcow2_refblock_ensure_locked(s, home);
        if (ret != 0) {
            return ret;
        }
    }
    uint64_t home_off = home << s->geo.cluster_bits;
    if (home_off >= (uint64_t)QCOW2_MAX_HOST_OFF) {
        return -EFBIG;
    }
    ret = qcow2_check_overlap(s, 0, home_off, s->geo.cluster_bytes);
    if (ret < 0) {
        return ret;
    }
    ret = qcow2_cache_get_new(s->refblocks, home_off, &block);
    if (ret < 0) {
        return ret;
    }
    /* As for L2 tables: room on the disk before any data can take it. Nothing refers to the block there yet. */
    ret = block_co_pwrite(s->node->file, home_off, block, s->geo.cluster_bytes, 0);
    if (ret == 0 && counts_itself) {
        qcow2_refcount_set(block, s->geo.refcount_order, home & (block_counts(s) - 1), 1);
    } else if (ret == 0) {
        ret = qcow2_refcount_add_locked(s, home, 1, 1);
    }
    qcow2_cache_put(s->refblocks, &block);
    if (ret < 0) {
        qcow2_cache_drop(s->refblocks, home_off);
        return ret;
    }
    qcow2_reftable_set_entry_locked(s, table_idx, home_off);
    trace(TRACE_QCOW2, "refblock_new", "table_idx=%" PRIu64 " host=0x%" PRIx64, table_idx, home_off);
    return 1;
}
