/* SPDX-License-Identifier: MIT */
/* Edges of the graph: what a node asks of its children, and the backing chain. */
#ifndef QBLOCK_BLOCK_GRAPH_H
#define QBLOCK_BLOCK_GRAPH_H

#include "block/block-int.h"

#define BLOCK_MAX_CHAIN 256 /* images in one backing chain */

/* Open flags of the file child of a node of @drv (NULL: not known yet) opened with @flags. */
unsigned block_child_flags(const BlockDriver *drv, unsigned flags);
/* Open flags of a backing file. */
unsigned block_backing_flags(unsigned flags);

/* What the opener of a top node with @flags does to it. */
void block_top_perms(unsigned flags, unsigned *perms, unsigned *unshared);

/* Tell @node what its user does and does not share; passed down to the protocol node, which takes the image locks. */
bool coroutine_fn block_node_set_perms(BlockNode *node, unsigned perms, unsigned unshared, GError **errp);

/* The same for @node's aux child, which was opened after its file. */
bool coroutine_fn block_node_lock_aux(BlockNode *node, GError **errp);

#endif
