/* SPDX-License-Identifier: MIT */
#include "block/qcow2/data/qcow2-sparse.h"

#include "block/qcow2/data/qcow2-alloc.h"
#include "block/qcow2/format/qcow2-file.h"
#include "block/qcow2/alloc/qcow2-refcount.h"
#include "util/base/aligned-buf.h"
#include "util/base/endian.h"

static bool enough_missing(uint64_t used, uint64_t stored)
{
    return used >= stored && used - stored >= MAX(2, used / 10);
}

static uint64_t count_used(const Qcow2State *s, const void *block)
{
    uint64_t counts = UINT64_C(1) << s->geo.refblock_bits, used = 0;

    for (uint64_t i = 0; i < counts; i++) {
        used += qcow2_refcount_get(block, s->geo.refcount_order, i) != 0;
    }
    return used;
}

/* With the refcounts in memory: they may be ahead of the disk. */
static bool coroutine_fn used_exceeds_locked(Qcow2State *s, uint64_t stored)
{
    uint64_t used = 0;

    for (uint64_t i = 0; i < s->refs.entries && !enough_missing(used, stored); i++) {
        void *block;
        if (qcow2_refblock_get_locked(s, i, &block) < 0) {
            return false;
        }
        if (block) {
            used += count_used(s, block);
            qcow2_cache_put(s->refblocks, &block);
        }
    }
    return enough_missing(used, stored);
}

/* An image opened read-only has no refcounts in memory. A piece of the table at a time, so that memory stays small. */
static bool coroutine_fn used_exceeds_on_disk(Qcow2State *s, uint64_t stored)
{
    BlockNode *file = s->node->file;
    uint64_t cs = s->geo.cluster_bytes, pieces = s->header.reftable_clusters, used = 0;
    g_autoaligned table = aligned_buf_try_new(cs);
    g_autoaligned block = aligned_buf_try_new(cs);

    if (!table || !block) {
        return false;
    }
    for (uint64_t p = 0; p < pieces; p++) {
        if (qcow2_file_read(file, s->header.reftable_off + p * cs, table, cs) < 0) {
            return false;
        }
        for (uint64_t i = 0; i < cs; i += sizeof(uint64_t)) {
            uint64_t off = load_be64((uint8_t *)table + i) & QCOW2_REFTABLE_OFF_MASK;
            if (off == 0) {
                continue;
            }
            if (qcow2_file_clamp(file, off, cs) == 0 || qcow2_file_read(file, off, block, cs) < 0) {
                return false;
            }
            used += count_used(s, block);
            if (enough_missing(used, stored)) {
                return true;
            }
        }
    }
    return false;
}

static bool coroutine_fn look(Qcow2State *s)
{
    int64_t stored = block_co_allocated_bytes(s->data), length = block_getlength(s->data);

    if (stored < 0 || length <= 0) {
        return false;
    }
    /* No more clusters can be in use than the file is long: a dense file needs no look at refcounts. */
    uint64_t stored_clusters = stored >> s->geo.cluster_bits;
    if (!enough_missing(qcow2_clusters(&s->geo, length), stored_clusters)) {
        return false;
    }
    if (!s->refs.table) {
        return used_exceeds_on_disk(s, stored_clusters);
    }
    qcow2_meta_lock(s, "sparse");
    bool sparse = used_exceeds_locked(s, stored_clusters);
    qcow2_meta_unlock(s, "sparse");
    return sparse;
}

bool coroutine_fn qcow2_file_is_sparse(Qcow2State *s)
{
    if (s->file_sparse == 0) {
        s->file_sparse = look(s) ? 1 : -1;
    }
    return s->file_sparse > 0;
}
