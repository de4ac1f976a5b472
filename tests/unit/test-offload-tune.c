/* SPDX-License-Identifier: MIT */
/* The choice between two ways on a simulated clock: the faster one is found, kept, and left when it is no longer the
 * faster one, and trying the other costs little. */
#include "util/offload/offload-tune.h"

#include <check.h>
#include <glib.h>
#include <stdlib.h>

#include "tests/unit/suite.h"

enum { COST_NS = 40000 };

typedef struct Sim {
    OffloadTune tune;
    uint64_t now_ns;
    double took[2]; /* cost of a job by way, in COST_NS */
    bool busy;
    unsigned jobs[2];
    GRand *rand;  /* NULL: the machine is quiet */
    double noise; /* what else it does: a factor that changes every so many jobs */
} Sim;

/* By up to a quarter for some time; now and then the CPU is away for long. */
static double noise_of(Sim *s, unsigned i)
{
    if (s->rand && i % 16 == 0) {
        s->noise = g_rand_int_range(s->rand, 0, 20) == 0 ? 20 : g_rand_double_range(s->rand, 0.8, 1.25);
    }
    return s->rand ? s->noise : 1;
}

/* @n jobs, one after another; their time in COST_NS. */
static double run_jobs(Sim *s, unsigned n, bool prior)
{
    uint64_t begin_ns = s->now_ns;

    s->jobs[0] = s->jobs[1] = 0;
    for (unsigned i = 0; i < n; i++) {
        bool pool = offload_tune_choose(&s->tune, prior, s->now_ns);
        uint64_t start_ns = s->now_ns;

        s->now_ns += s->took[pool] * noise_of(s, i) * COST_NS;
        s->jobs[pool]++;
        offload_tune_done(&s->tune, pool, s->busy, COST_NS, start_ns, s->now_ns);
    }
    return (double)(s->now_ns - begin_ns) / COST_NS;
}

static Sim new_sim(double inline_took, double pool_took, bool busy)
{
    return (Sim){.now_ns = 1000, .took = {inline_took, pool_took}, .busy = busy};
}

START_TEST(the_first_job_is_done_as_the_estimates_say)
{
    OffloadTune yes = {0}, no = {0};

    ck_assert(offload_tune_choose(&yes, true, 1));
    ck_assert(!offload_tune_choose(&no, false, 1));
}
END_TEST

/* _i: busy or not, prior right or wrong, pool or inline the faster one. */
START_TEST(the_faster_way_is_found_and_trying_the_other_costs_little)
{
    bool busy = _i & 1, prior = _i & 2, pool_is_faster = _i & 4;
    Sim s = new_sim(pool_is_faster ? 2 : 1, pool_is_faster ? 1 : 2, busy);

    run_jobs(&s, 4 * 64, prior);
    double took = run_jobs(&s, 20000, prior);
    ck_assert_uint_gt(s.jobs[pool_is_faster], 19000);
    ck_assert_uint_gt(s.jobs[!pool_is_faster], 0); /* it goes on looking */
    ck_assert_msg(took < 20000 * 1.03, "%.0f for 20000 jobs", took);
}
END_TEST

/* Jobs come in bursts of no fixed length, with long pauses. */
START_TEST(time_without_jobs_says_nothing_of_either_way)
{
    Sim s = new_sim(1.3, 1, true);
    unsigned handed_over = 0;

    for (unsigned i = 0; i < 1000; i++) {
        run_jobs(&s, 20 + i * 7 % 60, false);
        handed_over += i >= 500 ? s.jobs[true] : 0;
        s.now_ns += 5000 * COST_NS;
    }
    ck_assert_uint_gt(handed_over, 500 * 49 * 9 / 10);
}
END_TEST

START_TEST(a_hopeless_way_is_given_up_early)
{
    Sim s = new_sim(1, 100, _i);

    run_jobs(&s, 4 * 64, false);
    ck_assert_uint_le(s.jobs[true], 32); /* two tries, a quarter of a window each */
}
END_TEST

