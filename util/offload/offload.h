/* SPDX-License-Identifier: MIT */
/* The one place that decides whether a codec job runs inline, on a worker, or split over several.
 *
 * A job states its cost: units times the measured time per unit of that codec on this machine. Cheap jobs run inline. A
 * dear one may go to the pool: whole, when other work waits on its loop and a worker is free, else shared with idle
 * workers in parts. Whether that is done is learned from such jobs (util/offload-tune). Each decision is the trace
 * event "offload".
 */
#ifndef QBLOCK_UTIL_OFFLOAD_H
#define QBLOCK_UTIL_OFFLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "util/coroutine/coroutine.h"

typedef enum OffloadMode {
    OFFLOAD_AUTO, /* by cost */
    OFFLOAD_ON,   /* always the pool */
    OFFLOAD_OFF,  /* strictly synchronous */
} OffloadMode;

typedef struct OffloadJob {
    const char *what;       /* for the trace: "encrypt", "deflate", ... */
    /* Do units [@first, @first+@count). Ranges never overlap; several may run at once on different threads. Must not
     * yield. 0 or -errno. Context: worker or the calling coroutine's thread. */
    int (*func)(void *arg, size_t first, size_t count);
    void *arg;
    size_t units;           /* e.g. 512-byte sectors; 1 = not divisible */
    uint64_t ps_per_unit;   /* measured cost in picoseconds; see offload_cost_*() */
    OffloadMode mode;
} OffloadJob;

/* Run the job to its end. 0 or the first error. */
int coroutine_fn offload_run_co(const OffloadJob *job);

/* Measured, once per process: nanoseconds from submit to resumption on an idle pool. Context: any. */
uint64_t offload_handover_ns(void);

#endif
