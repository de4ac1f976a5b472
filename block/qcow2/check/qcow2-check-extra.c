/* SPDX-License-Identifier: MIT */
/* References of what this version only reads: internal snapshots and bitmaps. Source: qcow2 sheet sections 13, 14. */
#include "block/qcow2/check/qcow2-check-int.h"

#include <errno.h>
#include <inttypes.h>

#include "util/base/endian.h"

enum {
    SNAPSHOT_ENTRY_BYTES = 40,
    MAX_SNAPSHOT_EXTRA_BYTES = 1024,
    BITMAP_ENTRY_BYTES = 24,
    MAX_BITMAP_TABLE_ENTRIES = 0x8000000,
};
#define BITMAP_TABLE_OFF_MASK UINT64_C(0x00fffffffffffe00)

/* --- snapshots --- */

static int coroutine_fn count_snapshot(Qcow2Check *c, const uint8_t *entry, uint32_t n)
{
    uint64_t l1_off = load_be64(entry);
    uint32_t l1_size = load_be32(entry + 8);

    if (qcow2_in_cluster(c->g, l1_off) || l1_size > QCOW2_MAX_L1_BYTES / sizeof(uint64_t)) {
        qcow2_check_corruption(
            c, "ERROR snapshot %" PRIu32 ": L1 table at offset %#" PRIx64 " with %" PRIu32 " entries is invalid", n,
            l1_off, l1_size);
        return 0;
    }
    return qcow2_count_l1(c, l1_off, l1_size, false);
}

int coroutine_fn qcow2_count_snapshots(Qcow2Check *c)
{
    uint64_t at = c->h->snapshots_off, end = at;
    uint8_t entry[SNAPSHOT_ENTRY_BYTES];

    for (uint32_t i = 0; i < c->h->nb_snapshots; i++) {
        int ret = qcow2_check_read(c, at, entry, sizeof(entry));
        uint32_t extra = load_be32(entry + 36);

        if (ret < 0) {
            return ret;
        }
        if (extra > MAX_SNAPSHOT_EXTRA_BYTES) {
            qcow2_check_corruption(c, "ERROR snapshot %" PRIu32 ": too much extra data (%" PRIu32 " bytes)", i, extra);
            break;
        }
        ret = count_snapshot(c, entry, i);
        if (ret < 0) {
            return ret;
        }
        end = at + sizeof(entry) + extra + load_be16(entry + 12) + load_be16(entry + 14);
        at = round_up(end, 8);
    }
    return qcow2_count_range(c, c->h->snapshots_off, end - c->h->snapshots_off);
}

/* --- bitmaps --- */

static int coroutine_fn count_bitmap_table(Qcow2Check *c, uint64_t table_off, uint32_t entries)
{
    g_autofree uint64_t *table = NULL;
    int ret = qcow2_count_range(c, table_off, entries * sizeof(uint64_t));

    /* A table behind the end of the file is reported already, and need not be allocated. */
    if (ret < 0 || table_off >= c->file_bytes) {
        return ret;
    }
    ret = qcow2_check_read_table(c, table_off, entries, &table);
    for (uint32_t i = 0; ret == 0 && i < entries; i++) {
        uint64_t host_off = table[i] & BITMAP_TABLE_OFF_MASK;

        if ((table[i] & ~BITMAP_TABLE_OFF_MASK & ~UINT64_C(1)) || qcow2_in_cluster(c->g, host_off) ||
            (host_off && (table[i] & 1))) {
            qcow2_check_corruption(c, "ERROR bitmap table entry %" PRIu32 " is invalid: %" PRIx64, i, table[i]);
        } else if (host_off) {
            ret = qcow2_count_range(c, host_off, c->g->cluster_bytes);
        }
    }
    return ret;
}

static int coroutine_fn count_bitmap(Qcow2Check *c, const uint8_t *entry, uint32_t n)
{
    uint64_t table_off = load_be64(entry);
    uint32_t entries = load_be32(entry + 8);

    if (table_off == 0 || qcow2_in_cluster(c->g, table_off) || entries == 0 || entries > MAX_BITMAP_TABLE_ENTRIES) {
        qcow2_check_corruption(
            c, "ERROR bitmap %" PRIu32 ": table at offset %#" PRIx64 " with %" PRIu32 " entries is invalid", n,
            table_off, entries);
        return 0;
    }
    return count_bitmap_table(c, table_off, entries);
}

int coroutine_fn qcow2_count_bitmaps(Qcow2Check *c)
{
    uint64_t at = 0, bytes = c->h->bitmaps.dir_bytes;

    if (!c->h->bitmaps.present) {
        return 0;
    }
    int ret = qcow2_count_range(c, c->h->bitmaps.dir_off, bytes);
    for (uint32_t i = 0; ret == 0 && i < c->h->bitmaps.nb; i++) {
        uint8_t entry[BITMAP_ENTRY_BYTES];

        if (bytes - at < sizeof(entry)) {
            qcow2_check_corruption(c, "ERROR bitmap directory ends before its entry %" PRIu32, i);
            break;
        }
        ret = qcow2_check_read(c, c->h->bitmaps.dir_off + at, entry, sizeof(entry));
        uint64_t entry_bytes = round_up((uint64_t)sizeof(entry) + load_be16(entry + 18) + load_be32(entry + 20), 8);
        ret = ret < 0 ? ret : count_bitmap(c, entry, i);
        at = MIN(bytes, at + entry_bytes);
    }
    return ret;
}
