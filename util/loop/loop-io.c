/* SPDX-License-Identifier: MIT */
/* What coroutines call: arguments are checked, calls that can finish at once do so, the rest goes to the engine. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include "util/loop/event-loop-int.h"

#ifndef IOV_MAX
#define IOV_MAX 1024
#endif

static EventLoop *running_loop(void)
{
    EventLoop *loop = event_loop_current();

    g_assert(loop && loop->host.running);
    return loop;
}

static bool transfer_is_valid(const struct iovec *iov, int niov, int64_t offset)
{
    return niov >= 0 && niov <= IOV_MAX && offset >= 0;
}

/* A coroutine whose calls all finish at once must not keep the loop from its other work. */
static void coroutine_fn count_inline(EventLoop *loop)
{
    if (++loop->inline_calls >= LOOP_INLINE_MAX) {
        loop->inline_calls = 0;
        coroutine_reschedule();
    }
}

/* Read what the page cache has; false: ask the engine. Not for O_DIRECT: there RWF_NOWAIT still waits for the device.
 */
static bool coroutine_fn read_cached(EventLoop *loop, int fd, const struct iovec *iov, int niov, int64_t offset,
                                     ssize_t *ret)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || (flags & O_DIRECT)) {
        return false;
    }
    LOOP_RETRY_EINTR(*ret, preadv2(fd, iov, niov, offset, RWF_NOWAIT));
    if (*ret < 0) {
        return false; /* EAGAIN: not cached; EOPNOTSUPP: not here; else the engine finds the same error */
    }
    count_inline(loop);
    return true;
}

/* The kernel cancels what needs a thread of its own when it may not make one (RLIMIT_NPROC, a cgroup's pids.max).
 * Nobody else cancels a transfer, so it is done here and now. */
static bool lacks_kernel_thread(ssize_t ret)
{
    return ret == -ECANCELED;
}

/* preadv() or pwritev2(), here and now. */
static ssize_t read_here(int fd, const struct iovec *iov, int niov, int64_t offset)
{
    ssize_t ret;

    LOOP_RETRY_EINTR(ret, preadv(fd, iov, niov, offset));
    return ret < 0 ? -errno : ret;
}

static ssize_t write_here(int fd, const struct iovec *iov, int niov, int64_t offset, int rwf_flags)
{
    ssize_t ret;

    LOOP_RETRY_EINTR(ret, pwritev2(fd, iov, niov, offset, rwf_flags));
    return ret < 0 ? -errno : ret;
}

static ssize_t coroutine_fn read_by_engine(EventLoop *loop, int fd, const struct iovec *iov, int niov, int64_t offset)
{
    ssize_t ret;

    if (read_cached(loop, fd, iov, niov, offset, &ret)) {
        return ret;
    }
    do {
        ret = loop->ops->co_preadv(loop, fd, iov, niov, offset);
    } while (ret == -EINTR);
    return lacks_kernel_thread(ret) ? read_here(fd, iov, niov, offset) : ret;
}

static ssize_t coroutine_fn write_by_engine(EventLoop *loop, int fd, const struct iovec *iov, int niov, int64_t offset,
                                            int rwf_flags)
{
    ssize_t ret;

    do {
        ret = loop->ops->co_pwritev(loop, fd, iov, niov, offset, rwf_flags);
    } while (ret == -EINTR);
    return lacks_kernel_thread(ret) ? write_here(fd, iov, niov, offset, rwf_flags) : ret;
}

ssize_t coroutine_fn loop_co_preadv(int fd, const struct iovec *iov, int niov, int64_t offset, LoopIoBy by)
{
    EventLoop *loop = running_loop();

    if (!transfer_is_valid(iov, niov, offset)) {
        return -EINVAL;
    }
    switch (by) {
    case LOOP_IO_ENGINE:
        return read_by_engine(loop, fd, iov, niov, offset);
    case LOOP_IO_WORKER:
        return loop_worker_preadv(loop, fd, iov, niov, offset);
    case LOOP_IO_HERE:
        break;
    }
    ssize_t ret = read_here(fd, iov, niov, offset);
    count_inline(loop);
    return ret;
}

ssize_t coroutine_fn loop_co_pwritev(int fd, const struct iovec *iov, int niov, int64_t offset, int rwf_flags,
                                     LoopIoBy by)
{
    EventLoop *loop = running_loop();

    if (!transfer_is_valid(iov, niov, offset)) {
        return -EINVAL;
    }
    switch (by) {
    case LOOP_IO_ENGINE:
        return write_by_engine(loop, fd, iov, niov, offset, rwf_flags);
    case LOOP_IO_WORKER:
        return loop_worker_pwritev(loop, fd, iov, niov, offset, rwf_flags);
    case LOOP_IO_HERE:
        break;
    }
    ssize_t ret = write_here(fd, iov, niov, offset, rwf_flags);
    count_inline(loop);
    return ret;
}

int coroutine_fn loop_co_fdatasync(int fd, LoopIoBy by)
{
    EventLoop *loop = running_loop();
    int ret;

    g_assert(by != LOOP_IO_HERE);
    if (by == LOOP_IO_WORKER) {
        return loop_worker_fdatasync(loop, fd);
    }
    do {
        ret = loop->ops->co_fdatasync(loop, fd);
    } while (ret == -EINTR);
    if (lacks_kernel_thread(ret)) {
        LOOP_RETRY_EINTR(ret, fdatasync(fd));
        ret = ret < 0 ? -errno : ret;
    }
    return ret;
}

int coroutine_fn loop_co_poll(int fd, short events)
{
    EventLoop *loop = running_loop();
    int ret;

    do {
        ret = loop->ops->co_poll(loop, fd, events);
    } while (ret == -EINTR);
    return ret;
}

void coroutine_fn loop_co_sleep_ns(int64_t ns)
{
    EventLoop *loop = running_loop();
    int64_t deadline_ns;

    if (ns <= 0) {
        coroutine_reschedule();
        return;
    }
    if (__builtin_add_overflow(clock_monotonic_ns(), ns, &deadline_ns)) {
        deadline_ns = INT64_MAX;
    }
    loop_timers_add(&loop->timers, deadline_ns, loop->host.running);
    coroutine_yield();
}
