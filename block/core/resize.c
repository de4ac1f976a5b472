/* SPDX-License-Identifier: MIT */
/* Change of a node's length. */
#include "block/block.h"

#include <errno.h>

#include "block/core/io-int.h"
#include "util/base/error.h"

static const char *const prealloc_names[] = {
    [BLOCK_PREALLOC_OFF] = "off",
    [BLOCK_PREALLOC_METADATA] = "metadata",
    [BLOCK_PREALLOC_FALLOC] = "falloc",
    [BLOCK_PREALLOC_FULL] = "full",
};

bool block_prealloc_from_name(const char *name, BlockPrealloc *out)
{
    for (size_t i = 0; i < G_N_ELEMENTS(prealloc_names); i++) {
        if (g_str_equal(name, prealloc_names[i])) {
            *out = (BlockPrealloc)i;
            return true;
        }
    }
    return false;
}

const char *block_prealloc_name(BlockPrealloc prealloc)
{
    return prealloc_names[prealloc];
}

static bool truncate_allowed(const BlockNode *node, int64_t bytes, GError **errp)
{
    if (bytes < 0 || bytes > INT64_MAX - BLOCK_MAX_REQUEST_BYTES) {
        error_set(errp, "The image size is too large for file format '%s'", node->drv->format_name);
        return false;
    }
    if (!node->drv->co_truncate) {
        error_set(errp, "Image format driver does not support resize");
        return false;
    }
    if (!(node->flags & BLOCK_OPEN_RDWR) || (node->flags & BLOCK_OPEN_NO_IO)) {
        error_set(errp, "Image is read-only");
        return false;
    }
    return true;
}

bool coroutine_fn block_co_truncate(BlockNode *node, int64_t bytes, BlockPrealloc prealloc, GError **errp)
{
    Req req;

    g_assert(in_coroutine());
    if (!truncate_allowed(node, bytes, errp)) {
        return false;
    }
    /* Everything from the lower of the two ends on: nobody may write into space that comes or goes. */
    int64_t from = MIN(node->total_bytes, bytes);
    reqlist_begin(&node->reqs, &req, from, INT64_MAX - from, true, true);
    bool ok = node->drv->co_truncate(node, bytes, prealloc, errp);
    if (ok) {
        /* The driver may have rounded. */
        int64_t now = node->drv->co_getlength ? node->drv->co_getlength(node) : bytes;

        block_node_set_length(node, now >= 0 ? now : bytes);
    }
    atomic_fetch_add(&node->write_gen, 1);
    reqlist_end(&node->reqs, &req);
    return ok;
}
