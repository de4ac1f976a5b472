/* SPDX-License-Identifier: MIT */
/* System V x86-64. No .note.gnu.property: a program with this object runs without a shadow stack, which a stack
 * switch of this kind would break. */
    .text

/* void switch_asm_swap(void **save_sp, void *load_sp) */
    .globl  switch_asm_swap
    .hidden switch_asm_swap
    .type   switch_asm_swap, @function
    .p2align 4
switch_asm_swap:
    .cfi_startproc
    pushq   %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset rbp, 0
    pushq   %rbx
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset rbx, 0
    pushq   %r12
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset r12, 0
    pushq   %r13
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset r13, 0
    pushq   %r14
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset r14, 0
    pushq   %r15
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset r15, 0
    movq    %rsp, (%rdi)
    movq    %rsi, %rsp
    popq    %r15
    .cfi_adjust_cfa_offset -8
    .cfi_restore r15
    popq    %r14
    .cfi_adjust_cfa_offset -8
    .cfi_restore r14
    popq    %r13
    .cfi_adjust_cfa_offset -8
    .cfi_restore r13
    popq    %r12
    .cfi_adjust_cfa_offset -8
    .cfi_restore r12
    popq    %rbx
    .cfi_adjust_cfa_offset -8
    .cfi_restore rbx
    popq    %rbp
    .cfi_adjust_cfa_offset -8
    .cfi_restore rbp
    /* Not ret: the return predictor would always be wrong here, the indirect one is often right. */
    popq    %rcx
    .cfi_adjust_cfa_offset -8
    .cfi_register rip, rcx
    jmpq    *%rcx
    .cfi_endproc
    .size   switch_asm_swap, . - switch_asm_swap

/* The first landing on a new stack; the outermost frame of every coroutine. */
    .globl  switch_asm_start
    .hidden switch_asm_start
    .type   switch_asm_start, @function
    .p2align 4
switch_asm_start:
    .cfi_startproc
    .cfi_undefined rip
    movq    %r13, %rdi
    callq   *%r12
    ud2
    .cfi_endproc
    .size   switch_asm_start, . - switch_asm_start

    .section .note.GNU-stack, "", @progbits
