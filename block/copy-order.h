/* SPDX-License-Identifier: MIT */
/* Turns in sequence: numbered windows wait for their turn to place data, while everything else overlaps.
 *
 * A waiter of turn n goes on when all turns below n are over. A turn that is not needed is skipped, up to @window turns
 * ahead. Locked inside. */
#ifndef QBLOCK_BLOCK_COPY_ORDER_H
#define QBLOCK_BLOCK_COPY_ORDER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/co-lock.h"

typedef struct CopyOrder {
    pthread_mutex_t guard;
    uint64_t turn;   /* all below are over */
    unsigned window;
    bool *over;      /* of turns [turn, turn + window), at n % window */
    bool aborted;    /* nobody waits any more */
    CoQueue waiters;
} CopyOrder;

void copy_order_init(CopyOrder *o, unsigned window);
void copy_order_destroy(CopyOrder *o);

/* Wait for turn @seq. Context: coroutine. */
void coroutine_fn copy_order_wait(CopyOrder *o, uint64_t seq);
/* End turn @seq, which has been waited for. Context: any. */
void copy_order_pass(CopyOrder *o, uint64_t seq);
/* End turn @seq without having used it; waits only while more than @window turns are open. Context: coroutine. */
void coroutine_fn copy_order_skip(CopyOrder *o, uint64_t seq);
/* After a failure: turns no longer matter, all waiters go on. */
void copy_order_abort(CopyOrder *o);

#endif
