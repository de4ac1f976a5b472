/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/loop-fixture.h"
#include "util/coroutine/co-tasks.h"
#include "util/loop/loop-timer.h"
#include "util/thread/thread-pool.h"

#define LOOPS 4

/* A scratch file that is gone when the test ends. */
static int scratch_file(int flags)
{
    char name[] = "test-event-loop-XXXXXX";
    int fd = mkostemp(name, flags);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(unlink(name), 0);
    return fd;
}

/* --- file I/O --- */

static void write_then_read(void *opaque)
{
    LoopIoBy by = *(const LoopIoBy *)opaque;
    int fd = scratch_file(0);
    char a[3000], b[5000], in[8000];
    struct iovec out[2] = {{a, sizeof(a)}, {b, sizeof(b)}};
    struct iovec back = {in, sizeof(in)};

    memset(a, 'a', sizeof(a));
    memset(b, 'b', sizeof(b));
    ck_assert_int_eq(loop_co_pwritev(fd, out, 2, 100, 0, by), 8000);
    ck_assert_int_eq(loop_co_fdatasync(fd, by == LOOP_IO_HERE ? LOOP_IO_ENGINE : by), 0);
    ck_assert_int_eq(loop_co_preadv(fd, &back, 1, 100, by), 8000);
    ck_assert(!memcmp(in, a, sizeof(a)) && !memcmp(in + sizeof(a), b, sizeof(b)));
    /* Short at the end of the file, nothing behind it. */
    ck_assert_int_eq(loop_co_preadv(fd, &back, 1, 8000, by), 100);
    ck_assert_int_eq(loop_co_preadv(fd, &back, 1, 1 << 20, by), 0);
    ck_assert_int_eq(loop_co_pwritev(fd, out, 1, 0, RWF_DSYNC, by), 3000);
    ck_assert_int_eq(loop_co_preadv(-1, &back, 1, 0, by), -EBADF);
    ck_assert_int_eq(loop_co_pwritev(-1, out, 1, 0, 0, by), -EBADF);
    close(fd);
}

START_TEST(what_is_written_is_read_back)
{
    static const LoopIoBy by[] = {LOOP_IO_ENGINE, LOOP_IO_WORKER, LOOP_IO_HERE};

    run_on_fresh_loop(write_then_read, (void *)&by[_i]);
}
END_TEST

static void reads_dropped_pages(void *opaque)
{
    int fd = scratch_file(0);
    g_autofree char *buf = g_malloc0(1 << 20);
    struct iovec iov = {buf, 1 << 20};
    size_t got = 0;

    memset(buf, 0x5a, 1 << 20);
    ck_assert_int_eq(loop_co_pwritev(fd, &iov, 1, 0, 0, LOOP_IO_ENGINE), 1 << 20);
    ck_assert_int_eq(loop_co_fdatasync(fd, LOOP_IO_ENGINE), 0);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    memset(buf, 0, 1 << 20);
    while (got < 1 << 20) {
        struct iovec rest = {buf + got, (1 << 20) - got};
        ssize_t n = loop_co_preadv(fd, &rest, 1, (int64_t)got, LOOP_IO_ENGINE);
        ck_assert_int_gt(n, 0);
        got += (size_t)n;
    }
    ck_assert_int_eq(buf[0], 0x5a);
    ck_assert(!memcmp(buf, buf + 1, (1 << 20) - 1));
    close(fd);
}

START_TEST(reads_outside_the_page_cache_arrive_too)
{
    run_on_fresh_loop(reads_dropped_pages, NULL);
}
END_TEST

static void direct_io(void *opaque)
{
    int fd = scratch_file(0);
    void *buf = NULL;

    ck_assert_int_eq(posix_memalign(&buf, 4096, 65536), 0);
    struct iovec iov = {buf, 65536};
    memset(buf, 0x3c, 65536);
    if (fcntl(fd, F_SETFL, O_DIRECT) == 0) { /* not every file system has it */
        ck_assert_int_eq(loop_co_pwritev(fd, &iov, 1, 0, 0, LOOP_IO_ENGINE), 65536);
        memset(buf, 0, 65536);
        ck_assert_int_eq(loop_co_preadv(fd, &iov, 1, 0, LOOP_IO_ENGINE), 65536);
        ck_assert_int_eq(((char *)buf)[65535], 0x3c);
    }
    free(buf);
    close(fd);
}

