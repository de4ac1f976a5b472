/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/loop-fixture.h"
#include "util/coroutine/co-tasks.h"
#include "util/coroutine/coroutine.h"

#define CHILDREN 300

static void note(GString *log, const char *what)
{
    g_string_append(log, what);
}

static void child_logs(void *opaque)
{
    note(opaque, "b");
    coroutine_yield();
    note(opaque, "d");
}

static void parent_enters_child(void *opaque)
{
    Coroutine *child = coroutine_new(child_logs, opaque);

    note(opaque, "a");
    coroutine_enter(child);
    note(opaque, "c");
    coroutine_enter(child);
    note(opaque, "e");
}

START_TEST(enter_runs_until_yield_and_comes_back)
{
    g_autoptr(GString) log = g_string_new(NULL);

    run_on_fresh_loop(parent_enters_child, log);
    ck_assert_str_eq(log->str, "abcde");
}
END_TEST

static void wakes_itself_before_yield(void *opaque)
{
    int *rounds = opaque;

    for (int i = 0; i < 1000; i++) {
        coroutine_wake(coroutine_self());
        coroutine_yield();
        (*rounds)++;
    }
}

START_TEST(wake_before_yield_is_not_lost)
{
    int rounds = 0;

    run_on_fresh_loop(wakes_itself_before_yield, &rounds);
    ck_assert_int_eq(rounds, 1000);
}
END_TEST

/* Values that a compiler keeps in callee-saved registers and on the stack. */
static void keeps_state(void *opaque)
{
    uint64_t seed = (uintptr_t)opaque;
    uint64_t a = seed, b = seed * 3, c = seed * 5, d = seed * 7, e = seed * 11;
    double x = (double)seed;
    char local[512];

    memset(local, (int)(seed & 0xff), sizeof(local));
    for (int i = 0; i < 50; i++) {
        coroutine_reschedule();
        a += b, b += c, c += d, d += e, x = sqrt(x * x + 1.0);
    }
    uint64_t ra = seed, rb = seed * 3, rc = seed * 5, rd = seed * 7;
    double rx = (double)seed;
    for (int i = 0; i < 50; i++) {
        ra += rb, rb += rc, rc += rd, rd += e, rx = sqrt(rx * rx + 1.0);
    }
    ck_assert_uint_eq(a, ra);
    ck_assert_uint_eq(b, rb);
    ck_assert_uint_eq(c, rc);
    ck_assert_uint_eq(d, rd);
    ck_assert(x == rx);
    ck_assert_int_eq((unsigned char)local[0], seed & 0xff);
    ck_assert(!memcmp(local, local + 1, sizeof(local) - 1));
}

static int keeps_state_task(void *opaque)
{
    keeps_state(opaque);
    return 0;
}

static void many_children(void *opaque)
{
    CoTasks tasks;

    for (int round = 0; round < TEST_ROUNDS(3); round++) {
        co_tasks_init(&tasks, CHILDREN);
        for (uintptr_t i = 1; i <= CHILDREN; i++) {
            ck_assert_int_eq(co_tasks_start(&tasks, keeps_state_task, (void *)i), 0);
        }
        ck_assert_int_eq(co_tasks_wait(&tasks), 0);
    }
}

START_TEST(registers_and_stacks_survive_switches_of_more_coroutines_than_the_pool_keeps)
{
    run_on_fresh_loop(many_children, NULL);
}
END_TEST

static void remembers_self(void *opaque)
{
    Coroutine **self = opaque;

    *self = coroutine_self();
}

static void parent_reuses_coroutines(void *opaque)
{
    Coroutine *first = NULL;
    Coroutine *second = NULL;

    coroutine_enter(coroutine_new(remembers_self, &first));
    coroutine_enter(coroutine_new(remembers_self, &second));
    ck_assert_ptr_eq(first, second);
    ck_assert_ptr_ne(first, coroutine_self());
}

START_TEST(ended_coroutine_is_recycled_at_once)
{
    run_on_fresh_loop(parent_reuses_coroutines, NULL);
}
END_TEST

START_TEST(code_outside_coroutines_has_no_self)
{
    ck_assert(!in_coroutine());
    ck_assert_ptr_null(coroutine_self());
}
END_TEST

static void runs_on_a_loop(void *opaque)
{
    ck_assert(in_coroutine());
    ck_assert_ptr_nonnull(coroutine_self());
    ck_assert_ptr_nonnull(event_loop_current());
}

