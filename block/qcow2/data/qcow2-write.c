/* SPDX-License-Identifier: MIT */
/* Guest writes: cut into runs, each of which is one cipher job and one I/O, then linked. */
#include <errno.h>
#include <inttypes.h>

#include "block/qcow2/data/qcow2-alloc.h"
#include "block/qcow2/data/qcow2-compressed.h"
#include "block/qcow2/data/qcow2-cow.h"
#include "block/qcow2/data/qcow2-io.h"
#include "block/qcow2/data/qcow2-join.h"
#include "block/qcow2/data/qcow2-read.h"
#include "block/qcow2/data/qcow2-threads.h"
#include "block/qcow2/map/qcow2-flush.h"
#include "util/coroutine/co-tasks.h"
#include "util/base/trace.h"

enum { PARALLEL_RUNS = 8 };

/* Bytes of @iov to the host. The IV of each sector follows from its own host offset, edges included (F01). */
static int coroutine_fn write_host(Qcow2State *s, uint64_t host_off, uint64_t guest_off, const IoVec *iov,
                                   size_t iov_off, uint64_t bytes, unsigned flags)
{
    BlockRw rw = {
        .offset = host_off, .bytes = bytes, .iov = iov, .iov_off = iov_off, .flags = flags & BLOCK_REQ_OWN_BUFFER};

    if (s->crypt.crypto) {
        return qcow2_co_write_encrypted(s, host_off, guest_off, &rw);
    }
    rw.flags = 0;
    return block_co_rw_write(s->data, &rw);
}

static int coroutine_fn write_data(Qcow2State *s, Qcow2WriteRun *run, const IoVec *iov, size_t iov_off, unsigned flags)
{
    bool edges_done = run->head_bytes == 0 && run->tail_bytes == 0;
    Qcow2Cow cow;

    if (!edges_done) {
        int ret = qcow2_cow_zero(s, run, &edges_done);
        if (ret < 0) {
            return ret;
        }
    }
    if (edges_done) {
        return write_host(s, run->host_off, run->guest_off, iov, iov_off, run->bytes, flags);
    }
    if (run->link.clusters == 1) {
        qcow2_join_open(s, &run->link);
    }
    int ret = qcow2_cow_read(s, run, iov, iov_off, &cow);
    if (ret < 0) {
        return ret;
    }
    if (run->link.clusters == 1) {
        qcow2_join_gather(s, &run->link, cow.edges);
    }
    ret = write_host(s, run->link.host_off, run->link.guest_off, &cow.iov, 0, cow.iov.size, cow.flags);
    qcow2_cow_clear(&cow);
    return ret;
}

static int coroutine_fn finish_run(Qcow2State *s, Qcow2WriteRun *run, const IoVec *iov, size_t iov_off, unsigned flags)
{
    int ret = run->joined ? 0 : write_data(s, run, iov, iov_off, flags);

    if (ret < 0) {
        qcow2_write_run_abort(s, run);
        return ret;
    }
    return qcow2_write_run_link(s, run);
}

/* A run whose data phase goes on while the next one is prepared. It does not move: its link is in a list. */
typedef struct WriteTask {
    Qcow2State *s;
    Qcow2WriteRun run;
    const IoVec *iov;
    size_t iov_off;
    unsigned flags;
    bool on_heap;
} WriteTask;

static int coroutine_fn write_task(void *opaque)
{
    WriteTask *t = opaque;
    int ret = finish_run(t->s, &t->run, t->iov, t->iov_off, t->flags);

    if (t->on_heap) {
        g_free(t);
    }
    return ret;
}

static int coroutine_fn start_task(CoTasks *tasks, WriteTask *t)
{
    int ret = co_tasks_start(tasks, write_task, t);

    if (ret < 0) {
        qcow2_write_run_abort(t->s, &t->run);
        if (t->on_heap) {
            g_free(t);
        }
    }
    return ret;
}

/* A request of several runs, the first of which is prepared. Clusters are allocated here, in guest order; the data of
 * all runs is in flight at once. */
static int coroutine_fn write_many(Qcow2State *s, const BlockRw *rw, WriteTask *first)
{
    uint64_t done = first->run.bytes, bytes = rw->bytes;
    CoTasks tasks;

    co_tasks_init(&tasks, PARALLEL_RUNS);
    int ret = start_task(&tasks, first);
    while (ret == 0 && done < bytes) {
        WriteTask *t = g_new(WriteTask, 1);
        *t = (WriteTask){.s = s, .iov = rw->iov, .iov_off = rw->iov_off + done, .flags = rw->flags, .on_heap = true};
        ret = qcow2_write_run_begin(s, rw, done, &t->run);
        if (ret < 0) {
            g_free(t);
            break;
        }
        done += t->run.bytes;
        if (done == bytes) {
            block_placed(rw->place);
        }
        ret = start_task(&tasks, t);
    }
    int tasks_ret = co_tasks_wait(&tasks);
    return ret < 0 ? ret : tasks_ret;
}

static int coroutine_fn write_plain(Qcow2State *s, const BlockRw *rw)
{
    WriteTask first = {.s = s, .iov = rw->iov, .iov_off = rw->iov_off, .flags = rw->flags};
    int ret = qcow2_write_run_begin(s, rw, 0, &first.run);

    if (ret < 0) {
        return ret;
    }
    if (first.run.bytes < (uint64_t)rw->bytes) {
        return write_many(s, rw, &first);
    }
    block_placed(rw->place);
    return write_task(&first);
}

int coroutine_fn qcow2_co_write(BlockNode *node, const BlockRw *rw)
{
    Qcow2State *s = qcow2_state(node);
    unsigned req = qcow2_trace_req(s);

    trace(TRACE_QCOW2, "write", "req=%u guest=0x%" PRIx64 " bytes=%" PRIu64 " flags=0x%x", req, (uint64_t)rw->offset,
          (uint64_t)rw->bytes, rw->flags);
    int ret = rw->flags & BLOCK_REQ_COMPRESSED ? qcow2_write_compressed(s, rw) : write_plain(s, rw);
    trace(TRACE_QCOW2, "write_done", "req=%u ret=%d", req, ret);
    return ret;
}

int coroutine_fn qcow2_co_flush(BlockNode *node)
{
    Qcow2State *s = qcow2_state(node);

    if (s->corrupt) {
        return -ENOMEDIUM;
    }
    qcow2_meta_lock(s, "flush");
    int ret = qcow2_flush_metadata_locked(s, false);
    qcow2_meta_unlock(s, "flush");
    return ret;
}
