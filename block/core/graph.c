/* SPDX-License-Identifier: MIT */
#include "block/core/graph.h"

unsigned block_child_flags(const BlockDriver *drv, unsigned flags)
{
    /* The top node alone emulates writethrough, copies what it reads, and knows about repair and missing keys. */
    flags &= ~(unsigned)(BLOCK_OPEN_NO_IO | BLOCK_OPEN_WRITETHROUGH | BLOCK_OPEN_NO_BACKING | BLOCK_OPEN_CHECK |
                         BLOCK_OPEN_UNSHARE | BLOCK_OPEN_NO_EXTERNAL | BLOCK_OPEN_COPY_ON_READ);
    /* A format decides itself what it frees in its file. */
    if (drv && !drv->passthrough) {
        flags |= BLOCK_OPEN_UNMAP;
    }
    return flags;
}

unsigned block_backing_flags(unsigned flags)
{
    return flags & (BLOCK_OPEN_FORCE_SHARE | BLOCK_OPEN_DIRECT | BLOCK_OPEN_NO_FLUSH | BLOCK_OPEN_NO_LOCK |
                    BLOCK_OPEN_NO_EXTERNAL | BLOCK_OPEN_AIO_NATIVE | BLOCK_OPEN_AIO_THREADS);
}

void block_top_perms(unsigned flags, unsigned *perms, unsigned *unshared)
{
    *perms = *unshared = 0;
    if (flags & BLOCK_OPEN_NO_IO) {
        return;
    }
    *perms = BLOCK_PERM_READ;
    if (flags & BLOCK_OPEN_RDWR) {
        *perms |= BLOCK_PERM_WRITE | (flags & BLOCK_OPEN_RESIZE ? BLOCK_PERM_RESIZE : 0);
    }
    if (flags & BLOCK_OPEN_UNSHARE) {
        *unshared = BLOCK_PERM_WRITE | BLOCK_PERM_RESIZE;
    }
}

/* A format writes metadata and grows its file as it likes, and nobody else may change it meanwhile. */
static void format_perms(const BlockNode *node, unsigned *perms, unsigned *unshared)
{
    if (node->drv->passthrough) {
        return;
    }
    if (node->flags & BLOCK_OPEN_RDWR) {
        *perms |= BLOCK_PERM_WRITE | BLOCK_PERM_RESIZE;
    }
    if (!(node->flags & BLOCK_OPEN_FORCE_SHARE)) {
        *unshared |= BLOCK_PERM_WRITE | BLOCK_PERM_RESIZE;
    }
}

bool coroutine_fn block_node_lock_aux(BlockNode *node, GError **errp)
{
    unsigned perms = node->perms, unshared = node->unshared;

    format_perms(node, &perms, &unshared);
    return block_node_set_perms(node->aux, perms, unshared, errp);
}

bool coroutine_fn block_node_set_perms(BlockNode *node, unsigned perms, unsigned unshared, GError **errp)
{
    node->perms = perms;
    node->unshared = unshared;
    if (node->drv->co_set_perms) {
        return node->drv->co_set_perms(node, errp);
    }
    if (node->file) {
        format_perms(node, &perms, &unshared);
        return (!node->aux || block_node_set_perms(node->aux, perms, unshared, errp)) &&
               block_node_set_perms(node->file, perms, unshared, errp);
    }
    return true;
}
