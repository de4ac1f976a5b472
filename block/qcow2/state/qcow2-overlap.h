/* SPDX-License-Identifier: MIT */
/* The last look before a write: does it hit metadata? Source: qcow2 sheet section 17. */
#ifndef QBLOCK_BLOCK_QCOW2_OVERLAP_H
#define QBLOCK_BLOCK_QCOW2_OVERLAP_H

#include "block/qcow2/state/qcow2-int.h"

/* Would a write of the range hit metadata other than @ignore (QCOW2_OL_*)? Returns 0, or -EIO with the image marked
 * corrupt "Preventing invalid write on metadata (overlaps with %s)". Context: coroutine, neither guard held. */
enum {
    QCOW2_OL_HEADER = 1, QCOW2_OL_ACTIVE_L1 = 2, QCOW2_OL_ACTIVE_L2 = 4, QCOW2_OL_REFTABLE = 8, QCOW2_OL_REFBLOCK = 16,
    QCOW2_OL_SNAPSHOT_TABLE = 32, QCOW2_OL_INACTIVE_L1 = 64, QCOW2_OL_INACTIVE_L2 = 128, QCOW2_OL_BITMAP_DIR = 256,
    QCOW2_OL_CONSTANT = 0x12b, QCOW2_OL_CACHED = 0x17f, QCOW2_OL_ALL = 0x1ff
};
int coroutine_fn qcow2_check_overlap(Qcow2State *s, unsigned ignore, uint64_t host_off, uint64_t bytes);

#endif