START_TEST(direct_io_goes_through_the_engine)
{
    run_on_fresh_loop(direct_io, NULL);
}
END_TEST

static void bad_calls(void *opaque)
{
    int fd = scratch_file(0);
    int read_only = open("/dev/null", O_RDONLY | O_CLOEXEC);
    char c = 0;
    struct iovec iov = {&c, 1};
    g_autofree struct iovec *many = g_new(struct iovec, 1025);

    for (int i = 0; i < 1025; i++) {
        many[i] = iov;
    }
    ck_assert_int_eq(loop_co_preadv(fd, many, 1025, 0, LOOP_IO_ENGINE), -EINVAL);
    ck_assert_int_eq(loop_co_pwritev(fd, many, 1025, 0, 0, LOOP_IO_ENGINE), -EINVAL);
    ck_assert_int_eq(loop_co_pwritev(fd, many, 1024, 0, 0, LOOP_IO_ENGINE), 1024);
    ck_assert_int_eq(loop_co_preadv(fd, &iov, -1, 0, LOOP_IO_ENGINE), -EINVAL);
    ck_assert_int_eq(loop_co_preadv(fd, &iov, 1, -1, LOOP_IO_ENGINE), -EINVAL);
    ck_assert_int_eq(loop_co_pwritev(fd, &iov, 1, -1, 0, LOOP_IO_ENGINE), -EINVAL);
    ck_assert_int_eq(loop_co_preadv(fd, &iov, 0, 0, LOOP_IO_ENGINE), 0);
    ck_assert_int_eq(loop_co_preadv(-1, &iov, 1, 0, LOOP_IO_ENGINE), -EBADF);
    ck_assert_int_eq(loop_co_pwritev(-1, &iov, 1, 0, 0, LOOP_IO_ENGINE), -EBADF);
    ck_assert_int_eq(loop_co_fdatasync(-1, LOOP_IO_ENGINE), -EBADF);
    ck_assert_int_eq(loop_co_pwritev(read_only, &iov, 1, 0, 0, LOOP_IO_ENGINE), -EBADF);
    close(read_only);
    close(fd);
}

START_TEST(bad_calls_are_errors_of_the_call)
{
    run_on_fresh_loop(bad_calls, NULL);
}
END_TEST

typedef struct RandomIo {
    int fd;
    unsigned seed;
} RandomIo;

static int writes_own_blocks(void *opaque)
{
    RandomIo *io = opaque;
    char block[4096], back[4096];
    struct iovec out = {block, sizeof(block)};
    struct iovec in = {back, sizeof(back)};

    for (int i = 0; i < TEST_ROUNDS(20); i++) {
        int64_t off = ((int64_t)io->seed * 20 + i) * 4096;
        memset(block, (int)(io->seed + (unsigned)i) & 0xff, sizeof(block));
        ck_assert_int_eq(loop_co_pwritev(io->fd, &out, 1, off, 0, LOOP_IO_ENGINE), 4096);
        ck_assert_int_eq(loop_co_preadv(io->fd, &in, 1, off, LOOP_IO_ENGINE), 4096);
        ck_assert(!memcmp(block, back, 4096));
    }
    return 0;
}

/* More in flight than a submission queue has entries. */
static void deep_queue(void *opaque)
{
    int fd = scratch_file(0);
    g_autofree RandomIo *ios = g_new0(RandomIo, 600);
    CoTasks tasks;

    co_tasks_init(&tasks, 600);
    for (unsigned i = 0; i < 600; i++) {
        ios[i] = (RandomIo){fd, i};
        ck_assert_int_eq(co_tasks_start(&tasks, writes_own_blocks, &ios[i]), 0);
    }
    ck_assert_int_eq(co_tasks_wait(&tasks), 0);
    close(fd);
}

START_TEST(more_calls_than_queue_entries_all_finish)
{
    run_on_fresh_loop(deep_queue, NULL);
}
END_TEST

static int counts_turns(void *opaque)
{
    int *turns = opaque;

    for (int i = 0; i < 50; i++) {
        coroutine_reschedule();
        ++*turns;
    }
    return 0;
}

