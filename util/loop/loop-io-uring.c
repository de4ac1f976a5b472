/* SPDX-License-Identifier: MIT */
/* The io_uring engine: submissions queue up while coroutines run and go to the kernel once per turn. */
#include "config.h"
#include "util/loop/event-loop-int.h"

#ifdef HAVE_LIBURING

#include <errno.h>
#include <liburing.h>
#include <limits.h>

enum { RING_ENTRIES = 256 };

typedef struct UringEngine {
    struct io_uring ring;
    uint64_t wake_count; /* where the kernel puts what it reads from wake_fd */
    bool wake_armed;     /* that read is in flight */
} UringEngine;

/* One call in flight, on its coroutine's stack. */
typedef struct UringRequest {
    Coroutine *co;
    int res;
} UringRequest;

/* user_data of submissions nobody waits for. */
static char wake_tag;
static char cancel_tag;

static void complete(EventLoop *loop, const struct io_uring_cqe *cqe)
{
    UringEngine *e = loop->engine;
    void *data = io_uring_cqe_get_data(cqe);

    if (data == &wake_tag) {
        e->wake_armed = false;
        if (cqe->res == sizeof(e->wake_count)) {
            loop->wakes_seen += e->wake_count;
        }
    } else if (data != &cancel_tag) {
        UringRequest *req = data;

        req->res = cqe->res;
        loop->inflight--;
        coroutine_wake(req->co);
    }
}

static void reap(EventLoop *loop)
{
    UringEngine *e = loop->engine;
    struct io_uring_cqe *cqe;

    while (io_uring_peek_cqe(&e->ring, &cqe) == 0) {
        complete(loop, cqe);
        io_uring_cqe_seen(&e->ring, cqe);
    }
}

static void check_enter(int ret)
{
    /* Interrupted, timed out, or full of completions that are reaped next: all are tried again on the next turn. */
    if (ret < 0 && ret != -EINTR && ret != -ETIME && ret != -EAGAIN && ret != -EBUSY && ret != -ENOMEM) {
        g_error("io_uring_enter: %s", g_strerror(-ret));
    }
}

/* A free submission entry; a full queue is submitted, never dropped. Only makes coroutines ready, runs none. */
static struct io_uring_sqe *get_sqe(EventLoop *loop)
{
    UringEngine *e = loop->engine;
    struct io_uring_sqe *sqe;

    while ((sqe = io_uring_get_sqe(&e->ring)) == NULL) {
        check_enter(io_uring_submit(&e->ring));
        reap(loop);
    }
    return sqe;
}

static void arm_wake(EventLoop *loop)
{
    UringEngine *e = loop->engine;

    if (!e->wake_armed) {
        struct io_uring_sqe *sqe = get_sqe(loop);

        io_uring_prep_read(sqe, loop->wake_fd, &e->wake_count, sizeof(e->wake_count), 0);
        io_uring_sqe_set_data(sqe, &wake_tag);
        e->wake_armed = true;
    }
}

static void uring_flush(EventLoop *loop)
{
    UringEngine *e = loop->engine;

    arm_wake(loop);
    check_enter(io_uring_submit(&e->ring));
}

static void uring_wait(EventLoop *loop, int64_t timeout_ns)
{
    UringEngine *e = loop->engine;
    struct io_uring_cqe *cqe;

    if (timeout_ns == 0) {
        if (io_uring_sq_ready(&e->ring) > 0) {
            check_enter(io_uring_submit(&e->ring));
        }
    } else {
        struct __kernel_timespec ts = {.tv_sec = timeout_ns / 1000000000, .tv_nsec = timeout_ns % 1000000000};

        arm_wake(loop);
        check_enter(io_uring_submit_and_wait_timeout(&e->ring, &cqe, 1, timeout_ns < 0 ? NULL : &ts, NULL));
    }
    reap(loop);
}

static int uring_pollable_fd(EventLoop *loop)
{
    UringEngine *e = loop->engine;

    return e->ring.ring_fd;
}

static int coroutine_fn submit(EventLoop *loop, struct io_uring_sqe *sqe)
{
    UringRequest req = {.co = loop->host.running};

    io_uring_sqe_set_data(sqe, &req);
    loop->inflight++;
    coroutine_yield();
    return req.res;
}

