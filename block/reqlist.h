/* SPDX-License-Identifier: MIT */
/* Tracked requests of a node: overlapping ones wait where one of them is serialising.
 *
 * Entries live on the requesting coroutine's stack. The list is locked inside by a short mutex. */
#ifndef QBLOCK_BLOCK_REQLIST_H
#define QBLOCK_BLOCK_REQLIST_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/co-lock.h"

typedef struct Req {
    int64_t offset, bytes; /* the range that must not overlap (aligned when serialising) */
    bool serialising;      /* read-modify-write, zero, discard, truncate */
    bool is_write;
    CoQueue waiters;       /* woken when this request ends */
    struct Req *prev, *next;
} Req;

typedef struct ReqList {
    pthread_mutex_t guard;
    Req *head, *tail; /* in order of arrival */
    unsigned n_serialising;
} ReqList;

void reqlist_init(ReqList *l);
void reqlist_destroy(ReqList *l);

/* Enter @r: waits until no earlier overlapping request conflicts. Two requests conflict when they overlap and at least one is
 * serialising. FIFO, so no two wait for each other. Context: coroutine; may yield. */
void coroutine_fn reqlist_begin(ReqList *l, Req *r, int64_t offset, int64_t bytes, bool is_write, bool serialising);
void coroutine_fn reqlist_end(ReqList *l, Req *r);

#endif
