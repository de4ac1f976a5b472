/* SPDX-License-Identifier: MIT */
/* Turns in sequence: numbered windows wait for their turn to place data, while everything else overlaps.
 *
 * Turn n is over when copy_order_pass(n) was called, in any order and waited for or not; a waiter of n goes on when all
 * turns below n are over. Locked inside. */
#ifndef QBLOCK_BLOCK_COPY_ORDER_H
#define QBLOCK_BLOCK_COPY_ORDER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/coroutine/co-lock.h"

typedef struct CopyOrder {
    pthread_mutex_t guard;
    uint64_t turn;   /* all below are over */
    uint64_t size;   /* of over; a power of two, grows with how far turns run ahead */
    bool *over;      /* of turns [turn, turn + size), at n % size */
    bool aborted;    /* nobody waits any more */
    CoQueue waiters;
} CopyOrder;

void copy_order_init(CopyOrder *o);
void copy_order_destroy(CopyOrder *o);

/* Wait for turn @seq. Context: coroutine. */
void coroutine_fn copy_order_wait(CopyOrder *o, uint64_t seq);
/* End turn @seq; once for each. Context: any. */
void copy_order_pass(CopyOrder *o, uint64_t seq);
/* After a failure: turns no longer matter, all waiters go on. */
void copy_order_abort(CopyOrder *o);

#endif
