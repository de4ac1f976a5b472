/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "block/qcow2/alloc/qcow2-clusters.h"
#include "block/qcow2/format/qcow2-file.h"
#include "block/qcow2/state/qcow2-overlap.h"
#include "block/qcow2/alloc/qcow2-refcount.h"
#include "util/base/endian.h"
#include "util/base/error.h"
#include "util/base/trace.h"

enum { HEADER_REFTABLE_FIELDS = 48 }; /* offset and clusters, 12 bytes */

bool coroutine_fn qcow2_refcounts_load(Qcow2State *s, GError **errp)
{
    uint64_t entries = ((uint64_t)s->header.reftable_clusters << s->geo.cluster_bits) / sizeof(uint64_t);

    s->refs.entries = entries;
    s->refs.used_entries = 0;
    s->refs.host_off = s->header.reftable_off;
    s->refs.pending_frees = g_array_new(FALSE, FALSE, sizeof(Qcow2PendingFree));
    if (entries == 0) {
        return true; /* tolerated for repair only; the header check says so */
    }
    s->refs.table = g_try_new(uint64_t, entries);
    if (!s->refs.table) {
        error_set_errno(errp, ENOMEM, "Could not allocate refcount table of %" PRIu64 " bytes", entries * 8);
        return false;
    }
    int ret = qcow2_file_read(s->node->file, s->refs.host_off, s->refs.table, entries * sizeof(uint64_t));
    if (ret < 0) {
        error_set_errno(errp, -ret, "Could not read refcount table");
        return false;
    }
    for (uint64_t i = 0; i < entries; i++) {
        s->refs.table[i] = be64toh(s->refs.table[i]);
        if (s->refs.table[i] != 0) {
            s->refs.used_entries = i + 1;
        }
    }
    return true;
}

void qcow2_refcounts_free(Qcow2State *s)
{
    g_clear_pointer(&s->refs.table, g_free);
    if (s->refs.pending_frees) {
        g_array_free(s->refs.pending_frees, TRUE);
        s->refs.pending_frees = NULL;
    }
    s->refs.entries = 0;
}

void qcow2_reftable_set_entry_locked(Qcow2State *s, uint64_t idx, uint64_t block_off)
{
    Qcow2Refcounts *r = &s->refs;

    g_assert(idx < r->entries);
    qcow2_cache_lock(s->l2); /* the overlap check reads the table with this guard alone */
    r->table[idx] = block_off;
    r->used_entries = MAX(r->used_entries, idx + 1);
    qcow2_cache_unlock(s->l2);
    r->dirty_first = r->table_dirty ? MIN(r->dirty_first, idx) : idx;
    r->dirty_last = r->table_dirty ? MAX(r->dirty_last, idx) : idx;
    r->table_dirty = true;
}

int coroutine_fn qcow2_reftable_write_dirty_locked(Qcow2State *s)
{
    Qcow2Refcounts *r = &s->refs;

    if (!r->table_dirty) {
        return 0;
    }
    /* Whole sectors, so that no layer below has to read first. */
    uint64_t first = round_down(r->dirty_first, SECTOR_SIZE / sizeof(uint64_t));
    uint64_t end = MIN(round_up(r->dirty_last + 1, SECTOR_SIZE / sizeof(uint64_t)), r->entries);
    uint64_t off = r->host_off + first * sizeof(uint64_t);
    int ret = qcow2_check_overlap(s, QCOW2_OL_REFTABLE, off, (end - first) * sizeof(uint64_t));
    if (ret < 0) {
        return ret;
    }
    ret = qcow2_file_write_entries(s->node->file, r->table, first, end - first, r->host_off);
    if (ret == 0) {
        r->table_dirty = false;
        trace(TRACE_QCOW2, "reftable_write", "first=%" PRIu64 " entries=%" PRIu64, first, end - first);
    }
    return ret;
}

/* A new table with the blocks that count it: [blocks | table], from cluster @first on. */
typedef struct Growth {
    uint64_t first, blocks, table_clusters, entries;
} Growth;

/* Place and sizes of a table that covers itself and all before it, with half as much again to grow into. */
static int plan_growth(const Qcow2State *s, uint64_t end_cluster, Growth *g)
{
    unsigned bits = s->geo.refblock_bits;
    uint64_t entries_per_cluster = s->geo.cluster_bytes / sizeof(uint64_t);
    uint64_t max_clusters = MAX(1, QCOW2_MAX_REFTABLE_BYTES >> s->geo.cluster_bits), need, before;

    g->first = MAX(s->refs.entries << bits, end_cluster);
    g->blocks = g->table_clusters = 1;
    do {
        before = g->blocks + g->table_clusters;
        need = ((g->first + before - 1) >> bits) + 1;
        g->table_clusters = MIN(div_round_up(need + need / 2, entries_per_cluster), max_clusters);
        g->blocks = ((g->first + g->blocks + g->table_clusters - 1) >> bits) - (g->first >> bits) + 1;
    } while (g->blocks + g->table_clusters > before);
    g->entries = g->table_clusters * entries_per_cluster;
    return need <= g->entries && (g->first + before) << s->geo.cluster_bits < (uint64_t)QCOW2_MAX_HOST_OFF ? 0 : -EFBIG;
}

