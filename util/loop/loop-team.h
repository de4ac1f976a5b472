/* SPDX-License-Identifier: MIT */
/* A team of event loops that share one job: coroutines spread over several loops, and the wait for all of them.
 *
 * The calling thread's loop is the first member; the others are threads of the team. Fewer threads than asked for (none
 * can be made) is no error: the job then runs on those there are. */
#ifndef QBLOCK_UTIL_LOOP_TEAM_H
#define QBLOCK_UTIL_LOOP_TEAM_H

#include <glib.h>

#include "util/coroutine/coroutine.h"

typedef struct LoopTeam LoopTeam;

/* @loops: members wanted, the caller's included; at least one. Context: coroutine or loop. */
LoopTeam *loop_team_new(unsigned loops);

/* Ends the threads; nothing of the team may run. NULL allowed. Context: as _new; blocks shortly. */
void loop_team_free(LoopTeam *team);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LoopTeam, loop_team_free)

unsigned loop_team_size(const LoopTeam *team);

/* Run @func(@arg, 0..@workers-1), each in a coroutine of its own, dealt out over the loops; returns when all have
 * ended. */
void coroutine_fn loop_team_run(LoopTeam *team, unsigned workers, void (*func)(void *arg, unsigned idx), void *arg);

#endif
