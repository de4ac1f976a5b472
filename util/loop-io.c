/* SPDX-License-Identifier: MIT */
/* What coroutines call: arguments are checked, calls that can finish at once do so, the rest goes to the engine. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include "util/event-loop-int.h"

#ifndef IOV_MAX
#define IOV_MAX 1024
#endif

static EventLoop *running_loop(void)
{
    EventLoop *loop = event_loop_current();

    g_assert(loop && loop->running);
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

ssize_t coroutine_fn loop_co_preadv(int fd, const struct iovec *iov, int niov, int64_t offset)
{
    EventLoop *loop = running_loop();
    ssize_t ret;

    if (!transfer_is_valid(iov, niov, offset)) {
        return -EINVAL;
    }
    if (read_cached(loop, fd, iov, niov, offset, &ret)) {
        return ret;
    }
    do {
        ret = loop->ops->co_preadv(loop, fd, iov, niov, offset);
    } while (ret == -EINTR);
    return lacks_kernel_thread(ret) ? loop_co_preadv_memory(fd, iov, niov, offset) : ret;
}

ssize_t coroutine_fn loop_co_pwritev(int fd, const struct iovec *iov, int niov, int64_t offset, int rwf_flags)
{
    EventLoop *loop = running_loop();
    ssize_t ret;

    if (!transfer_is_valid(iov, niov, offset)) {
        return -EINVAL;
    }
    do {
        ret = loop->ops->co_pwritev(loop, fd, iov, niov, offset, rwf_flags);
    } while (ret == -EINTR);
    if (lacks_kernel_thread(ret)) {
        LOOP_RETRY_EINTR(ret, pwritev2(fd, iov, niov, offset, rwf_flags));
        ret = ret < 0 ? -errno : ret;
    }
    return ret;
}

typedef ssize_t VectorCall(int fd, const struct iovec *iov, int niov, off_t offset);

/* preadv() or pwritev(), here and now. */
static ssize_t coroutine_fn call_inline(VectorCall *call, int fd, const struct iovec *iov, int niov, int64_t offset)
{
    EventLoop *loop = running_loop();
    ssize_t ret;

    if (!transfer_is_valid(iov, niov, offset)) {
        return -EINVAL;
    }
    LOOP_RETRY_EINTR(ret, call(fd, iov, niov, offset));
    ret = ret < 0 ? -errno : ret;
    count_inline(loop);
    return ret;
}

ssize_t coroutine_fn loop_co_preadv_memory(int fd, const struct iovec *iov, int niov, int64_t offset)
{
    return call_inline(preadv, fd, iov, niov, offset);
}

ssize_t coroutine_fn loop_co_pwritev_memory(int fd, const struct iovec *iov, int niov, int64_t offset)
{
    return call_inline(pwritev, fd, iov, niov, offset);
}

int coroutine_fn loop_co_fdatasync(int fd)
{
    EventLoop *loop = running_loop();
    int ret;

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
    loop_timers_add(&loop->timers, deadline_ns, loop->running);
    coroutine_yield();
}
