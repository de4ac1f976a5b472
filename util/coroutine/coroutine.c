/* SPDX-License-Identifier: MIT */
/* Coroutine life: make, enter, yield, end, recycle.
 *
 * A coroutine never leaves the thread of its loop, so a compiler may keep addresses of thread-local variables across a
 * switch. A recycled coroutine waits at the top of its own stack for the next entry function. */
#include "util/coroutine/coroutine.h"

#include <glib.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config.h"
#include "util/coroutine/coroutine-int.h"

#ifdef HAVE_VALGRIND
#include <valgrind/valgrind.h>
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(QBLOCK_ASAN)
#define QBLOCK_ASAN 1
#endif
#if __has_feature(thread_sanitizer) && !defined(QBLOCK_TSAN)
#define QBLOCK_TSAN 1
#endif
#endif

#ifdef QBLOCK_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef QBLOCK_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#if defined(QBLOCK_ASAN) || defined(QBLOCK_TSAN)
#define STACK_FACTOR 8 /* instrumented frames are much larger */
#else
#define STACK_FACTOR 1
#endif

static __thread CoHost *current_host;

static size_t guard_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* False: no memory, nothing is left behind. */
static bool stack_map(CoContext *ctx)
{
    size_t guard = guard_bytes();
    size_t bytes = (size_t)COROUTINE_STACK_BYTES * STACK_FACTOR;
    char *map = mmap(NULL, guard + bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);

    if (map == MAP_FAILED) {
        return false;
    }
    if (mprotect(map, guard, PROT_NONE) != 0) {
        munmap(map, guard + bytes);
        return false;
    }
    ctx->stack_low = map + guard;
    ctx->stack_bytes = bytes;
#ifdef HAVE_VALGRIND
    ctx->valgrind_id = VALGRIND_STACK_REGISTER(ctx->stack_low, (char *)ctx->stack_low + bytes);
#endif
#ifdef QBLOCK_TSAN
    ctx->tsan_fiber = __tsan_create_fiber(0);
#endif
    return true;
}

static void stack_unmap(CoContext *ctx)
{
    size_t guard = guard_bytes();

#ifdef HAVE_VALGRIND
    VALGRIND_STACK_DEREGISTER(ctx->valgrind_id);
#endif
#ifdef QBLOCK_TSAN
    __tsan_destroy_fiber(ctx->tsan_fiber);
#endif
    munmap((char *)ctx->stack_low - guard, guard + ctx->stack_bytes);
}

/* The thread's own stack as a context to come back to. */
static void context_init_thread(CoContext *ctx)
{
    pthread_attr_t attr;

    memset(ctx, 0, sizeof(*ctx));
    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
        pthread_attr_getstack(&attr, &ctx->stack_low, &ctx->stack_bytes);
        pthread_attr_destroy(&attr);
    }
#ifdef QBLOCK_TSAN
    ctx->tsan_fiber = __tsan_get_current_fiber();
#endif
}

static void announce_switch(CoContext *from, CoContext *to, bool for_good)
{
#ifdef QBLOCK_ASAN
    __sanitizer_start_switch_fiber(for_good ? NULL : &from->asan_fake_stack, to->stack_low, to->stack_bytes);
#endif
#ifdef QBLOCK_TSAN
    __tsan_switch_to_fiber(to->tsan_fiber, 0);
#endif
}

static void announce_arrival(CoContext *ctx)
{
#ifdef QBLOCK_ASAN
    __sanitizer_finish_switch_fiber(ctx->asan_fake_stack, NULL, NULL);
#endif
}

static void context_switch(CoContext *from, CoContext *to)
{
    announce_switch(from, to, false);
    switch_context_swap(&from->sw, &to->sw);
    announce_arrival(from);
}

static CoContext *caller_context(Coroutine *co)
{
    return co->caller ? &co->caller->ctx : &co->host->thread_ctx;
}

static void coroutine_main(void *arg)
{
    Coroutine *co = arg;

    announce_arrival(&co->ctx);
    while (co->entry) {
        co->entry(co->opaque);
        co->ended = true;
        context_switch(&co->ctx, caller_context(co));
    }
    announce_switch(&co->ctx, caller_context(co), true);
    switch_context_swap(&co->ctx.sw, &caller_context(co)->sw);
    g_assert_not_reached();
}

