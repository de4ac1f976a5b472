/* SPDX-License-Identifier: MIT */
/* The epoll engine: file I/O by workers (loop-worker-io.c), polls through one epoll set.
 *
 * A descriptor with waiters has one FdWatch, registered one-shot for the union of what they wait for. The watch goes
 * with its last waiter, so a descriptor number may be closed and used again. */
#include <errno.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "util/loop/event-loop-int.h"

enum { EVENTS_PER_WAIT = 64 };

typedef struct EpollEngine {
    int epfd;
    bool no_pwait2;      /* the kernel has only millisecond waits */
    GHashTable *watches; /* fd -> FdWatch */
} EpollEngine;

/* On the waiting coroutine's stack. */
typedef struct PollWaiter PollWaiter;
struct PollWaiter {
    PollWaiter *next;
    Coroutine *co;
    short events;
    int revents;
};

typedef struct FdWatch {
    int fd;
    PollWaiter *waiters; /* newest first */
} FdWatch;

/* EPOLLIN .. EPOLLHUP have the values of POLLIN .. POLLHUP. */
G_STATIC_ASSERT((int)EPOLLIN == POLLIN && (int)EPOLLOUT == POLLOUT && (int)EPOLLERR == POLLERR &&
                (int)EPOLLHUP == POLLHUP && (int)EPOLLPRI == POLLPRI);

static uint32_t wanted_events(const FdWatch *w)
{
    uint32_t events = EPOLLONESHOT;

    for (const PollWaiter *p = w->waiters; p; p = p->next) {
        events |= (uint32_t)(unsigned short)p->events;
    }
    return events;
}

static int watch_ctl(EpollEngine *e, int op, FdWatch *w)
{
    struct epoll_event ev = {.events = wanted_events(w), .data.fd = w->fd};

    return epoll_ctl(e->epfd, op, w->fd, &ev) < 0 ? -errno : 0;
}

static void wake_waiter(EventLoop *loop, PollWaiter *p, int revents)
{
    p->revents = revents;
    loop->inflight--;
    coroutine_wake(p->co);
}

static void watch_fired(EventLoop *loop, int fd, uint32_t events)
{
    EpollEngine *e = loop->engine;
    FdWatch *w = g_hash_table_lookup(e->watches, GINT_TO_POINTER(fd));
    PollWaiter **link;

    if (!w) {
        return; /* its waiters were answered earlier in this batch */
    }
    link = &w->waiters;
    while (*link) {
        PollWaiter *p = *link;
        uint32_t mine = events & ((uint32_t)(unsigned short)p->events | EPOLLERR | EPOLLHUP);

        if (mine) {
            *link = p->next;
            wake_waiter(loop, p, (int)mine);
        } else {
            link = &p->next;
        }
    }
    if (w->waiters && watch_ctl(e, EPOLL_CTL_MOD, w) == 0) {
        return;
    }
    epoll_ctl(e->epfd, EPOLL_CTL_DEL, fd, NULL); /* fails when the descriptor was closed: gone all the same */
    while (w->waiters) {
        PollWaiter *p = w->waiters;

        w->waiters = p->next;
        wake_waiter(loop, p, -EBADF);
    }
    g_hash_table_remove(e->watches, GINT_TO_POINTER(fd));
}

static void read_wake_count(EventLoop *loop)
{
    uint64_t count = 0;
    ssize_t ret;

    LOOP_RETRY_EINTR(ret, read(loop->wake_fd, &count, sizeof(count)));
    if (ret == sizeof(count)) {
        loop->wakes_seen += count;
    }
}

static int wait_for_events(EpollEngine *e, struct epoll_event *events, int64_t timeout_ns)
{
    struct timespec ts = {.tv_sec = timeout_ns / 1000000000, .tv_nsec = timeout_ns % 1000000000};
    int64_t timeout_ms = timeout_ns;

    if (timeout_ns > 0 && !e->no_pwait2) {
        int n = epoll_pwait2(e->epfd, events, EVENTS_PER_WAIT, &ts, NULL);

        if (n >= 0 || errno != ENOSYS) {
            return n;
        }
        e->no_pwait2 = true;
    }
    if (timeout_ns > 0) {
        timeout_ms = MIN(timeout_ns / 1000000 + 1, INT32_MAX);
    }
    return epoll_wait(e->epfd, events, EVENTS_PER_WAIT, (int)timeout_ms);
}

