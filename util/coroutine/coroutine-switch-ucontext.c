/* SPDX-License-Identifier: MIT */
/* The portable switch. swapcontext() also switches the signal mask, with a system call each: correct, not fast. */
#include "util/coroutine/coroutine-switch.h"

#include <glib.h>
#include <stdint.h>
#include <ucontext.h>

typedef struct UContext {
    ucontext_t uc;
    void (*entry)(void *);
    void *arg;
} UContext;

/* makecontext() passes ints: the pointer comes in two halves. */
static void start(unsigned int high, unsigned int low)
{
    UContext *u = (UContext *)(uintptr_t)(((uint64_t)high << 32) | low);

    u->entry(u->arg);
    g_assert_not_reached();
}

void switch_context_init(SwitchContext *ctx, void *stack_low, size_t bytes, void (*entry)(void *), void *arg)
{
    UContext *u = g_new0(UContext, 1);
    uint64_t self = (uintptr_t)u;

    g_assert(getcontext(&u->uc) == 0);
    u->uc.uc_stack.ss_sp = stack_low;
    u->uc.uc_stack.ss_size = bytes;
    u->entry = entry;
    u->arg = arg;
    makecontext(&u->uc, (void (*)(void))start, 2, (unsigned int)(self >> 32), (unsigned int)self);
    ctx->saved = u;
}

void switch_context_swap(SwitchContext *from, SwitchContext *to)
{
    UContext *f;
    UContext *t = to->saved;

    if (!from->saved) {
        from->saved = g_new0(UContext, 1);
    }
    f = from->saved;
    g_assert(swapcontext(&f->uc, &t->uc) == 0);
}

void switch_context_destroy(SwitchContext *ctx)
{
    g_free(ctx->saved);
    ctx->saved = NULL;
}
