/* SPDX-License-Identifier: MIT */
/* Block status: of one node, and through a backing chain. */
#include "block/core/status.h"

#include "util/base/units.h"

/* Ask the driver for whole blocks and cut the answer to what was asked. An answer may be finer than the blocks. */
static int coroutine_fn ask_driver(BlockNode *node, int64_t offset, int64_t bytes, BlockStatus *st)
{
    uint32_t align = node->limits.request_align;
    int64_t start = round_down(offset, align);
    int64_t end = round_up(offset + bytes, align);

    for (;;) {
        int ret = node->drv->co_status(node, start, end - start, st);
        if (ret < 0) {
            return ret;
        }
        g_assert(st->bytes > 0);
        if (start + st->bytes > offset) {
            break;
        }
        start += st->bytes;
    }
    int64_t cut = offset - start;
    st->bytes = MIN(st->bytes - cut, bytes);
    st->host_off += st->flags & BLOCK_STATUS_OFFSET ? cut : 0;
    return 0;
}

int coroutine_fn block_status_of_layer(BlockNode *node, int64_t offset, int64_t bytes, BlockStatus *st)
{
    *st = (BlockStatus){.flags = BLOCK_STATUS_DATA | BLOCK_STATUS_ALLOCATED, .bytes = bytes};
    return node->drv->co_status ? ask_driver(node, offset, bytes, st) : 0;
}

/* A format that stores a range as it is leaves its holes to its file. The format says what is data; the file may only
 * add that it is zeros. */
static int coroutine_fn look_below(BlockNode *node, BlockStatus *st)
{
    BlockNode *file = st->file ? st->file : node->file;
    BlockStatus below;

    st->flags &= ~(unsigned)BLOCK_STATUS_RECURSE;
    if (!file || file == node || !(st->flags & BLOCK_STATUS_OFFSET) || (st->flags & BLOCK_STATUS_ZERO)) {
        return 0;
    }
    int ret = block_co_status(file, st->host_off, st->bytes, &below);
    if (ret < 0) {
        return ret;
    }
    if (below.bytes == 0) {
        st->flags |= BLOCK_STATUS_ZERO; /* past the end of the file */
        return 0;
    }
    if (below.flags & BLOCK_STATUS_ZERO) {
        st->flags |= BLOCK_STATUS_ZERO;
    }
    st->bytes = below.bytes;
    return 0;
}

int coroutine_fn block_co_status(BlockNode *node, int64_t offset, int64_t bytes, BlockStatus *st)
{
    int64_t total = node->total_bytes;

    g_assert(in_coroutine() && offset >= 0 && bytes >= 0);
    *st = (BlockStatus){.flags = BLOCK_STATUS_EOF};
    if (offset >= total || bytes == 0) {
        return 0;
    }
    bytes = MIN(bytes, total - offset);
    int ret = block_status_of_layer(node, offset, bytes, st);
    if (ret == 0 && (st->flags & BLOCK_STATUS_RECURSE)) {
        ret = look_below(node, st);
    }
    if (ret == 0 && offset + st->bytes == total) {
        st->flags |= BLOCK_STATUS_EOF;
    }
    return ret;
}

int coroutine_fn block_co_status_above(BlockNode *node, BlockNode *base, int64_t offset, int64_t bytes, BlockStatus *st)
{
    bool at_eof = false; /* of @node, not of a layer below */
    int depth = 0;

    for (;; node = node->backing, depth++) {
        int ret = block_co_status(node, offset, bytes, st);
        if (ret < 0) {
            return ret;
        }
        if (depth == 0) {
            at_eof = st->flags & BLOCK_STATUS_EOF;
        } else if (st->bytes < bytes) {
            at_eof = false;
        }
        bytes = st->bytes;
        st->depth = depth;
        st->flags &= ~(unsigned)BLOCK_STATUS_EOF;
        if ((st->flags & BLOCK_STATUS_ALLOCATED) || bytes == 0) {
            break;
        }
        if (!node->backing || node->backing == base || offset >= node->backing->total_bytes) {
            /* Nobody below decides: it reads as zeros (with @base, as what @base holds). */
            if (node->backing != base || !base) {
                st->flags = BLOCK_STATUS_ZERO;
            }
            break;
        }
    }
    st->flags |= at_eof ? BLOCK_STATUS_EOF : 0;
    return 0;
}
