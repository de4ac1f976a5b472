/* SPDX-License-Identifier: MIT */
#include "block/copy-order.h"

#include <glib.h>

void copy_order_init(CopyOrder *o, unsigned window)
{
    *o = (CopyOrder){.window = window, .over = g_new0(bool, window)};
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

/* Guard held; @seq is inside the window. */
static void end_turn(CopyOrder *o, uint64_t seq)
{
    uint64_t before = o->turn;

    g_assert(seq >= o->turn && seq < o->turn + o->window);
    o->over[seq % o->window] = true;
    while (o->over[o->turn % o->window]) {
        o->over[o->turn % o->window] = false;
        o->turn++;
    }
    if (o->turn != before) {
        co_queue_wake_all(&o->waiters);
    }
}

void copy_order_pass(CopyOrder *o, uint64_t seq)
{
    PTHREAD_GUARD(&o->guard);

    if (!o->aborted) {
        end_turn(o, seq);
    }
}

void coroutine_fn copy_order_skip(CopyOrder *o, uint64_t seq)
{
    pthread_mutex_lock(&o->guard);
    while (seq >= o->turn + o->window && !o->aborted) {
        co_queue_wait_pthread(&o->waiters, &o->guard);
    }
    if (!o->aborted) {
        end_turn(o, seq);
    }
    pthread_mutex_unlock(&o->guard);
}

void copy_order_abort(CopyOrder *o)
{
    PTHREAD_GUARD(&o->guard);

    o->aborted = true;
    co_queue_wake_all(&o->waiters);
}
