/* SPDX-License-Identifier: MIT */
#include "util/loop/loop-timer.h"

#include <glib.h>
#include <stdbool.h>

void loop_timers_init(LoopTimers *t)
{
    *t = (LoopTimers){0};
}

void loop_timers_destroy(LoopTimers *t)
{
    g_assert(t->count == 0);
    g_free(t->heap);
}

static bool before(const LoopTimer *a, const LoopTimer *b)
{
    return a->deadline_ns != b->deadline_ns ? a->deadline_ns < b->deadline_ns : a->seq < b->seq;
}

static void sift_up(LoopTimers *t, size_t i)
{
    LoopTimer moved = t->heap[i];

    while (i > 0 && before(&moved, &t->heap[(i - 1) / 2])) {
        t->heap[i] = t->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    t->heap[i] = moved;
}

static void sift_down(LoopTimers *t, size_t i)
{
    LoopTimer moved = t->heap[i];

    for (;;) {
        size_t child = 2 * i + 1;

        if (child + 1 < t->count && before(&t->heap[child + 1], &t->heap[child])) {
            child++;
        }
        if (child >= t->count || !before(&t->heap[child], &moved)) {
            break;
        }
        t->heap[i] = t->heap[child];
        i = child;
    }
    t->heap[i] = moved;
}

void loop_timers_add(LoopTimers *t, int64_t deadline_ns, Coroutine *co)
{
    if (t->count == t->capacity) {
        t->capacity = t->capacity ? 2 * t->capacity : 16;
        t->heap = g_renew(LoopTimer, t->heap, t->capacity);
    }
    t->heap[t->count] = (LoopTimer){.deadline_ns = deadline_ns, .seq = t->next_seq++, .co = co};
    sift_up(t, t->count++);
}

int64_t loop_timers_wait_ns(const LoopTimers *t, int64_t now_ns)
{
    if (t->count == 0) {
        return -1;
    }
    return MAX(t->heap[0].deadline_ns - now_ns, 0);
}

Coroutine *loop_timers_pop_due(LoopTimers *t, int64_t now_ns)
{
    if (t->count == 0 || t->heap[0].deadline_ns > now_ns) {
        return NULL;
    }
    Coroutine *co = t->heap[0].co;
    t->heap[0] = t->heap[--t->count];
    if (t->count > 0) {
        sift_down(t, 0);
    }
    return co;
}