/* Run @co until it comes back. */
static void run(CoHost *host, Coroutine *co)
{
    Coroutine *from = host->running;

    co->caller = from;
    co->active = true;
    host->running = co;
    context_switch(from ? &from->ctx : &host->thread_ctx, &co->ctx);
    host->running = from;
    co->active = false;
}

static void destroy(CoHost *host, Coroutine *co)
{
    /* One last visit, so that whoever annotates stacks sees it left for good. */
    co->entry = NULL;
    run(host, co);
    switch_context_destroy(&co->ctx.sw);
    stack_unmap(&co->ctx);
    g_free(co);
}

static void recycle(CoHost *host, Coroutine *co)
{
    g_assert(!atomic_load_explicit(&co->queued, memory_order_relaxed));
    host->alive--;
    if (host->pool.count >= COROUTINE_POOL_MAX) {
        destroy(host, co);
        return;
    }
    co->pool_next = host->pool.head;
    host->pool.head = co;
    host->pool.count++;
}

static void pool_drain(CoHost *host)
{
    while (host->pool.head) {
        Coroutine *co = host->pool.head;

        host->pool.head = co->pool_next;
        host->pool.count--;
        destroy(host, co);
    }
}

void co_host_enter(CoHost *host, void (*post)(CoHost *host, LoopItem *item))
{
    g_assert(!current_host);
    context_init_thread(&host->thread_ctx);
    host->post = post;
    current_host = host;
}

void co_host_leave(CoHost *host)
{
    g_assert(host == current_host && !host->running && host->alive == 0);
    pool_drain(host);
    switch_context_destroy(&host->thread_ctx.sw);
    current_host = NULL;
}

CoHost *co_host_current(void)
{
    return current_host;
}

static Coroutine *pool_take(CoHost *host)
{
    Coroutine *co = host->pool.head;

    if (co) {
        host->pool.head = co->pool_next;
        host->pool.count--;
        return co;
    }
    co = g_new0(Coroutine, 1);
    co->host = host;
    co->item.co = co;
    if (!stack_map(&co->ctx)) {
        g_free(co);
        return NULL;
    }
    switch_context_init(&co->ctx.sw, co->ctx.stack_low, co->ctx.stack_bytes, coroutine_main, co);
    return co;
}

Coroutine *coroutine_new(CoroutineEntry *entry, void *opaque)
{
    Coroutine *co = coroutine_try_new(entry, opaque);

    if (!co) {
        g_error("no memory for a coroutine stack");
    }
    return co;
}

Coroutine *coroutine_try_new(CoroutineEntry *entry, void *opaque)
{
    CoHost *host = current_host;

    g_assert(host && entry);
    Coroutine *co = pool_take(host);
    if (!co) {
        return NULL;
    }
    co->entry = entry;
    co->opaque = opaque;
    co->ended = false;
    host->alive++;
    return co;
}

void coroutine_enter(Coroutine *co)
{
    CoHost *host = co->host;

    g_assert(host == current_host);
    g_assert(!co->active && !co->ended);
    g_assert(!atomic_load_explicit(&co->queued, memory_order_relaxed));
    run(host, co);
    if (co->ended) {
        recycle(host, co);
    }
}

void coroutine_fn coroutine_yield(void)
{
    Coroutine *co = coroutine_self();

    g_assert(co);
    context_switch(&co->ctx, caller_context(co));
}

void coroutine_wake(Coroutine *co)
{
    bool queued = atomic_exchange_explicit(&co->queued, true, memory_order_relaxed);

    g_assert(!queued); /* a second wake for one yield */
    co->host->post(co->host, &co->item);
}

void coroutine_fn coroutine_reschedule(void)
{
    coroutine_wake(coroutine_self());
    coroutine_yield();
}

Coroutine *coroutine_self(void)
{
    CoHost *host = current_host;

    return host ? host->running : NULL;
}

bool in_coroutine(void)
{
    return coroutine_self() != NULL;
}
