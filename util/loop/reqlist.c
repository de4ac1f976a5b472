/* SPDX-License-Identifier: MIT */
#include "util/loop/reqlist.h"

#include <glib.h>
#include <stdlib.h>

#include "util/loop/event-loop.h"

void reqlist_init(ReqList *l)
{
    void *shards = NULL;

    g_assert(posix_memalign(&shards, REQLIST_LINE, REQLIST_SHARDS * sizeof(*l->shards)) == 0);
    *l = (ReqList){.shards = shards};
    for (unsigned i = 0; i < REQLIST_SHARDS; i++) {
        l->shards[i] = (ReqShard){.head = NULL};
        pthread_mutex_init(&l->shards[i].guard, NULL);
    }
}

void reqlist_destroy(ReqList *l)
{
    for (unsigned i = 0; i < REQLIST_SHARDS; i++) {
        g_assert(!l->shards[i].head);
        pthread_mutex_destroy(&l->shards[i].guard);
    }
    g_clear_pointer(&l->shards, free);
}

static void lock_all(ReqList *l)
{
    for (unsigned i = 0; i < REQLIST_SHARDS; i++) {
        pthread_mutex_lock(&l->shards[i].guard);
    }
}

/* All but that of shard @kept; REQLIST_SHARDS = all. */
static void unlock_all_but(ReqList *l, unsigned kept)
{
    for (unsigned i = 0; i < REQLIST_SHARDS; i++) {
        if (i != kept) {
            pthread_mutex_unlock(&l->shards[i].guard);
        }
    }
}

static void push(ReqShard *s, Req *r)
{
    r->prev = NULL;
    r->next = s->head;
    if (s->head) {
        s->head->prev = r;
    }
    s->head = r;
}

static bool reqs_conflict(const Req *a, const Req *b)
{
    if ((!a->serialising && !b->serialising) || a->bytes == 0 || b->bytes == 0) {
        return false;
    }
    /* Neither sum overflows: offset + bytes is at most INT64_MAX, checked at the edge. */
    return a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

/* A request before @r that it must wait for. It waits only for earlier ones, hence no cycle. Two that took one guard
 * each may have the same number, but then none of them serialises. All guards held. */
static Req *find_conflict(const ReqList *l, const Req *r)
{
    for (unsigned i = 0; i < REQLIST_SHARDS && l->n_serialising > 0; i++) {
        for (Req *p = l->shards[i].head; p; p = p->next) {
            if (p->seq < r->seq && reqs_conflict(p, r)) {
                return p;
            }
        }
    }
    return NULL;
}

/* Enter with all guards: something serialises, or @r does. */
static void coroutine_fn begin_slowly(ReqList *l, Req *r)
{
    Req *other;

    lock_all(l);
    r->seq = ++l->last_seq;
    l->n_serialising += r->serialising;
    push(&l->shards[r->shard], r);
    while ((other = find_conflict(l, r)) != NULL) {
        ReqShard *s = &l->shards[other->shard];

        unlock_all_but(l, other->shard); /* it cannot end before we are in its queue */
        co_queue_wait_pthread(&other->waiters, &s->guard);
        pthread_mutex_unlock(&s->guard);
        lock_all(l);
    }
    unlock_all_but(l, REQLIST_SHARDS);
}

void coroutine_fn reqlist_begin(ReqList *l, Req *r, int64_t offset, int64_t bytes, bool is_write, bool serialising)
{
    g_assert(offset >= 0 && bytes >= 0 && bytes <= INT64_MAX - offset);
    r->offset = offset;
    r->bytes = bytes;
    r->is_write = is_write;
    r->serialising = serialising;
    r->shard = event_loop_ordinal() % REQLIST_SHARDS;
    co_queue_init(&r->waiters);
    if (!serialising) {
        ReqShard *s = &l->shards[r->shard];
        PTHREAD_GUARD(&s->guard);

        if (G_LIKELY(l->n_serialising == 0)) {
            r->seq = l->last_seq; /* before every serialising one that will come */
            push(s, r);
            return;
        }
    }
    begin_slowly(l, r);
}

static void unlink_and_wake(ReqShard *s, Req *r)
{
    *(r->prev ? &r->prev->next : &s->head) = r->next;
    if (r->next) {
        r->next->prev = r->prev;
    }
    co_queue_wake_all(&r->waiters);
}

void coroutine_fn reqlist_end(ReqList *l, Req *r)
{
    ReqShard *s = &l->shards[r->shard];

    if (G_UNLIKELY(r->serialising)) {
        lock_all(l);
        l->n_serialising--;
        unlink_and_wake(s, r);
        unlock_all_but(l, REQLIST_SHARDS);
        return;
    }
    PTHREAD_GUARD(&s->guard);
    unlink_and_wake(s, r);
}
