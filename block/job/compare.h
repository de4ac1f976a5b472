/* SPDX-License-Identifier: MIT */
/* Compare the guest contents of two nodes, in parallel. */
#ifndef QBLOCK_BLOCK_COMPARE_H
#define QBLOCK_BLOCK_COMPARE_H

#include "block/block.h"
#include "util/output/progress.h"

#define COMPARE_WINDOW_BYTES (512u << 10) /* two of them stay in a second-level cache from read to comparison */

typedef struct BlockCompareOptions {
    BlockNode *nodes[2]; /* borrowed */
    bool strict;         /* block status must be equal too */
    unsigned workers;    /* windows in flight; 0 = two per CPU */
    Progress *progress;  /* borrowed or NULL; counts bytes of the longer node */
} BlockCompareOptions;

typedef enum BlockCompareVerdict {
    BLOCK_COMPARE_EQUAL,
    BLOCK_COMPARE_CONTENT,      /* first difference at offset, in units of 512 */
    BLOCK_COMPARE_STATUS,       /* strict: block status differs at offset */
    BLOCK_COMPARE_STATUS_ERROR, /* block status of nodes[which] cannot be had */
    BLOCK_COMPARE_READ_ERROR,   /* nodes[which] cannot be read */
} BlockCompareVerdict;

typedef struct BlockCompareResult {
    BlockCompareVerdict verdict;
    int64_t offset;
    int which;
    int err; /* -errno of the last two verdicts */
} BlockCompareResult;

/* The first difference in guest order. Where one node is longer, its tail must read as zeros. Context: coroutine. */
void coroutine_fn block_co_compare(const BlockCompareOptions *opts, BlockCompareResult *res);

#endif
