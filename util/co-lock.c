/* SPDX-License-Identifier: MIT */
/* A lock is handed over: who releases it names the next holder, so a waiter that runs again has it already, and nobody
 * overtakes the queue. A waiter record dies as soon as its coroutine is woken; read what is needed of it before. */
#include "util/co-lock.h"

typedef enum WaiterKind { WAIT_PLAIN, WAIT_READER, WAIT_WRITER } WaiterKind;

struct CoWaiter {
    CoWaiter *next;
    Coroutine *co;
    WaiterKind kind;
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

void coroutine_fn co_mutex_lock(CoMutex *m)
{
    CoWaiter w = {.co = coroutine_self()};

    g_assert(w.co);
    pthread_mutex_lock(&m->guard);
    g_assert(m->holder != w.co);
    if (!m->holder) {
        m->holder = w.co;
        pthread_mutex_unlock(&m->guard);
        return;
    }
    list_append(&m->waiters, &w);
    pthread_mutex_unlock(&m->guard);
    coroutine_yield();
}

void coroutine_fn co_mutex_unlock(CoMutex *m)
{
    Coroutine *next = NULL;

    pthread_mutex_lock(&m->guard);
    g_assert(m->holder == coroutine_self());
    CoWaiter *w = list_pop(&m->waiters);
    if (w) {
        next = w->co;
    }
    m->holder = next;
    pthread_mutex_unlock(&m->guard);
    if (next) {
        coroutine_wake(next);
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
