/* SPDX-License-Identifier: MIT */
#include "block/job/copy-order.h"

#include <check.h>
#include <stdlib.h>

#include "tests/unit/suite.h"
#include "util/loop/event-loop.h"
#include "util/loop/loop-team.h"

enum { TURNS = 2000, WORKERS = 8, LOOPS = 3 };

typedef struct TurnJob {
    CopyOrder order;
    pthread_mutex_t guard;
    uint64_t next;          /* next number to take */
    uint64_t placed[TURNS]; /* numbers in the order they were placed */
    size_t n_placed;
} TurnJob;

static uint64_t take_number(TurnJob *job)
{
    PTHREAD_GUARD(&job->guard);

    return job->next++;
}

/* Every third turn is passed without waiting for it, the others are placed. */
static void coroutine_fn turn_worker(void *opaque, unsigned idx)
{
    TurnJob *job = opaque;
    uint64_t seq;

    while ((seq = take_number(job)) < TURNS) {
        if (seq % 7 == idx % 7) {
            coroutine_reschedule();
        }
        if (seq % 3 == 0) {
            copy_order_pass(&job->order, seq);
            continue;
        }
        copy_order_wait(&job->order, seq);
        job->placed[job->n_placed++] = seq; /* only one can be here: no lock */
        copy_order_pass(&job->order, seq);
    }
}

static void coroutine_fn run_turns(void *opaque)
{
    LoopTeam *team = loop_team_new(LOOPS);

    loop_team_run(team, WORKERS, turn_worker, opaque);
    loop_team_free(team);
}

START_TEST(turns_are_taken_in_order_across_loops_with_skips_between)
{
    static TurnJob job = {.guard = PTHREAD_MUTEX_INITIALIZER};
    EventLoop *loop = event_loop_new(EVENT_LOOP_AUTO, NULL);

    copy_order_init(&job.order);
    event_loop_run_co(loop, run_turns, &job);
    copy_order_destroy(&job.order);
    event_loop_free(loop);
    ck_assert_uint_eq(job.n_placed, TURNS - (TURNS + 2) / 3);
    for (size_t i = 1; i < job.n_placed; i++) {
        ck_assert_uint_gt(job.placed[i], job.placed[i - 1]);
    }
}
END_TEST

START_TEST(turns_may_run_far_ahead_of_the_first)
{
    CopyOrder order;

    copy_order_init(&order);
    for (uint64_t seq = 5000; seq > 0; seq--) {
        copy_order_pass(&order, seq);
        ck_assert_uint_eq(order.turn, 0);
    }
    copy_order_pass(&order, 0);
    ck_assert_uint_eq(order.turn, 5001);
    copy_order_destroy(&order);
}
END_TEST

typedef struct AbortJob {
    CopyOrder order;
    unsigned waited;
} AbortJob;

/* Turn 0 is never passed: the others wait for ever, but for the abort. */
static void coroutine_fn abort_worker(void *opaque, unsigned idx)
{
    AbortJob *job = opaque;

    if (idx == 0) {
        loop_co_sleep_ns(5000000);
        copy_order_abort(&job->order);
        return;
    }
    copy_order_wait(&job->order, idx);
    __atomic_fetch_add(&job->waited, 1, __ATOMIC_RELAXED);
}

static void coroutine_fn run_abort(void *opaque)
{
    LoopTeam *team = loop_team_new(LOOPS);

    loop_team_run(team, WORKERS, abort_worker, opaque);
    loop_team_free(team);
}

START_TEST(an_abort_lets_every_waiter_go)
{
    static AbortJob job;
    EventLoop *loop = event_loop_new(EVENT_LOOP_AUTO, NULL);

    copy_order_init(&job.order);
    event_loop_run_co(loop, run_abort, &job);
    copy_order_destroy(&job.order);
    event_loop_free(loop);
    ck_assert_uint_eq(job.waited, WORKERS - 1);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("copy-order");
    TCase *tc = tcase_create("order");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, turns_are_taken_in_order_across_loops_with_skips_between);
    tcase_add_test(tc, turns_may_run_far_ahead_of_the_first);
    tcase_add_test(tc, an_abort_lets_every_waiter_go);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
