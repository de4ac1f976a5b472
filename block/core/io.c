/* SPDX-License-Identifier: MIT */
/* Reads, writes and flushes: entry checks, tracking and dispatch to the driver. */
#include "block/block.h"

#include <errno.h>

#include "block/block-int.h"
#include "block/core/copy-on-read.h"
#include "block/core/io-int.h"
#include "util/base/units.h"

int block_io_check(const BlockNode *node, int64_t offset, int64_t bytes, bool is_write)
{
    /* Room for rounding up to any alignment, so that no sum below can overflow. */
    if (offset < 0 || bytes < 0 || bytes > INT64_MAX - BLOCK_MAX_REQUEST_BYTES - offset) {
        return -EIO;
    }
    if ((node->flags & BLOCK_OPEN_NO_IO) || (is_write && !(node->flags & BLOCK_OPEN_RDWR))) {
        return -EPERM;
    }
    if (is_write && !node->drv->co_write) {
        return -ENOTSUP;
    }
    if (!node->growable && offset + bytes > node->total_bytes) {
        return -EIO;
    }
    return 0;
}

static int check_data(const BlockNode *node, const BlockRw *rw, bool is_write)
{
    g_assert(in_coroutine());
    g_assert(rw->bytes <= 0 || rw->iov_off + (uint64_t)rw->bytes <= rw->iov->size);
    if (rw->bytes > BLOCK_MAX_REQUEST_BYTES) {
        return -EIO;
    }
    return block_io_check(node, rw->offset, rw->bytes, is_write);
}

/* ---- read ------------------------------------------------------------------------------------------------------ */

static unsigned driver_flags(const BlockNode *node, unsigned flags)
{
    unsigned optional = BLOCK_REQ_FUA | BLOCK_REQ_OWN_BUFFER;

    return flags & ~(optional & ~node->drv->supported_write_flags);
}

int coroutine_fn block_io_driver_read(BlockNode *node, const BlockRw *rw)
{
    BlockRw part = *rw;
    int64_t left = rw->bytes;

    part.flags = driver_flags(node, rw->flags) & ~BLOCK_REQ_FUA;
    do {
        part.bytes = MIN(left, node->limits.max_transfer);
        int ret = node->drv->co_read(node, &part);
        if (ret < 0) {
            return ret;
        }
        part.offset += part.bytes;
        part.iov_off += part.bytes;
        left -= part.bytes;
    } while (left > 0);
    return 0;
}

int coroutine_fn block_io_any_read(BlockNode *node, const BlockRw *rw)
{
    return block_io_is_aligned(node, rw->offset, rw->bytes) ? block_io_driver_read(node, rw)
                                                            : block_io_padded_read(node, rw);
}

int coroutine_fn block_io_tracked_read(BlockNode *node, const BlockRw *rw)
{
    Req req;

    reqlist_begin(&node->reqs, &req, rw->offset, rw->bytes, false, false);
    int ret = block_io_any_read(node, rw);
    reqlist_end(&node->reqs, &req);
    return ret;
}

/* A format's file has zeros past its end. */
static int coroutine_fn read_past_end(BlockNode *node, const BlockRw *rw)
{
    BlockRw inside = *rw;
    int ret = 0;

    inside.bytes = CLAMP(node->total_bytes - rw->offset, 0, rw->bytes);
    if (inside.bytes > 0) {
        ret = block_io_tracked_read(node, &inside);
    }
    iovec_memset(rw->iov, rw->iov_off + inside.bytes, 0, rw->bytes - inside.bytes);
    return ret;
}

int coroutine_fn block_co_rw_read(BlockNode *node, const BlockRw *rw)
{
    int ret = check_data(node, rw, false);

    if (ret < 0 || rw->bytes == 0) {
        return ret;
    }
    if (G_UNLIKELY(rw->offset + rw->bytes > node->total_bytes)) {
        return read_past_end(node, rw);
    }
    if (G_UNLIKELY(node->flags & BLOCK_OPEN_COPY_ON_READ)) {
        return block_co_read_copying(node, rw);
    }
    return block_io_tracked_read(node, rw);
}

/* ---- write ----------------------------------------------------------------------------------------------------- */

int coroutine_fn block_io_driver_write(BlockNode *node, const BlockRw *rw)
{
    BlockRw part = *rw;
    int64_t left = rw->bytes;

    part.flags = driver_flags(node, rw->flags);
    if (left > node->limits.max_transfer) {
        /* Only the whole request has a turn: hold it from before the first piece until the caller completes it. */
        block_place_wait(rw->place);
        part.place = NULL;
    }
    do {
        part.bytes = MIN(left, node->limits.max_transfer);
        int ret = node->drv->co_write(node, &part);
        if (ret < 0) {
            return ret;
        }
        part.offset += part.bytes;
        part.iov_off += part.bytes;
        left -= part.bytes;
    } while (left > 0);
    return 0;
}

void coroutine_fn block_io_begin_write(BlockNode *node, Req *req, int64_t offset, int64_t bytes, bool serialising)
{
    if (serialising) {
        int64_t end = round_up(offset + bytes, node->limits.request_align);
        offset = round_down(offset, node->limits.request_align);
        bytes = end - offset;
    }
    reqlist_begin(&node->reqs, req, offset, bytes, true, serialising);
}