static void reads_cached_all_the_time(void *opaque)
{
    int fd = scratch_file(0);
    char buf[512] = "x";
    struct iovec iov = {buf, sizeof(buf)};
    CoTasks tasks;
    int turns = 0;
    int reads = 0;

    ck_assert_int_eq(loop_co_pwritev(fd, &iov, 1, 0, 0, LOOP_IO_ENGINE), 512);
    co_tasks_init(&tasks, 1);
    ck_assert_int_eq(co_tasks_start(&tasks, counts_turns, &turns), 0);
    while (turns < 50 && reads < 100000) {
        ck_assert_int_eq(loop_co_preadv(fd, &iov, 1, 0, LOOP_IO_ENGINE), 512);
        reads++;
    }
    ck_assert_int_eq(turns, 50);
    ck_assert_int_eq(co_tasks_wait(&tasks), 0);
    close(fd);
}

START_TEST(reads_from_the_page_cache_do_not_starve_other_coroutines)
{
    run_on_fresh_loop(reads_cached_all_the_time, NULL);
}
END_TEST

/* --- poll --- */

typedef struct Pipe {
    int rd, wr;
    int polled;
} Pipe;

static int polls_for_input(void *opaque)
{
    Pipe *p = opaque;

    p->polled = loop_co_poll(p->rd, POLLIN);
    return 0;
}