static void epoll_engine_wait(EventLoop *loop, int64_t timeout_ns)
{
    EpollEngine *e = loop->engine;
    struct epoll_event events[EVENTS_PER_WAIT];
    int n;

    /* A loop that is awake needs no word from wake_fd. */
    if (timeout_ns == 0 && !loop->asleep && g_hash_table_size(e->watches) == 0) {
        return;
    }
    n = wait_for_events(e, events, timeout_ns);
    if (n < 0 && errno != EINTR) {
        g_error("epoll_wait: %s", g_strerror(errno));
    }
    for (int i = 0; i < n; i++) {
        if (events[i].data.fd == loop->wake_fd) {
            read_wake_count(loop);
        } else {
            watch_fired(loop, events[i].data.fd, events[i].events);
        }
    }
}

static void epoll_engine_flush(EventLoop *loop)
{
    /* Nothing is queued here: jobs and registrations take effect at once. */
}

static int epoll_engine_pollable_fd(EventLoop *loop)
{
    EpollEngine *e = loop->engine;

    return e->epfd;
}

/* --- poll --- */

static int coroutine_fn epoll_engine_poll(EventLoop *loop, int fd, short events)
{
    EpollEngine *e = loop->engine;
    PollWaiter waiter = {.co = loop->host.running, .events = events};
    FdWatch *w = g_hash_table_lookup(e->watches, GINT_TO_POINTER(fd));
    int op = w ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    int ret;

    if (!w) {
        w = g_new0(FdWatch, 1);
        w->fd = fd;
        g_hash_table_insert(e->watches, GINT_TO_POINTER(fd), w);
    }
    waiter.next = w->waiters;
    w->waiters = &waiter;
    ret = watch_ctl(e, op, w);
    if (ret < 0) {
        w->waiters = waiter.next;
        if (!w->waiters) {
            g_hash_table_remove(e->watches, GINT_TO_POINTER(fd));
        }
        /* Regular files cannot be watched: they are always ready. */
        return ret == -EPERM ? events & (POLLIN | POLLOUT) : ret;
    }
    loop->inflight++;
    coroutine_yield();
    return waiter.revents;
}

/* --- life --- */

static int epoll_engine_init(EventLoop *loop)
{
    EpollEngine *e = g_new0(EpollEngine, 1);
    struct epoll_event ev = {.events = EPOLLIN, .data.fd = loop->wake_fd};

    e->epfd = epoll_create1(EPOLL_CLOEXEC);
    if (e->epfd < 0 || epoll_ctl(e->epfd, EPOLL_CTL_ADD, loop->wake_fd, &ev) < 0) {
        int ret = -errno;

        if (e->epfd >= 0) {
            close(e->epfd);
        }
        g_free(e);
        return ret;
    }
    e->watches = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    loop->engine = e;
    return 0;
}

static void epoll_engine_destroy(EventLoop *loop)
{
    EpollEngine *e = loop->engine;

    g_assert(loop->inflight == 0 && g_hash_table_size(e->watches) == 0);
    g_hash_table_destroy(e->watches);
    close(e->epfd);
    g_free(e);
}

const LoopEngineOps loop_engine_epoll = {
    .name = "epoll",
    .init = epoll_engine_init,
    .destroy = epoll_engine_destroy,
    .wait = epoll_engine_wait,
    .flush = epoll_engine_flush,
    .pollable_fd = epoll_engine_pollable_fd,
    .co_preadv = loop_worker_preadv,
    .co_pwritev = loop_worker_pwritev,
    .co_fdatasync = loop_worker_fdatasync,
    .co_poll = epoll_engine_poll,
};
