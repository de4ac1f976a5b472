/* SPDX-License-Identifier: MIT */
/* The consistency check: counts every reference to a host cluster, compares with the refcounts on disk, and repairs
 * what can be repaired without guessing. Source: qcow2 sheet section 18.
 *
 * It reads and writes the file directly, past the caches, so the caller flushes before and reloads its tables after. */
#ifndef QBLOCK_BLOCK_QCOW2_CHECK_H
#define QBLOCK_BLOCK_QCOW2_CHECK_H

#include "block/qcow2/state/qcow2-int.h"

/* Check the image on disk and fix by @fix (BLOCK_FIX_*). Findings go to stderr, counters to @res (zeroed by the
 * caller). With a fix that left no error the dirty and corrupt bits are cleared.
 * 0; -EIO: leaks only were to be fixed but the refcounts need a rebuild; -EFBIG: more than INT_MAX clusters; -ENOMEM;
 * errno of I/O. Context: coroutine, meta_lock held, metadata flushed. */
int coroutine_fn qcow2_check_image(Qcow2State *s, BlockCheckResult *res, unsigned fix);

#endif
