/* SPDX-License-Identifier: MIT */
/* Consistency check: dispatch to the driver. */
#include "block/block.h"

#include <errno.h>

#include "block/block-int.h"

int coroutine_fn block_co_check(BlockNode *node, BlockCheckResult *res, unsigned fix)
{
    *res = (BlockCheckResult){0};
    if (!node->drv->co_check) {
        return -ENOTSUP;
    }
    if (fix && !(node->flags & BLOCK_OPEN_RDWR)) {
        return -EPERM;
    }
    return node->drv->co_check(node, res, fix);
}
