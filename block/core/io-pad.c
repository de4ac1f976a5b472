/* SPDX-License-Identifier: MIT */
/* Unaligned requests: the head and tail blocks are bounced, the middle uses the caller's memory. */
#include "block/core/io-int.h"

#include <errno.h>

#include "util/base/aligned-buf.h"
#include "util/base/units.h"

/* One request grown to whole blocks. */
typedef struct IoPad {
    int64_t offset, bytes;            /* aligned */
    size_t head, tail;                /* bytes added before and after */
    uint8_t *head_block, *tail_block; /* request_align each; the same one when the request lies within one block */
    void *buf;
    IoVec iov; /* head pad, the caller's memory, tail pad */
} IoPad;

static void pad_destroy(IoPad *p)
{
    iovec_destroy(&p->iov);
    aligned_buf_free(p->buf);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IoPad, pad_destroy)

static int pad_init(IoPad *p, const BlockNode *node, const BlockRw *rw)
{
    uint32_t align = node->limits.request_align;
    int64_t end = rw->offset + rw->bytes;

    p->offset = round_down(rw->offset, align);
    p->bytes = round_up(end, align) - p->offset;
    p->head = rw->offset - p->offset;
    p->tail = p->offset + p->bytes - end;
    iovec_init(&p->iov);
    p->buf = aligned_buf_try_new(2 * (size_t)align);
    if (!p->buf) {
        return -ENOMEM;
    }
    p->head_block = p->buf;
    p->tail_block = p->bytes == align ? p->head_block : p->head_block + align;
    iovec_add(&p->iov, p->head_block, p->head);
    iovec_add_slice(&p->iov, rw->iov, rw->iov_off, rw->bytes);
    iovec_add(&p->iov, p->tail_block + align - p->tail, p->tail);
    return 0;
}

static BlockRw pad_request(const IoPad *p, const BlockRw *rw)
{
    return (BlockRw){.offset = p->offset, .bytes = p->bytes, .iov = &p->iov, .flags = rw->flags, .place = rw->place};
}

int coroutine_fn block_io_padded_read(BlockNode *node, const BlockRw *rw)
{
    g_auto(IoPad) pad = {0};
    int ret = pad_init(&pad, node, rw);

    if (ret < 0) {
        return ret;
    }
    BlockRw padded = pad_request(&pad, rw);
    return block_io_driver_read(node, &padded);
}

static int coroutine_fn read_block(BlockNode *node, int64_t offset, uint8_t *block)
{
    g_auto(IoVec) iov;

    iovec_init_buf(&iov, block, node->limits.request_align);
    BlockRw rw = {.offset = offset, .bytes = iov.size, .iov = &iov, .flags = BLOCK_REQ_OWN_BUFFER};
    return block_io_driver_read(node, &rw);
}

int coroutine_fn block_io_padded_write(BlockNode *node, const BlockRw *rw)
{
    g_auto(IoPad) pad = {0};
    int ret = pad_init(&pad, node, rw);

    if (ret == 0 && pad.head > 0) {
        ret = read_block(node, pad.offset, pad.head_block);
    }
    if (ret == 0 && pad.tail > 0 && (pad.head == 0 || pad.tail_block != pad.head_block)) {
        ret = read_block(node, pad.offset + pad.bytes - node->limits.request_align, pad.tail_block);
    }
    if (ret < 0) {
        return ret;
    }
    BlockRw padded = pad_request(&pad, rw);
    return block_io_driver_write(node, &padded);
}
