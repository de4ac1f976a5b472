/* SPDX-License-Identifier: MIT */
/* Tracked requests of a node: overlapping ones wait where one of them is serialising.
 *
 * Entries live on the requesting coroutine's stack. The list is in shards, one for each loop as far as they go, each
 * with a short mutex: as long as nothing serialises, which is nearly always, loops share no lock. A serialising
 * request, and every request while there is one, takes all of them. */
#ifndef QBLOCK_BLOCK_REQLIST_H
#define QBLOCK_BLOCK_REQLIST_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/coroutine/co-lock.h"

#define REQLIST_SHARDS 8
#define REQLIST_LINE   64 /* shards share no cache line */

typedef struct Req {
    int64_t offset, bytes; /* the range that must not overlap (aligned when serialising) */
    bool serialising;      /* read-modify-write, zero, discard, truncate, copy on read */
    bool is_write;
    uint8_t shard;
    uint64_t seq;          /* who waits for whom: only for lower ones */
    CoQueue waiters;       /* woken when this request ends; under the guard of its shard */
    struct Req *prev, *next;
} Req;

typedef struct ReqShard {
    pthread_mutex_t guard;
    Req *head;
} __attribute__((aligned(REQLIST_LINE))) ReqShard;

typedef struct ReqList {
    ReqShard *shards;      /* REQLIST_SHARDS */
    /* changed with all guards held, so that any one is enough to look */
    unsigned n_serialising;
    uint64_t last_seq;     /* of the requests that took all guards; others have that of the last before them */
} ReqList;

void reqlist_init(ReqList *l);
void reqlist_destroy(ReqList *l);

/* Enter @r: waits until no earlier overlapping request conflicts. Two requests conflict when they overlap and at least
 * one is serialising. FIFO, so no two wait for each other. Context: coroutine; may yield. */
void coroutine_fn reqlist_begin(ReqList *l, Req *r, int64_t offset, int64_t bytes, bool is_write, bool serialising);
void coroutine_fn reqlist_end(ReqList *l, Req *r);

#endif
