/* SPDX-License-Identifier: MIT */
/* Writes that join the allocation of another: small writes into one new cluster, which is written once with the data of
 * all of them. They end when it is linked, as if each had been done after the other. */
#ifndef QBLOCK_BLOCK_QCOW2_JOIN_H
#define QBLOCK_BLOCK_QCOW2_JOIN_H

#include "block/qcow2/state/qcow2-int.h"

/* The part of a write that wants to join. On its coroutine's stack, in a link's list from when it joins until that
 * ends. */
typedef struct Qcow2Join {
    uint64_t guest_off, bytes;
    const IoVec *iov; /* guest memory, which is only read */
    size_t iov_off;
    bool done;        /* written and linked; read once the link has ended */
    struct Qcow2Join *next;
} Qcow2Join;

/* Hand the data of @j to @link, which its first byte lies in, if that is open; @j->bytes is cut to the link's end. The
 * caller waits for the link and looks at @j->done then: false if it had closed already, or has failed.
 * Context: l2 guard held. */
void qcow2_join_locked(const Qcow2State *s, Qcow2Link *link, Qcow2Join *j);

/* @link, of one cluster that the caller is about to write whole, takes others' data from now on.
 * Context: coroutine, no lock held. */
void coroutine_fn qcow2_join_open(Qcow2State *s, Qcow2Link *link);
/* Let those who are ready come, then close @link and copy the data of all who joined into @cluster, the image of the
 * link's cluster. Context: coroutine, no lock held. */
void coroutine_fn qcow2_join_gather(Qcow2State *s, Qcow2Link *link, uint8_t *cluster);
/* @link is in the tables: so is the data of those who joined. Before they are woken. Context: meta_lock held. */
void qcow2_join_done(Qcow2Link *link);

#endif