START_TEST(coroutine_runs_on_a_loop)
{
    run_on_fresh_loop(runs_on_a_loop, NULL);
}
END_TEST

#if !defined(QBLOCK_ASAN) && !defined(QBLOCK_TSAN) /* the sanitizers turn these signals into reports of their own */
/* Deeper than any stack; the volatile keeps each frame. */
static int __attribute__((noinline)) recurse(int depth)
{
    volatile char frame[4096];

    frame[0] = (char)depth;
    return depth == 0 ? frame[0] : recurse(depth - 1) + frame[0];
}

static void overflows(void *opaque)
{
    printf("%d\n", recurse(1 << 20));
}

START_TEST(stack_overflow_hits_the_guard_page)
{
    run_on_fresh_loop(overflows, NULL);
}
END_TEST

static void wakes_twice(void *opaque)
{
    coroutine_wake(coroutine_self());
    coroutine_wake(coroutine_self());
}

START_TEST(second_wake_for_one_yield_is_caught)
{
    run_on_fresh_loop(wakes_twice, NULL);
}
END_TEST
#endif

static int fails_at_third(void *opaque)
{
    int *started = opaque;
    int mine = ++*started;

    coroutine_reschedule();
    return mine == 3 ? -EIO : 0;
}

static void tasks_with_an_error(void *opaque)
{
    CoTasks tasks;
    int started = 0;
    int refused = 0;

    co_tasks_init(&tasks, 2);
    for (int i = 0; i < 10; i++) {
        int ret = co_tasks_start(&tasks, fails_at_third, &started);

        ck_assert(ret == 0 || ret == -EIO);
        refused += ret < 0;
    }
    ck_assert_int_eq(co_tasks_wait(&tasks), -EIO);
    ck_assert_int_lt(started, 6);
    ck_assert_int_eq(started + refused, 10);
    ck_assert_int_eq(tasks.running, 0);
}

START_TEST(tasks_after_the_first_error_are_not_started)
{
    run_on_fresh_loop(tasks_with_an_error, NULL);
}
END_TEST

typedef struct Bound {
    int now, most, done;
} Bound;

static int counts_running(void *opaque)
{
    Bound *b = opaque;

    b->now++;
    b->most = MAX(b->most, b->now);
    loop_co_sleep_ns(100000);
    b->now--;
    b->done++;
    return 0;
}

static void tasks_within_bound(void *opaque)
{
    CoTasks tasks;
    Bound b = {0};

    co_tasks_init(&tasks, 4);
    for (int i = 0; i < 40; i++) {
        ck_assert_int_eq(co_tasks_start(&tasks, counts_running, &b), 0);
        ck_assert_int_le(b.now, 4);
    }
    ck_assert_int_eq(co_tasks_wait(&tasks), 0);
    ck_assert_int_eq(b.most, 4);
    ck_assert_int_eq(b.done, 40);
}

START_TEST(tasks_never_run_more_than_their_bound)
{
    run_on_fresh_loop(tasks_within_bound, NULL);
}
END_TEST

static Suite *coroutine_suite(void)
{
    Suite *s = suite_create("coroutine");
    TCase *tc = tcase_create("coroutine");

    tcase_set_timeout(tc, 20);
    tcase_add_test(tc, enter_runs_until_yield_and_comes_back);
    tcase_add_test(tc, wake_before_yield_is_not_lost);
    tcase_add_test(tc, registers_and_stacks_survive_switches_of_more_coroutines_than_the_pool_keeps);
    tcase_add_test(tc, ended_coroutine_is_recycled_at_once);
    tcase_add_test(tc, code_outside_coroutines_has_no_self);
    tcase_add_test(tc, coroutine_runs_on_a_loop);
    tcase_add_test(tc, tasks_after_the_first_error_are_not_started);
    tcase_add_test(tc, tasks_never_run_more_than_their_bound);
#if !defined(QBLOCK_ASAN) && !defined(QBLOCK_TSAN)
    tcase_add_test_raise_signal(tc, stack_overflow_hits_the_guard_page, SIGSEGV);
    tcase_add_test_raise_signal(tc, second_wake_for_one_yield_is_caught, SIGABRT);
#endif
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return run_suite_per_engine(coroutine_suite);
}
