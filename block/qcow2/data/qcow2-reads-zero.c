/* SPDX-License-Identifier: MIT */
/* Is a range of the disk known to read as zeros? Answered from the tables; the file is asked about what they map. */
#include "block/qcow2/data/qcow2-io.h"
#include "block/qcow2/map/qcow2-map.h"

/* Does a run that @map describes, @bytes long, read as zeros? An encrypted cluster is noise unless it was written, and
 * a compressed one was; what no cluster is mapped for is the backing file's business. */
static bool coroutine_fn run_is_zero(Qcow2State *s, const Qcow2Map *map, uint64_t bytes)
{
    switch (map->kind) {
    case QCOW2_KIND_UNALLOCATED:
        return !s->node->backing && !s->node->backing_name;
    case QCOW2_KIND_ZERO_PLAIN:
    case QCOW2_KIND_ZERO_ALLOC:
        return true;
    case QCOW2_KIND_NORMAL:
        return !s->node->encrypted && block_co_reads_zero(s->data, map->host_off, bytes);
    case QCOW2_KIND_COMPRESSED:
        return false;
    }
    g_assert_not_reached();
}

bool coroutine_fn qcow2_co_reads_zero(BlockNode *node, int64_t guest_off, int64_t bytes)
{
    Qcow2State *s = qcow2_state(node);

    for (int64_t done = 0; done < bytes;) {
        uint64_t n = bytes - done;
        Qcow2Map map;

        if (qcow2_lookup(s, guest_off + done, &n, &map, NULL) < 0 || !run_is_zero(s, &map, n)) {
            return false;
        }
        done += n;
    }
    return true;
}
