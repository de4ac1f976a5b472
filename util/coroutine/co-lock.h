/* SPDX-License-Identifier: MIT */
/* Coroutine locks that work across event loops: a waiter is woken on its own loop, in FIFO order. Who takes a
 * CoMutex while its first waiter is still being woken goes first, a bounded number of times.
 *
 * All operations that may wait are for coroutines. Locks are embedded and need _init/_destroy. A lock is released by
 * the coroutine that took it (asserted). None may be taken by a worker. */
#ifndef QBLOCK_UTIL_CO_LOCK_H
#define QBLOCK_UTIL_CO_LOCK_H

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>

#include "util/base/pthread-guard.h"
#include "util/coroutine/coroutine.h"

typedef struct CoWaiter CoWaiter; /* lives on the waiting coroutine's stack */
typedef struct CoWaitList { CoWaiter *head, *tail; } CoWaitList;

/* Mutual exclusion that knows its holder. */
typedef struct CoMutex {
    pthread_mutex_t guard; /* short; guards the rest */
    Coroutine *holder;         /* written under guard; lockers look at it without, as a hint */
    const void *holder_thread; /* likewise: stands for the thread that took it */
    CoWaitList waiters;
} CoMutex;

void co_mutex_init(CoMutex *m);
void co_mutex_destroy(CoMutex *m);
void coroutine_fn co_mutex_lock(CoMutex *m);
void coroutine_fn co_mutex_unlock(CoMutex *m);
bool co_mutex_is_held(CoMutex *m); /* by the running coroutine; for assertions */

/* Many readers or one writer; a waiting writer holds back new readers. */
typedef struct CoRwlock {
    pthread_mutex_t guard;
    int readers; /* > 0 held by so many readers; -1 held by a writer */
    CoWaitList waiters;
} CoRwlock;

void co_rwlock_init(CoRwlock *l);
void co_rwlock_destroy(CoRwlock *l);
void coroutine_fn co_rwlock_rdlock(CoRwlock *l);
void coroutine_fn co_rwlock_wrlock(CoRwlock *l);
void coroutine_fn co_rwlock_unlock(CoRwlock *l);

/* A queue to wait on. co_queue_wait() releases @m (or the plain pthread mutex) atomically with queueing, and has it
 * again when it returns. Wakes are issued with the same mutex held. */
typedef struct CoQueue { CoWaitList waiters; } CoQueue;

void co_queue_init(CoQueue *q);
void coroutine_fn co_queue_wait(CoQueue *q, CoMutex *m);
void coroutine_fn co_queue_wait_pthread(CoQueue *q, pthread_mutex_t *m);
bool co_queue_wake_one(CoQueue *q); /* false if nobody waited */
void co_queue_wake_all(CoQueue *q);
bool co_queue_is_empty(const CoQueue *q);

/* Scoped guard: CO_MUTEX_GUARD(&s->meta_lock); holds to the end of the block. */
typedef CoMutex CoMutexGuard;
static inline CoMutexGuard *coroutine_fn co_mutex_guard_take(CoMutex *m) { co_mutex_lock(m); return m; }
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CoMutexGuard, co_mutex_unlock)
#define CO_MUTEX_GUARD(m) \
    g_autoptr(CoMutexGuard) G_PASTE(co_guard_, __LINE__) G_GNUC_UNUSED = co_mutex_guard_take(m)

#endif
