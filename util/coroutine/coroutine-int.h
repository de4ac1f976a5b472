/* SPDX-License-Identifier: MIT */
/* What the event loop knows of coroutines: their struct, their stacks, the pool a loop keeps. */
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

struct Coroutine {
    /* Fixed for the life of the stack. */
    EventLoop *loop;

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

/* The thread's own stack as a context to come back to. */
void co_context_init_thread(CoContext *ctx);
void co_context_destroy_thread(CoContext *ctx);

/* Give the stacks of @loop's idle coroutines back. Context: the loop's thread, outside coroutines. */
void coroutine_pool_drain(EventLoop *loop);

#endif
