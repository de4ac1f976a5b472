/* SPDX-License-Identifier: MIT */
/* Growing and shrinking the disk. Source: qcow2 sheet section 21.
 *
 * The size in the header is always written last: a crash before leaves the old size, with room already made (grow) or
 * mappings already dropped (shrink). */
#include "block/qcow2/control/qcow2-control.h"

#include <errno.h>
#include <inttypes.h>

#include "block/qcow2/alloc/qcow2-clusters.h"
#include "block/qcow2/data/qcow2-io.h"
#include "block/qcow2/map/qcow2-map.h"
#include "block/qcow2/control/qcow2-prealloc.h"
#include "block/qcow2/map/qcow2-flush.h"
#include "util/base/aligned-buf.h"
#include "util/base/error.h"

static bool fail(GError **errp, int ret, const char *what)
{
    error_set_errno(errp, -ret, "%s", what);
    return false;
}

static bool coroutine_fn store_size(Qcow2State *s, uint64_t bytes, GError **errp)
{
    uint64_t old = s->header.size;

    CO_MUTEX_GUARD(&s->meta_lock);
    int ret = qcow2_flush_metadata_locked(s, true);
    ret = ret < 0 ? ret : block_co_flush(s->node->file);
    s->header.size = bytes;
    ret = ret < 0 ? ret : qcow2_write_header_locked(s);
    ret = ret < 0 ? ret : block_co_flush(s->node->file);
    if (ret < 0) {
        s->header.size = old;
        return fail(errp, ret, "Failed to update the image size");
    }
    block_node_set_length(s->node, bytes);
    return true;
}

/* --- grow --- */

static bool coroutine_fn grow_l1(Qcow2State *s, uint64_t bytes, GError **errp)
{
    uint64_t entries = qcow2_l1_entries_for(&s->geo, bytes);

    if (entries > QCOW2_MAX_L1_BYTES / sizeof(uint64_t)) {
        return fail(errp, -EFBIG, "Failed to grow the L1 table");
    }
    if (entries <= s->l1.size) {
        return true;
    }
    CO_MUTEX_GUARD(&s->meta_lock);
    int ret = qcow2_l1_grow_locked(s, entries);
    return ret >= 0 || fail(errp, ret, "Failed to grow the L1 table");
}

/* Write zeros as data, by the driver itself: the request that resizes holds the range already. */
static int coroutine_fn write_zero_data(Qcow2State *s, uint64_t guest_off, uint64_t bytes)
{
    uint64_t step = MIN(bytes, (uint64_t)CRYPT_IO_BOUNCE_BYTES);
    g_autoaligned zeros = aligned_buf_try_new(MAX(step, 1));
    int ret = zeros ? 0 : -ENOMEM;

    if (zeros) {
        memset(zeros, 0, step);
    }
    for (uint64_t end = guest_off + bytes; ret == 0 && guest_off < end; guest_off += step) {
        IoVec iov;

        step = MIN(step, end - guest_off);
        iovec_init_buf(&iov, zeros, step);
        ret = qcow2_co_write(s->node, &(BlockRw){.offset = guest_off, .bytes = step, .iov = &iov});
        iovec_destroy(&iov);
    }
    return ret;
}

/* @end: on a cluster boundary or the end of the disk. */
static int coroutine_fn zero_range(Qcow2State *s, uint64_t guest_off, uint64_t end)
{
    uint64_t body = MIN(qcow2_cluster_end(&s->geo, guest_off), end);
    int ret = write_zero_data(s, guest_off, body - guest_off);

    if (ret < 0 || body == end) {
        return ret;
    }
    ret = qcow2_co_write_zeroes(s->node, body, end - body, 0);
    /* v2 has no zero clusters. */
    return ret == -ENOTSUP ? write_zero_data(s, body, end - body) : ret;
}

/* A longer backing image must not show through the new area, not even after a crash: so before the size is written. */
static bool coroutine_fn hide_backing(Qcow2State *s, uint64_t old_bytes, uint64_t bytes, GError **errp)
{
    int64_t backing_bytes = s->node->backing ? block_getlength(s->node->backing) : 0;

    if (backing_bytes < 0) {
        return fail(errp, backing_bytes, "Failed to get the size of the backing image");
    }
    if (MIN(bytes, (uint64_t)backing_bytes) <= old_bytes) {
        return true;
    }
    /* Zero writes go to where the disk is; the header on disk keeps the old size. */
    s->header.size = bytes;
    int ret = zero_range(s, old_bytes, MIN(bytes, qcow2_cluster_end(&s->geo, backing_bytes)));
    s->header.size = old_bytes;
    return ret >= 0 || fail(errp, ret, "Failed to zero out the new area");
}

