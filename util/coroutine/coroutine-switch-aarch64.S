/* SPDX-License-Identifier: MIT */
/* AAPCS64: x19-x28, the frame pointer, the link register and the low halves of v8-v15 are the callee's. */
    .text

/* void switch_asm_swap(void **save_sp, void *load_sp) */
    .globl  switch_asm_swap
    .hidden switch_asm_swap
    .type   switch_asm_swap, %function
    .p2align 4
switch_asm_swap:
    .cfi_startproc
    sub     sp, sp, #160
    .cfi_def_cfa_offset 160
    stp     x19, x20, [sp, #0]
    stp     x21, x22, [sp, #16]
    stp     x23, x24, [sp, #32]
    stp     x25, x26, [sp, #48]
    stp     x27, x28, [sp, #64]
    stp     x29, x30, [sp, #80]
    .cfi_offset x29, -80
    .cfi_offset x30, -72
    stp     d8, d9, [sp, #96]
    stp     d10, d11, [sp, #112]
    stp     d12, d13, [sp, #128]
    stp     d14, d15, [sp, #144]
    mov     x9, sp
    str     x9, [x0]
    mov     sp, x1
    ldp     x19, x20, [sp, #0]
    ldp     x21, x22, [sp, #16]
    ldp     x23, x24, [sp, #32]
    ldp     x25, x26, [sp, #48]
    ldp     x27, x28, [sp, #64]
    ldp     x29, x30, [sp, #80]
    .cfi_restore x29
    .cfi_restore x30
    ldp     d8, d9, [sp, #96]
    ldp     d10, d11, [sp, #112]
    ldp     d12, d13, [sp, #128]
    ldp     d14, d15, [sp, #144]
    add     sp, sp, #160
    .cfi_def_cfa_offset 0
    ret
    .cfi_endproc
    .size   switch_asm_swap, . - switch_asm_swap

/* The first landing on a new stack; the outermost frame of every coroutine. */
    .globl  switch_asm_start
    .hidden switch_asm_start
    .type   switch_asm_start, %function
    .p2align 4
switch_asm_start:
    .cfi_startproc
    .cfi_undefined x30
    mov     x0, x20
    mov     x30, xzr
    blr     x19
    brk     #1
    .cfi_endproc
    .size   switch_asm_start, . - switch_asm_start

    .section .note.GNU-stack, "", %progbits
