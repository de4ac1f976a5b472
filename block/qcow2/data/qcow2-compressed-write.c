/* SPDX-License-Identifier: MIT */
/* Compressed writes: a batch of clusters is compressed in parallel, allocated in guest order, written, then linked. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "block/qcow2/data/qcow2-alloc.h"
#include "block/qcow2/alloc/qcow2-clusters.h"
#include "block/qcow2/data/qcow2-compressed.h"
#include "block/qcow2/data/qcow2-threads.h"
#include "util/base/aligned-buf.h"
#include "util/coroutine/co-tasks.h"
#include "util/base/trace.h"

enum { BATCH_BYTES = 4 << 20, PARALLEL_JOBS = 32 };

/* One cluster of a batch. */
typedef struct Blob {
    struct Batch *batch;
    uint8_t *data;  /* compressed bytes, or the plain cluster */
    uint64_t bytes; /* of data */
    bool compressed;
    uint64_t host_off; /* 0: not allocated yet */
} Blob;

typedef struct Batch {
    Qcow2State *s;
    const IoVec *iov;
    size_t iov_off;
    uint64_t guest_off, bytes; /* bytes may end inside the last cluster: the end of the disk */
    uint8_t *plain, *packed;   /* a cluster each per blob */
    Blob *blobs;
    uint64_t n;
    Qcow2Link link; /* the batch's clusters, so that no other write allocates them meanwhile */
} Batch;

static bool batch_init(Batch *b)
{
    uint64_t cs = b->s->geo.cluster_bytes;

    b->n = qcow2_clusters(&b->s->geo, b->bytes);
    b->plain = aligned_buf_try_new(b->n * cs);
    b->packed = aligned_buf_try_new(b->n * cs);
    b->blobs = g_try_new0(Blob, b->n);
    for (uint64_t i = 0; b->blobs && i < b->n; i++) {
        b->blobs[i].batch = b;
    }
    return b->plain && b->packed && b->blobs;
}

static void batch_clear(Batch *b)
{
    aligned_buf_free(b->plain);
    aligned_buf_free(b->packed);
    g_free(b->blobs);
}

/* Input is always one whole cluster (section 7): what lies beyond the disk is zeros. */
static int coroutine_fn compress_task(void *opaque)
{
    Blob *blob = opaque;
    Batch *b = blob->batch;
    uint64_t cs = b->s->geo.cluster_bytes, at = (blob - b->blobs) * cs, inside = MIN(cs, b->bytes - at);
    uint8_t *plain = b->plain + at, *packed = b->packed + at;

    iovec_to_buf(b->iov, b->iov_off + at, plain, inside);
    memset(plain + inside, 0, cs - inside);
    ssize_t n = qcow2_co_compress(b->s, plain, cs, packed, cs - 1);
    if (n < 0 && n != -ENOMEM) {
        return n;
    }
    blob->compressed = n > 0;
    blob->data = n > 0 ? packed : plain;
    blob->bytes = n > 0 ? (uint64_t)n : cs;
    return 0;
}

static int coroutine_fn compress_all(Batch *b)
{
    CoTasks tasks;
    int ret = 0;

    if (b->n == 1) {
        return compress_task(&b->blobs[0]);
    }
    co_tasks_init(&tasks, PARALLEL_JOBS);
    for (uint64_t i = 0; i < b->n && ret == 0; i++) {
        ret = co_tasks_start(&tasks, compress_task, &b->blobs[i]);
    }
    int tasks_ret = co_tasks_wait(&tasks);
    return ret < 0 ? ret : tasks_ret;
}

/* Compressed clusters are written once: no host cluster may be mapped there. meta_lock held. */
static int coroutine_fn check_unmapped(Qcow2State *s, uint64_t guest_off, uint64_t bytes)
{
    for (uint64_t done = 0, n; done < bytes; done += n) {
        Qcow2Map map;
        n = bytes - done;
        int ret = qcow2_lookup(s, guest_off + done, &n, &map, NULL);
        if (ret < 0) {
            return ret;
        }
        if (map.kind != QCOW2_KIND_UNALLOCATED && map.kind != QCOW2_KIND_ZERO_PLAIN) {
            return -EIO;
        }
    }
    return 0;
}

static int64_t coroutine_fn alloc_blob(Qcow2State *s, const Blob *blob)
{
    uint64_t one = 1;

    if (blob->compressed) {
        return qcow2_clusters_alloc_compressed_locked(s, blob->bytes);
    }
    return qcow2_clusters_alloc_data_locked(s, 0, &one);
}

static void coroutine_fn give_back_locked(Batch *b)
{
    for (uint64_t i = 0; i < b->n && b->blobs[i].host_off != 0; i++) {
        qcow2_clusters_unalloc_locked(b->s, b->blobs[i].host_off, b->blobs[i].bytes);
    }
}

