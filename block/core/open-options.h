/* SPDX-License-Identifier: MIT */
/* The options that every node takes, whatever its driver. */
#ifndef QBLOCK_BLOCK_OPEN_OPTIONS_H
#define QBLOCK_BLOCK_OPEN_OPTIONS_H

#include "block/block-int.h"

typedef struct NodeOptions {
    unsigned flags; /* in: inherited; out: after the node's own options */
    BlockDetectZeroes detect_zeroes;
} NodeOptions;

/* Take read-only, auto-read-only, cache.*, discard, detect-zeroes, force-share and node-name out of @opts. */
bool block_take_node_options(OptDict *opts, NodeOptions *out, GError **errp);

/* Error naming the first key left in @opts, if there is one. */
bool block_refuse_leftovers(const OptDict *opts, const BlockDriver *drv, GError **errp);

#endif
