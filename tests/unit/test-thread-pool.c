/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/loop-fixture.h"
#include "util/coroutine/co-lock.h"
#include "util/coroutine/co-tasks.h"
#include "util/offload/offload.h"
#include "util/thread/thread-pool.h"

#define LOOPS 4

/* --- single jobs --- */

typedef struct Where {
    pthread_t thread;
    bool worker;
} Where;

static int notes_where(void *arg)
{
    Where *w = arg;

    w->thread = pthread_self();
    w->worker = thread_pool_is_worker();
    return -EDOM;
}

static void submits_where(void *opaque)
{
    ck_assert_int_eq(thread_pool_submit_co(notes_where, opaque), -EDOM);
}

START_TEST(job_runs_on_a_worker_and_returns_its_value)
{
    Where w = {0};

    thread_pool_set_size(2);
    run_on_fresh_loop(submits_where, &w);
    ck_assert(w.worker);
    ck_assert(!pthread_equal(w.thread, pthread_self()));
    ck_assert(!thread_pool_is_worker());
}
END_TEST

START_TEST(pool_of_no_workers_runs_jobs_in_the_submitter)
{
    Where w = {0};

    thread_pool_set_size(0);
    ck_assert_uint_eq(thread_pool_size(), 0);
    ck_assert_uint_eq(thread_pool_idle(), 0);
    run_on_fresh_loop(submits_where, &w);
    ck_assert(!w.worker);
    ck_assert(pthread_equal(w.thread, pthread_self()));
}
END_TEST

typedef struct Stress {
    atomic_long ran;
    atomic_int loops_left;
} Stress;

static int counts(void *arg)
{
    return (int)(atomic_fetch_add((atomic_long *)arg, 1) & 0xff);
}

static int submits_many(void *opaque)
{
    Stress *s = opaque;

    for (int i = 0; i < TEST_ROUNDS(1000); i++) {
        ck_assert_int_ge(thread_pool_submit_co(counts, &s->ran), 0);
    }
    return 0;
}

/* 25 coroutines on each of 4 loops, 1000 jobs each. */
static void stress_loop(void *opaque)
{
    Stress *s = opaque;
    CoTasks tasks;

    co_tasks_init(&tasks, 25);
    for (int i = 0; i < 25; i++) {
        co_tasks_start(&tasks, submits_many, s);
    }
    ck_assert_int_eq(co_tasks_wait(&tasks), 0);
    atomic_fetch_sub(&s->loops_left, 1);
}

START_TEST(hundred_thousand_jobs_from_four_loops_all_come_back)
{
    Stress s = {.loops_left = LOOPS};
    LoopThread *t[LOOPS];

    thread_pool_set_size(4);
    for (int i = 0; i < LOOPS; i++) {
        t[i] = loop_thread_start("stress", EVENT_LOOP_AUTO, NULL);
        event_loop_spawn(loop_thread_loop(t[i]), stress_loop, &s);
    }
    for (int i = 0; i < LOOPS; i++) {
        loop_thread_stop(t[i]);
    }
    ck_assert_int_eq(atomic_load(&s.loops_left), 0);
    ck_assert_int_eq(atomic_load(&s.ran), 100L * TEST_ROUNDS(1000));
}
END_TEST

static int resizes(void *opaque)
{
    for (unsigned n = 5; n > 0; n--) {
        thread_pool_set_size(n);
        ck_assert_uint_le(thread_pool_size(), n);
        usleep(500);
    }
    thread_pool_shutdown();
    thread_pool_set_size(3);
    return 0;
}

START_TEST(pool_may_be_resized_while_jobs_are_submitted)
{
    Stress s = {.loops_left = LOOPS};
    LoopThread *t[LOOPS];

    for (int i = 0; i < LOOPS; i++) {
        t[i] = loop_thread_start("resize", EVENT_LOOP_AUTO, NULL);
        event_loop_spawn(loop_thread_loop(t[i]), stress_loop, &s);
    }
    resizes(NULL);
    for (int i = 0; i < LOOPS; i++) {
        loop_thread_stop(t[i]);
    }
    ck_assert_int_eq(atomic_load(&s.ran), 100L * TEST_ROUNDS(1000));
}
END_TEST

