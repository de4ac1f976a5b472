/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "block/qcow2/data/qcow2-io.h"
#include "block/qcow2/map/qcow2-map.h"
#include "block/qcow2/data/qcow2-sparse.h"

/* Flags of a run; see sections 6, 7 and 9 of the qcow2 sheet and field cases F08, F28. */
static unsigned status_flags(const Qcow2State *s, const Qcow2Map *map)
{
    /* What is encrypted is not stored raw, so it has no offset to read at; nor have the zeros over it. */
    unsigned place = s->node->encrypted ? 0 : BLOCK_STATUS_OFFSET;

    switch (map->kind) {
    case QCOW2_KIND_UNALLOCATED:
        return 0;
    case QCOW2_KIND_ZERO_PLAIN:
        return BLOCK_STATUS_ALLOCATED | BLOCK_STATUS_ZERO;
    case QCOW2_KIND_ZERO_ALLOC:
        return BLOCK_STATUS_ALLOCATED | BLOCK_STATUS_ZERO | place;
    case QCOW2_KIND_NORMAL:
        return BLOCK_STATUS_ALLOCATED | BLOCK_STATUS_DATA | place;
    case QCOW2_KIND_COMPRESSED:
        return BLOCK_STATUS_ALLOCATED | BLOCK_STATUS_DATA | BLOCK_STATUS_COMPRESSED;
    }
    g_assert_not_reached();
}

/* Does the run of @next, @at bytes on, belong to the run of @map? */
static bool continues(const Qcow2Map *map, unsigned flags, uint64_t at, const Qcow2Map *next, unsigned next_flags)
{
    return flags == next_flags && (!(flags & BLOCK_STATUS_OFFSET) || next->host_off == map->host_off + at);
}

int coroutine_fn qcow2_co_status(BlockNode *node, int64_t guest_off, int64_t bytes, BlockStatus *st)
{
    Qcow2State *s = qcow2_state(node);
    uint64_t done = bytes;
    Qcow2Map map;
    int ret = qcow2_lookup(s, guest_off, &done, &map, NULL);

    if (ret < 0) {
        return ret;
    }
    unsigned flags = status_flags(s, &map);
    while (done < (uint64_t)bytes) {
        uint64_t n = bytes - done;
        Qcow2Map next;
        /* An error is the business of the query that starts there. */
        if (qcow2_lookup(s, guest_off + done, &n, &next, NULL) < 0 ||
            !continues(&map, flags, done, &next, status_flags(s, &next))) {
            break;
        }
        done += n;
    }
    bool plain_data = (flags & BLOCK_STATUS_DATA) && (flags & BLOCK_STATUS_OFFSET);
    st->flags = flags | (plain_data && qcow2_file_is_sparse(s) ? BLOCK_STATUS_RECURSE : 0);
    st->bytes = done;
    st->host_off = flags & BLOCK_STATUS_OFFSET ? map.host_off : 0;
    st->file = s->data;
    return 0;
}
