/* SPDX-License-Identifier: MIT */
/* Compressed clusters: read one, write whole ones. Source: qcow2 sheet section 7. */
#ifndef QBLOCK_BLOCK_QCOW2_COMPRESSED_H
#define QBLOCK_BLOCK_QCOW2_COMPRESSED_H

#include "block/qcow2/map/qcow2-map.h"

/* Read @bytes at @in_cluster of the cluster that @map describes into @iov from @iov_off on. 0; -EIO on a bad stream;
 * -ENOMEM; errno of the read. Context: coroutine, no lock held, a reader registered. */
int coroutine_fn qcow2_read_compressed(Qcow2State *s, const Qcow2Map *map, uint64_t in_cluster, uint64_t bytes,
                                       const IoVec *iov, size_t iov_off);

/* Store whole clusters compressed; one that does not shrink is stored plain. -ENOTSUP on an encrypted image (its
 * compressed clusters would be readable without a key); -EINVAL unless whole clusters are given (the last may end with
 * the disk); -EIO where something is mapped already. Context: coroutine, no lock held. */
int coroutine_fn qcow2_write_compressed(Qcow2State *s, const BlockRw *rw);

#endif
