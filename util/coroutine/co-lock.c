/* SPDX-License-Identifier: MIT */
/* A CoRwlock is handed over: who releases it names the next holders, so a waiter that runs again has it already, and
 * nobody overtakes the queue. A CoMutex is left free instead, and its first waiter told to try again: that one's loop
 * may be in the middle of a long copy, and whoever runs meanwhile need not wait for it. Handing over would make every
 * loop wait for the slowest (a lock convoy). A waiter that was overtaken MUTEX_MAX_OVERTAKEN times is handed the lock.
 * A waiter record dies as soon as its coroutine is woken, unless it is a mutex's, which looks at it once more; read
 * what is needed of it before. */
#include "util/coroutine/co-lock.h"

#include "util/base/cpu-relax.h"

#define MUTEX_MAX_OVERTAKEN 8
#define MUTEX_SPINS         40 /* some microseconds: holders that do not yield need less */

typedef enum WaiterKind { WAIT_PLAIN, WAIT_READER, WAIT_WRITER } WaiterKind;

struct CoWaiter {
    CoWaiter *next;
    Coroutine *co;
    WaiterKind kind;
    unsigned overtaken; /* mutex: so often it was woken and found the lock taken */
    bool granted;       /* mutex: handed over */
};

static void list_append(CoWaitList *l, CoWaiter *w)
{
    w->next = NULL;
    if (l->tail) {
        l->tail->next = w;
    } else {
        l->head = w;
    }
    l->tail = w;
}

static void list_prepend(CoWaitList *l, CoWaiter *w)
{
    w->next = l->head;
    l->head = w;
    if (!l->tail) {
        l->tail = w;
    }
}

static CoWaiter *list_pop(CoWaitList *l)
{
    CoWaiter *w = l->head;

    if (w) {
        l->head = w->next;
        if (!l->head) {
            l->tail = NULL;
        }
    }
    return w;
}

/* --- CoMutex --- */

void co_mutex_init(CoMutex *m)
{
    *m = (CoMutex){0};
    pthread_mutex_init(&m->guard, NULL);
}

void co_mutex_destroy(CoMutex *m)
{
    g_assert(!m->holder && !m->waiters.head);
    pthread_mutex_destroy(&m->guard);
}

/* Its address stands for this thread. */
static _Thread_local char this_thread;

/* Guard held. */
static bool mutex_take(CoMutex *m, Coroutine *self)
{
    if (m->holder) {
        return false;
    }
    __atomic_store_n(&m->holder, self, __ATOMIC_RELAXED);
    __atomic_store_n(&m->holder_thread, &this_thread, __ATOMIC_RELAXED);
    return true;
}

/* The holder runs on another thread, and most often is done before we could go to sleep. */
static void mutex_spin(const CoMutex *m)
{
    for (unsigned i = 0; i < MUTEX_SPINS && __atomic_load_n(&m->holder, __ATOMIC_RELAXED) &&
                         __atomic_load_n(&m->holder_thread, __ATOMIC_RELAXED) != &this_thread;
         i++) {
        cpu_relax();
    }
}

void coroutine_fn co_mutex_lock(CoMutex *m)
{
    CoWaiter w = {.co = coroutine_self()};

    g_assert(w.co);
    mutex_spin(m);
    pthread_mutex_lock(&m->guard);
    g_assert(m->holder != w.co);
    while (!mutex_take(m, w.co)) {
        if (w.overtaken == 0) {
            list_append(&m->waiters, &w);
        } else {
            list_prepend(&m->waiters, &w);
        }
        pthread_mutex_unlock(&m->guard);
        coroutine_yield();
        pthread_mutex_lock(&m->guard);
        if (w.granted) {
            __atomic_store_n(&m->holder_thread, &this_thread, __ATOMIC_RELAXED);
            break;
        }
        w.overtaken++;
    }
    pthread_mutex_unlock(&m->guard);
}

