/* SPDX-License-Identifier: MIT */
/* New refcount structures from the references counted.
 *
 * They go to clusters that nothing refers to, so the old ones stay whole until the header points at the new; what
 * became free is found by the check that follows. A reference to what lies behind the end of the file is one too: a
 * table put there would be overwritten as the guest's data, or read as somebody's table. Order: blocks and table, sync,
 * header, sync. */
#include "block/qcow2/check/qcow2-check-int.h"

#include <errno.h>

#include "block/qcow2/format/qcow2-header-io.h"
#include "util/base/aligned-buf.h"
#include "util/base/endian.h"

typedef struct Rebuild {
    Qcow2Check *c;
    uint64_t *blocks;   /* host offset by table index; 0 = none */
    uint64_t entries;   /* allocated in blocks */
    uint64_t next_free; /* cluster: nothing below is free */
    uint64_t table_off, table_clusters;
} Rebuild;

static uint64_t block_clusters(const Rebuild *r)
{
    return UINT64_C(1) << r->c->g->refblock_bits;
}

/* Is @cluster among those that references leaving the file may mean? */
static bool is_lost(const Qcow2Check *c, uint64_t cluster)
{
    uint64_t at = cluster << c->g->cluster_bits;

    return at < c->lost_end && at + c->g->cluster_bytes > c->lost_from;
}

/* First run of @n clusters without a reference; they are counted from now on. 0, -ENOMEM, or -EFBIG beyond the limit.
 */
static int take_clusters(Rebuild *r, uint64_t n, uint64_t *host_off)
{
    Qcow2Counts *k = &r->c->counts;
    uint64_t start = r->next_free, run = 0;

    for (uint64_t at = start; run < n; at++) {
        if (at << r->c->g->cluster_bits >= r->c->rebuild_limit) {
            return -EFBIG;
        }
        if (qcow2_counts_get(k, at) == 0 && !is_lost(r->c, at)) {
            run++;
        } else {
            start = at + 1;
            run = 0;
        }
    }
    for (uint64_t i = 0; i < n; i++) {
        if (qcow2_counts_set(k, start + i, 1) < 0) {
            return -ENOMEM;
        }
    }
    if (n == 1) {
        r->next_free = start + 1;
    }
    *host_off = start << r->c->g->cluster_bits;
    return 0;
}

static int ensure_entries(Rebuild *r, uint64_t entries)
{
    if (entries <= r->entries) {
        return 0;
    }
    if (entries > QCOW2_MAX_REFTABLE_BYTES / sizeof(uint64_t)) {
        return -EFBIG;
    }
    uint64_t *blocks = g_try_realloc_n(r->blocks, entries, sizeof(*blocks));
    if (!blocks) {
        return -ENOMEM;
    }
    memset(blocks + r->entries, 0, (entries - r->entries) * sizeof(*blocks));
    r->blocks = blocks;
    r->entries = entries;
    return 0;
}

/* A block for each range that has references and no block yet. *@made: was there one? */
static int place_blocks(Rebuild *r, bool *made)
{
    *made = false;
    /* counts.len grows when a block is placed behind its end: that range is visited too. */
    for (uint64_t i = 0; i * block_clusters(r) < r->c->counts.len; i++) {
        if ((i < r->entries && r->blocks[i]) ||
            qcow2_counts_none(&r->c->counts, i * block_clusters(r), block_clusters(r))) {
            continue;
        }
        int ret = ensure_entries(r, i + 1);
        ret = ret < 0 ? ret : take_clusters(r, 1, &r->blocks[i]);
        if (ret < 0) {
            return ret;
        }
        *made = true;
    }
    return 0;
}

static void drop_table(Rebuild *r)
{
    for (uint64_t i = 0; i < r->table_clusters; i++) {
        qcow2_counts_set(&r->c->counts, (r->table_off >> r->c->g->cluster_bits) + i, 0);
    }
    r->table_clusters = 0;
}

/* Blocks describe the table, and the table lists the blocks: repeat until both fit. Each round places at least one more
 * block or ends. */
static int place_all(Rebuild *r)
{
    bool made;
    int ret = place_blocks(r, &made);

    while (ret == 0) {
        uint64_t clusters = MAX(1, div_round_up(r->entries * sizeof(uint64_t), r->c->g->cluster_bytes));

        if (clusters != r->table_clusters) {
            drop_table(r);
            ret = take_clusters(r, clusters, &r->table_off);
            r->table_clusters = ret < 0 ? 0 : clusters;
        }
        ret = ret < 0 ? ret : place_blocks(r, &made);
        if (!made) {
            break;
        }
    }
    return ret;
}

static int coroutine_fn write_block(Rebuild *r, uint64_t idx, uint8_t *buf)
{
    const Qcow2Geometry *g = r->c->g;

    memset(buf, 0, g->cluster_bytes);
    for (uint64_t i = 0; i < block_clusters(r); i++) {
        uint32_t count = qcow2_counts_get(&r->c->counts, idx * block_clusters(r) + i);

        if (count) {
            qcow2_refcount_set(buf, g->refcount_order, i, count);
        }
    }
    return block_co_pwrite(r->c->file, r->blocks[idx], buf, g->cluster_bytes, 0);
}

static int coroutine_fn write_table(Rebuild *r)
{
    uint64_t bytes = r->table_clusters * r->c->g->cluster_bytes;
    g_autoaligned table = aligned_buf_try_new(bytes);

    if (!table) {
        return -ENOMEM;
    }
    memset(table, 0, bytes);
    for (uint64_t i = 0; i < r->entries; i++) {
        store_be64(table + i * sizeof(uint64_t), r->blocks[i]);
    }
    return block_co_pwrite(r->c->file, r->table_off, table, bytes, 0);
}

static int coroutine_fn write_all(Rebuild *r)
{
    g_autoaligned buf = aligned_buf_try_new(r->c->g->cluster_bytes);
    int ret = buf ? 0 : -ENOMEM;

    for (uint64_t i = 0; ret == 0 && i < r->entries; i++) {
        if (r->blocks[i]) {
            ret = write_block(r, i, buf);
        }
    }
    ret = ret < 0 ? ret : write_table(r);
    return ret < 0 ? ret : block_co_flush(r->c->file);
}

static int coroutine_fn switch_header(Rebuild *r)
{
    Qcow2Header *h = r->c->h;
    uint64_t old_off = h->reftable_off;
    uint32_t old_clusters = h->reftable_clusters;

    h->reftable_off = r->table_off;
    h->reftable_clusters = r->table_clusters;
    int ret = qcow2_header_store(r->c->file, h);
    ret = ret < 0 ? ret : block_co_flush(r->c->file);
    if (ret < 0) {
        h->reftable_off = old_off;
        h->reftable_clusters = old_clusters;
    }
    return ret;
}

int coroutine_fn qcow2_rebuild_refcounts(Qcow2Check *c)
{
    Rebuild r = {.c = c};
    int ret = place_all(&r);

    ret = ret < 0 ? ret : write_all(&r);
    ret = ret < 0 ? ret : switch_header(&r);
    g_free(r.blocks);
    return ret;
}
