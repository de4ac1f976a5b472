/* SPDX-License-Identifier: MIT */
/* Life of a node: made by open, counted, flushed and freed with its last reference. */
#ifndef QBLOCK_BLOCK_NODE_H
#define QBLOCK_BLOCK_NODE_H

#include "block/block-int.h"

/* A node of @drv with one reference, its state zeroed, not opened. NULL when there is no memory for the state. */
BlockNode *block_node_new(const BlockDriver *drv, unsigned flags);

/* Undo block_node_new() for a node whose driver did not open: its children are closed, its driver is not called. */
void coroutine_fn block_node_discard(BlockNode *node);

#endif
