/* SPDX-License-Identifier: MIT */
/* Image file access for metadata: reads that may reach past the end (missing bytes are zeros, qcow2 sheet section 1),
 * and tables of 64-bit entries. */
#ifndef QBLOCK_BLOCK_QCOW2_FILE_H
#define QBLOCK_BLOCK_QCOW2_FILE_H

#include "block/block.h"

/* Read @bytes at @off into @buf. 0 or -errno. Context: coroutine. */
int coroutine_fn qcow2_file_read(BlockNode *file, uint64_t off, void *buf, size_t bytes);

/* How many of @bytes at @off lie inside the file. Context: any. */
uint64_t qcow2_file_clamp(const BlockNode *file, uint64_t off, uint64_t bytes);

/* Write entries [@first, @first+@n) of @table (host byte order) to their places in the table at @table_off, big-endian,
 * in bounded pieces. 0 or -errno. Context: coroutine. */
int coroutine_fn qcow2_file_write_entries(BlockNode *file, const uint64_t *table, uint64_t first, uint64_t n,
                                          uint64_t table_off);

#endif
