/* SPDX-License-Identifier: MIT */
/* LoopThread: a thread that does nothing but run its loop. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "util/coroutine/co-lock.h"
#include "util/base/error.h"
#include "util/loop/event-loop-int.h"

/* Coroutines have stacks of their own: little runs on the thread's. */
#if defined(QBLOCK_ASAN) || defined(QBLOCK_TSAN)
enum { LOOP_STACK_BYTES = 4 << 20 };
#else
enum { LOOP_STACK_BYTES = 512 << 10 };
#endif

struct LoopThread {
    pthread_t thread;
    char name[16];
    EventLoopEngine engine;
    bool stopping; /* only on the loop's thread */

    pthread_mutex_t guard;
    pthread_cond_t ready;
    /* Under @guard until the start is over, then fixed. */
    bool started;
    EventLoop *loop; /* NULL: could not be made, see @err */
    GError *err;
};

static void *thread_main(void *arg)
{
    LoopThread *t = arg;
    GError *err = NULL;

    pthread_setname_np(pthread_self(), t->name);
    EventLoop *loop = event_loop_new(t->engine, &err);
    pthread_mutex_lock(&t->guard);
    t->loop = loop;
    t->err = err;
    t->started = true;
    pthread_cond_signal(&t->ready);
    pthread_mutex_unlock(&t->guard);
    if (!loop) {
        return NULL;
    }
    while (!t->stopping || loop->host.alive > 0 || loop_has_ready(loop)) {
        loop_turn(loop, true);
    }
    event_loop_free(loop);
    return NULL;
}

/* Signals belong to the thread that the program began with. */
static int create_thread(LoopThread *t)
{
    pthread_attr_t attr;
    sigset_t all;
    sigset_t old;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, LOOP_STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int ret = pthread_create(&t->thread, &attr, thread_main, t);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return ret;
}

static void thread_free(LoopThread *t)
{
    pthread_cond_destroy(&t->ready);
    pthread_mutex_destroy(&t->guard);
    g_free(t);
}

LoopThread *loop_thread_start(const char *name, EventLoopEngine engine, GError **errp)
{
    LoopThread *t = g_new0(LoopThread, 1);

    g_strlcpy(t->name, name, sizeof(t->name));
    t->engine = engine;
    pthread_mutex_init(&t->guard, NULL);
    pthread_cond_init(&t->ready, NULL);
    int ret = create_thread(t);
    if (ret != 0) {
        error_set_errno(errp, ret, "Could not start the thread '%s'", name);
        thread_free(t);
        return NULL;
    }
    pthread_mutex_lock(&t->guard);
    while (!t->started) {
        pthread_cond_wait(&t->ready, &t->guard);
    }
    pthread_mutex_unlock(&t->guard);
    if (!t->loop) {
        pthread_join(t->thread, NULL);
        g_propagate_error(errp, t->err);
        thread_free(t);
        return NULL;
    }
    return t;
}

EventLoop *loop_thread_loop(LoopThread *t)
{
    return t->loop;
}

static void stop_entry(void *opaque)
{
    LoopThread *t = opaque;

    t->stopping = true;
}

void loop_thread_stop(LoopThread *t)
{
    if (!t) {
        return;
    }
    g_assert(event_loop_current() != t->loop);
    event_loop_spawn(t->loop, stop_entry, t);
    pthread_join(t->thread, NULL);
    thread_free(t);
}
