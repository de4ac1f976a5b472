/* SPDX-License-Identifier: MIT */
/* What the event loop knows of coroutines: their struct, their stacks, and the host it is for them. */
#ifndef QBLOCK_UTIL_COROUTINE_INT_H
#define QBLOCK_UTIL_COROUTINE_INT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "util/coroutine/coroutine-switch.h"
#include "util/coroutine/coroutine.h"

/* Idle coroutines a loop keeps, stacks and all. */
#define COROUTINE_POOL_MAX 128

/* A stack and the registers of what runs on it: a coroutine, or the loop's own thread. */
typedef struct CoContext {
    SwitchContext sw;
    void *stack_low; /* usable part, without the guard page */
    size_t stack_bytes;
    void *asan_fake_stack;
    void *tsan_fiber;
    unsigned valgrind_id;
} CoContext;

/* An entry of a loop's queue: a coroutine to go on (co), or one to make (entry, opaque; freed by the loop). */
typedef struct LoopItem LoopItem;
struct LoopItem {
    LoopItem *next;
    Coroutine *co;
    CoroutineEntry *entry;
    void *opaque;
};

typedef struct CoHost CoHost;

struct Coroutine {
    /* Fixed for the life of the stack. */
    CoHost *host;

    /* Only on the loop's thread. */
    CoContext ctx;
    CoroutineEntry *entry; /* NULL asks a pooled coroutine to leave its stack for good */
    void *opaque;
    Coroutine *caller; /* who entered it, NULL: the loop */
    Coroutine *pool_next;
    bool active; /* between enter and yield */
    bool ended;

    /* @item is in one of the loop's queues while @queued. */
    LoopItem item;
    atomic_bool queued;
};

typedef struct CoroutinePool {
    Coroutine *head;
    unsigned count;
} CoroutinePool;

/* What coroutines need of the loop that runs them, which embeds it. Only on the loop's thread, but @post. */
struct CoHost {
    CoContext thread_ctx;
    Coroutine *running;
    CoroutinePool pool;
    unsigned alive; /* coroutines made and not ended */
    /* Fixed: queue @item on the loop, from any thread. */
    void (*post)(CoHost *host, LoopItem *item);
};

/* Make @host that of this thread, which has none; all else in it is zero. Undone by co_host_leave(), when no coroutine
 * of it is alive: the stacks it kept are given back. Context: the loop's thread, outside coroutines. */
void co_host_enter(CoHost *host, void (*post)(CoHost *host, LoopItem *item));
void co_host_leave(CoHost *host);
CoHost *co_host_current(void); /* this thread's, or NULL. Context: any */

#endif
