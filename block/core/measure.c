/* SPDX-License-Identifier: MIT */
/* Size estimates of images that are not there yet: dispatch to the driver. */
#include "block/block.h"

#include "block/block-int.h"
#include "util/base/error.h"

bool coroutine_fn block_co_measure(const BlockDriver *drv, const OptDict *options, BlockNode *node, BlockMeasure *out,
                                   GError **errp)
{
    *out = (BlockMeasure){0};
    if (!drv->co_measure) {
        error_set(errp, "Block driver '%s' does not support size measurement", drv->format_name);
        return false;
    }
    return drv->co_measure(options, node, out, errp);
}
