/* SPDX-License-Identifier: MIT */
#include "block/qcow2/data/qcow2-read.h"

#include <errno.h>
#include <inttypes.h>

#include "block/qcow2/data/qcow2-compressed.h"
#include "block/qcow2/format/qcow2-file.h"
#include "block/qcow2/data/qcow2-io.h"
#include "block/qcow2/map/qcow2-map.h"
#include "block/qcow2/data/qcow2-threads.h"
#include "block/qcow2/state/qcow2-reader.h"
#include "util/coroutine/co-tasks.h"
#include "util/base/trace.h"

enum { PARALLEL_RUNS = 8 };

/* One run of a read: all its bytes live in one place. */
typedef struct ReadRun {
    Qcow2State *s;
    const IoVec *iov;
    uint64_t guest_off, bytes;
    size_t iov_off;
    unsigned flags;
    Qcow2Map map;
    Qcow2Reader reader;
} ReadRun;

static int coroutine_fn read_backing(const ReadRun *r)
{
    BlockRw rw = {.offset = r->guest_off,
                  .bytes = r->bytes,
                  .iov = r->iov,
                  .iov_off = r->iov_off,
                  .flags = r->flags & BLOCK_REQ_OWN_BUFFER};

    return block_co_read_backing(r->s->node, &rw);
}

static int coroutine_fn read_normal(const ReadRun *r)
{
    Qcow2State *s = r->s;
    /* A file may end inside its last cluster (section 1); what was never written there has no plain text. */
    uint64_t inside = qcow2_file_clamp(s->data, r->map.host_off, r->bytes);

    if (s->crypt.crypto) {
        inside = round_down(inside, SECTOR_SIZE);
    }
    if (inside < r->bytes) {
        iovec_memset(r->iov, r->iov_off + inside, 0, r->bytes - inside);
    }
    if (inside == 0) {
        return 0;
    }
    BlockRw rw = {.offset = r->map.host_off,
                  .bytes = inside,
                  .iov = r->iov,
                  .iov_off = r->iov_off,
                  .flags = r->flags & BLOCK_REQ_OWN_BUFFER};
    if (s->crypt.crypto) {
        return qcow2_co_read_encrypted(s, r->map.host_off, r->guest_off, &rw);
    }
    return block_co_rw_read(s->data, &rw);
}

static int coroutine_fn read_run(ReadRun *r)
{
    int ret = -EIO;

    switch (r->map.kind) {
    case QCOW2_KIND_UNALLOCATED:
        ret = read_backing(r);
        break;
    case QCOW2_KIND_ZERO_PLAIN:
    case QCOW2_KIND_ZERO_ALLOC:
        iovec_memset(r->iov, r->iov_off, 0, r->bytes);
        ret = 0;
        break;
    case QCOW2_KIND_NORMAL:
        ret = read_normal(r);
        break;
    case QCOW2_KIND_COMPRESSED:
        ret = qcow2_read_compressed(r->s, &r->map, qcow2_in_cluster(&r->s->geo, r->guest_off), r->bytes, r->iov,
                                    r->iov_off);
        break;
    }
    qcow2_reader_end(r->s, &r->reader);
    return ret;
}

static int coroutine_fn find_run(ReadRun *r, uint64_t max_bytes)
{
    r->bytes = max_bytes;
    int ret = qcow2_lookup(r->s, r->guest_off, &r->bytes, &r->map, &r->reader);
    trace(TRACE_QCOW2, "read_run", "guest=0x%" PRIx64 " bytes=%" PRIu64 " kind=%d host=0x%" PRIx64 " ret=%d",
          r->guest_off, r->bytes, r->map.kind, r->map.host_off, ret);
    return ret;
}

static int coroutine_fn read_task(void *opaque)
{
    g_autofree ReadRun *r = opaque;

    return read_run(r);
}

/* A request of several runs, the first of which is found already: they are read at once. */
static int coroutine_fn read_many(ReadRun *first, uint64_t bytes)
{
    uint64_t done = first->bytes;
    CoTasks tasks;
    int ret = 0;

    co_tasks_init(&tasks, PARALLEL_RUNS);
    while (ret == 0 && done < bytes) {
        ReadRun *r = g_new(ReadRun, 1);
        *r = (ReadRun){.s = first->s,
                       .iov = first->iov,
                       .guest_off = first->guest_off + done,
                       .iov_off = first->iov_off + done,
                       .flags = first->flags};
        ret = find_run(r, bytes - done);
        if (ret < 0) {
            g_free(r);
            break;
        }
        done += r->bytes;
        ret = co_tasks_start(&tasks, read_task, r);
        if (ret < 0) {
            qcow2_reader_end(r->s, &r->reader);
            g_free(r);
        }
    }
    int first_ret = read_run(first);
    int tasks_ret = co_tasks_wait(&tasks);
    return ret < 0 ? ret : first_ret < 0 ? first_ret : tasks_ret;
}

int coroutine_fn qcow2_read_guest(Qcow2State *s, uint64_t guest_off, uint64_t bytes, const IoVec *iov, size_t iov_off,
                                  unsigned flags)
{
    ReadRun first = {.s = s, .iov = iov, .guest_off = guest_off, .iov_off = iov_off, .flags = flags};
    int ret = find_run(&first, bytes);

    if (ret < 0) {
        return ret;
    }
    return first.bytes == bytes ? read_run(&first) : read_many(&first, bytes);
}

int coroutine_fn qcow2_co_read(BlockNode *node, const BlockRw *rw)
{
    Qcow2State *s = qcow2_state(node);
    unsigned req = qcow2_trace_req(s);

    trace(TRACE_QCOW2, "read", "req=%u guest=0x%" PRIx64 " bytes=%" PRIu64, req, (uint64_t)rw->offset,
          (uint64_t)rw->bytes);
    int ret = qcow2_read_guest(s, rw->offset, rw->bytes, rw->iov, rw->iov_off, rw->flags);
    trace(TRACE_QCOW2, "read_done", "req=%u ret=%d", req, ret);
    return ret;
}