static ssize_t coroutine_fn uring_preadv(EventLoop *loop, int fd, const struct iovec *iov, int niov, int64_t offset)
{
    struct io_uring_sqe *sqe = get_sqe(loop);

    if (niov == 1 && iov->iov_len <= INT_MAX) {
        io_uring_prep_read(sqe, fd, iov->iov_base, (unsigned)iov->iov_len, (uint64_t)offset);
    } else {
        io_uring_prep_readv(sqe, fd, iov, (unsigned)niov, (uint64_t)offset);
    }
    return submit(loop, sqe);
}

static ssize_t coroutine_fn uring_pwritev(EventLoop *loop, int fd, const struct iovec *iov, int niov, int64_t offset,
                                          int rwf_flags)
{
    struct io_uring_sqe *sqe = get_sqe(loop);

    if (niov == 1 && iov->iov_len <= INT_MAX) {
        io_uring_prep_write(sqe, fd, iov->iov_base, (unsigned)iov->iov_len, (uint64_t)offset);
    } else {
        io_uring_prep_writev(sqe, fd, iov, (unsigned)niov, (uint64_t)offset);
    }
    sqe->rw_flags = rwf_flags;
    return submit(loop, sqe);
}

static int coroutine_fn uring_fdatasync(EventLoop *loop, int fd)
{
    struct io_uring_sqe *sqe = get_sqe(loop);

    io_uring_prep_fsync(sqe, fd, IORING_FSYNC_DATASYNC);
    return submit(loop, sqe);
}

static int coroutine_fn uring_poll(EventLoop *loop, int fd, short events)
{
    struct io_uring_sqe *sqe = get_sqe(loop);

    io_uring_prep_poll_add(sqe, fd, (unsigned)(unsigned short)events);
    return submit(loop, sqe);
}

/* Try the best set-up the kernel knows; older ones refuse unknown flags with EINVAL. Not DEFER_TASKRUN: with it neither
 * the ring's descriptor nor a registered eventfd tells a GLib main loop of every completion. */
static int setup_ring(struct io_uring *ring)
{
    static const unsigned choices[] = {
#if defined(IORING_SETUP_SINGLE_ISSUER) && defined(IORING_SETUP_TASKRUN_FLAG)
        IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
#endif
#if defined(IORING_SETUP_COOP_TASKRUN) && defined(IORING_SETUP_TASKRUN_FLAG)
        IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
#endif
        0,
    };
    int ret = -EINVAL;

    for (size_t i = 0; i < G_N_ELEMENTS(choices) && ret == -EINVAL; i++) {
        ret = io_uring_queue_init(RING_ENTRIES, ring, choices[i]);
    }
    return ret;
}

static int uring_init(EventLoop *loop)
{
    /* Without these, completions could be dropped and waits would need a submission of their own for the timeout. */
    const unsigned needed = IORING_FEAT_NODROP | IORING_FEAT_EXT_ARG;
    UringEngine *e = g_new0(UringEngine, 1);
    int ret = setup_ring(&e->ring);

    if (ret == 0 && (e->ring.features & needed) != needed) {
        io_uring_queue_exit(&e->ring);
        ret = -ENOSYS;
    }
    if (ret < 0) {
        g_free(e);
        return ret;
    }
    loop->engine = e;
    return 0;
}

static void uring_destroy(EventLoop *loop)
{
    UringEngine *e = loop->engine;

    g_assert(loop->inflight == 0);
    if (e->wake_armed) {
        struct io_uring_sqe *sqe = get_sqe(loop);

        io_uring_prep_cancel(sqe, &wake_tag, 0);
        io_uring_sqe_set_data(sqe, &cancel_tag);
    }
    /* The kernel must have let go of wake_count before it is freed. */
    while (e->wake_armed) {
        check_enter(io_uring_submit_and_wait(&e->ring, 1));
        reap(loop);
    }
    io_uring_queue_exit(&e->ring);
    g_free(e);
}

const LoopEngineOps loop_engine_io_uring = {
    .name = "io_uring",
    .init = uring_init,
    .destroy = uring_destroy,
    .wait = uring_wait,
    .flush = uring_flush,
    .pollable_fd = uring_pollable_fd,
    .co_preadv = uring_preadv,
    .co_pwritev = uring_pwritev,
    .co_fdatasync = uring_fdatasync,
    .co_poll = uring_poll,
};

#else

const LoopEngineOps loop_engine_io_uring = {.name = "io_uring"};

#endif
