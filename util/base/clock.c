/* SPDX-License-Identifier: MIT */
#include "util/base/clock.h"

#include <time.h>

int64_t clock_monotonic_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}
