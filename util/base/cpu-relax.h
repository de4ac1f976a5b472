/* SPDX-License-Identifier: MIT */
/* What a thread does between two looks at something that another thread is about to change. Context: any. */
#ifndef QBLOCK_UTIL_CPU_RELAX_H
#define QBLOCK_UTIL_CPU_RELAX_H

static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