static int coroutine_fn alloc_all_locked(Batch *b)
{
    Qcow2State *s = b->s;
    uint64_t whole = b->n << s->geo.cluster_bits;
    void *table;

    while (qcow2_links_wait_locked(s, b->guest_off, whole)) {
        /* they may have mapped our clusters: looked up below */
    }
    int ret = check_unmapped(s, b->guest_off, b->bytes);
    if (ret == 0) {
        ret = qcow2_prepare_change_locked(s);
    }
    if (ret == 0) {
        /* Take the table now, so that a full disk shows before any data is written. */
        ret = qcow2_l2_get_writable_locked(s, b->guest_off, &table);
    }
    if (ret < 0) {
        return ret;
    }
    qcow2_cache_put(s->l2, &table);
    for (uint64_t i = 0; i < b->n; i++) {
        int64_t host_off = alloc_blob(s, &b->blobs[i]);
        if (host_off < 0) {
            give_back_locked(b);
            return host_off;
        }
        b->blobs[i].host_off = host_off;
    }
    b->link = (Qcow2Link){.guest_off = b->guest_off, .clusters = b->n};
    qcow2_link_begin_locked(s, &b->link);
    return 0;
}

/* Neighbours on disk go out as one write. */
static int coroutine_fn write_all(const Batch *b)
{
    int ret = 0;

    for (uint64_t i = 0, next; i < b->n && ret == 0; i = next) {
        g_auto(IoVec) iov;
        iovec_init(&iov);
        iovec_add(&iov, b->blobs[i].data, b->blobs[i].bytes);
        for (next = i + 1; next < b->n && b->blobs[next].host_off == b->blobs[i].host_off + iov.size; next++) {
            iovec_add(&iov, b->blobs[next].data, b->blobs[next].bytes);
        }
        ret = block_co_pwritev(b->s->data, b->blobs[i].host_off, &iov, 0);
    }
    return MIN(ret, 0);
}

/* The batch lies in one L2 table. */
static int coroutine_fn link_all_locked(Batch *b)
{
    Qcow2State *s = b->s;
    unsigned idx = qcow2_l2_idx(&s->geo, b->guest_off);
    void *table;
    int ret = s->corrupt ? -ENOMEDIUM : qcow2_l2_get_writable_locked(s, b->guest_off, &table);

    if (ret < 0) {
        return ret;
    }
    qcow2_cache_lock(s->l2);
    for (uint64_t i = 0; i < b->n; i++) {
        const Blob *blob = &b->blobs[i];
        uint64_t entry = blob->compressed ? qcow2_compressed_encode(&s->geo, blob->host_off, blob->bytes)
                                          : blob->host_off | QCOW2_OFLAG_COPIED;
        qcow2_l2_set_entry(s, table, idx + i, entry);
    }
    qcow2_cache_mark_dirty_locked(s->l2, table);
    qcow2_cache_unlock(s->l2);
    qcow2_cache_put(s->l2, &table);
    s->data_unsynced = true;
    return 0;
}

static int coroutine_fn finish_batch(Batch *b)
{
    int ret = write_all(b);

    qcow2_meta_lock(b->s, "link");
    if (ret == 0) {
        ret = link_all_locked(b);
    }
    if (ret < 0) {
        give_back_locked(b);
    }
    qcow2_link_end_locked(b->s, &b->link);
    qcow2_meta_unlock(b->s, "link");
    return ret;
}

static int coroutine_fn write_batch(Batch *b, BlockPlace *place, bool last)
{
    int ret = batch_init(b) ? compress_all(b) : -ENOMEM;

    if (ret < 0) {
        return ret;
    }
    block_place_wait(place);
    qcow2_meta_lock(b->s, "alloc");
    ret = alloc_all_locked(b);
    trace(TRACE_QCOW2, "alloc_compressed", "guest=0x%" PRIx64 " clusters=%" PRIu64 " ret=%d", b->guest_off, b->n, ret);
    qcow2_meta_unlock(b->s, "alloc");
    if (last) {
        block_placed(place);
    }
    return ret < 0 ? ret : finish_batch(b);
}

int coroutine_fn qcow2_write_compressed(Qcow2State *s, const BlockRw *rw)
{
    uint64_t start = rw->offset, end = start + rw->bytes, length = s->node->total_bytes;
    uint64_t span = UINT64_C(1) << (s->geo.cluster_bits + s->geo.l2_bits);

    if (s->node->encrypted || s->data != s->node->file) {
        return -ENOTSUP;
    }
    if (qcow2_in_cluster(&s->geo, start) != 0 || (qcow2_in_cluster(&s->geo, end) != 0 && end != length)) {
        return -EINVAL;
    }
    for (uint64_t done = 0; start + done < end;) {
        uint64_t at = start + done, table_end = (at & ~(span - 1)) + span;
        uint64_t bytes = MIN(MIN(end, table_end) - at, MAX((uint64_t)BATCH_BYTES, s->geo.cluster_bytes));
        Batch b = {.s = s, .iov = rw->iov, .iov_off = rw->iov_off + done, .guest_off = at, .bytes = bytes};
        int ret = write_batch(&b, rw->place, at + bytes == end);
        batch_clear(&b);
        if (ret < 0) {
            return ret;
        }
        done += bytes;
    }
    return 0;
}
