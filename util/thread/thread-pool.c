/* SPDX-License-Identifier: MIT */
/* Worker threads, their queue, and jobs for them.
 *
 * Everything shared is in one locked singleton. A job record lives on its submitter's stack: it dies the moment the
 * submitter is told that the job has ended. Completions go straight to the posted queue of the submitter's loop. */
#include "util/thread/thread-pool.h"

#include <errno.h>
#include <glib.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#include "util/coroutine/co-lock.h"
#include "util/base/error.h"
#include "util/thread/thread-pool-int.h"

enum { WORKERS_MAX = 1024, WORKER_ARENAS = 4 };

#if defined(QBLOCK_ASAN) || defined(QBLOCK_TSAN)
enum { WORKER_STACK_BYTES = 4 << 20 };
#else
enum { WORKER_STACK_BYTES = 512 << 10 };
#endif

static struct {
    pthread_mutex_t lock;
    pthread_cond_t work;
    /* Under @lock. */
    bool configured;
    PoolJob *head, *tail;
    unsigned target;   /* workers wanted */
    unsigned started;  /* threads[0..started) run */
    unsigned waiting;  /* of these, asleep for want of a job */
    unsigned queued;   /* jobs nobody has begun */
    bool cannot_start; /* a thread could not be made: do with what there is */
    pthread_t *threads;
    /* Serialises set_size() and shutdown(); taken before @lock. */
    pthread_mutex_t resize_lock;
} pool = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER, .resize_lock = PTHREAD_MUTEX_INITIALIZER};

static __thread bool is_worker;

/* --- size --- */

/* What QBLOCK_THREADS says; *@n stays when it is not set. */
static bool size_from_env(guint64 *n, GError **errp)
{
    const char *env = g_getenv("QBLOCK_THREADS");

    if (!env || !*env || g_ascii_string_to_unsigned(env, 10, 0, WORKERS_MAX, n, NULL)) {
        return true;
    }
    error_set(errp, "QBLOCK_THREADS=%s is not a number from 0 to %d", env, WORKERS_MAX);
    return false;
}

bool thread_pool_check_env(GError **errp)
{
    guint64 n;

    return size_from_env(&n, errp);
}

static unsigned default_size(void)
{
    cpu_set_t set;
    guint64 n = G_MAXUINT64;

    if (size_from_env(&n, NULL) && n <= WORKERS_MAX) {
        return (unsigned)n;
    }
    if (sched_getaffinity(0, sizeof(set), &set) == 0) {
        return (unsigned)CPU_COUNT(&set);
    }
    return g_get_num_processors(); /* more CPUs than a cpu_set_t holds */
}

static void configure_locked(void)
{
    if (!pool.configured) {
        pool.configured = true;
        pool.target = MIN(default_size(), WORKERS_MAX);
    }
}

/* --- workers --- */

static void unlink_locked(PoolJob *job)
{
    *(job->prev ? &job->prev->next : &pool.head) = job->next;
    *(job->next ? &job->next->prev : &pool.tail) = job->prev;
    job->queued = false;
    pool.queued--;
}

static void append_locked(PoolJob *job)
{
    job->next = NULL;
    job->prev = pool.tail;
    *(pool.tail ? &pool.tail->next : &pool.head) = job;
    pool.tail = job;
    job->queued = true;
    pool.queued++;
}

static void *worker_main(void *arg)
{
    is_worker = true;
    pthread_setname_np(pthread_self(), "qblock-worker");
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        PoolJob *job = pool.head;

        if (job) {
            unlink_locked(job);
            pthread_mutex_unlock(&pool.lock);
            job->run(job);
            pthread_mutex_lock(&pool.lock);
        } else if (pool.target == 0) {
            break;
        } else {
            pool.waiting++;
            pthread_cond_wait(&pool.work, &pool.lock);
            pool.waiting--;
        }
    }
    pthread_mutex_unlock(&pool.lock);
    return NULL;
}