START_TEST(a_way_that_became_slower_is_left)
{
    Sim s = new_sim(2, 1, _i);

    run_jobs(&s, 20000, true);
    s.took[true] = 4; /* somebody else has the CPUs now */
    run_jobs(&s, 64 * 66, true);
    run_jobs(&s, 5000, true);
    ck_assert_uint_gt(s.jobs[false], 4500);
    s.took[true] = 1;
    run_jobs(&s, 64 * 66, true);
    run_jobs(&s, 5000, true);
    ck_assert_uint_gt(s.jobs[true], 4500);
}
END_TEST

START_TEST(a_difference_of_noise_does_not_change_the_way)
{
    Sim s = new_sim(1, 0.98, _i);

    run_jobs(&s, 20000, false);
    ck_assert_uint_lt(s.jobs[true], 1000);
}
END_TEST

/* A try that noise has won is not enough, and a choice that was wrong is soon seen to be so. By many runs of noise. */
START_TEST(a_noisy_machine_keeps_the_faster_way)
{
    enum { RUNS = 100, JOBS = 20000 };
    bool busy = _i & 1, pool_is_faster = _i & 2;

    for (unsigned seed = 0; seed < RUNS; seed++) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
        Sim s = new_sim(pool_is_faster ? 1.3 : 1, pool_is_faster ? 1 : 1.3, busy);

        s.rand = rand;
        run_jobs(&s, JOBS, !pool_is_faster);
        ck_assert_msg(s.jobs[pool_is_faster] > JOBS * 2 / 3, "run %u: %u jobs", seed, s.jobs[pool_is_faster]);
    }
}
END_TEST

/* The first hand-overs of a try wake a worker, which takes longer than the jobs: what counts is how it goes on. */
START_TEST(what_it_takes_to_wake_up_does_not_count)
{
    enum { JOBS = 100000, TICK_NS = 3000, WAKE_UP_NS = 90000 };
    OffloadTune t = {0};
    uint64_t now_ns = 1000;
    unsigned handed_over = 0;
    bool was = false;

    for (unsigned i = 0; i < JOBS; i++) {
        bool pool = offload_tune_choose(&t, false, now_ns);
        uint64_t start_ns = now_ns;

        now_ns += (pool ? TICK_NS * 10 / 13 : TICK_NS) + (pool && !was ? WAKE_UP_NS : 0);
        was = pool;
        handed_over += pool;
        offload_tune_done(&t, pool, true, TICK_NS, start_ns, now_ns);
    }
    ck_assert_uint_gt(handed_over, JOBS * 9 / 10);
}
END_TEST

/* Jobs of two windows overlap: one that was begun in the window before is of the other way, and does not count. */
START_TEST(jobs_of_the_window_before_do_not_count)
{
    OffloadTune t = {0};

    ck_assert(offload_tune_choose(&t, true, 100));
    for (int i = 0; i < 1000; i++) {
        offload_tune_done(&t, false, true, COST_NS, 100, 200 + i);
    }
    ck_assert_uint_eq(t.jobs, 0);
    ck_assert(offload_tune_choose(&t, true, 2000));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("offload-tune");
    TCase *tc = tcase_create("all");

    tcase_add_test(tc, the_first_job_is_done_as_the_estimates_say);
    tcase_add_loop_test(tc, the_faster_way_is_found_and_trying_the_other_costs_little, 0, 8);
    tcase_add_test(tc, time_without_jobs_says_nothing_of_either_way);
    tcase_add_loop_test(tc, a_hopeless_way_is_given_up_early, 0, 2);
    tcase_add_loop_test(tc, a_way_that_became_slower_is_left, 0, 2);
    tcase_add_loop_test(tc, a_difference_of_noise_does_not_change_the_way, 0, 2);
    tcase_add_loop_test(tc, a_noisy_machine_keeps_the_faster_way, 0, 4);
    tcase_add_test(tc, what_it_takes_to_wake_up_does_not_count);
    tcase_add_test(tc, jobs_of_the_window_before_do_not_count);
    suite_add_tcase(s, tc);

    return run_suite(s);
}
