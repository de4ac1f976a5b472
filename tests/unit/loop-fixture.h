/* SPDX-License-Identifier: MIT */
/* What tests of coroutine code share: loops of each engine, a body run in a coroutine, a suite run per engine. */
#ifndef QBLOCK_TESTS_UNIT_LOOP_FIXTURE_H
#define QBLOCK_TESTS_UNIT_LOOP_FIXTURE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/suite.h"
#include "util/loop/event-loop.h"

/* Rounds of a stress test; sanitizer builds are many times slower. */
#if defined(QBLOCK_ASAN) || defined(QBLOCK_TSAN)
#define TEST_ROUNDS(n) (MAX((n) / 20, 1))
#else
#define TEST_ROUNDS(n) (n)
#endif

/* Run @entry(@opaque) in a coroutine on a fresh loop of this thread. */
static inline void run_on_fresh_loop(CoroutineEntry *entry, void *opaque)
{
    GError *err = NULL;
    EventLoop *loop = event_loop_new(EVENT_LOOP_AUTO, &err);

    ck_assert_msg(loop != NULL, "%s", err ? err->message : "no loop");
    event_loop_run_co(loop, entry, opaque);
    event_loop_free(loop);
}

/* Run the suite once per engine; a kernel without io_uring skips that one aloud. */
static inline int run_suite_per_engine(Suite *(*make)(void))
{
    static const char *const engines[] = {"epoll", "io_uring"};
    int failed = 0;

    for (size_t i = 0; i < G_N_ELEMENTS(engines); i++) {
        g_setenv("QBLOCK_LOOP", engines[i], TRUE);
        GError *err = NULL;
        EventLoop *probe = event_loop_new(EVENT_LOOP_AUTO, &err);
        if (!probe) {
            printf("SKIP %s: %s\n", engines[i], err->message);
            g_error_free(err);
            continue;
        }
        event_loop_free(probe);
        printf("engine %s\n", engines[i]);
        failed |= run_suite(make());
    }
    return failed;
}

#endif
