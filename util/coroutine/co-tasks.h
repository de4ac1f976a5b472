/* SPDX-License-Identifier: MIT */
/* Bounded child coroutines of one parent; the first error wins.
 *
 * The parent starts children on its own loop; co_tasks_start() waits while the bound is reached, co_tasks_wait() waits
 * for all and returns the first error. After an error, children not yet started are skipped. Context: coroutine. */
#ifndef QBLOCK_UTIL_CO_TASKS_H
#define QBLOCK_UTIL_CO_TASKS_H

#include "util/coroutine/coroutine.h"

typedef int coroutine_fn CoTaskFunc(void *opaque); /* 0 or -errno */

typedef struct CoTasks {
    Coroutine *parent;
    int running, limit;
    int ret; /* first error */
    bool parent_waits;
} CoTasks;

void co_tasks_init(CoTasks *t, int limit);
/* Start @func(@opaque); @opaque must live until co_tasks_wait() unless @func frees it. When a task already failed the
 * call returns that error and does not start (and @opaque stays the caller's). */
int coroutine_fn co_tasks_start(CoTasks *t, CoTaskFunc *func, void *opaque);
int coroutine_fn co_tasks_wait(CoTasks *t);

#endif