/* Asked before anything is changed. */
static bool check_prealloc(const Qcow2State *s, BlockPrealloc prealloc, GError **errp)
{
    bool needs_file = prealloc == BLOCK_PREALLOC_FALLOC || prealloc == BLOCK_PREALLOC_FULL;

    if (needs_file && block_node_on_device(s->data)) {
        error_set(errp,
                  "Failed to resize underlying file: Preallocation mode '%s' unsupported for this non-regular file",
                  block_prealloc_name(prealloc));
        return false;
    }
    return true;
}

static bool coroutine_fn grow(Qcow2State *s, uint64_t bytes, BlockPrealloc prealloc, GError **errp)
{
    uint64_t old_bytes = s->header.size;

    return check_prealloc(s, prealloc, errp) && grow_l1(s, bytes, errp) && hide_backing(s, old_bytes, bytes, errp) &&
           (prealloc == BLOCK_PREALLOC_OFF || qcow2_preallocate(s, old_bytes, bytes, prealloc, errp)) &&
           store_size(s, bytes, errp);
}

/* --- shrink --- */

/* The cut may go through a cluster that stays: growing again later must not bring its tail back. */
static int coroutine_fn zero_cut_cluster(Qcow2State *s, uint64_t bytes)
{
    uint64_t tail = MIN(qcow2_cluster_end(&s->geo, bytes), s->header.size) - bytes, n = tail;
    Qcow2Map map;

    if (tail == 0) {
        return 0;
    }
    int ret = qcow2_lookup(s, bytes, &n, &map, NULL);
    if (ret < 0) {
        return ret;
    }
    bool has_data = map.kind == QCOW2_KIND_NORMAL || map.kind == QCOW2_KIND_COMPRESSED;
    return has_data ? write_zero_data(s, bytes, tail) : 0;
}

/* L2 tables that map nothing any more. The L1 table keeps its length. */
static void coroutine_fn free_l2_tables(Qcow2State *s, uint64_t bytes)
{
    for (uint64_t i = qcow2_l1_entries_for(&s->geo, bytes); i < s->l1.size; i++) {
        uint64_t host_off = s->l1.table[i] & QCOW2_L1_OFF_MASK;

        if (host_off) {
            qcow2_l1_set_entry_locked(s, i, 0);
            qcow2_cache_drop(s->l2, host_off);
            qcow2_clusters_free_locked(s, host_off, s->geo.cluster_bytes, QCOW2_FREE_OTHER);
        }
    }
}

static int coroutine_fn drop_tail(Qcow2State *s, uint64_t bytes)
{
    uint64_t from = qcow2_cluster_end(&s->geo, bytes), end = qcow2_cluster_end(&s->geo, s->header.size);

    CO_MUTEX_GUARD(&s->meta_lock);
    int ret = end > from ? qcow2_drop_range_locked(s, from, end - from) : 0;
    if (ret < 0) {
        return ret;
    }
    free_l2_tables(s, bytes);
    return qcow2_flush_metadata_locked(s, true);
}

/* Cut free clusters off the end of the file. Only space is lost when it fails, so that is no error. */
static void coroutine_fn cut_file(Qcow2State *s)
{
    CO_MUTEX_GUARD(&s->meta_lock);
    int64_t file_bytes = block_getlength(s->node->file);
    uint64_t clusters = file_bytes > 0 ? qcow2_clusters(&s->geo, file_bytes) : 0, used = clusters;
    uint64_t refcount = 0;

    while (used > 0 && qcow2_refcount_read_locked(s, (used - 1) << s->geo.cluster_bits, &refcount) == 0 &&
           refcount == 0) {
        used--;
    }
    if (used > 0 && used < clusters) {
        block_co_truncate(s->node->file, used << s->geo.cluster_bits, BLOCK_PREALLOC_OFF, NULL);
    }
}

static bool coroutine_fn shrink(Qcow2State *s, uint64_t bytes, BlockPrealloc prealloc, GError **errp)
{
    if (prealloc != BLOCK_PREALLOC_OFF) {
        error_set(errp, "Preallocation can't be used for shrinking an image");
        return false;
    }
    int ret = zero_cut_cluster(s, bytes);
    if (ret < 0) {
        return fail(errp, ret, "Failed to zero the end of the image");
    }
    ret = drop_tail(s, bytes);
    if (ret < 0) {
        return fail(errp, ret, "Failed to discard cropped clusters");
    }
    cut_file(s);
    return store_size(s, bytes, errp);
}

bool coroutine_fn qcow2_truncate(BlockNode *node, int64_t bytes, BlockPrealloc prealloc, GError **errp)
{
    Qcow2State *s = qcow2_state(node);

    if (bytes < 0 || bytes % SECTOR_SIZE != 0) {
        error_set(errp, "The new size must be a multiple of %d", SECTOR_SIZE);
        return false;
    }
    return (uint64_t)bytes >= s->header.size ? grow(s, bytes, prealloc, errp) : shrink(s, bytes, prealloc, errp);
}
