/* SPDX-License-Identifier: MIT */
/* File I/O by workers of the pool: all that the epoll engine has, and what files ask for that want threads. */
#include <errno.h>
#include <unistd.h>

#include "util/loop/event-loop-int.h"
#include "util/thread/thread-pool.h"

typedef struct FileJob {
    int fd;
    const struct iovec *iov;
    int niov;
    int64_t offset;
    int rwf_flags;
} FileJob;

static int preadv_job(void *arg)
{
    const FileJob *j = arg;
    ssize_t ret;

    LOOP_RETRY_EINTR(ret, preadv(j->fd, j->iov, j->niov, j->offset));
    return ret < 0 ? -errno : (int)ret; /* the kernel moves less than 2 GiB per call */
}

static int pwritev_job(void *arg)
{
    const FileJob *j = arg;
    ssize_t ret;

    LOOP_RETRY_EINTR(ret, pwritev2(j->fd, j->iov, j->niov, j->offset, j->rwf_flags));
    return ret < 0 ? -errno : (int)ret;
}

static int fdatasync_job(void *arg)
{
    const FileJob *j = arg;
    int ret;

    LOOP_RETRY_EINTR(ret, fdatasync(j->fd));
    return ret < 0 ? -errno : 0;
}

static int coroutine_fn submit(EventLoop *loop, ThreadPoolFunc *func, FileJob *job)
{
    loop->inflight++;
    int ret = thread_pool_submit_co(func, job);
    loop->inflight--;
    return ret;
}

ssize_t coroutine_fn loop_worker_preadv(EventLoop *loop, int fd, const struct iovec *iov, int niov, int64_t offset)
{
    FileJob job = {.fd = fd, .iov = iov, .niov = niov, .offset = offset};

    return submit(loop, preadv_job, &job);
}

ssize_t coroutine_fn loop_worker_pwritev(EventLoop *loop, int fd, const struct iovec *iov, int niov, int64_t offset,
                                         int rwf_flags)
{
    FileJob job = {.fd = fd, .iov = iov, .niov = niov, .offset = offset, .rwf_flags = rwf_flags};

    return submit(loop, pwritev_job, &job);
}

int coroutine_fn loop_worker_fdatasync(EventLoop *loop, int fd)
{
    FileJob job = {.fd = fd};

    return submit(loop, fdatasync_job, &job);
}
