/* SPDX-License-Identifier: MIT */
/* The ordered metadata flush, which keeps the invariants of qcow2-int.h. */
#ifndef QBLOCK_BLOCK_QCOW2_FLUSH_H
#define QBLOCK_BLOCK_QCOW2_FLUSH_H

#include "block/qcow2/state/qcow2-int.h"

/* Write all dirty metadata in the order of the invariants (qcow2-int.h), syncing between the steps, then apply pending
 * frees. @again: also write what the frees changed (close). Context: coroutine, meta_lock held. */
int coroutine_fn qcow2_flush_metadata_locked(Qcow2State *s, bool again);

#endif
