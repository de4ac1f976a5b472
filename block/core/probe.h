/* SPDX-License-Identifier: MIT */
/* Guess of an image's format from its first bytes. */
#ifndef QBLOCK_BLOCK_PROBE_H
#define QBLOCK_BLOCK_PROBE_H

#include "block/block-int.h"

#define BLOCK_PROBE_BYTES 2048

/* The driver that is surest about @buf, at worst raw. @len may be less than BLOCK_PROBE_BYTES at the end of a short
 * file. Context: any; pure. */
const BlockDriver *block_probe_buffer(const uint8_t *buf, size_t len, const char *filename);

/* The same for an opened protocol node. NULL with errp when it cannot be read. */
const BlockDriver *coroutine_fn block_probe_node(BlockNode *file, GError **errp);

#endif
