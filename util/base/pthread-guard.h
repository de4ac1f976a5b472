/* SPDX-License-Identifier: MIT */
/* A plain mutex held to the end of a block. */
#ifndef QBLOCK_UTIL_PTHREAD_GUARD_H
#define QBLOCK_UTIL_PTHREAD_GUARD_H

#include <glib.h>
#include <pthread.h>

/* Scoped guard for a plain, short pthread mutex; no yield inside. */
typedef pthread_mutex_t PthreadGuard;
static inline PthreadGuard *pthread_guard_take(pthread_mutex_t *m) { pthread_mutex_lock(m); return m; }
static inline void pthread_guard_drop(PthreadGuard *m) { pthread_mutex_unlock(m); }
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PthreadGuard, pthread_guard_drop)
#define PTHREAD_GUARD(m) \
    g_autoptr(PthreadGuard) G_PASTE(pt_guard_, __LINE__) G_GNUC_UNUSED = pthread_guard_take(m)

#endif
