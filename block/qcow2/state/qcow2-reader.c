/* SPDX-License-Identifier: MIT */
#include "block/qcow2/state/qcow2-reader.h"

void qcow2_reader_begin_locked(Qcow2State *s, Qcow2Reader *r, uint64_t host_off, uint64_t bytes)
{
    r->host_off = host_off;
    r->bytes = bytes;
    r->prev = NULL;
    r->next = s->readers;
    if (s->readers) {
        s->readers->prev = r;
    }
    s->readers = r;
}

void qcow2_reader_end(Qcow2State *s, Qcow2Reader *r)
{
    if (r->bytes == 0) {
        return;
    }
    qcow2_cache_lock(s->l2);
    *(r->prev ? &r->prev->next : &s->readers) = r->next;
    if (r->next) {
        r->next->prev = r->prev;
    }
    r->bytes = 0;
    qcow2_cache_unlock(s->l2);
}

bool qcow2_readers_overlap(Qcow2State *s, uint64_t host_off, uint64_t bytes)
{
    bool hit = false;

    qcow2_cache_lock(s->l2);
    for (const Qcow2Reader *r = s->readers; r && !hit; r = r->next) {
        hit = r->host_off < host_off + bytes && host_off < r->host_off + r->bytes;
    }
    qcow2_cache_unlock(s->l2);
    return hit;
}
