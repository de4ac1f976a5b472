/* SPDX-License-Identifier: MIT */
/* LoopTimers: the sleeping coroutines of one loop, a binary heap by deadline. Only on the loop's thread. */
#ifndef QBLOCK_UTIL_LOOP_TIMER_H
#define QBLOCK_UTIL_LOOP_TIMER_H

#include <stddef.h>
#include <stdint.h>

#include "util/coroutine/coroutine.h"

typedef struct LoopTimer {
    int64_t deadline_ns; /* clock_monotonic_ns() */
    uint64_t seq;        /* equal deadlines go in order of arming */
    Coroutine *co;
} LoopTimer;

typedef struct LoopTimers {
    LoopTimer *heap; /* heap[0] is the next one due */
    size_t count, capacity;
    uint64_t next_seq;
} LoopTimers;

void loop_timers_init(LoopTimers *t);
void loop_timers_destroy(LoopTimers *t); /* must be empty */
void loop_timers_add(LoopTimers *t, int64_t deadline_ns, Coroutine *co);

/* Nanoseconds from @now_ns until the next one is due (0: it is), -1 without timers. */
int64_t loop_timers_wait_ns(const LoopTimers *t, int64_t now_ns);

/* Remove and return one coroutine that is due, or NULL. */
Coroutine *loop_timers_pop_due(LoopTimers *t, int64_t now_ns);

#endif
