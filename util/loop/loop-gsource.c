/* SPDX-License-Identifier: MIT */
/* A loop inside a GLib main loop: GLib does the waiting, on the engine's descriptor. */
#include "util/loop/event-loop-int.h"

typedef struct LoopSource {
    GSource source;
    EventLoop *loop;
    gpointer fd_tag;
} LoopSource;

static gboolean source_prepare(GSource *source, gint *timeout_ms)
{
    EventLoop *loop = ((LoopSource *)source)->loop;
    int64_t wait_ns;

    *timeout_ms = -1;
    if (!loop_sleep_begin(loop)) {
        return TRUE;
    }
    loop->ops->flush(loop);
    if (loop->ready_head) {
        return TRUE; /* completed while it was submitted */
    }
    wait_ns = loop_timers_wait_ns(&loop->timers, clock_monotonic_ns());
    if (wait_ns >= 0) {
        *timeout_ms = (gint)MIN((wait_ns + 999999) / 1000000, G_MAXINT);
    }
    return wait_ns == 0;
}

static gboolean source_check(GSource *source)
{
    LoopSource *s = (LoopSource *)source;
    EventLoop *loop = s->loop;

    return loop_has_ready(loop) || g_source_query_unix_fd(source, s->fd_tag) != 0 ||
           loop_timers_wait_ns(&loop->timers, clock_monotonic_ns()) == 0;
}

static gboolean source_dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
    loop_turn(((LoopSource *)source)->loop, false);
    return G_SOURCE_CONTINUE;
}

GSource *event_loop_gsource_new(EventLoop *loop)
{
    static GSourceFuncs funcs = {.prepare = source_prepare, .check = source_check, .dispatch = source_dispatch};
    LoopSource *s = (LoopSource *)g_source_new(&funcs, sizeof(LoopSource));

    g_assert(loop == event_loop_current());
    s->loop = loop;
    s->fd_tag = g_source_add_unix_fd(&s->source, loop->ops->pollable_fd(loop), G_IO_IN);
    return &s->source;
}
