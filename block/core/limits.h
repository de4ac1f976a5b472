/* SPDX-License-Identifier: MIT */
/* Limits of a node: defaults for what its driver left open. */
#ifndef QBLOCK_BLOCK_LIMITS_H
#define QBLOCK_BLOCK_LIMITS_H

#include "block/block-int.h"

/* Called once, after the driver's co_open: every limit is usable afterwards without a test for 0, except max_zero and
 * max_discard, where 0 means none. */
void block_limits_complete(BlockLimits *l);

#endif
