/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "block/qcow2/alloc/qcow2-clusters.h"
#include "block/qcow2/format/qcow2-file.h"
#include "block/qcow2/map/qcow2-flush.h"
#include "block/qcow2/state/qcow2-overlap.h"
#include "block/qcow2/map/qcow2-map.h"
#include "util/base/endian.h"
#include "util/base/error.h"
#include "util/base/trace.h"

enum { HEADER_L1_FIELDS = 36 }; /* size and offset, 12 bytes */
enum { SECTOR_ENTRIES = SECTOR_SIZE / sizeof(uint64_t), BITS_PER_WORD = 8 * sizeof(unsigned long) };

static size_t dirty_words(uint64_t entries)
{
    return div_round_up(div_round_up(entries, SECTOR_ENTRIES), BITS_PER_WORD);
}

bool coroutine_fn qcow2_l1_load(Qcow2State *s, GError **errp)
{
    Qcow2L1 *l1 = &s->l1;
    uint64_t entries = s->header.l1_size;

    g_assert(entries * sizeof(uint64_t) <= QCOW2_MAX_L1_BYTES);
    l1->size = entries;
    l1->host_off = s->header.l1_off;
    l1->table = g_try_new0(uint64_t, MAX(entries, 1));
    l1->dirty = g_try_new0(unsigned long, MAX(dirty_words(entries), 1));
    if (!l1->table || !l1->dirty) {
        error_set_errno(errp, ENOMEM, "Could not allocate L1 table of %" PRIu64 " bytes", entries * sizeof(uint64_t));
        qcow2_l1_free(s);
        return false;
    }
    int ret = qcow2_file_read(s->node->file, l1->host_off, l1->table, entries * sizeof(uint64_t));
    if (ret < 0) {
        error_set_errno(errp, -ret, "Could not read L1 table");
        qcow2_l1_free(s);
        return false;
    }
    for (uint64_t i = 0; i < entries; i++) {
        l1->table[i] = be64toh(l1->table[i]);
    }
    return true;
}

void qcow2_l1_free(Qcow2State *s)
{
    g_clear_pointer(&s->l1.table, g_free);
    g_clear_pointer(&s->l1.dirty, g_free);
    s->l1.size = 0;
    s->l1.any_dirty = false;
}

void qcow2_l1_set_entry_locked(Qcow2State *s, uint64_t idx, uint64_t entry)
{
    Qcow2L1 *l1 = &s->l1;
    uint64_t sector = idx / SECTOR_ENTRIES;

    g_assert(idx < l1->size);
    qcow2_cache_lock(s->l2);
    l1->table[idx] = entry;
    qcow2_cache_unlock(s->l2);
    l1->dirty[sector / BITS_PER_WORD] |= 1ul << (sector % BITS_PER_WORD);
    l1->any_dirty = true;
}

static bool sector_dirty(const Qcow2L1 *l1, uint64_t sector)
{
    return l1->dirty[sector / BITS_PER_WORD] >> (sector % BITS_PER_WORD) & 1;
}

int coroutine_fn qcow2_l1_write_dirty_locked(Qcow2State *s)
{
    Qcow2L1 *l1 = &s->l1;
    uint64_t sectors = div_round_up(l1->size, SECTOR_ENTRIES);

    if (!l1->any_dirty) {
        return 0;
    }
    int ret = qcow2_check_overlap(s, QCOW2_OL_ACTIVE_L1, l1->host_off, l1->size * sizeof(uint64_t));
    for (uint64_t sector = 0, run; ret == 0 && sector < sectors; sector += run) {
        for (run = 0; sector + run < sectors && sector_dirty(l1, sector + run); run++) {
        }
        if (run == 0) {
            run = 1;
            continue;
        }
        uint64_t first = sector * SECTOR_ENTRIES, n = MIN(run * SECTOR_ENTRIES, l1->size - first);
        ret = qcow2_file_write_entries(s->node->file, l1->table, first, n, l1->host_off);
        trace(TRACE_QCOW2, "l1_write", "first=%" PRIu64 " entries=%" PRIu64 " ret=%d", first, n, ret);
    }
    if (ret == 0) {
        memset(l1->dirty, 0, dirty_words(l1->size) * sizeof(unsigned long));
        l1->any_dirty = false;
    }
    return ret;
}

/* Write the bigger table, then let the header name it (I5). */
static int coroutine_fn write_growth(Qcow2State *s, const uint64_t *table, uint32_t entries, uint64_t table_off)
{
    BlockNode *file = s->node->file;
    uint8_t fields[12];
    /* Refcounts of the new area, and whatever the new table refers to, are stable first (I1, I3). */
    int ret = qcow2_flush_metadata_locked(s, false);

    if (ret == 0) {
        ret = qcow2_file_write_entries(s->node->file, table, 0, entries, table_off);
    }
    if (ret == 0) {
        ret = block_co_flush(file);
    }
    if (ret < 0) {
        return ret;
    }
    store_be32(fields, entries);
    store_be64(fields + 4, table_off);
    ret = block_co_pwrite(file, HEADER_L1_FIELDS, fields, sizeof(fields), 0);
    if (ret == 0) {
        ret = block_co_flush(file);
    }
    if (ret < 0) {
        s->refs.failed = ret;
    }
    return ret;
}

int coroutine_fn qcow2_l1_grow_locked(Qcow2State *s, uint64_t entries)
{
    Qcow2L1 *l1 = &s->l1;

    g_assert(co_mutex_is_held(&s->meta_lock));
    if (entries <= l1->size) {
        return 0;
    }
    if (entries > (uint64_t)QCOW2_MAX_L1_BYTES / sizeof(uint64_t)) {
        return -EFBIG;
    }
    g_autofree uint64_t *table = g_try_new0(uint64_t, entries);
    g_autofree unsigned long *dirty = g_try_new0(unsigned long, dirty_words(entries));
    if (!table || !dirty) {
        return -ENOMEM;
    }
    int64_t table_off = qcow2_clusters_alloc_locked(s, entries * sizeof(uint64_t));
    if (table_off < 0) {
        return table_off;
    }
    memcpy(table, l1->table, l1->size * sizeof(uint64_t));
    int ret = write_growth(s, table, entries, table_off);
    if (ret < 0) {
        /* When the header on disk may name the new table already, its clusters stay taken. */
        if (!s->refs.failed) {
            qcow2_clusters_unalloc_locked(s, table_off, entries * sizeof(uint64_t));
        }
        return ret;
    }
    trace(TRACE_QCOW2, "l1_grow", "host=0x%" PRIx64 " entries=%u->%" PRIu64, (uint64_t)table_off, l1->size, entries);

    uint64_t old_off = l1->host_off, old_bytes = l1->size * sizeof(uint64_t);
    qcow2_cache_lock(s->l2);
    g_free(l1->table);
    l1->table = g_steal_pointer(&table);
    l1->size = s->header.l1_size = entries;
    l1->host_off = s->header.l1_off = table_off;
    qcow2_cache_unlock(s->l2);
    g_free(l1->dirty);
    l1->dirty = g_steal_pointer(&dirty);
    l1->any_dirty = false;
    if (old_bytes > 0) {
        qcow2_clusters_unalloc_locked(s, old_off, old_bytes);
    }
    return 0;
}
