/* SPDX-License-Identifier: MIT */
/* Block status without the file below: what a format's own tables say. */
#ifndef QBLOCK_BLOCK_STATUS_H
#define QBLOCK_BLOCK_STATUS_H

#include "block/block-int.h"

/* As block_co_status(), but holes of the file child are not looked for. The range lies inside the node; @bytes > 0. */
int coroutine_fn block_status_of_layer(BlockNode *node, int64_t offset, int64_t bytes, BlockStatus *st);

#endif
