/* SPDX-License-Identifier: MIT */
/* null-co and null-aio: no storage at all, for tests and measurements. Reads deliver whatever was in the buffer, or
 * zeros with read-zeroes=on; latency-ns= delays every request. */
#include "block/block-int.h"

#include <errno.h>

#include "util/base/error.h"
#include "util/loop/event-loop.h"
#include "util/base/units.h"

typedef struct NullState {
    /* fixed after open */
    int64_t latency_ns;
    bool read_zeroes;
} NullState;

static bool coroutine_fn null_co_open(BlockNode *node, OptDict *options, unsigned flags, GError **errp)
{
    NullState *s = node->state;
    uint64_t size = GIB, latency = 0;

    if (!optdict_take_size(options, "size", &size, errp) ||
        !optdict_take_uint(options, "latency-ns", INT64_MAX, &latency, errp) ||
        !optdict_take_bool(options, "read-zeroes", &s->read_zeroes, errp)) {
        return false;
    }
    if (size > INT64_MAX - (uint64_t)BLOCK_MAX_REQUEST_BYTES) {
        error_set(errp, "Parameter 'size' is too large");
        return false;
    }
    s->latency_ns = latency;
    block_node_set_length(node, size);
    return true;
}

static void coroutine_fn delay(const NullState *s)
{
    if (s->latency_ns > 0) {
        loop_co_sleep_ns(s->latency_ns);
    }
}

static int coroutine_fn null_co_read(BlockNode *node, const BlockRw *rw)
{
    const NullState *s = node->state;

    delay(s);
    if (s->read_zeroes) {
        iovec_memset(rw->iov, rw->iov_off, 0, rw->bytes);
    }
    return 0;
}

static int coroutine_fn null_co_write(BlockNode *node, const BlockRw *rw)
{
    delay(node->state);
    return 0;
}

static int coroutine_fn null_co_write_zeroes(BlockNode *node, int64_t offset, int64_t bytes, unsigned flags)
{
    delay(node->state);
    return 0;
}

static int coroutine_fn null_co_flush(BlockNode *node)
{
    delay(node->state);
    return 0;
}

static int coroutine_fn null_co_status(BlockNode *node, int64_t offset, int64_t bytes, BlockStatus *st)
{
    const NullState *s = node->state;

    *st = (BlockStatus){.flags = BLOCK_STATUS_OFFSET, .bytes = bytes, .host_off = offset, .file = node};
    st->flags |= BLOCK_STATUS_ALLOCATED | (s->read_zeroes ? BLOCK_STATUS_ZERO : BLOCK_STATUS_DATA);
    return 0;
}

static bool coroutine_fn null_co_reads_zero(BlockNode *node, int64_t offset, int64_t bytes)
{
    const NullState *s = node->state;

    return s->read_zeroes;
}

static int64_t coroutine_fn null_co_allocated_bytes(BlockNode *node)
{
    return 0;
}

static const char *const null_strong_opts[] = {"size", "read-zeroes", NULL};

#define NULL_DRIVER(name)                                                                                              \
    {                                                                                                                  \
        .format_name = name, .protocol = name, .state_bytes = sizeof(NullState), .strong_open_opts = null_strong_opts, \
        .co_open = null_co_open, .co_read = null_co_read, .co_write = null_co_write,                                   \
        .supported_write_flags = BLOCK_REQ_FUA | BLOCK_REQ_OWN_BUFFER, .co_write_zeroes = null_co_write_zeroes,        \
        .co_flush = null_co_flush, .co_status = null_co_status, .co_reads_zero = null_co_reads_zero,                   \
        .co_allocated_bytes = null_co_allocated_bytes,                                                                 \
    }

const BlockDriver block_driver_null_co = NULL_DRIVER("null-co");
const BlockDriver block_driver_null_aio = NULL_DRIVER("null-aio");
