/* SPDX-License-Identifier: MIT */
#include "block/qcow2/data/qcow2-join.h"

#include <inttypes.h>

#include "util/coroutine/coroutine.h"

void qcow2_join_locked(const Qcow2State *s, Qcow2Link *link, Qcow2Join *j)
{
    uint64_t end = link->guest_off + (link->clusters << s->geo.cluster_bits);

    if (link->open) {
        j->bytes = MIN(j->bytes, end - j->guest_off);
        *link->joins_end = j;
        link->joins_end = &j->next;
    }
}

void coroutine_fn qcow2_join_open(Qcow2State *s, Qcow2Link *link)
{
    g_assert(link->clusters == 1);
    qcow2_cache_lock(s->l2);
    link->open = true;
    link->joins_end = &link->joins;
    qcow2_cache_unlock(s->l2);
}

void coroutine_fn qcow2_join_gather(Qcow2State *s, Qcow2Link *link, uint8_t *cluster)
{
    unsigned count = 0;

    coroutine_reschedule();
    qcow2_cache_lock(s->l2);
    link->open = false;
    qcow2_cache_unlock(s->l2);
    for (const Qcow2Join *j = link->joins; j; j = j->next, count++) {
        iovec_to_buf(j->iov, j->iov_off, cluster + (j->guest_off - link->guest_off), j->bytes);
    }
    trace(TRACE_QCOW2, "join", "guest=0x%" PRIx64 " count=%u", link->guest_off, count);
}

void qcow2_join_done(Qcow2Link *link)
{
    for (Qcow2Join *j = link->joins; j; j = j->next) {
        j->done = true;
    }
}
