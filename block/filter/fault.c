/* SPDX-License-Identifier: MIT */
#include "block/filter/fault.h"

#include <errno.h>

#include "block/block-int.h"
#include "util/base/error.h"
#include "util/loop/event-loop.h"

typedef struct FaultState {
    /* fixed after open */
    uint64_t fail_at[FAULT_OPS]; /* 0 = never */
    bool once;
    int error; /* positive errno */
    int64_t delay_ns;
    uint64_t offset, length; /* length 0 = everywhere */

    /* atomic */
    _Atomic unsigned count[FAULT_OPS];

    /* under guard */
    pthread_mutex_t guard;
    bool hold[FAULT_OPS];
    unsigned held[FAULT_OPS];
    CoQueue waiters;
} FaultState;

static bool take_options(OptDict *options, FaultState *s, GError **errp)
{
    static const char *const fail_keys[FAULT_OPS] = {"fail-read",    "fail-write", "fail-zero",
                                                     "fail-discard", "fail-flush", "fail-truncate"};
    uint64_t error = EIO, delay = 0;

    for (size_t i = 0; i < FAULT_OPS; i++) {
        if (!optdict_take_uint(options, fail_keys[i], UINT32_MAX, &s->fail_at[i], errp)) {
            return false;
        }
    }
    s->length = optdict_has(options, "offset") ? 1 : 0;
    if (!optdict_take_bool(options, "once", &s->once, errp) ||
        !optdict_take_uint(options, "errno", 4095, &error, errp) ||
        !optdict_take_uint(options, "delay-ns", INT64_MAX, &delay, errp) ||
        !optdict_take_size(options, "offset", &s->offset, errp) ||
        !optdict_take_size(options, "length", &s->length, errp)) {
        return false;
    }
    if (error == 0) {
        error_set(errp, "Parameter 'errno' must not be 0");
        return false;
    }
    s->error = error;
    s->delay_ns = delay;
    return true;
}

static bool coroutine_fn fault_co_open(BlockNode *node, OptDict *options, unsigned flags, GError **errp)
{
    FaultState *s = node->state;

    if (!take_options(options, s, errp)) {
        return false;
    }
    pthread_mutex_init(&s->guard, NULL);
    co_queue_init(&s->waiters);
    return true;
}

static int coroutine_fn fault_co_close(BlockNode *node)
{
    FaultState *s = node->state;

    pthread_mutex_destroy(&s->guard);
    return 0;
}

/* ---- what happens to an operation ------------------------------------------------------------------------------ */

static void coroutine_fn wait_while_held(FaultState *s, FaultOp op)
{
    PTHREAD_GUARD(&s->guard);
    s->held[op]++;
    while (s->hold[op]) {
        co_queue_wait_pthread(&s->waiters, &s->guard);
    }
    s->held[op]--;
}

/* 0: go on to the file; else the error to fail with. */
static int coroutine_fn meet_fault(BlockNode *node, FaultOp op, uint64_t offset, uint64_t bytes)
{
    FaultState *s = node->state;

    if (s->length > 0 && (offset >= s->offset + s->length || s->offset >= offset + bytes)) {
        return 0;
    }
    unsigned n = ++s->count[op];
    wait_while_held(s, op);
    if (s->delay_ns > 0) {
        loop_co_sleep_ns(s->delay_ns);
    }
    bool fails = s->fail_at[op] > 0 && (s->once ? n == s->fail_at[op] : n >= s->fail_at[op]);
    return fails ? -s->error : 0;
}

static int coroutine_fn fault_co_read(BlockNode *node, const BlockRw *rw)
{
    int ret = meet_fault(node, FAULT_READ, rw->offset, rw->bytes);

    return ret < 0 ? ret : block_co_rw_read(node->file, rw);
}

static int coroutine_fn fault_co_write(BlockNode *node, const BlockRw *rw)
{
    int ret = meet_fault(node, FAULT_WRITE, rw->offset, rw->bytes);

    return ret < 0 ? ret : block_co_rw_write(node->file, rw);
}

static int coroutine_fn fault_co_write_zeroes(BlockNode *node, int64_t offset, int64_t bytes, unsigned flags)
{
    int ret = meet_fault(node, FAULT_ZERO, offset, bytes);

    return ret < 0 ? ret : block_co_pwrite_zeroes(node->file, offset, bytes, flags);
}

static int coroutine_fn fault_co_discard(BlockNode *node, int64_t offset, int64_t bytes)
{
    int ret = meet_fault(node, FAULT_DISCARD, offset, bytes);

    return ret < 0 ? ret : block_co_pdiscard(node->file, offset, bytes);
}

static int coroutine_fn fault_co_flush(BlockNode *node)
{
    return meet_fault(node, FAULT_FLUSH, 0, INT64_MAX);
}

static int coroutine_fn fault_co_status(BlockNode *node, int64_t offset, int64_t bytes, BlockStatus *st)
{
    return block_co_status(node->file, offset, bytes, st);
}

static bool coroutine_fn fault_co_reads_zero(BlockNode *node, int64_t offset, int64_t bytes)
{
    return block_co_reads_zero(node->file, offset, bytes);
}

static int64_t coroutine_fn fault_co_getlength(BlockNode *node)
{
    return node->file->total_bytes;
}

static bool coroutine_fn fault_co_truncate(BlockNode *node, int64_t bytes, BlockPrealloc prealloc, GError **errp)
{
    int ret = meet_fault(node, FAULT_TRUNCATE, 0, INT64_MAX);

    if (ret < 0) {
        error_set_errno(errp, -ret, "Could not resize file");
        return false;
    }
    return block_co_truncate(node->file, bytes, prealloc, errp);
}

/* ---- for tests ------------------------------------------------------------------------------------------------- */

static FaultState *fault_state(BlockNode *node)
{
    g_assert(node->drv == &block_driver_fault);
    return node->state;
}

unsigned fault_count(BlockNode *node, FaultOp op)
{
    return fault_state(node)->count[op];
}

void fault_hold(BlockNode *node, FaultOp op, bool hold)
{
    FaultState *s = fault_state(node);

    PTHREAD_GUARD(&s->guard);
    s->hold[op] = hold;
    if (!hold) {
        co_queue_wake_all(&s->waiters);
    }
}

unsigned fault_held(BlockNode *node, FaultOp op)
{
    FaultState *s = fault_state(node);

    PTHREAD_GUARD(&s->guard);
    return s->hold[op] ? s->held[op] : 0;
}

static const char *const fault_strong_opts[] = {"fail-read",  "fail-write",    "fail-zero", "fail-discard",
                                                "fail-flush", "fail-truncate", "once",      "errno",
                                                "offset",     "length",        "delay-ns",  NULL};

const BlockDriver block_driver_fault = {
    .format_name = "fault",
    .state_bytes = sizeof(FaultState),
    .passthrough = true,
    .strong_open_opts = fault_strong_opts,
    .co_open = fault_co_open,
    .co_close = fault_co_close,
    .co_read = fault_co_read,
    .co_write = fault_co_write,
    .supported_write_flags = BLOCK_REQ_OWN_BUFFER,
    .co_write_zeroes = fault_co_write_zeroes,
    .co_discard = fault_co_discard,
    .co_flush = fault_co_flush,
    .co_status = fault_co_status,
    .co_reads_zero = fault_co_reads_zero,
    .co_getlength = fault_co_getlength,
    .co_truncate = fault_co_truncate,
};
