/* SPDX-License-Identifier: MIT */
/* Loop life, the ready queue, and wakes from other threads.
 *
 * Invariants of a wake:
 * 1. A poster pushes with one compare-and-swap. It writes wake_fd if and only if it replaced LOOP_ASLEEP.
 * 2. The loop puts LOOP_ASLEEP only over NULL, so nothing posted can be slept over.
 * 3. Each LOOP_ASLEEP that was replaced by a poster is one write, counted in wakes_expected when the loop wakes. The
 * loop is freed only after it has read as many: no poster is still on its way to the descriptor. */
#include "util/loop/event-loop.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "config.h"
#include "util/base/error.h"
#include "util/loop/event-loop-int.h"

#ifdef HAVE_VALGRIND
#include <valgrind/valgrind.h>
#endif

static LoopItem asleep_mark;
#define LOOP_ASLEEP (&asleep_mark)

static atomic_uint loops_made;
static atomic_uint loops_awake; /* a hint for util/offload: relaxed */

unsigned event_loops_awake(void)
{
    return atomic_load_explicit(&loops_awake, memory_order_relaxed);
}

EventLoop *event_loop_current(void)
{
    return (EventLoop *)co_host_current();
}

unsigned event_loop_ordinal(void)
{
    const EventLoop *loop = event_loop_current();

    return loop ? loop->ordinal : 0;
}

const char *event_loop_engine_name(const EventLoop *loop)
{
    return loop->ops->name;
}

/* --- queues --- */

static void ready_push(EventLoop *loop, LoopItem *item)
{
    item->next = NULL;
    *loop->ready_tail = item;
    loop->ready_tail = &item->next;
}

static LoopItem *ready_take(EventLoop *loop)
{
    LoopItem *list = loop->ready_head;

    loop->ready_head = NULL;
    loop->ready_tail = &loop->ready_head;
    return list;
}

static void write_wake(int fd)
{
    uint64_t one = 1;
    ssize_t ret;

    LOOP_RETRY_EINTR(ret, write(fd, &one, sizeof(one)));
    g_assert(ret == sizeof(one));
}

void loop_post(EventLoop *loop, LoopItem *item)
{
    if (loop == event_loop_current()) {
        ready_push(loop, item);
        return;
    }
    int fd = loop->wake_fd; /* read before the push: afterwards the loop is ours only if it sleeps, invariant 3 */
    LoopItem *old = atomic_load_explicit(&loop->posted, memory_order_relaxed);
    do {
        item->next = old == LOOP_ASLEEP ? NULL : old;
    } while (
        !atomic_compare_exchange_weak_explicit(&loop->posted, &old, item, memory_order_acq_rel, memory_order_relaxed));
    if (old == LOOP_ASLEEP) {
        write_wake(fd);
    }
}

static void post_to_host(CoHost *host, LoopItem *item)
{
    loop_post((EventLoop *)host, item);
}

bool loop_has_ready(const EventLoop *loop)
{
    LoopItem *posted = atomic_load_explicit(&loop->posted, memory_order_relaxed);

    return loop->ready_head || (posted && posted != LOOP_ASLEEP);
}

bool loop_sleep_begin(EventLoop *loop)
{
    LoopItem *none = NULL;

    if (loop->ready_head) {
        return false;
    }
    if (!loop->asleep) {
        loop->asleep = atomic_compare_exchange_strong_explicit(&loop->posted, &none, LOOP_ASLEEP, memory_order_acq_rel,
                                                               memory_order_relaxed);
    }
    return loop->asleep;
}

/* Move what others posted to the ready queue, oldest first. */
void loop_sleep_end(EventLoop *loop)
{
    LoopItem *list;
    LoopItem *oldest_first = NULL;

    if (!loop->asleep && !atomic_load_explicit(&loop->posted, memory_order_relaxed)) {
        return;
    }
    list = atomic_exchange_explicit(&loop->posted, NULL, memory_order_acq_rel);
    if (list == LOOP_ASLEEP) {
        list = NULL;
    } else if (loop->asleep) {
        loop->wakes_expected++;
    }
    loop->asleep = false;
    while (list) {
        LoopItem *next = list->next;

        list->next = oldest_first;
        oldest_first = list;
        list = next;
    }
    while (oldest_first) {
        LoopItem *next = oldest_first->next;

        ready_push(loop, oldest_first);
        oldest_first = next;
    }
}

/* --- turns --- */

static void run_item(LoopItem *item)
{
    Coroutine *co = item->co;

    if (!co) {
        co = coroutine_new(item->entry, item->opaque);
        g_free(item);
    } else {
        atomic_store_explicit(&co->queued, false, memory_order_relaxed);
    }
    coroutine_enter(co);
}

void loop_dispatch(EventLoop *loop)
{
    loop_sleep_end(loop);
    loop->inline_calls = 0;
    if (loop->timers.count > 0) {
        int64_t now_ns = clock_monotonic_ns();
        Coroutine *due;

        while ((due = loop_timers_pop_due(&loop->timers, now_ns)) != NULL) {
            coroutine_wake(due);
        }
    }
    /* What becomes ready meanwhile waits for the next turn, after a look at the engine. */
    LoopItem *item = ready_take(loop);
    while (item) {
        LoopItem *next = item->next;

        run_item(item);
        item = next;
    }
}