/* --- maps --- */

typedef struct Parts {
    atomic_int ran[500];
    size_t n;
    size_t bad_a, bad_b; /* parts that fail; 0: none */
} Parts;

static int marks_part(void *arg, size_t i)
{
    Parts *p = arg;

    ck_assert_uint_lt(i, p->n);
    atomic_fetch_add(&p->ran[i], 1);
    if (i % 50 == 0) {
        usleep(100);
    }
    if (i == p->bad_a && i) {
        return -EIO;
    }
    return i == p->bad_b && i ? -ENOSPC : 0;
}

static void maps_parts(void *opaque)
{
    Parts *p = opaque;

    ck_assert_int_eq(thread_pool_map_co(marks_part, p, p->n, UINT_MAX), p->bad_a ? -EIO : 0);
}

static void check_every_part_ran_once(const Parts *p)
{
    for (size_t i = 0; i < p->n; i++) {
        ck_assert_int_eq(atomic_load(&p->ran[i]), 1);
    }
}

START_TEST(map_runs_every_part_once_for_any_pool_size)
{
    static const size_t counts_of_parts[] = {0, 1, 2, 7, 500};

    for (unsigned size = 0; size < 5; size++) {
        thread_pool_set_size(size);
        for (size_t i = 0; i < G_N_ELEMENTS(counts_of_parts); i++) {
            Parts co = {.n = counts_of_parts[i]};
            Parts blocking = {.n = counts_of_parts[i]};

            run_on_fresh_loop(maps_parts, &co);
            check_every_part_ran_once(&co);
            ck_assert_int_eq(thread_pool_map_blocking(marks_part, &blocking, blocking.n), 0);
            check_every_part_ran_once(&blocking);
        }
    }
}
END_TEST

START_TEST(map_returns_the_error_of_the_lowest_part)
{
    thread_pool_set_size(4);
    for (int i = 0; i < TEST_ROUNDS(100); i++) {
        Parts p = {.n = 100, .bad_a = 20, .bad_b = 60};

        run_on_fresh_loop(maps_parts, &p);
        check_every_part_ran_once(&p);
    }
}
END_TEST

/* Every worker is held up until the map is over: it must not wait for them. */
typedef struct HoldUp {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    int holding;
    bool release;
    int mapped;
} HoldUp;

static int holds_worker(void *arg)
{
    HoldUp *h = arg;

    pthread_mutex_lock(&h->lock);
    h->holding++;
    pthread_cond_broadcast(&h->cond);
    while (!h->release) {
        pthread_cond_wait(&h->cond, &h->lock);
    }
    pthread_mutex_unlock(&h->lock);
    return 0;
}

static int submits_hold(void *opaque)
{
    return thread_pool_submit_co(holds_worker, opaque);
}

static void maps_with_busy_workers(void *opaque)
{
    HoldUp *h = opaque;
    Parts p = {.n = 50};
    CoTasks tasks;

    co_tasks_init(&tasks, 2);
    co_tasks_start(&tasks, submits_hold, h);
    co_tasks_start(&tasks, submits_hold, h);
    pthread_mutex_lock(&h->lock);
    while (h->holding < 2) {
        pthread_cond_wait(&h->cond, &h->lock);
    }
    pthread_mutex_unlock(&h->lock);
    ck_assert_uint_eq(thread_pool_idle(), 0);
    ck_assert_int_eq(thread_pool_map_blocking(marks_part, &p, p.n), 0);
    check_every_part_ran_once(&p);
    h->mapped++;

    pthread_mutex_lock(&h->lock);
    h->release = true;
    pthread_cond_broadcast(&h->cond);
    pthread_mutex_unlock(&h->lock);
    ck_assert_int_eq(co_tasks_wait(&tasks), 0);
}

