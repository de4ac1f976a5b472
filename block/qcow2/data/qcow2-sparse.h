/* SPDX-License-Identifier: MIT */
/* Are clusters of an image allocated without ever having been written? */
#ifndef QBLOCK_BLOCK_QCOW2_SPARSE_H
#define QBLOCK_BLOCK_QCOW2_SPARSE_H

#include "block/qcow2/state/qcow2-int.h"

/* True when the file stores clearly less than the clusters in use take: by two clusters and by a tenth of them. Then
 * the image was preallocated, and the holes of its file tell where zeros are. Looked up once per open: it may read all
 * refcount blocks. False when in doubt. Context: coroutine, meta_lock not held. */
bool coroutine_fn qcow2_file_is_sparse(Qcow2State *s);

#endif
