/* SPDX-License-Identifier: MIT */
/* Stackful coroutines. A coroutine belongs to the event loop of the thread that made it and runs only there.
 *
 * Stacks are COROUTINE_STACK_BYTES with a guard page below, taken from a bounded per-thread pool. The sanitizers and
 * valgrind are told of every switch. A coroutine that returns from its entry function is recycled at once: nobody holds
 * a pointer to it afterwards. */
#ifndef QBLOCK_UTIL_COROUTINE_H
#define QBLOCK_UTIL_COROUTINE_H

#include <stdbool.h>
#include <stddef.h>

#define coroutine_fn /* marks functions of context "coroutine": may yield */

#define COROUTINE_STACK_BYTES (128u << 10) /* larger in sanitizer builds */

typedef struct Coroutine Coroutine;
typedef void CoroutineEntry(void *opaque);

/* Make a coroutine on the current thread's loop; it starts at the first coroutine_enter() or coroutine_wake().
 * Never NULL. Context: loop or coroutine. */
Coroutine *coroutine_new(CoroutineEntry *entry, void *opaque);

/* The same, but NULL when there is no memory for a stack: for callers that can do without. */
Coroutine *coroutine_try_new(CoroutineEntry *entry, void *opaque);

/* Run @co now, until it yields or ends; control then comes back here. @co must be suspended, on this thread's loop, and
 * not queued for wake-up. Context: loop or coroutine (nesting is allowed). */
void coroutine_enter(Coroutine *co);

/* Suspend the running coroutine until somebody wakes (or enters) it. Wake-ups are never spurious. Context:
 * coroutine. */
void coroutine_fn coroutine_yield(void);

/* Queue @co to go on, on its own loop. Each yield is answered by exactly one wake or enter. May be called before @co
 * has actually yielded, from any thread: the loop runs it only after it did. Context: any. */
void coroutine_wake(Coroutine *co);

/* Let the other ready coroutines and events of this loop run, then go on. */
void coroutine_fn coroutine_reschedule(void);

Coroutine *coroutine_self(void); /* the running coroutine, or NULL outside one */
bool in_coroutine(void);

#endif