static void poll_pipe(void *opaque)
{
    int fds[2];
    CoTasks tasks;

    ck_assert_int_eq(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    Pipe p = {.rd = fds[0], .wr = fds[1]};
    Pipe q = p; /* two waiters on one descriptor */
    co_tasks_init(&tasks, 2);
    co_tasks_start(&tasks, polls_for_input, &p);
    co_tasks_start(&tasks, polls_for_input, &q);
    loop_co_sleep_ns(1000000);
    ck_assert_int_eq(p.polled, 0);
    ck_assert_int_eq(loop_co_poll(p.wr, POLLOUT), POLLOUT);
    ck_assert_int_eq(write(p.wr, "x", 1), 1);
    ck_assert_int_eq(co_tasks_wait(&tasks), 0);
    ck_assert_int_eq(p.polled, POLLIN);
    ck_assert_int_eq(q.polled, POLLIN);
    close(p.wr);
    ck_assert_int_eq(loop_co_poll(p.rd, POLLIN) & (POLLIN | POLLHUP), POLLIN | POLLHUP);
    close(p.rd);
    ck_assert_int_eq(loop_co_poll(p.rd, POLLIN), -EBADF);
}

START_TEST(poll_waits_for_a_pipe)
{
    run_on_fresh_loop(poll_pipe, NULL);
}
END_TEST

/* Both directions of one socket, each answered for itself. */
static void poll_both_ways(void *opaque)
{
    int fds[2];
    CoTasks tasks;
    int fd = scratch_file(0);

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    Pipe p = {.rd = fds[0]};
    co_tasks_init(&tasks, 1);
    co_tasks_start(&tasks, polls_for_input, &p);
    ck_assert_int_eq(loop_co_poll(fds[0], POLLOUT), POLLOUT);
    ck_assert_int_eq(p.polled, 0);
    ck_assert_int_eq(write(fds[1], "x", 1), 1);
    ck_assert_int_eq(co_tasks_wait(&tasks), 0);
    ck_assert_int_eq(p.polled, POLLIN);
    /* A regular file is always ready. */
    ck_assert_int_eq(loop_co_poll(fd, POLLIN) & POLLIN, POLLIN);
    close(fd);
    close(fds[0]);
    close(fds[1]);
}

START_TEST(poll_tells_directions_apart)
{
    run_on_fresh_loop(poll_both_ways, NULL);
}
END_TEST

/* --- timers --- */

START_TEST(timers_come_due_in_order_of_deadline_then_of_arming)
{
    LoopTimers t;
    char names[200]; /* stand for coroutines */
    int64_t last_ns = 0;
    ptrdiff_t last = -1;

    loop_timers_init(&t);
    for (int i = 0; i < 200; i++) {
        loop_timers_add(&t, 1000 + i * 7919 % 50, (Coroutine *)&names[i]);
    }
    ck_assert_int_eq(loop_timers_wait_ns(&t, 400), 600);
    ck_assert_int_eq(loop_timers_wait_ns(&t, 4000), 0);
    ck_assert_ptr_null(loop_timers_pop_due(&t, 999));
    for (int n = 0; n < 200; n++) {
        ptrdiff_t i = (char *)loop_timers_pop_due(&t, 2000) - names;
        int64_t deadline_ns = 1000 + i * 7919 % 50;

        ck_assert(deadline_ns > last_ns || (deadline_ns == last_ns && i > last));
        last_ns = deadline_ns;
        last = i;
    }
    ck_assert_int_eq(loop_timers_wait_ns(&t, 0), -1);
    loop_timers_destroy(&t);
}
END_TEST

static int sleeps(void *opaque)
{
    int64_t ns = *(int64_t *)opaque;
    int64_t start_ns = clock_monotonic_ns();

    loop_co_sleep_ns(ns);
    ck_assert_int_ge(clock_monotonic_ns() - start_ns, ns);
    return 0;
}

static void many_sleepers(void *opaque)
{
    int64_t ns[] = {30000000, 100000, 0, 20000000, 1, -5, 100000};
    int64_t start_ns = clock_monotonic_ns();
    CoTasks tasks;

    co_tasks_init(&tasks, G_N_ELEMENTS(ns));
    for (size_t i = 0; i < G_N_ELEMENTS(ns); i++) {
        co_tasks_start(&tasks, sleeps, &ns[i]);
    }
    ck_assert_int_eq(co_tasks_wait(&tasks), 0);
    ck_assert_int_lt(clock_monotonic_ns() - start_ns, INT64_C(5000000000));
}

START_TEST(sleepers_sleep_at_least_as_long_as_they_asked_for)
{
    run_on_fresh_loop(many_sleepers, NULL);
}
END_TEST

/* --- several loops --- */

typedef struct Ring Ring;

/* One of several coroutines that pass a token round, each on a loop of its own. */
typedef struct RingSeat {
    Ring *ring;
    _Atomic(Coroutine *) co;
} RingSeat;

struct Ring {
    RingSeat seats[LOOPS];
    int laps;
    long hops; /* only who has the token touches it */
    atomic_int seated;
    pthread_mutex_t lock;
    pthread_cond_t cond;
    int ended;
};

static void rings_token(void *opaque)
{
    RingSeat *seat = opaque;
    Ring *ring = seat->ring;
    int me = (int)(seat - ring->seats);

    atomic_store(&seat->co, coroutine_self());
    if (atomic_fetch_add(&ring->seated, 1) == LOOPS - 1) {
        coroutine_wake(atomic_load(&ring->seats[0].co)); /* the token enters */
    }
    for (int lap = 0; lap < ring->laps; lap++) {
        coroutine_yield();
        ring->hops++;
        if (me + 1 < LOOPS || lap + 1 < ring->laps) {
            coroutine_wake(atomic_load(&ring->seats[(me + 1) % LOOPS].co));
        }
    }
    pthread_mutex_lock(&ring->lock);
    ring->ended++;
    pthread_cond_signal(&ring->cond);
    pthread_mutex_unlock(&ring->lock);
}

START_TEST(token_goes_round_four_loops_without_a_lost_wake)
{
    Ring ring = {.laps = TEST_ROUNDS(5000), .lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};
    LoopThread *t[LOOPS];

    for (int i = 0; i < LOOPS; i++) {
        t[i] = loop_thread_start("seat", EVENT_LOOP_AUTO, NULL);
        ck_assert_ptr_nonnull(t[i]);
        ring.seats[i].ring = &ring;
    }
    for (int i = 0; i < LOOPS; i++) {
        event_loop_spawn(loop_thread_loop(t[i]), rings_token, &ring.seats[i]);
    }
    pthread_mutex_lock(&ring.lock);
    while (ring.ended < LOOPS) {
        pthread_cond_wait(&ring.cond, &ring.lock);
    }
    pthread_mutex_unlock(&ring.lock);
    for (int i = 0; i < LOOPS; i++) {
        loop_thread_stop(t[i]);
    }
    ck_assert_int_eq(ring.hops, (long)TEST_ROUNDS(5000) * LOOPS);
}
END_TEST

static atomic_int finished;

static void sleeps_then_counts(void *opaque)
{
    loop_co_sleep_ns((int64_t)(uintptr_t)opaque * 1000);
    atomic_fetch_add(&finished, 1);
}

START_TEST(stop_waits_for_every_coroutine_of_the_loop)
{
    LoopThread *t = loop_thread_start("stopper", EVENT_LOOP_AUTO, NULL);

    atomic_store(&finished, 0);
    for (uintptr_t i = 0; i < 100; i++) {
        event_loop_spawn(loop_thread_loop(t), sleeps_then_counts, (void *)(i * 100));
    }
    loop_thread_stop(t);
    ck_assert_int_eq(atomic_load(&finished), 100);
}
END_TEST

/* Threads that spawn onto one loop while it goes to sleep and wakes all the time. */
static void counts_once(void *opaque)
{
    atomic_fetch_add(&finished, 1);
}

static void *spawns_many(void *opaque)
{
    for (int i = 0; i < TEST_ROUNDS(20000); i++) {
        event_loop_spawn(opaque, counts_once, NULL);
        if (i % 64 == 0) {
            usleep(20); /* let it fall asleep */
        }
    }
    return NULL;
}

START_TEST(spawns_from_many_threads_are_all_run)
{
    LoopThread *t = loop_thread_start("target", EVENT_LOOP_AUTO, NULL);
    pthread_t threads[LOOPS];

    atomic_store(&finished, 0);
    for (int i = 0; i < LOOPS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, spawns_many, loop_thread_loop(t)), 0);
    }
    for (int i = 0; i < LOOPS; i++) {
        pthread_join(threads[i], NULL);
    }
    loop_thread_stop(t);
    ck_assert_int_eq(atomic_load(&finished), TEST_ROUNDS(20000) * LOOPS);
}
END_TEST