/* Signals belong to the thread that the program began with. */
static int create_worker(pthread_t *thread)
{
    pthread_attr_t attr;
    sigset_t all;
    sigset_t old;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, WORKER_STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int ret = pthread_create(thread, &attr, worker_main, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return ret;
}

/* Make sure that somebody will take what is queued. */
static void start_workers_locked(void)
{
    if (pool.queued <= pool.waiting || pool.started >= pool.target || pool.cannot_start) {
        return;
    }
    if (!pool.threads) {
        /* An allocator arena per worker would take 64 MiB of address space each. */
        if (!g_getenv("MALLOC_ARENA_MAX")) {
            mallopt(M_ARENA_MAX, WORKER_ARENAS);
        }
        pool.threads = g_new(pthread_t, WORKERS_MAX);
    }
    if (create_worker(&pool.threads[pool.started]) == 0) {
        pool.started++;
    } else {
        pool.cannot_start = true;
    }
}

static bool enqueue_locked(PoolJob *job)
{
    configure_locked();
    if (pool.target == 0) {
        return false;
    }
    append_locked(job);
    start_workers_locked();
    if (pool.started == 0) {
        unlink_locked(job);
        return false;
    }
    return true;
}

bool pool_enqueue(PoolJob *job)
{
    pthread_mutex_lock(&pool.lock);
    bool ok = enqueue_locked(job);
    bool wake = ok && pool.waiting > 0;
    pthread_mutex_unlock(&pool.lock);
    /* Outside the lock, which the woken worker takes first thing. */
    if (wake) {
        pthread_cond_signal(&pool.work);
    }
    return ok;
}

bool pool_cancel(PoolJob *job)
{
    PTHREAD_GUARD(&pool.lock);
    if (!job->queued) {
        return false;
    }
    unlink_locked(job);
    return true;
}

/* --- one job for a coroutine --- */

typedef struct CoJob {
    PoolJob job;
    ThreadPoolFunc *func;
    void *arg;
    int ret;
    Coroutine *co;
} CoJob;

static void run_co_job(PoolJob *job)
{
    CoJob *j = (CoJob *)job;

    j->ret = j->func(j->arg);
    coroutine_wake(j->co);
}

int coroutine_fn thread_pool_submit_co(ThreadPoolFunc *func, void *arg)
{
    CoJob j = {.job.run = run_co_job, .func = func, .arg = arg, .co = coroutine_self()};

    g_assert(j.co);
    if (!pool_enqueue(&j.job)) {
        return func(arg);
    }
    coroutine_yield();
    return j.ret;
}

/* --- size and end --- */

unsigned thread_pool_size(void)
{
    PTHREAD_GUARD(&pool.lock);
    configure_locked();
    return pool.cannot_start ? pool.started : pool.target;
}

unsigned thread_pool_idle(void)
{
    PTHREAD_GUARD(&pool.lock);
    configure_locked();
    unsigned startable = pool.cannot_start || pool.started > pool.target ? 0 : pool.target - pool.started;
    unsigned able = pool.waiting + startable;
    return able > pool.queued ? able - pool.queued : 0;
}

unsigned thread_pool_load(void)
{
    PTHREAD_GUARD(&pool.lock);
    return pool.queued + pool.started - pool.waiting;
}

/* With no worker wanted, those there are empty the queue and end; new jobs run in their submitters meanwhile. */
static void stop_workers(void)
{
    unsigned started;

    pthread_mutex_lock(&pool.lock);
    pool.configured = true;
    pool.target = 0;
    started = pool.started;
    pthread_cond_broadcast(&pool.work);
    pthread_mutex_unlock(&pool.lock);

    for (unsigned i = 0; i < started; i++) {
        pthread_join(pool.threads[i], NULL);
    }

    PTHREAD_GUARD(&pool.lock);
    pool.started = 0;
    pool.cannot_start = false;
    g_clear_pointer(&pool.threads, g_free);
}

void thread_pool_set_size(unsigned n)
{
    g_assert(!is_worker);
    PTHREAD_GUARD(&pool.resize_lock);
    stop_workers();
    PTHREAD_GUARD(&pool.lock);
    pool.target = MIN(n, WORKERS_MAX);
}

bool thread_pool_is_worker(void)
{
    return is_worker;
}

void thread_pool_shutdown(void)
{
    g_assert(!is_worker);
    PTHREAD_GUARD(&pool.resize_lock);
    stop_workers();
    PTHREAD_GUARD(&pool.lock);
    pool.configured = false; /* a later job starts afresh */
}
