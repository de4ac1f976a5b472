/* SPDX-License-Identifier: MIT */
/* Which of two ways to do a kind of job is the faster one here and now: found out by doing the jobs.
 *
 * Jobs come in windows, each done one way. From time to time a window is done the other way and compared with the one
 * before. One try says little, for windows are short and machines are noisy: a try that was faster is repeated soon,
 * and the way changes once the other one has won clearly more often than it has lost. Whether a hand-over pays depends
 * on what else the machine does, which no estimate at start can know. Pure; one cell belongs to one thread. */
#ifndef QBLOCK_UTIL_OFFLOAD_TUNE_H
#define QBLOCK_UTIL_OFFLOAD_TUNE_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed before first use. */
typedef struct OffloadTune {
    bool known;        /* @pool and @doubt have been set */
    bool pool;         /* the better way: true = handed over, false = inline */
    bool trying;       /* this window is done the other way */
    unsigned doubt;    /* tries that the other way won, less those that it lost; 0: none */
    unsigned period;   /* windows of the better way between two tries when there is no doubt */
    unsigned left;     /* windows of the better way before the next try */
    double speed;      /* work over time of its last window */
    /* This window. */
    bool cold;         /* it has just begun, and what has been done so far does not count */
    unsigned jobs;
    uint64_t work_ns;  /* their estimated cost */
    uint64_t spent_ns; /* the time they took, each on its own */
    uint64_t begin_ns; /* moved by the time without a job; 0: no job yet */
    /* Of all windows. */
    unsigned inflight; /* jobs chosen for and not done */
    uint64_t last_ns;  /* when the last one was done */
} OffloadTune;

/* How the next job is to be done: true = handed over. @prior: what the estimates say, used until more is known. Each
 * call is followed by one of offload_tune_done(). */
bool offload_tune_choose(OffloadTune *t, bool prior, uint64_t now_ns);

/* A job of estimated cost @cost_ns was done in the way @pool, from @start_ns to @now_ns. @busy: jobs overlap, so what
 * counts is how many come out of a window, not how long each took. */
void offload_tune_done(OffloadTune *t, bool pool, bool busy, uint64_t cost_ns, uint64_t start_ns, uint64_t now_ns);

#endif