/* The last wake races with the loop's end: the worker may still be on its way out of coroutine_wake(). */
static int no_op(void *arg)
{
    return 7;
}

static void submits_one(void *opaque)
{
    ck_assert_int_eq(thread_pool_submit_co(no_op, NULL), 7);
}

START_TEST(loop_may_be_freed_right_after_its_last_wake)
{
    for (int i = 0; i < TEST_ROUNDS(500); i++) {
        run_on_fresh_loop(submits_one, NULL);
    }
}
END_TEST

START_TEST(engine_follows_the_environment)
{
    EventLoop *loop = event_loop_new(EVENT_LOOP_AUTO, NULL);

    ck_assert_str_eq(event_loop_engine_name(loop), g_getenv("QBLOCK_LOOP"));
    ck_assert_ptr_eq(event_loop_current(), loop);
    event_loop_free(loop);
    ck_assert_ptr_null(event_loop_current());
}
END_TEST

START_TEST(engine_that_the_environment_names_must_be_one)
{
    g_autofree char *engine = g_strdup(g_getenv("QBLOCK_LOOP"));
    g_autoptr(GError) err = NULL;

    g_setenv("QBLOCK_LOOP", "foo", TRUE);
    ck_assert_ptr_null(event_loop_new(EVENT_LOOP_AUTO, &err));
    ck_assert_str_eq(err->message, "QBLOCK_LOOP=foo is not io_uring or epoll");
    ck_assert_ptr_null(event_loop_current());
    event_loop_free(event_loop_new(EVENT_LOOP_EPOLL, NULL)); /* the caller has said which */
    g_setenv("QBLOCK_LOOP", "", TRUE);
    event_loop_free(event_loop_new(EVENT_LOOP_AUTO, NULL));
    g_setenv("QBLOCK_LOOP", engine, TRUE);
}
END_TEST

/* --- GLib --- */

typedef struct GlibRun {
    GMainLoop *main;
    int slept;
    int worked;
} GlibRun;

static void works_under_glib(void *opaque)
{
    GlibRun *g = opaque;

    for (int i = 0; i < 20; i++) {
        loop_co_sleep_ns(500000);
        g->slept++;
        g->worked += thread_pool_submit_co(no_op, NULL) == 7;
    }
    LoopIoBy by = LOOP_IO_ENGINE;
    write_then_read(&by);
    poll_pipe(NULL);
    g_main_loop_quit(g->main);
}

