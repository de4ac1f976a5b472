/* SPDX-License-Identifier: MIT */
#include "tests/unit/loop-fixture.h"
#include "util/coroutine/co-lock.h"
#include "util/coroutine/co-tasks.h"

#define LOOPS            4
#define WORKERS_PER_LOOP 4

/* Coroutines on several loops, and a count of those that have not ended. */
typedef struct Crowd {
    CoroutineEntry *body;
    void *opaque;
    pthread_mutex_t lock;
    pthread_cond_t cond;
    int left;
} Crowd;

static void crowd_member(void *opaque)
{
    Crowd *c = opaque;

    c->body(c->opaque);
    pthread_mutex_lock(&c->lock);
    if (--c->left == 0) {
        pthread_cond_signal(&c->cond);
    }
    pthread_mutex_unlock(&c->lock);
}

static void run_crowd(CoroutineEntry *body, void *opaque)
{
    Crowd c = {body, opaque, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, LOOPS * WORKERS_PER_LOOP};
    LoopThread *t[LOOPS];

    for (int i = 0; i < LOOPS; i++) {
        t[i] = loop_thread_start("crowd", EVENT_LOOP_AUTO, NULL);
        ck_assert_ptr_nonnull(t[i]);
    }
    for (int i = 0; i < LOOPS * WORKERS_PER_LOOP; i++) {
        event_loop_spawn(loop_thread_loop(t[i % LOOPS]), crowd_member, &c);
    }
    pthread_mutex_lock(&c.lock);
    while (c.left > 0) {
        pthread_cond_wait(&c.cond, &c.lock);
    }
    pthread_mutex_unlock(&c.lock);
    for (int i = 0; i < LOOPS; i++) {
        loop_thread_stop(t[i]);
    }
}

/* --- CoMutex --- */

typedef struct Counter {
    CoMutex mutex;
    long count; /* plain on purpose: only the mutex orders it */
    int inside;
} Counter;

static void counts_under_mutex(void *opaque)
{
    Counter *c = opaque;

    for (int i = 0; i < TEST_ROUNDS(2000); i++) {
        CO_MUTEX_GUARD(&c->mutex);
        ck_assert_int_eq(c->inside, 0);
        c->inside = 1;
        ck_assert(co_mutex_is_held(&c->mutex));
        if (i % 8 == 0) {
            coroutine_reschedule();
        }
        c->count++;
        c->inside = 0;
    }
}

START_TEST(mutex_excludes_coroutines_of_four_loops)
{
    Counter c = {0};

    co_mutex_init(&c.mutex);
    run_crowd(counts_under_mutex, &c);
    ck_assert_int_eq(c.count, (long)TEST_ROUNDS(2000) * LOOPS * WORKERS_PER_LOOP);
    co_mutex_destroy(&c.mutex);
}
END_TEST

typedef struct Arrivals {
    CoMutex mutex;
    GArray *order;
    int next;
} Arrivals;

static int arrives(void *opaque)
{
    Arrivals *a = opaque;
    int me = a->next++;

    CO_MUTEX_GUARD(&a->mutex);
    g_array_append_val(a->order, me);
    coroutine_reschedule();
    return 0;
}

static void arrivals_in_order(void *opaque)
{
    Arrivals a = {.order = g_array_new(FALSE, FALSE, sizeof(int))};
    CoTasks tasks;

    co_mutex_init(&a.mutex);
    co_mutex_lock(&a.mutex);
    co_tasks_init(&tasks, 50);
    for (int i = 0; i < 50; i++) {
        co_tasks_start(&tasks, arrives, &a);
    }
    ck_assert_int_eq(a.order->len, 0);
    co_mutex_unlock(&a.mutex);
    ck_assert(!co_mutex_is_held(&a.mutex));
    ck_assert_int_eq(co_tasks_wait(&tasks), 0);
    ck_assert_int_eq(a.order->len, 50);
    for (int i = 0; i < 50; i++) {
        ck_assert_int_eq(g_array_index(a.order, int, i), i);
    }
    co_mutex_destroy(&a.mutex);
    g_array_free(a.order, TRUE);
}

