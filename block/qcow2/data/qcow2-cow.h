/* SPDX-License-Identifier: MIT */
/* Copy-on-write edges: what surrounds a guest write inside newly allocated clusters. */
#ifndef QBLOCK_BLOCK_QCOW2_COW_H
#define QBLOCK_BLOCK_QCOW2_COW_H

#include "block/qcow2/data/qcow2-alloc.h"

/* The memory of one write of whole clusters: head | guest data | tail. The guest's part is the caller's memory, but for
 * one cluster that is encrypted: then all of it is ours. */
typedef struct Qcow2Cow {
    void *edges; /* aligned_buf; head and tail; of one cluster its whole image */
    IoVec iov;
    unsigned flags; /* BLOCK_REQ_OWN_BUFFER, or 0 */
} Qcow2Cow;

/* Read the edges of @run (which has some) as the guest sees them now, and string them together with its data, the bytes
 * of @guest from @guest_off_in_iov on. 0, and qcow2_cow_clear() is due; -errno, and it is not.
 * Context: coroutine, no lock held; the run's link is in flight, so nobody changes what is read. */
int coroutine_fn qcow2_cow_read(Qcow2State *s, const Qcow2WriteRun *run, const IoVec *guest, size_t iov_off,
                                Qcow2Cow *cow);
void qcow2_cow_clear(Qcow2Cow *cow);

/* Large edges that read as zeros are given to the file as a zero write of all the run's clusters: *@done, and the
 * guest's data alone is left to be written. *@done is false when that is not worth it or cannot be done. 0 or -errno.
 * Context: coroutine, no lock held. */
int coroutine_fn qcow2_cow_zero(Qcow2State *s, const Qcow2WriteRun *run, bool *done);

#endif