/* Put blocks for the area itself into the cache; their table entries into @table. */
static int coroutine_fn make_blocks(Qcow2State *s, const Growth *g, uint64_t *table)
{
    unsigned bits = s->geo.refblock_bits;
    uint64_t end = g->first + g->blocks + g->table_clusters;

    for (uint64_t i = 0; i < g->blocks; i++) {
        uint64_t off = (g->first + i) << s->geo.cluster_bits, idx = (g->first >> bits) + i;
        void *block;
        int ret = qcow2_cache_get_new(s->refblocks, off, &block);
        if (ret < 0) {
            return ret;
        }
        for (uint64_t c = MAX(g->first, idx << bits); c < MIN(end, (idx + 1) << bits); c++) {
            qcow2_refcount_set(block, s->geo.refcount_order, c - (idx << bits), 1);
        }
        qcow2_cache_mark_dirty(s->refblocks, block);
        qcow2_cache_put(s->refblocks, &block);
        table[idx] = off;
    }
    return 0;
}

/* Write blocks and table, then let the header name them (I3, I5). */
static int coroutine_fn write_growth(Qcow2State *s, const Growth *g, const uint64_t *table, uint64_t table_off)
{
    BlockNode *file = s->node->file;
    uint8_t fields[12];
    int ret = qcow2_check_overlap(s, 0, g->first << s->geo.cluster_bits,
                                  (g->blocks + g->table_clusters) << s->geo.cluster_bits);

    /* The new table names all blocks, also those that the old one on disk does not yet. */
    if (ret == 0) {
        ret = qcow2_cache_write_dirty(s->refblocks);
    }
    if (ret == 0) {
        ret = qcow2_file_write_entries(s->node->file, table, 0, g->entries, table_off);
    }
    if (ret == 0) {
        ret = block_co_flush(file);
    }
    if (ret < 0) {
        return ret;
    }
    store_be64(fields, table_off);
    store_be32(fields + 8, g->table_clusters);
    ret = block_co_pwrite(file, HEADER_REFTABLE_FIELDS, fields, sizeof(fields), 0);
    if (ret == 0) {
        ret = block_co_flush(file);
    }
    if (ret < 0) {
        s->refs.failed = ret;
    }
    return ret;
}

int coroutine_fn qcow2_reftable_grow_locked(Qcow2State *s, uint64_t end_cluster)
{
    Qcow2Refcounts *r = &s->refs;
    Growth g;
    int ret = plan_growth(s, end_cluster, &g);

    if (ret < 0) {
        return ret;
    }
    uint64_t table_off = (g.first + g.blocks) << s->geo.cluster_bits;
    g_autofree uint64_t *table = g_try_new0(uint64_t, g.entries);
    if (!table) {
        return -ENOMEM;
    }
    memcpy(table, r->table, r->entries * sizeof(uint64_t));
    ret = make_blocks(s, &g, table);
    if (ret == 0) {
        ret = write_growth(s, &g, table, table_off);
    }
    if (ret < 0) {
        for (uint64_t i = 0; i < g.blocks; i++) {
            qcow2_cache_drop(s->refblocks, (g.first + i) << s->geo.cluster_bits);
        }
        return ret;
    }
    trace(TRACE_QCOW2, "reftable_grow", "host=0x%" PRIx64 " entries=%" PRIu64 "->%" PRIu64, table_off, r->entries,
          g.entries);

    uint64_t old_off = r->host_off, old_bytes = (uint64_t)s->header.reftable_clusters << s->geo.cluster_bits;
    qcow2_cache_lock(s->l2);
    g_free(r->table);
    r->table = g_steal_pointer(&table);
    r->used_entries = (g.first >> s->geo.refblock_bits) + g.blocks;
    r->entries = g.entries;
    r->host_off = s->header.reftable_off = table_off;
    s->header.reftable_clusters = g.table_clusters;
    r->table_dirty = false;
    qcow2_cache_unlock(s->l2);
    /* A failure here leaks the old table, no more. */
    qcow2_clusters_unalloc_locked(s, old_off, old_bytes);
    return 0;
}