START_TEST(mutex_waiters_come_in_order_of_arrival)
{
    run_on_fresh_loop(arrivals_in_order, NULL);
}
END_TEST

typedef struct Greedy {
    CoMutex mutex;
    int turns;
    bool waiter_had_it;
} Greedy;

static int waits_once(void *opaque)
{
    Greedy *g = opaque;

    CO_MUTEX_GUARD(&g->mutex);
    g->waiter_had_it = true;
    return 0;
}

/* Takes the lock again whenever it has given it back, before the waiter that was woken can run. */
static void takes_again_and_again(void *opaque)
{
    Greedy g = {0};
    CoTasks tasks;

    co_mutex_init(&g.mutex);
    co_tasks_init(&tasks, 1);
    co_mutex_lock(&g.mutex);
    co_tasks_start(&tasks, waits_once, &g);
    while (!g.waiter_had_it && g.turns < 1000) {
        co_mutex_unlock(&g.mutex);
        co_mutex_lock(&g.mutex);
        g.turns++;
        coroutine_reschedule();
    }
    co_mutex_unlock(&g.mutex);
    ck_assert_int_eq(co_tasks_wait(&tasks), 0);
    co_mutex_destroy(&g.mutex);
    ck_assert(g.waiter_had_it);
    ck_assert_int_gt(g.turns, 1);  /* who runs need not wait for who sleeps */
    ck_assert_int_lt(g.turns, 20); /* but not for ever */
}

START_TEST(mutex_overtaking_is_bounded)
{
    run_on_fresh_loop(takes_again_and_again, NULL);
}
END_TEST

/* --- CoRwlock --- */

typedef struct Shared {
    CoRwlock lock;
    long a, b;          /* equal whenever no writer is inside */
    int readers_inside; /* atomic */
    int most_readers;   /* atomic */
} Shared;

static void reads_and_writes(void *opaque)
{
    Shared *s = opaque;

    for (int i = 0; i < TEST_ROUNDS(1600); i++) {
        if (i % 8 == 0) {
            co_rwlock_wrlock(&s->lock);
            ck_assert_int_eq(g_atomic_int_get(&s->readers_inside), 0);
            s->a++;
            coroutine_reschedule();
            s->b++;
        } else {
            co_rwlock_rdlock(&s->lock);
            int now = g_atomic_int_add(&s->readers_inside, 1) + 1;
            if (now > g_atomic_int_get(&s->most_readers)) {
                g_atomic_int_set(&s->most_readers, now);
            }
            ck_assert_int_eq(s->a, s->b);
            if (i % 4 == 1) {
                coroutine_reschedule();
            }
            g_atomic_int_add(&s->readers_inside, -1);
        }
        co_rwlock_unlock(&s->lock);
    }
}

START_TEST(rwlock_has_many_readers_or_one_writer)
{
    Shared s = {0};

    co_rwlock_init(&s.lock);
    run_crowd(reads_and_writes, &s);
    ck_assert_int_eq(s.a, s.b);
    ck_assert_int_eq(s.a, (long)TEST_ROUNDS(1600) / 8 * LOOPS * WORKERS_PER_LOOP);
    ck_assert_int_gt(s.most_readers, 1);
    co_rwlock_destroy(&s.lock);
}
END_TEST

typedef struct RwOrder {
    CoRwlock lock;
    GString *log;
} RwOrder;

static int logs_as_writer(void *opaque)
{
    RwOrder *o = opaque;

    co_rwlock_wrlock(&o->lock);
    g_string_append_c(o->log, 'w');
    coroutine_reschedule();
    co_rwlock_unlock(&o->lock);
    return 0;
}

static int logs_as_reader(void *opaque)
{
    RwOrder *o = opaque;

    co_rwlock_rdlock(&o->lock);
    g_string_append_c(o->log, 'r');
    coroutine_reschedule();
    g_string_append_c(o->log, '.');
    co_rwlock_unlock(&o->lock);
    return 0;
}

