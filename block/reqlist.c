/* SPDX-License-Identifier: MIT */
#include "block/reqlist.h"

#include <glib.h>

void reqlist_init(ReqList *l)
{
    pthread_mutex_init(&l->guard, NULL);
    l->head = l->tail = NULL;
    l->n_serialising = 0;
}

void reqlist_destroy(ReqList *l)
{
    g_assert(!l->head);
    pthread_mutex_destroy(&l->guard);
}

static bool reqs_conflict(const Req *a, const Req *b)
{
    if ((!a->serialising && !b->serialising) || a->bytes == 0 || b->bytes == 0) {
        return false;
    }
    /* Neither sum overflows: offset + bytes is at most INT64_MAX, checked at the edge. */
    return a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

/* The latest request before @r that it must wait for. A request waits only for earlier ones, hence no cycle. */
static Req *find_conflict_locked(const ReqList *l, const Req *r)
{
    if (l->n_serialising == 0) {
        return NULL;
    }
    for (Req *p = r->prev; p; p = p->prev) {
        if (reqs_conflict(p, r)) {
            return p;
        }
    }
    return NULL;
}

void coroutine_fn reqlist_begin(ReqList *l, Req *r, int64_t offset, int64_t bytes, bool is_write, bool serialising)
{
    g_assert(offset >= 0 && bytes >= 0 && bytes <= INT64_MAX - offset);
    r->offset = offset;
    r->bytes = bytes;
    r->is_write = is_write;
    r->serialising = serialising;
    r->next = NULL;
    co_queue_init(&r->waiters);

    PTHREAD_GUARD(&l->guard);
    r->prev = l->tail;
    if (l->tail) {
        l->tail->next = r;
    } else {
        l->head = r;
    }
    l->tail = r;
    l->n_serialising += serialising;

    for (Req *other; (other = find_conflict_locked(l, r)) != NULL;) {
        co_queue_wait_pthread(&other->waiters, &l->guard);
    }
}

void coroutine_fn reqlist_end(ReqList *l, Req *r)
{
    PTHREAD_GUARD(&l->guard);
    if (r->prev) {
        r->prev->next = r->next;
    } else {
        l->head = r->next;
    }
    if (r->next) {
        r->next->prev = r->prev;
    } else {
        l->tail = r->prev;
    }
    l->n_serialising -= r->serialising;
    co_queue_wake_all(&r->waiters);
}
