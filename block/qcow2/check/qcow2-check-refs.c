/* SPDX-License-Identifier: MIT */
#include "block/qcow2/check/qcow2-check-int.h"

#include <errno.h>
#include <inttypes.h>

#include "util/base/aligned-buf.h"

int coroutine_fn qcow2_disk_refs_load(Qcow2Check *c)
{
    Qcow2DiskRefs *d = &c->disk;

    d->entries = (uint64_t)c->h->reftable_clusters * c->g->cluster_bytes / sizeof(uint64_t);
    d->block_idx = UINT64_MAX;
    d->block = aligned_buf_try_new(c->g->cluster_bytes);
    return d->block ? qcow2_check_read_table(c, c->h->reftable_off, d->entries, &d->table) : -ENOMEM;
}

void qcow2_disk_refs_free(Qcow2DiskRefs *d)
{
    g_clear_pointer(&d->table, g_free);
    g_clear_pointer(&d->block, aligned_buf_free);
}

static bool is_inside(const Qcow2Check *c, uint64_t host_off)
{
    return host_off >> c->g->cluster_bits < c->clusters;
}

/* One entry of the table. A bad one is as good as none, so only a rebuild can give its clusters refcounts again. */
static int count_block(Qcow2Check *c, uint64_t idx)
{
    uint64_t entry = c->disk.table[idx], host_off = entry & QCOW2_REFTABLE_OFF_MASK;

    if (entry & QCOW2_REFTABLE_RESERVED_MASK) {
        qcow2_check_corruption(c, "ERROR refcount table entry %" PRIu64 " has reserved bits set", idx);
        c->need_rebuild = true;
        return 0;
    }
    if (qcow2_in_cluster(c->g, host_off)) {
        qcow2_check_corruption(
            c, "ERROR refcount block %" PRIu64 " is not cluster aligned; refcount table entry corrupted", idx);
        c->need_rebuild = true;
        return 0;
    }
    if (host_off != 0 && !is_inside(c, host_off)) {
        bool repair = c->fix & BLOCK_FIX_ERRORS;

        qcow2_check_corruption(c, "%s refcount block %" PRIu64 " is outside image", repair ? "Repairing" : "ERROR",
                               idx);
        c->need_rebuild |= repair;
        return 0;
    }
    if (host_off == 0) {
        return 0;
    }
    int ret = qcow2_count_range(c, host_off, c->g->cluster_bytes);
    uint32_t count = qcow2_counts_get(&c->counts, host_off >> c->g->cluster_bits);
    if (ret == 0 && count != 1) {
        qcow2_check_corruption(c, "ERROR refcount block %" PRIu64 " refcount=%" PRIu32, idx, count);
        c->need_rebuild = true;
    }
    return ret;
}

int coroutine_fn qcow2_count_refcounts(Qcow2Check *c)
{
    int ret = qcow2_count_range(c, c->h->reftable_off, c->disk.entries * sizeof(uint64_t));

    for (uint64_t i = 0; ret == 0 && i < c->disk.entries; i++) {
        ret = count_block(c, i);
    }
    return ret;
}

int coroutine_fn qcow2_disk_refs_flush(Qcow2Check *c)
{
    Qcow2DiskRefs *d = &c->disk;

    if (!d->block_dirty) {
        return 0;
    }
    int ret = block_co_pwrite(c->file, d->block_off, d->block, c->g->cluster_bytes, 0);
    d->block_dirty = ret < 0;
    return ret;
}

/* Make block @idx the current one. */
static int coroutine_fn load_block(Qcow2Check *c, uint64_t idx)
{
    Qcow2DiskRefs *d = &c->disk;

    if (d->block_idx == idx) {
        return 0;
    }
    int ret = qcow2_disk_refs_flush(c);
    if (ret < 0) {
        return ret;
    }
    uint64_t host_off = idx < d->entries ? d->table[idx] & QCOW2_REFTABLE_OFF_MASK : 0;
    bool usable = host_off != 0 && qcow2_in_cluster(c->g, host_off) == 0 && is_inside(c, host_off);

    d->block_idx = idx;
    d->block_off = usable ? host_off : 0;
    ret = usable ? qcow2_check_read(c, host_off, d->block, c->g->cluster_bytes) : 0;
    if (ret < 0) {
        d->block_idx = UINT64_MAX;
    }
    return ret;
}

int coroutine_fn qcow2_disk_ref_get(Qcow2Check *c, uint64_t cluster, uint64_t *value)
{
    int ret = load_block(c, cluster >> c->g->refblock_bits);

    *value = 0;
    if (ret == 0 && c->disk.block_off) {
        uint64_t idx = cluster & ((UINT64_C(1) << c->g->refblock_bits) - 1);

        *value = qcow2_refcount_get(c->disk.block, c->g->refcount_order, idx);
    }
    return ret;
}

int coroutine_fn qcow2_disk_ref_set(Qcow2Check *c, uint64_t cluster, uint64_t value)
{
    int ret = load_block(c, cluster >> c->g->refblock_bits);

    if (ret < 0) {
        return ret;
    }
    if (!c->disk.block_off) {
        return -EIO;
    }
    qcow2_refcount_set(c->disk.block, c->g->refcount_order, cluster & ((UINT64_C(1) << c->g->refblock_bits) - 1),
                       value);
    c->disk.block_dirty = true;
    return 0;
}
