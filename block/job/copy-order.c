/* SPDX-License-Identifier: MIT */
#include "block/job/copy-order.h"

#include <glib.h>

enum { FIRST_SIZE = 64 };

void copy_order_init(CopyOrder *o)
{
    *o = (CopyOrder){.size = FIRST_SIZE, .over = g_new0(bool, FIRST_SIZE)};
    pthread_mutex_init(&o->guard, NULL);
    co_queue_init(&o->waiters);
}

void copy_order_destroy(CopyOrder *o)
{
    g_assert(co_queue_is_empty(&o->waiters));
    pthread_mutex_destroy(&o->guard);
    g_clear_pointer(&o->over, g_free);
}

void coroutine_fn copy_order_wait(CopyOrder *o, uint64_t seq)
{
    pthread_mutex_lock(&o->guard);
    while (o->turn < seq && !o->aborted) {
        co_queue_wait_pthread(&o->waiters, &o->guard);
    }
    pthread_mutex_unlock(&o->guard);
}

/* Guard held: make room for @seq. */
static void grow(CopyOrder *o, uint64_t seq)
{
    uint64_t size = o->size;

    while (seq >= o->turn + size) {
        size *= 2;
    }
    bool *over = g_new0(bool, size);
    for (uint64_t n = o->turn; n < o->turn + o->size; n++) {
        over[n % size] = o->over[n % o->size];
    }
    g_free(o->over);
    o->over = over;
    o->size = size;
}

void copy_order_pass(CopyOrder *o, uint64_t seq)
{
    PTHREAD_GUARD(&o->guard);
    uint64_t before = o->turn;

    g_assert(seq >= o->turn);
    if (seq >= o->turn + o->size) {
        grow(o, seq);
    }
    o->over[seq % o->size] = true;
    while (o->over[o->turn % o->size]) {
        o->over[o->turn % o->size] = false;
        o->turn++;
    }
    if (o->turn != before) {
        co_queue_wake_all(&o->waiters);
    }
}

void copy_order_abort(CopyOrder *o)
{
    PTHREAD_GUARD(&o->guard);

    o->aborted = true;
    co_queue_wake_all(&o->waiters);
}