void loop_turn(EventLoop *loop, bool may_block)
{
    int64_t timeout_ns = 0;

    g_assert(loop == event_loop_current() && !loop->host.running);
    if (may_block && loop_sleep_begin(loop)) {
        timeout_ns = loop->timers.count > 0 ? loop_timers_wait_ns(&loop->timers, clock_monotonic_ns()) : -1;
    }
    if (timeout_ns != 0) {
        atomic_fetch_sub_explicit(&loops_awake, 1, memory_order_relaxed);
    }
    loop->ops->wait(loop, timeout_ns);
    if (timeout_ns != 0) {
        atomic_fetch_add_explicit(&loops_awake, 1, memory_order_relaxed);
    }
    loop_dispatch(loop);
}

/* --- life --- */

/* What the environment says where the caller leaves it open. */
static bool settle_engine(EventLoopEngine *engine, GError **errp)
{
    const char *env = g_getenv("QBLOCK_LOOP");

    if (*engine != EVENT_LOOP_AUTO || !env || !*env) {
        return true;
    }
    if (!strcmp(env, "io_uring")) {
        *engine = EVENT_LOOP_IO_URING;
        return true;
    }
    if (!strcmp(env, "epoll")) {
        *engine = EVENT_LOOP_EPOLL;
        return true;
    }
    error_set(errp, "QBLOCK_LOOP=%s is not io_uring or epoll", env);
    return false;
}

static bool init_engine(EventLoop *loop, EventLoopEngine engine, GError **errp)
{
    int ret = -ENOSYS;

    if (!settle_engine(&engine, errp)) {
        return false;
    }
#ifdef HAVE_VALGRIND
    /* Valgrind runs one thread at a time and keeps its lock while io_uring_enter() waits: nobody could wake the loop.
     */
    if (engine == EVENT_LOOP_AUTO && RUNNING_ON_VALGRIND) {
        engine = EVENT_LOOP_EPOLL;
    }
#endif
    if (engine != EVENT_LOOP_EPOLL && loop_engine_io_uring.init) {
        loop->ops = &loop_engine_io_uring;
        ret = loop->ops->init(loop);
    }
    if (ret < 0 && engine == EVENT_LOOP_IO_URING) {
        error_set_errno(errp, -ret, "Could not set up io_uring");
        return false;
    }
    if (ret < 0) {
        loop->ops = &loop_engine_epoll;
        ret = loop->ops->init(loop);
    }
    if (ret < 0) {
        error_set_errno(errp, -ret, "Could not set up an event loop");
        return false;
    }
    return true;
}

EventLoop *event_loop_new(EventLoopEngine engine, GError **errp)
{
    EventLoop *loop;
    int wake_fd = eventfd(0, EFD_CLOEXEC);

    g_assert(!event_loop_current());
    if (wake_fd < 0) {
        error_set_errno(errp, errno, "Could not set up an event loop");
        return NULL;
    }
    loop = g_new0(EventLoop, 1);
    loop->wake_fd = wake_fd;
    loop->ordinal = atomic_fetch_add_explicit(&loops_made, 1, memory_order_relaxed);
    loop->ready_tail = &loop->ready_head;
    loop_timers_init(&loop->timers);
    if (!init_engine(loop, engine, errp)) {
        close(wake_fd);
        g_free(loop);
        return NULL;
    }
    co_host_enter(&loop->host, post_to_host);
    atomic_fetch_add_explicit(&loops_awake, 1, memory_order_relaxed);
    return loop;
}

void event_loop_free(EventLoop *loop)
{
    if (!loop) {
        return;
    }
    g_assert(loop == event_loop_current() && !loop->host.running);
    loop_sleep_end(loop);
    g_assert(loop->host.alive == 0 && !loop->ready_head);
    loop->ops->destroy(loop);
    /* A write and a read of our own come after those of every poster, also in the eyes of a race detector. */
    loop->wakes_expected++;
    write_wake(loop->wake_fd);
    while (loop->wakes_seen < loop->wakes_expected) {
        uint64_t count = 0;
        ssize_t ret;

        LOOP_RETRY_EINTR(ret, read(loop->wake_fd, &count, sizeof(count)));
        g_assert(ret == sizeof(count));
        loop->wakes_seen += count;
    }
    close(loop->wake_fd);
    loop_timers_destroy(&loop->timers);
    co_host_leave(&loop->host);
    atomic_fetch_sub_explicit(&loops_awake, 1, memory_order_relaxed);
    g_free(loop);
}

void event_loop_spawn(EventLoop *loop, CoroutineEntry *entry, void *opaque)
{
    LoopItem *item = g_new0(LoopItem, 1);

    item->entry = entry;
    item->opaque = opaque;
    loop_post(loop, item);
}

typedef struct RunCo {
    CoroutineEntry *entry;
    void *opaque;
    bool done;
} RunCo;

static void run_co_entry(void *opaque)
{
    RunCo *r = opaque;

    r->entry(r->opaque);
    r->done = true;
}

void event_loop_run_co(EventLoop *loop, CoroutineEntry *entry, void *opaque)
{
    RunCo r = {.entry = entry, .opaque = opaque};

    g_assert(loop == event_loop_current() && !loop->host.running);
    coroutine_wake(coroutine_new(run_co_entry, &r));
    while (!r.done) {
        loop_turn(loop, true);
    }
}
