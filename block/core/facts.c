/* SPDX-License-Identifier: MIT */
/* What info reports about a node: dispatch to the driver. */
#include "block/block.h"

#include <errno.h>

#include "block/block-int.h"

int coroutine_fn block_co_get_info(BlockNode *node, BlockInfo *info)
{
    *info = (BlockInfo){0};
    return node->drv->co_get_info ? node->drv->co_get_info(node, info) : 0;
}

InfoTree *coroutine_fn block_co_specific_info(BlockNode *node, GError **errp)
{
    if (!node->drv->co_specific_info) {
        return NULL;
    }
    InfoTree *data = node->drv->co_specific_info(node, errp);
    if (!data) {
        return NULL;
    }
    InfoTree *wrapper = info_object_new();
    info_set_str(wrapper, "type", node->drv->format_name);
    info_set(wrapper, "data", data);
    return wrapper;
}

int64_t coroutine_fn block_co_allocated_bytes(BlockNode *node)
{
    int64_t others = 0;

    while (!node->drv->co_allocated_bytes && node->file) {
        int64_t bytes = node->aux ? block_co_allocated_bytes(node->aux) : 0;
        if (bytes < 0) {
            return bytes;
        }
        others += bytes;
        node = node->file;
    }
    int64_t own = node->drv->co_allocated_bytes ? node->drv->co_allocated_bytes(node) : -ENOTSUP;
    return own < 0 ? own : own + others;
}
