/* SPDX-License-Identifier: MIT */
/* The process's shared worker threads.
 *
 * One worker per online CPU unless QBLOCK_THREADS or thread_pool_set_size() says otherwise; started on first use, fewer
 * when threads cannot be made (at least zero: then jobs run in the submitter). A worker never waits for a job, a
 * coroutine lock or a loop, so the pool cannot deadlock. */
#ifndef QBLOCK_UTIL_THREAD_POOL_H
#define QBLOCK_UTIL_THREAD_POOL_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

#include "util/coroutine/coroutine.h"

typedef int ThreadPoolFunc(void *arg);              /* context: worker; 0/positive or -errno */
typedef int ThreadPoolPartFunc(void *arg, size_t i); /* part i of n */

/* Run @func(@arg) on a worker while the calling coroutine yields; its return value. @arg may live on the caller's
 * stack. */
int coroutine_fn thread_pool_submit_co(ThreadPoolFunc *func, void *arg);

/* Run @func(@arg, 0..@n-1), spread over at most @helpers_max idle workers; the calling coroutine runs parts itself
 * until none is left, then waits for those still running: awake for some microseconds, then it yields. The first error
 * (lowest i) or 0. */
int coroutine_fn thread_pool_map_co(ThreadPoolPartFunc *func, void *arg, size_t n, unsigned helpers_max);

/* The same for callers outside coroutines or on the control path: blocks the thread. It never waits for a part that no
 * worker has begun. Context: any but worker. */
int thread_pool_map_blocking(ThreadPoolPartFunc *func, void *arg, size_t n);

/* False when QBLOCK_THREADS is no number of workers. Who starts the layers asks once; a pool that is used all the same
 * has the default size. Context: any. */
bool thread_pool_check_env(GError **errp);

unsigned thread_pool_size(void);          /* workers that may run at once */
unsigned thread_pool_idle(void);          /* a snapshot: workers with nothing to do */
unsigned thread_pool_load(void);          /* a snapshot: jobs under way or queued */
void thread_pool_set_size(unsigned n);    /* before first use, or for tests: drains and restarts */
bool thread_pool_is_worker(void);         /* is the calling thread one */
void thread_pool_shutdown(void);          /* joins the workers; for exits that want a clean valgrind */

#endif