void coroutine_fn block_io_end_write(BlockNode *node, Req *req, int64_t end)
{
    /* Failed writes count too: a part of them may be in the cache of the host. */
    atomic_fetch_add(&node->write_gen, 1);
    if (node->growable) {
        int64_t old = node->total_bytes;
        end = round_up(end, SECTOR_SIZE);
        while (old < end && !atomic_compare_exchange_weak(&node->total_bytes, &old, end)) {
        }
    }
    reqlist_end(&node->reqs, req);
}

static int coroutine_fn write_tracked(BlockNode *node, const BlockRw *rw)
{
    bool aligned = block_io_is_aligned(node, rw->offset, rw->bytes);
    Req req;
    int ret;

    if (!aligned && (rw->flags & BLOCK_REQ_COMPRESSED)) {
        return -EINVAL;
    }
    block_io_begin_write(node, &req, rw->offset, rw->bytes, !aligned);
    ret = aligned ? block_io_driver_write(node, rw) : block_io_padded_write(node, rw);
    block_io_end_write(node, &req, rw->offset + (ret < 0 ? 0 : rw->bytes));
    return ret;
}

static int coroutine_fn write_checked(BlockNode *node, const BlockRw *rw)
{
    BlockRw copy = *rw;
    int ret;

    if ((rw->flags & BLOCK_REQ_COMPRESSED) && !node->drv->supports_compressed) {
        return -ENOTSUP;
    }
    if (node->flags & BLOCK_OPEN_WRITETHROUGH) {
        copy.flags |= BLOCK_REQ_FUA;
    }
    if (G_UNLIKELY(node->detect_zeroes) && !(rw->flags & BLOCK_REQ_COMPRESSED) &&
        iovec_is_zero(rw->iov, rw->iov_off, rw->bytes)) {
        unsigned unmap = node->detect_zeroes == BLOCK_DETECT_ZEROES_UNMAP ? BLOCK_REQ_MAY_UNMAP : 0;
        return block_co_pwrite_zeroes(node, rw->offset, rw->bytes, (copy.flags & BLOCK_REQ_FUA) | unmap);
    }
    ret = write_tracked(node, &copy);
    if (ret == 0 && (copy.flags & BLOCK_REQ_FUA) && !(node->drv->supported_write_flags & BLOCK_REQ_FUA)) {
        ret = block_co_flush(node);
    }
    return ret;
}

int coroutine_fn block_co_rw_write(BlockNode *node, const BlockRw *rw)
{
    int ret = check_data(node, rw, true);

    if (ret == 0 && rw->bytes > 0) {
        ret = write_checked(node, rw);
    }
    /* On every path, failures included, or those behind this request would wait for ever. */
    block_placed(rw->place);
    return ret;
}

/* ---- flush ----------------------------------------------------------------------------------------------------- */

static int coroutine_fn flush_node(BlockNode *node)
{
    bool is_protocol = node->drv->protocol != NULL;
    int ret = 0;

    /* Unsafe mode still moves metadata out of our memory; only the host's cache is left alone. */
    if (is_protocol && (node->flags & BLOCK_OPEN_NO_FLUSH)) {
        return 0;
    }
    if (node->drv->co_flush) {
        ret = node->drv->co_flush(node);
    }
    if (ret == 0 && node->file) {
        ret = block_co_flush(node->file);
    }
    return ret;
}

int coroutine_fn block_co_flush(BlockNode *node)
{
    g_assert(in_coroutine());
    if (!(node->flags & BLOCK_OPEN_RDWR) || (node->flags & BLOCK_OPEN_NO_IO)) {
        return 0;
    }

    /* Read before the flush: writes that end while it runs are not covered by it. */
    uint64_t gen = atomic_load(&node->write_gen);
    uint64_t old = atomic_load(&node->flushed_gen);
    if (old >= gen) {
        return 0;
    }
    int ret = flush_node(node);
    if (ret < 0) {
        return ret;
    }
    while (old < gen && !atomic_compare_exchange_weak(&node->flushed_gen, &old, gen)) {
    }
    return 0;
}

/* ---- placement hooks ------------------------------------------------------------------------------------------- */

void coroutine_fn block_place_wait(BlockPlace *p)
{
    if (p && !p->wait_done) {
        p->wait_done = true;
        p->wait(p->opaque);
    }
}

void block_placed(BlockPlace *p)
{
    if (p && !p->placed_done) {
        p->placed_done = true;
        p->placed(p->opaque);
    }
}

/* ---- the other spellings of a request -------------------------------------------------------------------------- */

int coroutine_fn block_co_preadv(BlockNode *node, int64_t offset, const IoVec *iov, unsigned flags)
{
    BlockRw rw = {.offset = offset, .bytes = iov->size, .iov = iov, .flags = flags};

    return block_co_rw_read(node, &rw);
}

int coroutine_fn block_co_pwritev(BlockNode *node, int64_t offset, const IoVec *iov, unsigned flags)
{
    BlockRw rw = {.offset = offset, .bytes = iov->size, .iov = iov, .flags = flags};

    return block_co_rw_write(node, &rw);
}

int coroutine_fn block_co_pread(BlockNode *node, int64_t offset, void *buf, size_t bytes, unsigned flags)
{
    g_auto(IoVec) iov;

    iovec_init_buf(&iov, buf, bytes);
    return block_co_preadv(node, offset, &iov, flags);
}

int coroutine_fn block_co_pwrite(BlockNode *node, int64_t offset, const void *buf, size_t bytes, unsigned flags)
{
    g_auto(IoVec) iov;

    iovec_init_buf(&iov, (void *)buf, bytes);
    return block_co_pwritev(node, offset, &iov, flags);
}
