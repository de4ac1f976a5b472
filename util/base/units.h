/* SPDX-License-Identifier: MIT */
/* Unit constants and checked, overflow-free arithmetic on byte counts. Context: any; pure. */
#ifndef QBLOCK_UTIL_UNITS_H
#define QBLOCK_UTIL_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#define KIB (INT64_C(1) << 10)
#define MIB (INT64_C(1) << 20)
#define GIB (INT64_C(1) << 30)
#define TIB (INT64_C(1) << 40)

#define SECTOR_BITS 9
#define SECTOR_SIZE (1 << SECTOR_BITS) /* bytes; the unit of disk encryption */

#define CHECKED_ADD(a, b, out) (!__builtin_add_overflow((a), (b), (out)))
#define CHECKED_MUL(a, b, out) (!__builtin_mul_overflow((a), (b), (out)))

static inline bool is_power_of_2(uint64_t v) { return v != 0 && (v & (v - 1)) == 0; }

/* @align is a power of two. round_up() needs v + align - 1 not to overflow: check at the edge. */
static inline uint64_t round_down(uint64_t v, uint64_t align) { return v & ~(align - 1); }
static inline uint64_t round_up(uint64_t v, uint64_t align) { return (v + align - 1) & ~(align - 1); }
static inline bool is_aligned(uint64_t v, uint64_t align) { return (v & (align - 1)) == 0; }
static inline uint64_t div_round_up(uint64_t v, uint64_t d) { return v / d + (v % d != 0); }
static inline int log2_exact(uint64_t v) { return __builtin_ctzll(v); }

#endif
