/* SPDX-License-Identifier: MIT */
#include "util/loop/reqlist.h"

#include "tests/unit/block-fixture.h"

/* Requests that take a few turns of the loop, and a log of when they ran. */
typedef struct Script {
    ReqList list;
    GString *log;
    int running;
} Script;

typedef struct Actor {
    Script *script;
    char name;
    int64_t offset, bytes;
    bool serialising;
    int turns;
} Actor;

static void act(void *opaque)
{
    Actor *a = opaque;
    Req req;

    reqlist_begin(&a->script->list, &req, a->offset, a->bytes, true, a->serialising);
    g_string_append_c(a->script->log, a->name);
    for (int i = 0; i < a->turns; i++) {
        coroutine_reschedule();
    }
    g_string_append_c(a->script->log, g_ascii_toupper(a->name));
    reqlist_end(&a->script->list, &req);
    a->script->running--;
}

/* Start the actors in order; lower case is begin, upper case is end. */
static char *play(Actor *actors, int n)
{
    Script s = {.log = g_string_new(NULL), .running = n};

    reqlist_init(&s.list);
    for (int i = 0; i < n; i++) {
        actors[i].script = &s;
        coroutine_enter(coroutine_new(act, &actors[i]));
    }
    while (s.running > 0) {
        coroutine_reschedule();
    }
    reqlist_destroy(&s.list);
    return g_string_free(s.log, FALSE);
}

START_CO_TEST(plain_requests_that_overlap_run_together)
{
    Actor actors[] = {{.name = 'a', .bytes = 10, .turns = 2}, {.name = 'b', .offset = 5, .bytes = 10, .turns = 2}};
    g_autofree char *log = play(actors, 2);

    ck_assert_str_eq(log, "abAB");
}

START_CO_TEST(serialising_request_waits_for_earlier_overlapping_one)
{
    Actor actors[] = {{.name = 'a', .bytes = 10, .turns = 3},
                      {.name = 'b', .offset = 9, .bytes = 10, .serialising = true, .turns = 1}};
    g_autofree char *log = play(actors, 2);

    ck_assert_str_eq(log, "aAbB");
}

START_CO_TEST(later_request_waits_for_serialising_one)
{
    Actor actors[] = {{.name = 'a', .bytes = 10, .serialising = true, .turns = 3},
                      {.name = 'b', .offset = 9, .bytes = 1, .turns = 1}};
    g_autofree char *log = play(actors, 2);

    ck_assert_str_eq(log, "aAbB");
}

START_CO_TEST(requests_side_by_side_do_not_wait)
{
    Actor actors[] = {{.name = 'a', .bytes = 10, .serialising = true, .turns = 3},
                      {.name = 'b', .offset = 10, .bytes = 10, .serialising = true, .turns = 1}};
    g_autofree char *log = play(actors, 2);

    ck_assert_str_eq(log, "abBA");
}

START_CO_TEST(overlapping_serialising_requests_run_in_order_of_arrival)
{
    Actor actors[] = {{.name = 'a', .bytes = 30, .turns = 2},
                      {.name = 'b', .offset = 20, .bytes = 20, .serialising = true, .turns = 2},
                      {.name = 'c', .offset = 30, .bytes = 20, .serialising = true, .turns = 2},
                      {.name = 'd', .offset = 0, .bytes = 100, .serialising = true, .turns = 1},
                      {.name = 'e', .offset = 90, .bytes = 1, .turns = 1}};
    g_autofree char *log = play(actors, 5);

    ck_assert_str_eq(log, "aAbBcCdDeE");
}

START_CO_TEST(empty_range_conflicts_with_nothing)
{
    Actor actors[] = {{.name = 'a', .bytes = 10, .serialising = true, .turns = 3},
                      {.name = 'b', .offset = 5, .bytes = 0, .serialising = true, .turns = 1}};
    g_autofree char *log = play(actors, 2);

    ck_assert_str_eq(log, "abBA");
}

START_CO_TEST(range_up_to_the_largest_offset_is_no_overflow)
{
    Actor actors[] = {{.name = 'a', .offset = 100, .bytes = INT64_MAX - 100, .serialising = true, .turns = 3},
                      {.name = 'b', .offset = INT64_MAX - 1, .bytes = 1, .turns = 1}};
    g_autofree char *log = play(actors, 2);

    ck_assert_str_eq(log, "aAbB");
}

/* ---- several loops --------------------------------------------------------------------------------------------- */

#define LOOPS      4
#define COROUTINES 4
#define ROUNDS     400
#define SLOTS      8
#define SLOT_BYTES 10

