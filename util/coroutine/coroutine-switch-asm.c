/* SPDX-License-Identifier: MIT */
/* First frames for the assembly switch of coroutine-switch-<cpu>.S. */
#include "util/coroutine/coroutine-switch.h"

#include <glib.h>
#include <stdint.h>
#include <string.h>

/* In the .S files. The switch saves what the ABI calls callee-saved on the old stack and pops it from the new one; the
 * floating point control words are not switched because nothing here changes them. */
void switch_asm_swap(void **save_sp, void *load_sp);
void switch_asm_start(void);

#if defined(__x86_64__)
/* r15 r14 r13 r12 rbx rbp, return address, two words that keep the stack aligned to 16 when switch_asm_start begins; it
 * finds the entry in r12 and its argument in r13. */
enum { FRAME_WORDS = 9, FRAME_ENTRY = 3, FRAME_ARG = 2, FRAME_RETURN = 6 };
#elif defined(__aarch64__)
/* x19 .. x30, d8 .. d15; switch_asm_start finds the entry in x19 and its argument in x20. */
enum { FRAME_WORDS = 20, FRAME_ENTRY = 0, FRAME_ARG = 1, FRAME_RETURN = 11 };
#else
#error "no assembly switch for this CPU"
#endif

void switch_context_init(SwitchContext *ctx, void *stack_low, size_t bytes, void (*entry)(void *), void *arg)
{
    uintptr_t top = ((uintptr_t)stack_low + bytes) & ~(uintptr_t)15;
    uintptr_t *frame = (uintptr_t *)top - FRAME_WORDS;

    /* Zeroed words above and a zero frame pointer end the chain that a debugger walks. */
    memset(frame, 0, FRAME_WORDS * sizeof(*frame));
    frame[FRAME_ENTRY] = (uintptr_t)entry;
    frame[FRAME_ARG] = (uintptr_t)arg;
    frame[FRAME_RETURN] = (uintptr_t)switch_asm_start;
    ctx->saved = frame;
}

void switch_context_swap(SwitchContext *from, SwitchContext *to)
{
    switch_asm_swap(&from->saved, to->saved);
}

void switch_context_destroy(SwitchContext *ctx)
{
    ctx->saved = NULL;
}
