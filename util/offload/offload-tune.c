/* SPDX-License-Identifier: MIT */
#include "util/offload/offload-tune.h"

#include <glib.h>

enum {
    ALONE_JOBS = 8,            /* of a window */
    BUSY_JOBS = 64,            /* more than are under way at once */
    WARM_UP_NS = 100000,       /* when the way changes: workers wake up, what is under way comes to its end */
    WINDOW_NS = 200000,        /* it lasts as long, after that */
    LONG_WINDOW_NS = 20000000, /* enough, with a quarter of the jobs */
    SHORTEST_PERIOD = 2,
    LONGEST_PERIOD = 40, /* a try that takes half as long again costs about 1 % then */
    DOUBT_SWITCHES = 3,
    DOUBT_AT_FIRST = DOUBT_SWITCHES - 1, /* nothing is known: one try that is won is enough */
    DOUBT_AFTER_SWITCH = 1,              /* looks again soon */
};
#define CLEARLY_BETTER 1.04 /* less is noise: not won */
#define HOPELESS       0.7  /* a try is given up early below that */

bool offload_tune_choose(OffloadTune *t, bool prior, uint64_t now_ns)
{
    if (!t->known) {
        t->known = true;
        t->pool = prior;
        t->cold = true;
        t->doubt = DOUBT_AT_FIRST;
        t->period = t->left = 1;
    }
    if (t->begin_ns == 0) {
        t->begin_ns = now_ns;
    } else if (t->inflight == 0) {
        t->begin_ns += now_ns - t->last_ns; /* nobody had a job for us meanwhile */
    }
    t->inflight++;
    return t->pool != t->trying;
}

/* A try is over; the other way won or not. */
static void weigh(OffloadTune *t, bool won)
{
    if (won) {
        t->period = SHORTEST_PERIOD;
        if (++t->doubt == DOUBT_SWITCHES) {
            t->pool = !t->pool;
            t->doubt = DOUBT_AFTER_SWITCH;
        }
    } else {
        t->period = MIN(2 * t->period, LONGEST_PERIOD);
        t->doubt -= t->doubt > 0;
    }
    t->left = t->doubt > 0 ? SHORTEST_PERIOD : t->period;
}

/* The window is over: its speed is known. */
static void end_window(OffloadTune *t, double speed)
{
    if (t->trying) {
        weigh(t, speed > t->speed * CLEARLY_BETTER);
        t->trying = false;
    } else {
        t->speed = speed;
        t->trying = t->cold = --t->left == 0;
    }
    t->jobs = 0;
    t->work_ns = t->spent_ns = t->begin_ns = 0;
}

void offload_tune_done(OffloadTune *t, bool pool, bool busy, uint64_t cost_ns, uint64_t start_ns, uint64_t now_ns)
{
    unsigned jobs = busy ? BUSY_JOBS : ALONE_JOBS;

    t->inflight--;
    t->last_ns = now_ns;
    if (pool != (t->pool != t->trying) || t->begin_ns == 0) {
        return; /* begun in the window before */
    }
    t->jobs++;
    t->work_ns += cost_ns;
    t->spent_ns += now_ns - start_ns;
    uint64_t time_ns = MAX(busy ? now_ns - t->begin_ns : t->spent_ns, 1);
    if (t->cold) {
        if (time_ns >= WARM_UP_NS) {
            t->cold = false;
            t->work_ns = t->spent_ns = 0;
            t->begin_ns = now_ns;
        }
        return;
    }
    double speed = (double)t->work_ns / time_ns;
    bool full = t->jobs >= jobs && time_ns >= WINDOW_NS;
    bool some = t->jobs >= jobs / 4;
    if (full || (some && (time_ns >= LONG_WINDOW_NS || (t->trying && speed < t->speed * HOPELESS)))) {
        end_window(t, speed);
    }
}