typedef struct Shared {
    ReqList list;
    int owners[SLOTS]; /* plain on purpose: only the list keeps two serialising owners apart */
    _Atomic int collisions, left;
    _Atomic unsigned seed;
} Shared;

static void contend(void *opaque)
{
    Shared *s = opaque;
    unsigned rnd = 12345 * ++s->seed;

    for (int i = 0; i < ROUNDS; i++) {
        rnd = rnd * 1103515245 + 12345;
        unsigned first = (rnd >> 16) % SLOTS;
        unsigned n = 1 + (rnd >> 20) % (SLOTS - first);
        Req req;
        reqlist_begin(&s->list, &req, first * SLOT_BYTES, n * SLOT_BYTES, true, true);
        for (unsigned k = first; k < first + n; k++) {
            s->collisions += s->owners[k]++ != 0;
        }
        if (rnd & 1) {
            coroutine_reschedule();
        }
        for (unsigned k = first; k < first + n; k++) {
            s->owners[k]--;
        }
        reqlist_end(&s->list, &req);
    }
    s->left--;
}

/* COROUTINES of @entry(@opaque) on each of LOOPS loops, to their end. */
static void run_on_loops(CoroutineEntry *entry, void *opaque)
{
    LoopThread *loops[LOOPS];

    for (int i = 0; i < LOOPS; i++) {
        loops[i] = loop_thread_start("reqlist", EVENT_LOOP_AUTO, NULL);
        ck_assert_ptr_nonnull(loops[i]);
    }
    for (int i = 0; i < LOOPS * COROUTINES; i++) {
        event_loop_spawn(loop_thread_loop(loops[i % LOOPS]), entry, opaque);
    }
    for (int i = 0; i < LOOPS; i++) {
        loop_thread_stop(loops[i]);
    }
}

START_TEST(serialising_requests_of_several_loops_exclude_each_other)
{
    Shared s = {.left = LOOPS * COROUTINES};

    reqlist_init(&s.list);
    run_on_loops(contend, &s);
    ck_assert_int_eq(s.left, 0);
    ck_assert_int_eq(s.collisions, 0);
    reqlist_destroy(&s.list);
}
END_TEST

/* Mostly plain requests, as in life: they enter by the short way, and now and then something serialises. */
typedef struct Mixed {
    ReqList list;
    _Atomic int plain[SLOTS], exclusive[SLOTS];
    _Atomic int collisions, left, side_by_side;
    _Atomic unsigned seed;
} Mixed;

static void mix(void *opaque)
{
    Mixed *s = opaque;
    unsigned rnd = 54321 * ++s->seed;

    for (int i = 0; i < 4 * ROUNDS; i++) {
        rnd = rnd * 1103515245 + 12345;
        unsigned slot = (rnd >> 16) % SLOTS;
        bool serialising = (rnd >> 20) % 8 == 0;
        Req req;
        reqlist_begin(&s->list, &req, slot * SLOT_BYTES, SLOT_BYTES, true, serialising);
        if (serialising) {
            s->collisions += s->exclusive[slot]++ != 0 || s->plain[slot] != 0;
        } else {
            s->side_by_side += s->plain[slot]++ != 0;
            s->collisions += s->exclusive[slot] != 0;
        }
        if (rnd & (1 << 24)) {
            coroutine_reschedule();
        }
        *(serialising ? &s->exclusive[slot] : &s->plain[slot]) -= 1;
        reqlist_end(&s->list, &req);
    }
    s->left--;
}

START_TEST(plain_requests_of_several_loops_are_never_beside_a_serialising_one)
{
    Mixed s = {.left = LOOPS * COROUTINES};

    reqlist_init(&s.list);
    run_on_loops(mix, &s);
    ck_assert_int_eq(s.left, 0);
    ck_assert_int_eq(s.collisions, 0);
    ck_assert_int_gt(s.side_by_side, 0);
    reqlist_destroy(&s.list);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("reqlist");
    TCase *tc = tcase_create("reqlist");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, plain_requests_that_overlap_run_together);
    tcase_add_test(tc, serialising_request_waits_for_earlier_overlapping_one);
    tcase_add_test(tc, later_request_waits_for_serialising_one);
    tcase_add_test(tc, requests_side_by_side_do_not_wait);
    tcase_add_test(tc, overlapping_serialising_requests_run_in_order_of_arrival);
    tcase_add_test(tc, empty_range_conflicts_with_nothing);
    tcase_add_test(tc, range_up_to_the_largest_offset_is_no_overflow);
    tcase_add_test(tc, serialising_requests_of_several_loops_exclude_each_other);
    tcase_add_test(tc, plain_requests_of_several_loops_are_never_beside_a_serialising_one);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return run_suite_per_engine(suite);
}
