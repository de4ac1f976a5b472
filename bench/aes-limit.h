/* SPDX-License-Identifier: MIT */
/* How fast this CPU's AES instructions are when nothing else is asked of it: rounds on registers, no memory, no mode.
 * No row can be faster; how near one comes is what bench-cipher --limits shows. */
#ifndef QBLOCK_BENCH_AES_LIMIT_H
#define QBLOCK_BENCH_AES_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct AesLimit {
    const char *name; /* "limit-512": AES rounds on registers of 512 bits */
    bool (*available)(void);
    /* @rounds rounds of AES on at least @blocks blocks of 16 bytes, eight registers at once. Context: any; pure. */
    void (*run)(unsigned rounds, size_t blocks);
} AesLimit;

/* The limits this CPU can run, the widest registers first; NULL past the end. */
const AesLimit *aes_limit_at(size_t i);

#endif
