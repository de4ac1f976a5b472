/* SPDX-License-Identifier: MIT */
#include "util/coroutine/co-tasks.h"

#include <glib.h>

/* What a child needs to begin; on the parent's stack, copied before the child yields. */
typedef struct TaskStart {
    CoTasks *tasks;
    CoTaskFunc *func;
    void *opaque;
} TaskStart;

static void coroutine_fn task_entry(void *opaque)
{
    TaskStart s = *(TaskStart *)opaque;
    int ret = s.func(s.opaque);

    if (ret < 0 && s.tasks->ret == 0) {
        s.tasks->ret = ret;
    }
    s.tasks->running--;
    if (s.tasks->parent_waits) {
        s.tasks->parent_waits = false;
        coroutine_wake(s.tasks->parent);
    }
}

static void coroutine_fn wait_for_one(CoTasks *t)
{
    t->parent_waits = true;
    coroutine_yield();
}

void co_tasks_init(CoTasks *t, int limit)
{
    g_assert(limit > 0);
    *t = (CoTasks){.parent = coroutine_self(), .limit = limit};
    g_assert(t->parent);
}

int coroutine_fn co_tasks_start(CoTasks *t, CoTaskFunc *func, void *opaque)
{
    TaskStart s = {.tasks = t, .func = func, .opaque = opaque};

    g_assert(coroutine_self() == t->parent);
    while (t->ret == 0 && t->running >= t->limit) {
        wait_for_one(t);
    }
    if (t->ret < 0) {
        return t->ret;
    }
    Coroutine *child = coroutine_try_new(task_entry, &s);

    t->running++;
    if (child) {
        coroutine_enter(child);
    } else {
        task_entry(&s); /* no memory for one more stack: less parallel */
    }
    return 0;
}

int coroutine_fn co_tasks_wait(CoTasks *t)
{
    g_assert(coroutine_self() == t->parent);
    while (t->running > 0) {
        wait_for_one(t);
    }
    return t->ret;
}
