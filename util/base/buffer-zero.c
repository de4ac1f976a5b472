/* SPDX-License-Identifier: MIT */
#include "util/base/buffer-zero.h"

#include <stdatomic.h>
#include <string.h>

#include "util/base/buffer-zero-int.h"

static inline uint64_t load_word(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof(v));
    return v;
}

static bool has_words(void)
{
    return true;
}

/* What every CPU of an architecture has (SSE2, NEON) is reached through the vector extension. */
typedef uint64_t Vec16 __attribute__((vector_size(16)));

static inline Vec16 load_vec(const uint8_t *p)
{
    Vec16 v;

    memcpy(&v, p, sizeof(v));
    return v;
}

/* The portable row. */
static bool scan_words(const uint8_t *buf, size_t bytes)
{
    const uint8_t *last = buf + bytes - 64;
    bool at_end = false;

    for (const uint8_t *p = buf; !at_end; p += 64) {
        if (p >= last) {
            p = last;
            at_end = true;
        }
        Vec16 v = load_vec(p) | load_vec(p + 16) | load_vec(p + 32) | load_vec(p + 48);
        if (v[0] | v[1]) {
            return false;
        }
    }
    return true;
}

const ZeroRow buffer_zero_rows[] = {
#if defined(__x86_64__)
    {"avx512", buffer_zero_has_avx512, buffer_zero_scan_avx512},
    {"avx2", buffer_zero_has_avx2, buffer_zero_scan_avx2},
#endif
    {"words", has_words, scan_words},
    {NULL},
};

static ZeroScan choose_and_scan;

/* Chosen at first use; a race chooses the same row twice. A plain pointer rather than an ifunc: ifunc resolvers run
 * before the sanitizers are ready. */
static _Atomic(ZeroScan *) chosen_scan = choose_and_scan;

static bool choose_and_scan(const uint8_t *buf, size_t bytes)
{
    const ZeroRow *row = buffer_zero_rows;

    while (!row->available()) {
        row++;
    }
    atomic_store_explicit(&chosen_scan, row->scan, memory_order_relaxed);
    return row->scan(buf, bytes);
}

static bool small_is_zero(const uint8_t *p, size_t bytes)
{
    uint64_t acc = 0;

    if (bytes < 8) {
        for (size_t i = 0; i < bytes; i++) {
            acc |= p[i];
        }
        return acc == 0;
    }
    for (size_t i = 0; i + 8 < bytes; i += 8) {
        acc |= load_word(p + i);
    }
    return (acc | load_word(p + bytes - 8)) == 0;
}

bool buffer_is_zero(const void *buf, size_t bytes)
{
    const uint8_t *p = buf;

    if (bytes < ZERO_SCAN_MIN_BYTES) {
        return small_is_zero(p, bytes);
    }
    if (load_word(p) | load_word(p + bytes / 2) | load_word(p + bytes - 8)) {
        return false;
    }
    return atomic_load_explicit(&chosen_scan, memory_order_relaxed)(p, bytes);
}
