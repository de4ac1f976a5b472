/* SPDX-License-Identifier: MIT */
/* Reads that fill an overlay from its backing chain.
 *
 * A copy must never replace what a guest wrote meanwhile. So clusters that may have to be copied are looked at again,
 * copied and read within one serialising request over all of them; a read that finds its range in the layer itself
 * needs none, for no cluster goes back to the backing chain in a way that the copy would have to undo. */
#include "block/core/copy-on-read.h"

#include <errno.h>

#include "block/core/copy-plan.h"
#include "block/core/io-int.h"
#include "block/core/status.h"
#include "util/base/aligned-buf.h"
#include "util/base/units.h"

#define COPY_BYTES MIB /* copied at a time, if clusters are no larger */

/* One fill of a range of whole clusters, cut at the end of the image. */
typedef struct Filler {
    BlockNode *node;
    int64_t start, end;
    size_t window_bytes;
    void *buf; /* a window; taken when something has to be copied */
    CopyPlan plan;
} Filler;

static void filler_destroy(Filler *f)
{
    aligned_buf_free(f->buf);
    copy_plan_destroy(&f->plan);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Filler, filler_destroy)

static int coroutine_fn filler_init(Filler *f, BlockNode *node, const BlockRw *rw)
{
    BlockInfo info;
    int ret = block_co_get_info(node, &info);

    if (ret < 0) {
        return ret;
    }
    uint64_t cluster = MAX(info.cluster_bytes, node->limits.request_align);
    int64_t total = node->total_bytes;
    *f = (Filler){
        .node = node,
        .start = round_down(rw->offset, cluster),
        .end = MIN((int64_t)round_up(rw->offset + rw->bytes, cluster), total),
        .window_bytes = MAX(cluster, COPY_BYTES),
    };
    copy_plan_init(&f->plan, f->window_bytes, cluster, cluster);
    return 0;
}

static int coroutine_fn write_runs(Filler *f, int64_t offset, size_t bytes)
{
    g_auto(IoVec) iov;
    CopyRun run;
    int ret = 0;

    iovec_init_buf(&iov, f->buf, bytes);
    for (size_t at = 0; ret == 0 && copy_plan_next(&f->plan, at, bytes, &run); at = run.start + run.bytes) {
        BlockRw rw = {.offset = offset + run.start,
                      .bytes = run.bytes,
                      .iov = &iov,
                      .iov_off = run.start,
                      .flags = BLOCK_REQ_OWN_BUFFER};
        ret = run.kind == COPY_ZERO ? block_io_zero(f->node, rw.offset, rw.bytes, 0)
                                    : block_io_driver_write(f->node, &rw);
    }
    return ret;
}

/* Copy [@offset, @offset+@bytes), which starts a cluster, fits the window, and has not been allocated. */
static int coroutine_fn copy_window(Filler *f, int64_t offset, size_t bytes)
{
    g_auto(IoVec) iov;

    iovec_init_buf(&iov, f->buf, bytes);
    BlockRw rw = {.offset = offset, .bytes = bytes, .iov = &iov, .flags = BLOCK_REQ_OWN_BUFFER};
    int ret = block_io_driver_read(f->node, &rw);
    if (ret < 0) {
        return ret;
    }
    copy_plan_reset(&f->plan, bytes);
    copy_plan_mark(&f->plan, 0, bytes, COPY_DATA);
    copy_plan_find_zeros(&f->plan, f->buf, 0, bytes, bytes);
    copy_plan_settle(&f->plan);
    return write_runs(f, offset, bytes);
}

static int coroutine_fn fill(Filler *f)
{
    int64_t n;
    int ret = 0;

    for (int64_t at = f->start; ret == 0 && at < f->end; at += n) {
        BlockStatus st;
        ret = block_status_of_layer(f->node, at, MIN(f->end - at, (int64_t)f->window_bytes), &st);
        n = st.bytes;
        if (ret < 0 || (st.flags & BLOCK_STATUS_ALLOCATED)) {
            continue;
        }
        if (!f->buf && !(f->buf = aligned_buf_try_new(f->window_bytes))) {
            return -ENOMEM;
        }
        ret = copy_window(f, at, n);
    }
    return ret;
}

/* Does @node itself decide what all of @rw reads as? 1, 0 or -errno. */
static int coroutine_fn is_filled(BlockNode *node, const BlockRw *rw)
{
    BlockStatus st;

    for (int64_t done = 0; done < rw->bytes; done += st.bytes) {
        int ret = block_status_of_layer(node, rw->offset + done, rw->bytes - done, &st);
        if (ret < 0 || !(st.flags & BLOCK_STATUS_ALLOCATED)) {
            return ret;
        }
    }
    return 1;
}

int coroutine_fn block_co_read_copying(BlockNode *node, const BlockRw *rw)
{
    int ret = node->drv->supports_backing ? is_filled(node, rw) : 1;

    if (ret != 0) {
        return ret < 0 ? ret : block_io_tracked_read(node, rw);
    }
    g_auto(Filler) f = {0};
    Req req;

    ret = filler_init(&f, node, rw);
    if (ret < 0) {
        return ret;
    }
    block_io_begin_write(node, &req, f.start, f.end - f.start, true);
    ret = fill(&f);
    if (ret == 0) {
        ret = block_io_any_read(node, rw);
    }
    block_io_end_write(node, &req, f.end);
    return ret;
}
