/* SPDX-License-Identifier: MIT */
/* One job in many parts: workers help the caller, each takes part numbers until none is left.
 *
 * Helpers that have not begun when the caller runs out of parts are taken back, so the caller waits only for parts that
 * are being run. That makes the blocking form free of deadlocks even when every worker is busy elsewhere. */
#include "util/thread/thread-pool.h"

#include <glib.h>
#include <pthread.h>
#include <stdatomic.h>

#include "util/coroutine/co-lock.h"
#include "util/base/cpu-relax.h"
#include "util/base/clock.h"
#include "util/thread/thread-pool-int.h"

enum {
    MAP_HELPERS_MAX = 64,
    AWAKE_NS = 20000, /* a sleep and a wake-up take about as long */
};

typedef struct MapJob {
    ThreadPoolPartFunc *func;
    void *arg;
    size_t n;
    atomic_size_t next;

    pthread_mutex_t lock;
    pthread_cond_t idle;
    /* Under @lock. */
    atomic_uint helpers; /* that have begun or may; the caller peeks at it without */
    Coroutine *waiter;   /* the caller, once it yields */
    size_t bad_part;
    int ret; /* of bad_part */
} MapJob;

typedef struct MapHelper {
    PoolJob job;
    MapJob *map;
} MapHelper;

static void run_parts(MapJob *m)
{
    size_t i;

    while ((i = atomic_fetch_add_explicit(&m->next, 1, memory_order_relaxed)) < m->n) {
        int ret = m->func(m->arg, i);

        if (ret < 0) {
            PTHREAD_GUARD(&m->lock);
            if (m->ret == 0 || i < m->bad_part) {
                m->ret = ret;
                m->bad_part = i;
            }
        }
    }
}

static void run_helper(PoolJob *job)
{
    MapJob *m = ((MapHelper *)job)->map;
    Coroutine *waiter = NULL;

    run_parts(m);
    pthread_mutex_lock(&m->lock);
    if (--m->helpers == 0) {
        waiter = m->waiter;
        pthread_cond_signal(&m->idle);
    }
    pthread_mutex_unlock(&m->lock);
    if (waiter) {
        coroutine_wake(waiter);
    }
}

/* Returns how many of @helpers are in use. */
static unsigned start_helpers(MapJob *m, MapHelper *helpers, unsigned max)
{
    unsigned count = (unsigned)MIN(MIN(m->n - 1, (size_t)thread_pool_idle()), MIN(max, MAP_HELPERS_MAX));

    m->helpers = count; /* before the first begins */
    for (unsigned i = 0; i < count; i++) {
        helpers[i] = (MapHelper){.job.run = run_helper, .map = m};
        if (!pool_enqueue(&helpers[i].job)) {
            PTHREAD_GUARD(&m->lock);
            m->helpers -= count - i;
            return i;
        }
    }
    return count;
}

/* The caller has no part left to run. Returns with @m locked. */
static void cancel_helpers_and_lock(MapJob *m, MapHelper *helpers, unsigned count)
{
    unsigned cancelled = 0;

    for (unsigned i = 0; i < count; i++) {
        cancelled += pool_cancel(&helpers[i].job);
    }
    pthread_mutex_lock(&m->lock);
    m->helpers -= cancelled;
}

static void map_init(MapJob *m, ThreadPoolPartFunc *func, void *arg, size_t n)
{
    *m = (MapJob){.func = func, .arg = arg, .n = n};
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->idle, NULL);
}

static int map_finish(MapJob *m)
{
    pthread_cond_destroy(&m->idle);
    pthread_mutex_destroy(&m->lock);
    return m->ret;
}

/* The last parts are mostly done before a sleep would have begun. */
static void wait_awake(MapJob *m)
{
    int64_t until_ns = clock_monotonic_ns() + AWAKE_NS;

    while (atomic_load_explicit(&m->helpers, memory_order_relaxed) > 0 && clock_monotonic_ns() < until_ns) {
        cpu_relax();
    }
}

int coroutine_fn thread_pool_map_co(ThreadPoolPartFunc *func, void *arg, size_t n, unsigned helpers_max)
{
    MapHelper helpers[MAP_HELPERS_MAX];
    MapJob m;

    g_assert(in_coroutine());
    if (n == 0) {
        return 0;
    }
    map_init(&m, func, arg, n);
    unsigned count = start_helpers(&m, helpers, helpers_max);
    run_parts(&m);
    cancel_helpers_and_lock(&m, helpers, count);
    if (m.helpers > 0) {
        pthread_mutex_unlock(&m.lock);
        wait_awake(&m);
        pthread_mutex_lock(&m.lock);
    }
    bool wait = m.helpers > 0;
    if (wait) {
        m.waiter = coroutine_self();
    }
    pthread_mutex_unlock(&m.lock);
    if (wait) {
        coroutine_yield();
    }
    return map_finish(&m);
}

int thread_pool_map_blocking(ThreadPoolPartFunc *func, void *arg, size_t n)
{
    MapHelper helpers[MAP_HELPERS_MAX];
    MapJob m;

    g_assert(!thread_pool_is_worker());
    if (n == 0) {
        return 0;
    }
    map_init(&m, func, arg, n);
    unsigned count = start_helpers(&m, helpers, MAP_HELPERS_MAX);
    run_parts(&m);
    cancel_helpers_and_lock(&m, helpers, count);
    while (m.helpers > 0) {
        pthread_cond_wait(&m.idle, &m.lock);
    }
    pthread_mutex_unlock(&m.lock);
    return map_finish(&m);
}
