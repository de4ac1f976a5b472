/* SPDX-License-Identifier: MIT */
/* What the runtime's steps cost, in nanoseconds: median and spread (quartiles) of several runs, next to a baseline
 * taken in the same run (a pipe between two threads, what a hand-over costs without any of this).
 *
 *     bench-coroutine [runs] */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "util/coroutine/co-lock.h"
#include "util/coroutine/coroutine.h"
#include "util/loop/event-loop.h"
#include "util/thread/thread-pool.h"

#define RUNS_MAX 101

typedef struct Bench {
    const char *what;
    int64_t (*run)(long n); /* nanoseconds for @n steps; Context: coroutine */
    long n;
} Bench;

static int64_t cpu_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static void yields_for_ever(void *opaque)
{
    const bool *stop = opaque;

    while (!*stop) {
        coroutine_yield();
    }
}

static int64_t bench_switch(long n)
{
    bool stop = false;
    Coroutine *co = coroutine_new(yields_for_ever, &stop);
    int64_t start_ns = cpu_ns();

    for (long i = 0; i < n; i++) {
        coroutine_enter(co);
    }
    int64_t took_ns = cpu_ns() - start_ns;
    stop = true;
    coroutine_enter(co);
    return took_ns;
}

static void nothing(void *opaque) {}

static int64_t bench_life(long n)
{
    int64_t start_ns = cpu_ns();

    for (long i = 0; i < n; i++) {
        coroutine_enter(coroutine_new(nothing, NULL));
    }
    return cpu_ns() - start_ns;
}

static int64_t bench_reschedule(long n)
{
    int64_t start_ns = cpu_ns();

    for (long i = 0; i < n; i++) {
        coroutine_reschedule();
    }
    return cpu_ns() - start_ns;
}

static int64_t bench_mutex(long n)
{
    CoMutex m;
    int64_t start_ns = cpu_ns();

    co_mutex_init(&m);
    for (long i = 0; i < n; i++) {
        co_mutex_lock(&m);
        co_mutex_unlock(&m);
    }
    co_mutex_destroy(&m);
    return cpu_ns() - start_ns;
}

static int no_job(void *arg)
{
    return 0;
}

static int64_t bench_submit(long n)
{
    int64_t start_ns = clock_monotonic_ns();

    for (long i = 0; i < n; i++) {
        thread_pool_submit_co(no_job, NULL);
    }
    return clock_monotonic_ns() - start_ns;
}

/* --- between two loops --- */

typedef struct PingPong {
    Coroutine *ping;
    _Atomic(Coroutine *) pong;
    long n;
} PingPong;

static void pong_entry(void *opaque)
{
    PingPong *p = opaque;

    p->pong = coroutine_self();
    coroutine_wake(p->ping);
    for (long i = 0; i < p->n; i++) {
        coroutine_yield();
        coroutine_wake(p->ping);
    }
}

static int64_t bench_cross_loop(long n)
{
    PingPong p = {.ping = coroutine_self(), .n = n};
    LoopThread *t = loop_thread_start("pong", EVENT_LOOP_AUTO, NULL);

    event_loop_spawn(loop_thread_loop(t), pong_entry, &p);
    coroutine_yield();
    int64_t start_ns = clock_monotonic_ns();
    for (long i = 0; i < n; i++) {
        coroutine_wake(p.pong);
        coroutine_yield();
    }
    int64_t took_ns = clock_monotonic_ns() - start_ns;
    loop_thread_stop(t);
    return took_ns;
}

/* --- the baseline --- */

typedef struct PipePair {
    int there[2], back[2];
    long n;
} PipePair;

static void *pipe_echo(void *opaque)
{
    PipePair *p = opaque;
    char c;

    for (long i = 0; i < p->n; i++) {
        if (read(p->there[0], &c, 1) != 1 || write(p->back[1], &c, 1) != 1) {
            abort();
        }
    }
    return NULL;
}

static int64_t bench_pipe(long n)
{
    PipePair p = {.n = n};
    pthread_t thread;
    char c = 0;

    if (pipe(p.there) != 0 || pipe(p.back) != 0 || pthread_create(&thread, NULL, pipe_echo, &p) != 0) {
        abort();
    }
    int64_t start_ns = clock_monotonic_ns();
    for (long i = 0; i < n; i++) {
        if (write(p.there[1], &c, 1) != 1 || read(p.back[0], &c, 1) != 1) {
            abort();
        }
    }
    int64_t took_ns = clock_monotonic_ns() - start_ns;
    pthread_join(thread, NULL);
    for (int i = 0; i < 2; i++) {
        close(p.there[i]);
        close(p.back[i]);
    }
    return took_ns;
}

/* --- */

static const Bench benches[] = {
    {"coroutine switch pair (enter, yield)", bench_switch, 200000},
    {"coroutine life (new, enter, end)", bench_life, 200000},
    {"reschedule (one loop turn)", bench_reschedule, 100000},
    {"CoMutex lock and unlock, free", bench_mutex, 200000},
    {"empty job on a worker and back", bench_submit, 2000},
    {"wake on another loop and back", bench_cross_loop, 2000},
    {"baseline: byte to another thread and back", bench_pipe, 2000},
};

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static void run_all(void *opaque)
{
    int runs = *(int *)opaque;

    printf("engine %s, %d runs\n%-44s %10s %10s %10s\n", event_loop_engine_name(event_loop_current()), runs,
           "ns per step", "median", "quartile 1", "quartile 3");
    for (size_t i = 0; i < G_N_ELEMENTS(benches); i++) {
        double ns[RUNS_MAX];

        for (int r = 0; r < runs; r++) {
            ns[r] = (double)benches[i].run(benches[i].n) / (double)benches[i].n;
        }
        qsort(ns, (size_t)runs, sizeof(ns[0]), compare);
        printf("%-44s %10.1f %10.1f %10.1f\n", benches[i].what, ns[runs / 2], ns[runs / 4], ns[runs * 3 / 4]);
    }
}

int main(int argc, char **argv)
{
    g_autoptr(GError) err = NULL;
    int runs = argc > 1 ? CLAMP(atoi(argv[1]), 1, RUNS_MAX) : 11;
    EventLoop *loop = event_loop_new(EVENT_LOOP_AUTO, &err);

    if (!loop) {
        fprintf(stderr, "%s\n", err->message);
        return 1;
    }
    event_loop_run_co(loop, run_all, &runs);
    event_loop_free(loop);
    thread_pool_shutdown();
    return 0;
}
