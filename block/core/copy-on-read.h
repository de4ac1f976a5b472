/* SPDX-License-Identifier: MIT */
/* Reads that fill an overlay from its backing chain (BLOCK_OPEN_COPY_ON_READ). */
#ifndef QBLOCK_BLOCK_COPY_ON_READ_H
#define QBLOCK_BLOCK_COPY_ON_READ_H

#include "block/block-int.h"

/* Read @rw, a range inside @node. What of it @node leaves to its backing chain is first written into @node, in whole
 * clusters; clusters of zeros as such where the format can.
 * Returns: 0, or the -errno of the read or of the copy: no data without its copy.
 * Context: coroutine; waits for requests to the same clusters while it copies. */
int coroutine_fn block_co_read_copying(BlockNode *node, const BlockRw *rw);

#endif
