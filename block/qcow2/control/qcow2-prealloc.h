/* SPDX-License-Identifier: MIT */
/* Mapping a guest range before it is written. Source: qcow2 sheet section 20. */
#ifndef QBLOCK_BLOCK_QCOW2_PREALLOC_H
#define QBLOCK_BLOCK_QCOW2_PREALLOC_H

#include "block/qcow2/state/qcow2-int.h"

/* Map every unmapped cluster of [@guest_off, @guest_end), but for a first one that a backing file may show in, reading
 * as zeros, and give the host file room for them:
 * METADATA a hole, FALLOC reserved space, FULL written zeros. In an encrypted image, and on a device, which takes
 * METADATA only, the clusters are flagged zero: what is in the file there are no zeros for the guest. Context:
 * coroutine, meta_lock not held; no other request on the range. */
bool coroutine_fn qcow2_preallocate(Qcow2State *s, uint64_t guest_off, uint64_t guest_end, BlockPrealloc mode,
                                    GError **errp);

#endif
