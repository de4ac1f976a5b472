/* SPDX-License-Identifier: MIT */
/* The machine part of a coroutine switch: registers and stack pointer, nothing else.
 *
 * Three functions, two makes: hand-written assembly for x86-64 and aarch64, ucontext for every other CPU (and for
 * -Dcoroutine_switch=ucontext). Context: any; the contexts of one switch belong to the calling thread. */
#ifndef QBLOCK_UTIL_COROUTINE_SWITCH_H
#define QBLOCK_UTIL_COROUTINE_SWITCH_H

#include <stddef.h>

typedef struct SwitchContext {
    void *saved; /* asm: the stack pointer; ucontext: a heap ucontext_t */
} SwitchContext;

/* Prepare @ctx so that the first switch to it calls @entry(@arg) on the stack [@stack_low, +@bytes). @entry never
 * returns. */
void switch_context_init(SwitchContext *ctx, void *stack_low, size_t bytes, void (*entry)(void *), void *arg);

/* Save the running context in @from (all zero the first time is fine) and go on in @to. */
void switch_context_swap(SwitchContext *from, SwitchContext *to);

void switch_context_destroy(SwitchContext *ctx);

#endif