START_TEST(glib_main_loop_runs_the_loop)
{
    g_autoptr(GMainContext) context = g_main_context_new();
    GlibRun g = {.main = g_main_loop_new(context, FALSE)};
    EventLoop *loop = event_loop_new(EVENT_LOOP_AUTO, NULL);
    GSource *source = event_loop_gsource_new(loop);

    g_source_attach(source, context);
    event_loop_spawn(loop, works_under_glib, &g);
    g_main_loop_run(g.main);
    ck_assert_int_eq(g.slept, 20);
    ck_assert_int_eq(g.worked, 20);
    g_source_destroy(source);
    g_source_unref(source);
    g_main_loop_unref(g.main);
    event_loop_free(loop);
}
END_TEST

static gboolean quits(gpointer data)
{
    g_main_loop_quit(data);
    return G_SOURCE_REMOVE;
}

static gboolean prepare_counts(GSource *source, gint *timeout)
{
    ++*(int *)(source + 1);
    *timeout = -1;
    return FALSE;
}

/* An idle loop must let the main loop sleep; also after wakes that came while it was awake. */
START_TEST(idle_loop_does_not_spin_under_glib)
{
    static GSourceFuncs funcs = {.prepare = prepare_counts};
    g_autoptr(GMainContext) context = g_main_context_new();
    GlibRun g = {.main = g_main_loop_new(context, FALSE)};
    EventLoop *loop = event_loop_new(EVENT_LOOP_AUTO, NULL);
    GSource *source = event_loop_gsource_new(loop);
    GSource *timer = g_timeout_source_new(100);
    GSource *counter = g_source_new(&funcs, sizeof(GSource) + sizeof(int));
    int *iterations = (int *)(counter + 1);

    g_source_attach(source, context);
    event_loop_spawn(loop, works_under_glib, &g);
    g_main_loop_run(g.main);

    *iterations = 0;
    g_source_attach(counter, context);
    g_source_set_callback(timer, quits, g.main, NULL);
    g_source_attach(timer, context);
    g_main_loop_run(g.main);
    ck_assert_int_lt(*iterations, 10);

    g_source_destroy(counter);
    g_source_unref(counter);
    g_source_unref(timer);
    g_source_destroy(source);
    g_source_unref(source);
    g_main_loop_unref(g.main);
    event_loop_free(loop);
}
END_TEST

static Suite *event_loop_suite(void)
{
    Suite *s = suite_create("event-loop");
    TCase *io = tcase_create("io");
    TCase *loops = tcase_create("loops");

    tcase_set_timeout(io, 20);
    tcase_add_test(io, engine_follows_the_environment);
    tcase_add_test(io, engine_that_the_environment_names_must_be_one);
    tcase_add_test(io, what_is_written_is_read_back);
    tcase_add_test(io, reads_outside_the_page_cache_arrive_too);
    tcase_add_test(io, direct_io_goes_through_the_engine);
    tcase_add_test(io, bad_calls_are_errors_of_the_call);
    tcase_add_test(io, more_calls_than_queue_entries_all_finish);
    tcase_add_test(io, reads_from_the_page_cache_do_not_starve_other_coroutines);
    tcase_add_test(io, poll_waits_for_a_pipe);
    tcase_add_test(io, poll_tells_directions_apart);
    tcase_add_test(io, timers_come_due_in_order_of_deadline_then_of_arming);
    tcase_add_test(io, sleepers_sleep_at_least_as_long_as_they_asked_for);
    suite_add_tcase(s, io);
    tcase_set_timeout(loops, 20);
    tcase_add_test(loops, token_goes_round_four_loops_without_a_lost_wake);
    tcase_add_test(loops, stop_waits_for_every_coroutine_of_the_loop);
    tcase_add_test(loops, spawns_from_many_threads_are_all_run);
    tcase_add_test(loops, loop_may_be_freed_right_after_its_last_wake);
    tcase_add_test(loops, glib_main_loop_runs_the_loop);
    tcase_add_test(loops, idle_loop_does_not_spin_under_glib);
    suite_add_tcase(s, loops);
    return s;
}

int main(void)
{
    return run_suite_per_engine(event_loop_suite);
}
