/* SPDX-License-Identifier: MIT */
/* Whether a range is known to read as zeros: each driver answers for itself, at this moment. */
#include "block/block.h"

#include "block/block-int.h"

bool coroutine_fn block_co_reads_zero(BlockNode *node, int64_t offset, int64_t bytes)
{
    int64_t total = node->total_bytes;

    g_assert(in_coroutine() && offset >= 0 && bytes >= 0);
    if (offset >= total || bytes == 0) {
        return true;
    }
    /* A node opened for facts has not read what it would answer from. */
    if (!node->drv->co_reads_zero || (node->flags & BLOCK_OPEN_NO_IO)) {
        return false;
    }
    return node->drv->co_reads_zero(node, offset, MIN(bytes, total - offset));
}