START_TEST(map_does_not_wait_for_parts_that_nobody_began)
{
    HoldUp h = {.lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};

    thread_pool_set_size(2);
    run_on_fresh_loop(maps_with_busy_workers, &h);
    ck_assert_int_eq(h.mapped, 1);
}
END_TEST

/* --- offload --- */

typedef struct Units {
    atomic_int done[1000];
    size_t n;
    uint64_t ps_per_unit;
    OffloadMode mode;
    size_t fail_at; /* 0: never */
    pthread_mutex_t lock;
    size_t calls, own_calls;
    pthread_t own;
} Units;

static int does_units(void *arg, size_t first, size_t count)
{
    Units *u = arg;

    for (size_t i = first; i < first + count; i++) {
        ck_assert_uint_lt(i, u->n);
        atomic_fetch_add(&u->done[i], 1);
    }
    PTHREAD_GUARD(&u->lock);
    u->calls++;
    u->own_calls += pthread_equal(pthread_self(), u->own) != 0;
    return u->fail_at >= first && u->fail_at < first + count && u->fail_at ? -EILSEQ : 0;
}

static void offloads(void *opaque)
{
    Units *u = opaque;
    OffloadJob job = {.what = "test", .func = does_units, .arg = u, .units = u->n, .ps_per_unit = u->ps_per_unit};

    job.mode = u->mode;
    u->own = pthread_self();
    ck_assert_int_eq(offload_run_co(&job), u->fail_at ? -EILSEQ : 0);
}

static void run_units(Units *u)
{
    pthread_mutex_init(&u->lock, NULL);
    run_on_fresh_loop(offloads, u);
    for (size_t i = 0; i < u->n; i++) {
        ck_assert_int_eq(atomic_load(&u->done[i]), 1);
    }
    pthread_mutex_destroy(&u->lock);
}

START_TEST(offload_does_every_unit_once_in_every_mode)
{
    static const size_t sizes[] = {0, 1, 2, 3, 999, 1000};
    static const uint64_t costs_ps[] = {0, 1000, 1000000000, UINT64_MAX};

    thread_pool_set_size(3);
    for (OffloadMode mode = OFFLOAD_AUTO; mode <= OFFLOAD_OFF; mode++) {
        for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
            for (size_t j = 0; j < G_N_ELEMENTS(costs_ps); j++) {
                Units u = {.n = sizes[i], .ps_per_unit = costs_ps[j], .mode = mode};
                run_units(&u);
            }
        }
    }
}
END_TEST

START_TEST(offload_off_is_one_call_in_the_caller)
{
    Units u = {.n = 1000, .ps_per_unit = UINT64_MAX, .mode = OFFLOAD_OFF};

    thread_pool_set_size(3);
    run_units(&u);
    ck_assert_uint_eq(u.calls, 1);
    ck_assert_uint_eq(u.own_calls, 1);
}
END_TEST

START_TEST(offload_on_uses_a_worker_for_the_cheapest_job)
{
    Units u = {.n = 1, .ps_per_unit = 1, .mode = OFFLOAD_ON};

    thread_pool_set_size(3);
    run_units(&u);
    ck_assert_uint_eq(u.calls, 1);
    ck_assert_uint_eq(u.own_calls, 0);
}
END_TEST

static gpointer run_units_here(gpointer units)
{
    run_units(units);
    return NULL;
}

/* What auto has learned belongs to a thread: on a new one it goes by the estimates. And it counts the workers that are
 * free: those of earlier jobs, and of the measurement, are so only once they are back. */
static void run_units_unlearned(Units *u)
{
    offload_handover_ns();
    while (thread_pool_idle() < thread_pool_size()) {
        g_usleep(1000);
    }
    g_thread_join(g_thread_new("unlearned", run_units_here, u));
}

