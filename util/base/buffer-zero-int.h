/* SPDX-License-Identifier: MIT */
/* The rows of buffer_is_zero(): one scan per instruction set. For util/buffer-zero* and their test. */
#ifndef QBLOCK_UTIL_BUFFER_ZERO_INT_H
#define QBLOCK_UTIL_BUFFER_ZERO_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a scan may rely on. Rows may read every byte of the range more than once and none outside it. */
#define ZERO_SCAN_MIN_BYTES 256

typedef bool ZeroScan(const uint8_t *buf, size_t bytes); /* bytes >= ZERO_SCAN_MIN_BYTES */

typedef struct ZeroRow {
    const char *name;
    bool (*available)(void);
    ZeroScan *scan;
} ZeroRow;

/* Best first; the last is always available. Ended by a NULL name. */
extern const ZeroRow buffer_zero_rows[];

#if defined(__x86_64__)
bool buffer_zero_has_avx512(void);
bool buffer_zero_has_avx2(void);
ZeroScan buffer_zero_scan_avx512;
ZeroScan buffer_zero_scan_avx2;
#endif

#endif
