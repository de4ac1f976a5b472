/* SPDX-License-Identifier: MIT */
/* The copy engine: one or more source nodes into one target, in parallel. Under convert, and copies like it.
 *
 * Coroutines spread over several event loops take windows of the source in guest order, find out what is in them, read,
 * drop zeros, and write. Reads, codecs and writes of many windows are in flight at once in both modes; without
 * @out_of_order the target *allocates* in guest order (BlockPlace), so that the image is laid out sequentially. */
#ifndef QBLOCK_BLOCK_COPY_H
#define QBLOCK_BLOCK_COPY_H

#include "block/block.h"
#include "util/output/progress.h"

#define COPY_WINDOW_BYTES (1u << 20) /* fits a core's second-level cache from read to write */
#define COPY_MAX_WORKERS 16

typedef struct BlockCopyOptions {
    BlockNode *const *sources; /* borrowed; concatenated */
    size_t n_sources;
    BlockNode *source_base;    /* copy what layers above this one decide, leave the rest; NULL = copy everything */
    bool target_has_backing;   /* what the source does not decide above source_base is left to it, but where the target
                                * hides it */
    BlockNode *target;         /* borrowed; at least as long as the sources together */
    unsigned workers;          /* windows in flight, 1 .. COPY_MAX_WORKERS */
    unsigned loops;            /* event loops to spread them over; 0 = one per CPU, at most workers */
    bool out_of_order;
    bool compressed;
    bool target_is_zero;       /* the target reads as zeros already */
    bool keep_space;           /* zeros that are written may not unmap what the target has */
    size_t sparse_bytes;       /* shortest run of zeros to leave out; 0 = write everything */
    Progress *progress;        /* borrowed or NULL; counts source bytes */
} BlockCopyOptions;

typedef enum BlockCopyStage { BLOCK_COPY_STATUS, BLOCK_COPY_READ, BLOCK_COPY_WRITE } BlockCopyStage;

typedef struct BlockCopyError {
    BlockCopyStage stage; /* what failed */
    int64_t offset;       /* bytes; READ and WRITE: in the concatenated source; STATUS: in the one source it is about */
} BlockCopyError;

/* Copy. 0 or -errno of the first failure, with *@err filled. The target is not flushed. Context: coroutine. */
int coroutine_fn block_co_copy(const BlockCopyOptions *opts, BlockCopyError *err);

/* Sum of the sources' lengths, bytes. */
int64_t block_copy_total(BlockNode *const *sources, size_t n_sources);

#endif
