/* SPDX-License-Identifier: MIT */
/* Every reference of the mapping tables, counted and judged entry by entry. */
#include "block/qcow2/check/qcow2-check-int.h"

#include <errno.h>
#include <inttypes.h>

#include "block/qcow2/map/qcow2-map.h"
#include "util/base/aligned-buf.h"
#include "util/base/endian.h"

/* One L2 table on the walk. */
typedef struct Walk {
    Qcow2Check *c;
    uint8_t *table; /* as on disk */
    bool active;
    bool changed;
    uint64_t expected_off; /* host offset that would continue the last cluster; 0 = none yet */
} Walk;

static void note_allocated(Walk *w, bool fragmented)
{
    if (w->active) {
        w->c->res->allocated_clusters++;
        w->c->res->fragmented_clusters += fragmented;
    }
}

static int count_compressed(Walk *w, uint64_t entry)
{
    Qcow2Check *c = w->c;
    Qcow2CompressedExtent e = qcow2_compressed_decode(c->g, entry);

    if (entry & QCOW2_OFLAG_COPIED) {
        qcow2_check_corruption(c, "ERROR: coffset=0x%" PRIx64 ": copied flag must never be set for compressed clusters",
                               e.host_off);
    }
    note_allocated(w, true);
    c->res->compressed_clusters += w->active;

    uint64_t start = round_down(e.host_off, SECTOR_SIZE);
    return qcow2_count_range(c, start, e.host_off + e.bytes - start);
}

/* The zero flag alone tells what an unaligned preallocated cluster reads as. True: repaired, nothing is left to count.
 */
static bool repair_unaligned(Walk *w, unsigned idx, uint64_t entry)
{
    Qcow2Check *c = w->c;
    uint64_t host_off = entry & QCOW2_L2_OFF_MASK;

    if (!(entry & QCOW2_OFLAG_ZERO)) {
        qcow2_check_corruption(c, "ERROR offset=%" PRIx64 ": Data cluster is not properly aligned; L2 entry corrupted.",
                               host_off);
        return false;
    }
    bool repair = (c->fix & BLOCK_FIX_ERRORS) && w->active;
    qcow2_check_report("%s offset=%" PRIx64 ": Preallocated cluster is not properly aligned; L2 entry corrupted.",
                       repair ? "Repairing" : "ERROR", host_off);
    if (!repair) {
        c->res->corruptions++;
        return false;
    }
    store_be64(w->table + idx * c->g->l2_entry_bytes, QCOW2_OFLAG_ZERO);
    w->changed = true;
    c->res->corruptions_fixed++;
    return true;
}

static int count_standard(Walk *w, unsigned idx, uint64_t entry)
{
    Qcow2Check *c = w->c;
    uint64_t host_off = entry & QCOW2_L2_OFF_MASK;
    uint64_t reserved = c->g->extended_l2 ? QCOW2_L2_RESERVED_MASK_EXT : QCOW2_L2_RESERVED_MASK;

    if (c->g->version < 3) {
        reserved |= QCOW2_OFLAG_ZERO;
    }
    if (entry & reserved) {
        qcow2_check_corruption(c, "ERROR found l2 entry with reserved bits set: %" PRIx64, entry);
    }
    if (host_off == 0 || (qcow2_in_cluster(c->g, host_off) && repair_unaligned(w, idx, entry))) {
        return 0;
    }
    note_allocated(w, w->expected_off != 0 && host_off != w->expected_off);
    w->expected_off = host_off + c->g->cluster_bytes;
    return qcow2_count_range(c, host_off, c->g->cluster_bytes);
}

static int count_entries(Walk *w)
{
    int ret = 0;

    w->expected_off = 0;
    w->changed = false;
    for (unsigned i = 0; ret == 0 && i < 1u << w->c->g->l2_bits; i++) {
        uint64_t entry = load_be64(w->table + i * w->c->g->l2_entry_bytes);

        if (entry & QCOW2_OFLAG_COMPRESSED) {
            ret = count_compressed(w, entry);
        } else if (entry) {
            ret = count_standard(w, i, entry);
        }
    }
    return ret;
}

static int coroutine_fn count_l2(Walk *w, uint64_t l1_entry)
{
    Qcow2Check *c = w->c;
    uint64_t l2_off = l1_entry & QCOW2_L1_OFF_MASK;

    if (l1_entry & QCOW2_L1_RESERVED_MASK) {
        qcow2_check_corruption(c, "ERROR found L1 entry with reserved bits set: %" PRIx64, l1_entry);
    }
    if (l2_off == 0) {
        return 0;
    }
    int ret = qcow2_count_range(c, l2_off, c->g->cluster_bytes);
    if (qcow2_in_cluster(c->g, l2_off)) {
        /* What lies there is no table: its words would only be noise. */
        qcow2_check_corruption(c, "ERROR l2_offset=%" PRIx64 ": Table is not cluster aligned; L1 entry corrupted",
                               l2_off);
        return ret;
    }
    if (ret < 0 || l2_off >= c->file_bytes) {
        return ret;
    }
    ret = qcow2_check_read(c, l2_off, w->table, c->g->cluster_bytes);
    ret = ret < 0 ? ret : count_entries(w);
    return ret == 0 && w->changed ? block_co_pwrite(c->file, l2_off, w->table, c->g->cluster_bytes, 0) : ret;
}

int coroutine_fn qcow2_count_l1(Qcow2Check *c, uint64_t l1_off, uint64_t entries, bool active)
{
    g_autofree uint64_t *l1 = NULL;
    g_autoaligned table = aligned_buf_try_new(c->g->cluster_bytes);
    Walk w = {.c = c, .table = table, .active = active};

    if (!table) {
        return -ENOMEM;
    }
    int ret = qcow2_count_range(c, l1_off, entries * sizeof(uint64_t));
    ret = ret < 0 ? ret : qcow2_check_read_table(c, l1_off, entries, &l1);
    for (uint64_t i = 0; ret == 0 && i < entries; i++) {
        if (l1[i]) {
            ret = count_l2(&w, l1[i]);
        }
    }
    return ret;
}

int coroutine_fn qcow2_count_all(Qcow2Check *c)
{
    const Qcow2Header *h = c->h;
    int ret = qcow2_count_range(c, 0, c->g->cluster_bytes);

    c->res->total_clusters = qcow2_clusters(c->g, h->size);
    c->res->allocated_clusters = c->res->fragmented_clusters = c->res->compressed_clusters = 0;
    ret = ret < 0 ? ret : qcow2_count_l1(c, h->l1_off, h->l1_size, true);
    ret = ret < 0 ? ret : qcow2_count_snapshots(c);
    ret = ret < 0 ? ret : qcow2_count_range(c, h->crypto_off, h->crypto_bytes);
    ret = ret < 0 ? ret : qcow2_count_bitmaps(c);
    return ret < 0 ? ret : qcow2_count_refcounts(c);
}
