/* SPDX-License-Identifier: MIT */
/* The queue of the thread pool, for the files that make kinds of jobs. Context: any. */
#ifndef QBLOCK_UTIL_THREAD_POOL_INT_H
#define QBLOCK_UTIL_THREAD_POOL_INT_H

#include <stdbool.h>

typedef struct PoolJob PoolJob;
struct PoolJob {
    PoolJob *prev, *next; /* in the queue */
    bool queued;
    void (*run)(PoolJob *job); /* on a worker; the last thing it does with @job is to tell its owner */
};

/* False: there are no workers and the caller does the job itself. */
bool pool_enqueue(PoolJob *job);

/* Take @job back; false when somebody has begun it. */
bool pool_cancel(PoolJob *job);

#endif
