/* SPDX-License-Identifier: MIT */
/* The fault driver: passes everything to its file, except for operations that a test wants to fail, slow down or hold.
 *
 * Options beside file.*:
 *   fail-read=N, fail-write=N, fail-zero=N, fail-discard=N, fail-flush=N, fail-truncate=N
 *                     the N-th such operation fails (from 1), and every one after it
 *   once=on           only the N-th fails
 *   errno=E           with this error; default 5 (EIO)
 *   offset=O, length=L  only operations that touch [O, O+L) count; L defaults to 1 with O given. Flushes and truncates
 *                     touch everything
 *   delay-ns=T        every operation that counts takes that much longer
 * Holding is for tests in C only. */
#ifndef QBLOCK_BLOCK_FAULT_H
#define QBLOCK_BLOCK_FAULT_H

#include "block/block.h"

typedef enum FaultOp {
    FAULT_READ,
    FAULT_WRITE,
    FAULT_ZERO,
    FAULT_DISCARD,
    FAULT_FLUSH,
    FAULT_TRUNCATE,
    FAULT_OPS
} FaultOp;

/* Operations of the kind that counted so far. Context: any. */
unsigned fault_count(BlockNode *node, FaultOp op);

/* Make operations of the kind wait, before they reach the file, until this is called with false. Context: any. */
void fault_hold(BlockNode *node, FaultOp op, bool hold);
/* How many of them wait. Context: any. */
unsigned fault_held(BlockNode *node, FaultOp op);

#endif
