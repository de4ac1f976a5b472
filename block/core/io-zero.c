/* SPDX-License-Identifier: MIT */
/* Zero writes and discards: cut to what the driver takes, with zero data where it cannot. */
#include "block/core/io-int.h"

#include <errno.h>

#include "util/base/aligned-buf.h"
#include "util/base/units.h"

#define ZERO_BOUNCE_BYTES ((size_t)MIB) /* zeros written as data at a time */

/* Write zeros as plain data, of any alignment, within a request already tracked. */
static int coroutine_fn write_zero_data(BlockNode *node, int64_t offset, int64_t bytes)
{
    size_t buf_bytes = MIN((uint64_t)bytes, ZERO_BOUNCE_BYTES);
    g_autoaligned buf = aligned_buf_try_new(buf_bytes);
    g_auto(IoVec) iov;
    int ret = 0;

    iovec_init(&iov);
    if (!buf) {
        return -ENOMEM;
    }
    memset(buf, 0, buf_bytes);
    iovec_add(&iov, buf, buf_bytes);
    while (bytes > 0 && ret == 0) {
        /* Later pieces start aligned: only the first may be cut short to get there. */
        int64_t n = MIN((uint64_t)bytes, buf_bytes - (offset & (node->limits.request_align - 1)) % buf_bytes);
        BlockRw rw = {.offset = offset, .bytes = n, .iov = &iov};
        ret =
            block_io_is_aligned(node, offset, n) ? block_io_driver_write(node, &rw) : block_io_padded_write(node, &rw);
        offset += n;
        bytes -= n;
    }
    return ret;
}

/* The longest piece at @offset that is either whole granules or lies in one. */
static int64_t next_piece(int64_t offset, int64_t bytes, uint32_t granule, int64_t max)
{
    int64_t into = offset & (granule - 1);

    if (into != 0) {
        return MIN(bytes, granule - into);
    }
    if (bytes >= granule) {
        bytes = round_down(bytes, granule);
    }
    return max > 0 && bytes > max ? MAX((int64_t)round_down(max, granule), (int64_t)granule) : bytes;
}

static int coroutine_fn zero_piece(BlockNode *node, int64_t offset, int64_t bytes, unsigned flags)
{
    int ret = -ENOTSUP;

    if (node->drv->co_write_zeroes && block_io_is_aligned(node, offset, bytes)) {
        ret = node->drv->co_write_zeroes(node, offset, bytes, flags);
    }
    if (ret == -ENOTSUP && !(flags & BLOCK_REQ_NO_FALLBACK)) {
        ret = write_zero_data(node, offset, bytes);
    }
    return ret;
}

int coroutine_fn block_io_zero(BlockNode *node, int64_t offset, int64_t bytes, unsigned flags)
{
    uint32_t granule = MAX(node->limits.zero_align, node->limits.request_align);
    int ret = 0;

    while (bytes > 0 && ret == 0) {
        int64_t n = next_piece(offset, bytes, granule, node->limits.max_zero);
        ret = zero_piece(node, offset, n, flags);
        offset += n;
        bytes -= n;
    }
    return ret;
}

int coroutine_fn block_co_pwrite_zeroes(BlockNode *node, int64_t offset, int64_t bytes, unsigned flags)
{
    int ret = block_io_check(node, offset, bytes, true);
    Req req;

    g_assert(in_coroutine());
    if (ret < 0 || bytes == 0) {
        return ret;
    }
    bool fua = (flags & BLOCK_REQ_FUA) || (node->flags & BLOCK_OPEN_WRITETHROUGH);
    flags &= BLOCK_REQ_NO_FALLBACK | (node->flags & BLOCK_OPEN_UNMAP ? BLOCK_REQ_MAY_UNMAP : 0);

    block_io_begin_write(node, &req, offset, bytes, true);
    ret = block_io_zero(node, offset, bytes, flags);
    block_io_end_write(node, &req, offset + (ret < 0 ? 0 : bytes));
    return ret == 0 && fua ? block_co_flush(node) : ret;
}

static int coroutine_fn discard_tracked(BlockNode *node, int64_t offset, int64_t bytes, uint32_t granule)
{
    int ret = 0;

    while (bytes > 0 && ret == 0) {
        int64_t n = next_piece(offset, bytes, granule, node->limits.max_discard);
        ret = node->drv->co_discard(node, offset, n);
        offset += n;
        bytes -= n;
    }
    return ret == -ENOTSUP ? 0 : ret; /* a discard is only a hint */
}

int coroutine_fn block_co_pdiscard(BlockNode *node, int64_t offset, int64_t bytes)
{
    int ret = block_io_check(node, offset, bytes, true);
    Req req;

    g_assert(in_coroutine());
    if (ret < 0 || !(node->flags & BLOCK_OPEN_UNMAP) || !node->drv->co_discard) {
        return ret;
    }
    /* Parts of granules are left alone, except where the image ends within one. */
    uint32_t granule = MAX(node->limits.discard_align, node->limits.request_align);
    int64_t start = round_up(offset, granule);
    int64_t end = offset + bytes;
    end = end == node->total_bytes ? end : (int64_t)round_down(end, granule);
    if (start >= end) {
        return 0;
    }
    block_io_begin_write(node, &req, start, end - start, true);
    ret = discard_tracked(node, start, end - start, granule);
    block_io_end_write(node, &req, start); /* never grows the file */
    return ret;
}
