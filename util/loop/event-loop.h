/* SPDX-License-Identifier: MIT */
/* Event loops: a thread with an I/O engine, timers, and a queue of coroutines to go on.
 *
 * The engine is io_uring, or epoll with the shared thread pool where the kernel refuses io_uring; chosen at run time,
 * or by QBLOCK_LOOP=io_uring|epoll. A process may have many loops; a thread at most one. */
#ifndef QBLOCK_UTIL_EVENT_LOOP_H
#define QBLOCK_UTIL_EVENT_LOOP_H

#include <glib.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "util/base/clock.h"
#include "util/coroutine/coroutine.h"

typedef struct EventLoop EventLoop;

typedef enum EventLoopEngine { EVENT_LOOP_AUTO, EVENT_LOOP_IO_URING, EVENT_LOOP_EPOLL } EventLoopEngine;

/* Make a loop and bind it to the calling thread, which must have none. NULL on error, such as a QBLOCK_LOOP that names
 * no engine or one that the kernel refuses. */
EventLoop *event_loop_new(EventLoopEngine engine, GError **errp);
/* Unbind and free; every coroutine of the loop must have ended. Context: the loop's thread, outside coroutines. */
void event_loop_free(EventLoop *loop);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(EventLoop, event_loop_free)

EventLoop *event_loop_current(void); /* this thread's loop or NULL. Context: any */
/* A small number of this thread's loop: threads that work beside each other differ. Context: any. */
unsigned event_loop_ordinal(void);
const char *event_loop_engine_name(const EventLoop *loop); /* "io_uring" or "epoll" */

/* Make a coroutine on this thread's loop and run the loop until that coroutine has ended.
 * Context: the loop's thread, outside coroutines. */
void event_loop_run_co(EventLoop *loop, CoroutineEntry *entry, void *opaque);

/* Start a new coroutine on @loop, which may be another thread's; does not wait. Context: any. */
void event_loop_spawn(EventLoop *loop, CoroutineEntry *entry, void *opaque);

/* A thread that runs a loop of its own until stopped. _stop waits for the loop's coroutines to end, then joins. */
typedef struct LoopThread LoopThread;
LoopThread *loop_thread_start(const char *name, EventLoopEngine engine, GError **errp); /* NULL on error */
EventLoop *loop_thread_loop(LoopThread *t);
void loop_thread_stop(LoopThread *t); /* Context: any thread but its own; blocks */

/* --- I/O for coroutines: all return >= 0, or -errno; short transfers are returned as such --- */

/* Who moves the bytes of a file. */
typedef enum LoopIoBy {
    LOOP_IO_ENGINE, /* the loop's engine; what the page cache has is read at once */
    LOOP_IO_WORKER, /* a worker of the pool, whatever the engine */
    LOOP_IO_HERE,   /* this thread, at once: for a file that is memory (tmpfs), a copy that waits for no device. Other
                     * coroutines get their turn every few calls */
} LoopIoBy;

ssize_t coroutine_fn loop_co_preadv(int fd, const struct iovec *iov, int niov, int64_t offset, LoopIoBy by);
ssize_t coroutine_fn loop_co_pwritev(int fd, const struct iovec *iov, int niov, int64_t offset, int rwf_flags,
                                     LoopIoBy by);
int coroutine_fn loop_co_fdatasync(int fd, LoopIoBy by); /* never HERE: a sync waits */
/* Wait until @fd has one of @events (POLLIN/POLLOUT) or an error; returns the ready events. */
int coroutine_fn loop_co_poll(int fd, short events);
void coroutine_fn loop_co_sleep_ns(int64_t ns);

/* Loops of the process that are not waiting for an event now: threads that use a CPU. Context: any. */
unsigned event_loops_awake(void);

/* A GSource that runs @loop inside a GLib main loop of the same thread. The caller owns one reference. */
GSource *event_loop_gsource_new(EventLoop *loop);

#endif