static void writer_before_late_reader(void *opaque)
{
    RwOrder o = {.log = g_string_new(NULL)};
    CoTasks tasks;

    co_rwlock_init(&o.lock);
    co_tasks_init(&tasks, 8);
    co_rwlock_rdlock(&o.lock);
    co_tasks_start(&tasks, logs_as_writer, &o);
    co_tasks_start(&tasks, logs_as_reader, &o);
    co_tasks_start(&tasks, logs_as_reader, &o);
    co_tasks_start(&tasks, logs_as_writer, &o);
    ck_assert_str_eq(o.log->str, "");
    co_rwlock_unlock(&o.lock);
    ck_assert_int_eq(co_tasks_wait(&tasks), 0);
    ck_assert_str_eq(o.log->str, "wrr..w");
    co_rwlock_destroy(&o.lock);
    g_string_free(o.log, TRUE);
}

START_TEST(waiting_writer_holds_back_new_readers)
{
    run_on_fresh_loop(writer_before_late_reader, NULL);
}
END_TEST

/* --- CoQueue: a bounded buffer, filled and emptied from all loops --- */

typedef struct Buffer {
    CoMutex mutex;
    CoQueue not_empty, not_full;
    int items, most;
    long put, got;
    int role; /* atomic: members alternate */
} Buffer;

static void puts_and_gets(void *opaque)
{
    Buffer *b = opaque;
    bool puts = g_atomic_int_add(&b->role, 1) % 2 == 0;

    for (int i = 0; i < TEST_ROUNDS(1000); i++) {
        CO_MUTEX_GUARD(&b->mutex);
        while (puts ? b->items == 3 : b->items == 0) {
            co_queue_wait(puts ? &b->not_full : &b->not_empty, &b->mutex);
            ck_assert(co_mutex_is_held(&b->mutex));
        }
        b->items += puts ? 1 : -1;
        *(puts ? &b->put : &b->got) += 1;
        b->most = MAX(b->most, b->items);
        co_queue_wake_one(puts ? &b->not_empty : &b->not_full);
    }
}

START_TEST(queue_loses_no_wake_between_four_loops)
{
    Buffer b = {0};

    co_mutex_init(&b.mutex);
    co_queue_init(&b.not_empty);
    co_queue_init(&b.not_full);
    run_crowd(puts_and_gets, &b);
    ck_assert_int_eq(b.items, 0);
    ck_assert_int_eq(b.put, b.got);
    ck_assert_int_le(b.most, 3);
    ck_assert(co_queue_is_empty(&b.not_empty) && co_queue_is_empty(&b.not_full));
    co_mutex_destroy(&b.mutex);
}
END_TEST

/* The same with a plain mutex: all wait until the last has come. */
typedef struct Gate {
    pthread_mutex_t lock;
    CoQueue queue;
    int came, passed;
} Gate;

static void passes_gate(void *opaque)
{
    Gate *g = opaque;

    PTHREAD_GUARD(&g->lock);
    if (++g->came == LOOPS * WORKERS_PER_LOOP) {
        co_queue_wake_all(&g->queue);
    } else {
        co_queue_wait_pthread(&g->queue, &g->lock);
    }
    ck_assert_int_eq(g->came, LOOPS * WORKERS_PER_LOOP);
    g->passed++;
}

START_TEST(wake_all_wakes_waiters_of_every_loop)
{
    Gate g = {.lock = PTHREAD_MUTEX_INITIALIZER};

    co_queue_init(&g.queue);
    ck_assert(!co_queue_wake_one(&g.queue));
    run_crowd(passes_gate, &g);
    ck_assert_int_eq(g.passed, LOOPS * WORKERS_PER_LOOP);
}
END_TEST

static Suite *co_lock_suite(void)
{
    Suite *s = suite_create("co-lock");
    TCase *tc = tcase_create("co-lock");

    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, mutex_excludes_coroutines_of_four_loops);
    tcase_add_test(tc, mutex_waiters_come_in_order_of_arrival);
    tcase_add_test(tc, mutex_overtaking_is_bounded);
    tcase_add_test(tc, rwlock_has_many_readers_or_one_writer);
    tcase_add_test(tc, waiting_writer_holds_back_new_readers);
    tcase_add_test(tc, queue_loses_no_wake_between_four_loops);
    tcase_add_test(tc, wake_all_wakes_waiters_of_every_loop);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return run_suite_per_engine(co_lock_suite);
}