void coroutine_fn co_mutex_unlock(CoMutex *m)
{
    Coroutine *first = NULL;
    Coroutine *next = NULL;

    pthread_mutex_lock(&m->guard);
    g_assert(m->holder == coroutine_self());
    CoWaiter *w = list_pop(&m->waiters);
    if (w) {
        first = w->co;
        w->granted = w->overtaken >= MUTEX_MAX_OVERTAKEN;
        next = w->granted ? first : NULL;
    }
    __atomic_store_n(&m->holder, next, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&m->guard);
    if (first) {
        coroutine_wake(first);
    }
}

bool co_mutex_is_held(CoMutex *m)
{
    Coroutine *self = coroutine_self();

    PTHREAD_GUARD(&m->guard);
    return self && m->holder == self;
}

/* --- CoRwlock --- */

void co_rwlock_init(CoRwlock *l)
{
    *l = (CoRwlock){0};
    pthread_mutex_init(&l->guard, NULL);
}

void co_rwlock_destroy(CoRwlock *l)
{
    g_assert(l->readers == 0 && !l->waiters.head);
    pthread_mutex_destroy(&l->guard);
}

static void coroutine_fn rwlock_take(CoRwlock *l, WaiterKind kind)
{
    CoWaiter w = {.co = coroutine_self(), .kind = kind};

    g_assert(w.co);
    pthread_mutex_lock(&l->guard);
    bool free_for_us = !l->waiters.head && (kind == WAIT_READER ? l->readers >= 0 : l->readers == 0);
    if (free_for_us) {
        l->readers = kind == WAIT_READER ? l->readers + 1 : -1;
        pthread_mutex_unlock(&l->guard);
        return;
    }
    list_append(&l->waiters, &w);
    pthread_mutex_unlock(&l->guard);
    coroutine_yield();
}

void coroutine_fn co_rwlock_rdlock(CoRwlock *l)
{
    rwlock_take(l, WAIT_READER);
}

void coroutine_fn co_rwlock_wrlock(CoRwlock *l)
{
    rwlock_take(l, WAIT_WRITER);
}

/* The lock is free: give it to the first writer, or to all readers up to the next writer. */
static CoWaitList rwlock_grant_locked(CoRwlock *l)
{
    CoWaitList granted = {0};

    while (l->waiters.head) {
        WaiterKind kind = l->waiters.head->kind;

        if (kind == WAIT_WRITER && l->readers != 0) {
            break;
        }
        list_append(&granted, list_pop(&l->waiters));
        if (kind == WAIT_WRITER) {
            l->readers = -1;
            break;
        }
        l->readers++;
    }
    return granted;
}

void coroutine_fn co_rwlock_unlock(CoRwlock *l)
{
    CoWaitList granted = {0};
    CoWaiter *w;

    pthread_mutex_lock(&l->guard);
    g_assert(l->readers != 0);
    l->readers = l->readers < 0 ? 0 : l->readers - 1;
    if (l->readers == 0) {
        granted = rwlock_grant_locked(l);
    }
    pthread_mutex_unlock(&l->guard);
    while ((w = list_pop(&granted)) != NULL) {
        coroutine_wake(w->co);
    }
}

/* --- CoQueue --- */

void co_queue_init(CoQueue *q)
{
    *q = (CoQueue){0};
}

void coroutine_fn co_queue_wait(CoQueue *q, CoMutex *m)
{
    CoWaiter w = {.co = coroutine_self()};

    g_assert(w.co);
    list_append(&q->waiters, &w);
    co_mutex_unlock(m);
    coroutine_yield();
    co_mutex_lock(m);
}

void coroutine_fn co_queue_wait_pthread(CoQueue *q, pthread_mutex_t *m)
{
    CoWaiter w = {.co = coroutine_self()};

    g_assert(w.co);
    list_append(&q->waiters, &w);
    pthread_mutex_unlock(m);
    coroutine_yield();
    pthread_mutex_lock(m);
}

bool co_queue_wake_one(CoQueue *q)
{
    CoWaiter *w = list_pop(&q->waiters);

    if (w) {
        coroutine_wake(w->co);
    }
    return w != NULL;
}

void co_queue_wake_all(CoQueue *q)
{
    while (co_queue_wake_one(q)) {
    }
}

bool co_queue_is_empty(const CoQueue *q)
{
    return !q->waiters.head;
}
