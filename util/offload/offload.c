/* SPDX-License-Identifier: MIT */
/* The decision: compare what a job costs with what a hand-over costs, look at how busy the loop is, and at how such
 * jobs have fared. */
#include "util/offload/offload.h"

#include <glib.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "util/loop/event-loop-int.h"
#include "util/offload/offload-tune.h"
#include "util/thread/thread-pool-int.h"
#include "util/thread/thread-pool.h"
#include "util/base/trace.h"

enum {
    PROBES = 9,                      /* round trips measured */
    PROBE_BUDGET_NS = 600 * 1000,    /* stop measuring then: the loop stands still meanwhile */
    HANDOVER_MAX_NS = 50 * 1000,     /* more is somebody else's load, which passes while the figure stays */
    HANDOVER_DEFAULT_NS = 10 * 1000, /* without workers; nobody looks at it then */
    INLINE_ALWAYS_NS = 2 * 1000,   /* no hand-over costs less: not worth asking the pool, whose lock all loops share */
    INLINE_FACTOR = 2,             /* cheaper than so many hand-overs: inline */
    WORKER_BACKLOG = 2,            /* jobs for a worker at least: one under way, one that it need not wait for */
    WORKER_BACKLOG_NS = 50 * 1000, /* and as many as last so long: it does not fall asleep while the loop does a job */
    TUNE_CLASSES = 32,             /* of cost, by powers of two */
    PART_FACTOR = 4,               /* the share of a thread is worth at least so many hand-overs */
    PARTS_OF_THREAD = 2,           /* of a share: who comes late leaves a part to the others */
};

/* --- the cost of a hand-over --- */

typedef struct Probe {
    PoolJob job;
    pthread_mutex_t lock;
    pthread_cond_t done_cond;
    bool done;
} Probe;

static void run_probe(PoolJob *job)
{
    Probe *p = (Probe *)job;

    pthread_mutex_lock(&p->lock);
    p->done = true;
    pthread_cond_signal(&p->done_cond);
    pthread_mutex_unlock(&p->lock);
}

/* Nanoseconds of one empty job there and back, -1 without workers. */
static int64_t probe_once(void)
{
    Probe p = {.job.run = run_probe, .lock = PTHREAD_MUTEX_INITIALIZER, .done_cond = PTHREAD_COND_INITIALIZER};
    int64_t start_ns = clock_monotonic_ns();

    if (!pool_enqueue(&p.job)) {
        return -1;
    }
    pthread_mutex_lock(&p.lock);
    while (!p.done) {
        pthread_cond_wait(&p.done_cond, &p.lock);
    }
    pthread_mutex_unlock(&p.lock);
    pthread_cond_destroy(&p.done_cond);
    pthread_mutex_destroy(&p.lock);
    return clock_monotonic_ns() - start_ns;
}

