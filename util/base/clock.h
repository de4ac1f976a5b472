/* SPDX-License-Identifier: MIT */
/* The one clock that durations are measured with. */
#ifndef QBLOCK_UTIL_CLOCK_H
#define QBLOCK_UTIL_CLOCK_H

#include <stdint.h>

/* Nanoseconds since some moment before the process began; never goes back. Context: any. */
int64_t clock_monotonic_ns(void);

#endif
