/* SPDX-License-Identifier: MIT */
/* Reads that fall through to a backing chain.
 *
 * The chain is walked in a loop, by status, and only the layer that decides is read: if every layer read from the one
 * below it, the stack would have to be as deep as the chain is long. */
#include "block/block-int.h"

#include "block/core/status.h"

/* The layer below @node, itself included, that has a run at the start of @rw; *@bytes is cut to that run. NULL: zeros.
 */
static int coroutine_fn find_layer(BlockNode *node, int64_t offset, int64_t *bytes, BlockNode **out)
{
    *out = NULL;
    for (; node && offset < node->total_bytes; node = node->backing) {
        *bytes = MIN(*bytes, node->total_bytes - offset);
        if (!node->backing) {
            *out = node; /* the last one decides without being asked */
            return 0;
        }
        BlockStatus st;
        int ret = block_status_of_layer(node, offset, *bytes, &st);
        if (ret < 0) {
            return ret;
        }
        *bytes = st.bytes;
        if (st.flags & BLOCK_STATUS_ALLOCATED) {
            *out = st.flags & BLOCK_STATUS_ZERO ? NULL : node;
            return 0;
        }
    }
    return 0;
}

int coroutine_fn block_co_read_backing(BlockNode *node, const BlockRw *rw)
{
    BlockRw run = *rw;

    for (int64_t done = 0; done < rw->bytes; done += run.bytes) {
        BlockNode *layer;
        run.offset = rw->offset + done;
        run.iov_off = rw->iov_off + done;
        run.bytes = rw->bytes - done;
        int ret = find_layer(node->backing, run.offset, &run.bytes, &layer);
        if (ret == 0 && layer) {
            ret = block_co_rw_read(layer, &run);
        } else if (ret == 0) {
            iovec_memset(run.iov, run.iov_off, 0, run.bytes);
        }
        if (ret < 0) {
            return ret;
        }
    }
    return 0;
}