static int compare_ns(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static uint64_t measure_handover(void)
{
    int64_t ns[PROBES];
    int64_t start_ns = clock_monotonic_ns();
    size_t n = 0;

    probe_once(); /* starts a worker */
    while (n < PROBES && (n == 0 || clock_monotonic_ns() - start_ns < PROBE_BUDGET_NS)) {
        int64_t probe_ns = probe_once();

        if (probe_ns < 0) {
            return HANDOVER_DEFAULT_NS;
        }
        ns[n++] = probe_ns;
    }
    qsort(ns, n, sizeof(ns[0]), compare_ns);
    /* The lower quartile: what a hand-over costs when nothing gets between. */
    return (uint64_t)CLAMP(ns[n / 4], 1, HANDOVER_MAX_NS);
}

uint64_t offload_handover_ns(void)
{
    static gsize measured;

    if (g_once_init_enter(&measured)) {
        gsize ns = (gsize)measure_handover();

        trace(TRACE_UTIL, "handover", "ns=%zu", ns);
        g_once_init_leave(&measured, ns);
    }
    return measured;
}

/* --- the decision --- */

typedef enum Decision { DECIDE_INLINE, DECIDE_WORKER, DECIDE_SPLIT } Decision;

static const char *const decision_names[] = {"inline", "worker", "split"};

static uint64_t job_cost_ns(const OffloadJob *job)
{
    uint64_t ps;

    return __builtin_mul_overflow(job->ps_per_unit, (uint64_t)job->units, &ps) ? UINT64_MAX : ps / 1000;
}

/* Workers that would find a CPU: the pool has one per CPU, and loops that are awake, the caller's among them, use
 * some. A copy with a loop on every CPU is as parallel as it gets; hand-overs would only cost. */
static unsigned workers_with_cpu(void)
{
    unsigned idle = thread_pool_idle(), awake = event_loops_awake();

    return idle > awake ? idle - awake : 0;
}

/* Is there one of @workers that finds a CPU and has not enough to do? */
static bool worker_wants_job(unsigned workers, uint64_t cost_ns)
{
    unsigned awake = event_loops_awake();
    uint64_t backlog = MAX(WORKER_BACKLOG, WORKER_BACKLOG_NS / cost_ns);

    return workers > awake && thread_pool_load() < backlog * (workers - awake);
}

/* How many threads @job is worth: at most the units it has, @spare workers plus the caller. */
static size_t worthwhile_threads(const OffloadJob *job, uint64_t cost_ns, uint64_t handover_ns, unsigned spare)
{
    uint64_t threads = MIN((uint64_t)spare + 1, cost_ns / (PART_FACTOR * handover_ns));

    return (size_t)MIN(threads, (uint64_t)job->units);
}

/* Other requests of this loop could use the thread while a worker does the job. */
static bool loop_has_other_work(void)
{
    EventLoop *loop = event_loop_current();

    return loop_has_ready(loop) || loop->inflight > 0;
}

/* What is known of jobs of about one cost. Of this thread: what pays depends on what else its loop does. */
static OffloadTune *tune_of(uint64_t cost_ns, bool busy)
{
    static __thread OffloadTune tunes[2][TUNE_CLASSES];

    return &tunes[busy][MIN(g_bit_storage(cost_ns), TUNE_CLASSES - 1)];
}

typedef struct Plan {
    Decision decision;
    size_t threads;
    OffloadTune *tune; /* NULL: nothing is learned from this job */
    bool busy, pool;   /* for @tune */
    uint64_t start_ns;
} Plan;

/* Is the job handed over, by what such jobs have shown? @prior: by the estimates. */
static bool tune_says_pool(Plan *p, uint64_t cost_ns, bool busy, bool prior)
{
    p->busy = busy;
    p->tune = tune_of(cost_ns, busy);
    p->start_ns = clock_monotonic_ns();
    p->pool = offload_tune_choose(p->tune, prior, p->start_ns);
    return p->pool;
}

/* A hand-over may pay: by the estimates, and by what such jobs have shown. */
static void plan_auto(Plan *p, const OffloadJob *job, uint64_t cost_ns)
{
    unsigned workers =
        cost_ns < INLINE_ALWAYS_NS ? 0 : thread_pool_size(); /* asked once: the pool's lock is everybody's */

    if (workers == 0) {
        return;
    }
    uint64_t handover_ns = offload_handover_ns();
    bool is_worth_waiting = cost_ns >= INLINE_FACTOR * handover_ns;
    if (loop_has_other_work()) {
        /* Whole jobs go to workers while they want some, the others are done here meanwhile. What a hand-over takes is
         * not waited for then, so it says little of what pays. */
        if (tune_says_pool(p, cost_ns, true, is_worth_waiting) && worker_wants_job(workers, cost_ns)) {
            p->decision = DECIDE_WORKER;
        }
    } else if (is_worth_waiting) {
        p->threads = worthwhile_threads(job, cost_ns, handover_ns, workers_with_cpu());
        if (p->threads > 1 && tune_says_pool(p, cost_ns, false, true)) {
            p->decision = DECIDE_SPLIT;
        }
    }
}

static void plan_on(Plan *p, const OffloadJob *job, uint64_t cost_ns)
{
    p->threads = worthwhile_threads(job, cost_ns, offload_handover_ns(), thread_pool_idle());
    p->decision = p->threads > 1 ? DECIDE_SPLIT : DECIDE_WORKER;
}

/* --- the run --- */

typedef struct OffloadRun {
    const OffloadJob *job;
    size_t parts;
} OffloadRun;

static int run_part(void *arg, size_t i)
{
    const OffloadRun *r = arg;
    const OffloadJob *job = r->job;
    /* The first units % parts parts have one unit more. */
    size_t share = job->units / r->parts;
    size_t rest = job->units % r->parts;
    size_t first = i * share + MIN(i, rest);
    size_t count = share + (i < rest);

    trace(TRACE_UTIL, "offload_part", "what=%s first=%zu count=%zu", job->what, first, count);
    return job->func(job->arg, first, count);
}

static int run_whole(void *arg)
{
    return run_part(arg, 0);
}

static int coroutine_fn run_planned(OffloadRun *r, const Plan *p)
{
    switch (p->decision) {
    case DECIDE_WORKER:
        return thread_pool_submit_co(run_whole, r);
    case DECIDE_SPLIT:
        r->parts = MIN(p->threads * PARTS_OF_THREAD, r->job->units);
        return thread_pool_map_co(run_part, r, r->parts, (unsigned)(p->threads - 1));
    case DECIDE_INLINE:
        break;
    }
    return run_part(r, 0);
}

int coroutine_fn offload_run_co(const OffloadJob *job)
{
    OffloadRun r = {.job = job, .parts = 1};
    Plan p = {.decision = DECIDE_INLINE, .threads = 1};
    uint64_t cost_ns = job_cost_ns(job);

    if (job->units == 0) {
        return 0;
    }
    if (job->mode == OFFLOAD_AUTO) {
        plan_auto(&p, job, cost_ns);
    } else if (job->mode == OFFLOAD_ON) {
        plan_on(&p, job, cost_ns);
    }
    trace(TRACE_UTIL, "offload", "what=%s units=%zu cost_ns=%" PRIu64 " decision=%s threads=%zu", job->what, job->units,
          cost_ns, decision_names[p.decision], p.decision == DECIDE_SPLIT ? p.threads : 1);
    int ret = run_planned(&r, &p);
    if (p.tune) {
        offload_tune_done(p.tune, p.pool, p.busy, cost_ns, p.start_ns, clock_monotonic_ns());
    }
    return ret;
}
