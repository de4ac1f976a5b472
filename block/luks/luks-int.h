/* SPDX-License-Identifier: MIT */
/* What the files of the luks driver share. */
#ifndef QBLOCK_BLOCK_LUKS_INT_H
#define QBLOCK_BLOCK_LUKS_INT_H

#include "block/block-int.h"
#include "crypto/volume/block.h"

/* Header access over @file. */
CryptoIo luks_header_io(BlockNode *file);

extern const OptDesc luks_create_opts[];
bool coroutine_fn luks_co_create(const char *filename, OptDict *options, GError **errp);
bool coroutine_fn luks_co_measure(const OptDict *options, BlockNode *node, BlockMeasure *out, GError **errp);

#endif
