/* SPDX-License-Identifier: MIT */
/* Cluster 0 on disk: reading it whole into a validated header, writing it whole from one. */
#ifndef QBLOCK_BLOCK_QCOW2_HEADER_IO_H
#define QBLOCK_BLOCK_QCOW2_HEADER_IO_H

#include "block/block.h"
#include "block/qcow2/format/qcow2-header.h"

/* Read and decode cluster 0 of @file with all extensions. @check: as of qcow2_header_decode(). On success release with
 * qcow2_header_clear(); on failure nothing is left to release. Context: coroutine. */
bool coroutine_fn qcow2_header_read(BlockNode *file, Qcow2Header *h, bool check, GError **errp);

/* Write @h to cluster 0 of @file as one write, without a sync. 0; -ENOSPC: extensions or backing name do not fit;
 * -ENOMEM; errno of the write. Context: coroutine. */
int coroutine_fn qcow2_header_store(BlockNode *file, const Qcow2Header *h);

#endif
