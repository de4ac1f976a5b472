/* SPDX-License-Identifier: MIT */
#include "util/loop/loop-team.h"

#include <stdatomic.h>

#include "util/loop/event-loop.h"

struct LoopTeam {
    EventLoop *own;
    unsigned n_threads;
    LoopThread *threads[];
};

typedef struct TeamJob {
    void (*func)(void *arg, unsigned idx);
    void *arg;
    Coroutine *parent;
    atomic_uint next_idx;
    atomic_uint running;
} TeamJob;

LoopTeam *loop_team_new(unsigned loops)
{
    LoopTeam *team = g_malloc0(sizeof(*team) + loops * sizeof(team->threads[0]));

    team->own = event_loop_current();
    g_assert(team->own);
    for (unsigned i = 1; i < loops; i++) {
        LoopThread *t = loop_thread_start("team", EVENT_LOOP_AUTO, NULL);
        if (!t) {
            break;
        }
        team->threads[team->n_threads++] = t;
    }
    return team;
}

void loop_team_free(LoopTeam *team)
{
    if (!team) {
        return;
    }
    for (unsigned i = 0; i < team->n_threads; i++) {
        loop_thread_stop(team->threads[i]);
    }
    g_free(team);
}

unsigned loop_team_size(const LoopTeam *team)
{
    return team->n_threads + 1;
}

static void coroutine_fn team_worker(void *opaque)
{
    TeamJob *job = opaque;

    job->func(job->arg, atomic_fetch_add(&job->next_idx, 1));
    if (atomic_fetch_sub(&job->running, 1) == 1) {
        coroutine_wake(job->parent); /* the last one; nobody touches *job afterwards */
    }
}

void coroutine_fn loop_team_run(LoopTeam *team, unsigned workers, void (*func)(void *arg, unsigned idx), void *arg)
{
    TeamJob job = {.func = func, .arg = arg, .parent = coroutine_self()};
    unsigned members = loop_team_size(team);

    g_assert(workers > 0);
    atomic_store(&job.running, workers);
    for (unsigned i = 0; i < workers; i++) {
        unsigned member = i % members;
        event_loop_spawn(member ? loop_thread_loop(team->threads[member - 1]) : team->own, team_worker, &job);
    }
    coroutine_yield();
}