START_TEST(offload_auto_keeps_cheap_jobs_and_splits_dear_ones)
{
    Units cheap = {.n = 1000, .ps_per_unit = 1, .mode = OFFLOAD_AUTO};
    Units dear = {.n = 1000, .ps_per_unit = UINT64_C(1000000000000), .mode = OFFLOAD_AUTO};

    thread_pool_set_size(3);
    run_units_unlearned(&cheap);
    ck_assert_uint_eq(cheap.calls, 1);
    ck_assert_uint_eq(cheap.own_calls, 1);
    run_units_unlearned(&dear);
    /* Two workers, for the caller's loop has a CPU, and the caller: two parts each. */
    ck_assert_uint_ge(dear.calls, 4);
    ck_assert_uint_le(dear.calls, 6);
}
END_TEST

START_TEST(offload_returns_the_error_of_a_part)
{
    for (OffloadMode mode = OFFLOAD_AUTO; mode <= OFFLOAD_OFF; mode++) {
        Units u = {.n = 1000, .ps_per_unit = 1000000000, .mode = mode, .fail_at = 777};

        thread_pool_set_size(3);
        run_units(&u);
    }
}
END_TEST

START_TEST(handover_is_measured_once_and_quickly)
{
    thread_pool_set_size(2);
    int64_t start_ns = clock_monotonic_ns();
    uint64_t ns = offload_handover_ns();
    int64_t took_ns = clock_monotonic_ns() - start_ns;

    ck_assert_uint_gt(ns, 100);
    ck_assert_uint_eq(offload_handover_ns(), ns);
    ck_assert_int_lt(took_ns, 200 * 1000000); /* a busy machine; 0.1 ms on an idle one */
    printf("hand-over %.1f us, measured in %.2f ms\n", (double)ns / 1e3, (double)took_ns / 1e6);
}
END_TEST

START_TEST(pool_has_the_size_that_the_environment_says)
{
    static const char *const good[] = {"", "0", "1", "1024"};
    static const char *const bad[] = {"-1", "x", "3x", "1025", "0x4", " 2", "99999999999999999999"};

    for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
        g_setenv("QBLOCK_THREADS", good[i], TRUE);
        ck_assert(thread_pool_check_env(NULL));
        thread_pool_shutdown();
        if (*good[i]) {
            ck_assert_uint_eq(thread_pool_size(), (unsigned)atoi(good[i]));
        }
    }
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) err = NULL;
        g_autofree char *want = g_strdup_printf("QBLOCK_THREADS=%s is not a number from 0 to 1024", bad[i]);

        g_setenv("QBLOCK_THREADS", bad[i], TRUE);
        ck_assert(!thread_pool_check_env(&err));
        ck_assert_str_eq(err->message, want);
        thread_pool_shutdown();
        ck_assert_uint_ge(thread_pool_size(), 1); /* used all the same: the default */
    }
    g_unsetenv("QBLOCK_THREADS");
    thread_pool_shutdown();
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, pool_has_the_size_that_the_environment_says);
    tcase_add_test(tc, job_runs_on_a_worker_and_returns_its_value);
    tcase_add_test(tc, pool_of_no_workers_runs_jobs_in_the_submitter);
    tcase_add_test(tc, hundred_thousand_jobs_from_four_loops_all_come_back);
    tcase_add_test(tc, pool_may_be_resized_while_jobs_are_submitted);
    tcase_add_test(tc, map_runs_every_part_once_for_any_pool_size);
    tcase_add_test(tc, map_returns_the_error_of_the_lowest_part);
    tcase_add_test(tc, map_does_not_wait_for_parts_that_nobody_began);
    tcase_add_test(tc, offload_does_every_unit_once_in_every_mode);
    tcase_add_test(tc, offload_off_is_one_call_in_the_caller);
    tcase_add_test(tc, offload_on_uses_a_worker_for_the_cheapest_job);
    tcase_add_test(tc, offload_auto_keeps_cheap_jobs_and_splits_dear_ones);
    tcase_add_test(tc, offload_returns_the_error_of_a_part);
    tcase_add_test(tc, handover_is_measured_once_and_quickly);
}

static Suite *thread_pool_suite(void)
{
    Suite *s = suite_create("thread-pool");
    TCase *tc = tcase_create("thread-pool");

    tcase_set_timeout(tc, 30);
    add_tests(tc);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return run_suite_per_engine(thread_pool_suite);
}
