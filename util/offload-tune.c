/* SPDX-License-Identifier: MIT */
#include "util/offload-tune.h"

#include <glib.h>

enum {
    ALONE_JOBS = 8,            /* of a window */
    BUSY_JOBS = 64,            /* more than are under way at once */
    WINDOW_NS = 200000,        /* and it lasts as long */
    LONG_WINDOW_NS = 20000000, /* enough, with a quarter of the jobs */
    FIRST_PERIOD = 1,
    AFTER_SWITCH_PERIOD = 4,
    LONGEST_PERIOD = 64,
};
#define CLEARLY_BETTER 1.04 /* less is noise: the way stays */
#define HOPELESS       0.7  /* a try is given up early below that */

bool offload_tune_choose(OffloadTune *t, bool prior, uint64_t now_ns)
{
    if (!t->known) {
        t->known = true;
        t->pool = prior;
        t->period = t->left = FIRST_PERIOD;
    }
    if (t->begin_ns == 0) {
        t->begin_ns = now_ns;
    } else if (t->inflight == 0) {
        t->begin_ns += now_ns - t->last_ns; /* nobody had a job for us meanwhile */
    }
    t->inflight++;
    return t->pool != t->trying;
}

static void next_window(OffloadTune *t)
{
    t->jobs = 0;
    t->work_ns = t->spent_ns = t->begin_ns = 0;
}

/* The window is over: its speed is known. */
static void judge(OffloadTune *t, double speed)
{
    bool way = t->pool != t->trying;

    t->speed[way] = speed;
    if (!t->trying) {
        t->trying = --t->left == 0;
    } else {
        bool switched = speed > t->speed[t->pool] * CLEARLY_BETTER;

        t->pool ^= switched;
        t->period = switched ? AFTER_SWITCH_PERIOD : MIN(2 * t->period, LONGEST_PERIOD);
        t->left = t->period;
        t->trying = false;
    }
    next_window(t);
}

void offload_tune_done(OffloadTune *t, bool pool, bool busy, uint64_t cost_ns, uint64_t start_ns, uint64_t now_ns)
{
    unsigned jobs = busy ? BUSY_JOBS : ALONE_JOBS;
    uint64_t time_ns;

    t->inflight--;
    t->last_ns = now_ns;
    if (pool != (t->pool != t->trying) || t->begin_ns == 0) {
        return; /* begun in the window before */
    }
    t->jobs++;
    t->work_ns += cost_ns;
    t->spent_ns += now_ns - start_ns;
    time_ns = MAX(busy ? now_ns - t->begin_ns : t->spent_ns, 1);
    double speed = (double)t->work_ns / time_ns;
    bool full = t->jobs >= jobs && time_ns >= WINDOW_NS;
    bool some = t->jobs >= jobs / 4;
    if (full || (some && (time_ns >= LONG_WINDOW_NS || (t->trying && speed < t->speed[t->pool] * HOPELESS)))) {
        judge(t, speed);
    }
}
