/* SPDX-License-Identifier: MIT */
/* The inside of an event loop, for the files that make it: event-loop.c (queues, wakes, turns), loop-io.c (the
 * coroutine calls), loop-timer.c, loop-thread.c, loop-gsource.c, the engines.
 *
 * One turn of a loop: wait for the engine (not at all while something is ready), take what other threads posted, move
 * expired timers to the ready queue, run what is ready. */
#ifndef QBLOCK_UTIL_EVENT_LOOP_INT_H
#define QBLOCK_UTIL_EVENT_LOOP_INT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "util/coroutine/coroutine-int.h"
#include "util/loop/event-loop.h"
#include "util/loop/loop-timer.h"

/* One engine. Everything here runs on the loop's thread. */
typedef struct LoopEngineOps {
    const char *name;
    /* Sets loop->engine. 0 or -errno; on failure nothing is left behind. */
    int (*init)(EventLoop *loop);
    /* Nothing is in flight any more, except the watch on the wake descriptor. */
    void (*destroy)(EventLoop *loop);
    /* Hand queued submissions to the kernel, wait at most @timeout_ns (-1: for ever, 0: not at all) for something to
     * happen and loop_post() whoever waited for it. May return early. */
    void (*wait)(EventLoop *loop, int64_t timeout_ns);
    /* Hand queued submissions to the kernel; before somebody else waits on pollable_fd(). */
    void (*flush)(EventLoop *loop);
    int (*pollable_fd)(EventLoop *loop);
    ssize_t coroutine_fn (*co_preadv)(EventLoop *loop, int fd, const struct iovec *iov, int niov, int64_t offset);
    ssize_t coroutine_fn (*co_pwritev)(EventLoop *loop, int fd, const struct iovec *iov, int niov, int64_t offset,
                                       int rwf_flags);
    int coroutine_fn (*co_fdatasync)(EventLoop *loop, int fd);
    int coroutine_fn (*co_poll)(EventLoop *loop, int fd, short events);
} LoopEngineOps;

extern const LoopEngineOps loop_engine_io_uring; /* init is NULL when built without liburing */
extern const LoopEngineOps loop_engine_epoll;

/* File I/O by a worker of the pool; as the engine's operations of these names. Context: coroutine on @loop. */
ssize_t coroutine_fn loop_worker_preadv(EventLoop *loop, int fd, const struct iovec *iov, int niov, int64_t offset);
ssize_t coroutine_fn loop_worker_pwritev(EventLoop *loop, int fd, const struct iovec *iov, int niov, int64_t offset,
                                         int rwf_flags);
int coroutine_fn loop_worker_fdatasync(EventLoop *loop, int fd);

/* Calls that finished at once, without a yield, that a loop allows between two looks at its other work. */
#define LOOP_INLINE_MAX 32

struct EventLoop {
    CoHost host; /* of the coroutines on it; first, so that a host is its loop */

    /* Fixed after event_loop_new(). */
    const LoopEngineOps *ops;
    void *engine;
    unsigned ordinal;
    int wake_fd; /* eventfd; written only to end a sleep */

    /* Only on the loop's thread. */
    unsigned inflight;     /* I/O calls of coroutines that the engine holds */
    unsigned inline_calls; /* since the last turn */
    LoopItem *ready_head, **ready_tail;
    LoopTimers timers;
    bool asleep;             /* LOOP_ASLEEP was put into @posted */
    uint64_t wakes_expected; /* writes to wake_fd that were or will be made */
    uint64_t wakes_seen;     /* of these, read back by the engine */

    /* Pushed by any thread, newest first; taken as a whole by the loop. NULL: empty and the loop looks again before it
     * sleeps. LOOP_ASLEEP: empty, and who replaces it must write wake_fd, exactly once. */
    _Atomic(LoopItem *) posted;
};

/* Queue @item on @loop. Context: any. The item may be run, and the loop freed, before this returns. */
void loop_post(EventLoop *loop, LoopItem *item);

/* True when the loop has something to run without waiting. */
bool loop_has_ready(const EventLoop *loop);

/* About to wait: false when there is work and the wait must not block. loop_sleep_end() follows in any case. */
bool loop_sleep_begin(EventLoop *loop);
void loop_sleep_end(EventLoop *loop);

/* One turn; @may_block lets it wait for the next event. Context: the loop's thread, outside coroutines. */
void loop_turn(EventLoop *loop, bool may_block);
/* The part of a turn after the wait. */
void loop_dispatch(EventLoop *loop);

/* Retry helper: -EINTR says nothing about the call. */
#define LOOP_RETRY_EINTR(ret, call)                                                                                    \
    do {                                                                                                               \
        (ret) = (call);                                                                                                \
    } while ((ret) < 0 && errno == EINTR)

#endif
