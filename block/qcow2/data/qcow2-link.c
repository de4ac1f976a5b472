/* SPDX-License-Identifier: MIT */
/* The end of an allocating write: its clusters are mapped, or given back. */
#include <inttypes.h>

#include "block/qcow2/data/qcow2-alloc.h"
#include "block/qcow2/alloc/qcow2-clusters.h"
#include "block/qcow2/data/qcow2-join.h"
#include "block/qcow2/map/qcow2-map.h"
#include "util/base/trace.h"

static int coroutine_fn link_locked(Qcow2State *s, const Qcow2Link *link)
{
    unsigned idx = qcow2_l2_idx(&s->geo, link->guest_off);
    void *table;
    int ret = s->corrupt ? -ENOMEDIUM : qcow2_l2_get_writable_locked(s, link->guest_off, &table);

    if (ret < 0) {
        return ret;
    }
    /* What the entries mapped so far stays on disk until the new ones are there (I4). */
    for (uint64_t i = 0; i < link->clusters && !link->reused; i++) {
        uint64_t old = qcow2_l2_entry(s, table, idx + i);
        if (old != 0) {
            qcow2_entry_free_locked(s, old, QCOW2_FREE_OTHER);
        }
    }
    qcow2_cache_lock(s->l2);
    for (uint64_t i = 0; i < link->clusters; i++) {
        qcow2_l2_set_entry(s, table, idx + i, (link->host_off + (i << s->geo.cluster_bits)) | QCOW2_OFLAG_COPIED);
    }
    qcow2_cache_mark_dirty_locked(s->l2, table);
    qcow2_cache_unlock(s->l2);
    qcow2_cache_put(s->l2, &table);
    s->data_unsynced = true;
    return 0;
}

static void coroutine_fn give_back(Qcow2State *s, const Qcow2Link *link)
{
    if (!link->reused) {
        qcow2_clusters_unalloc_locked(s, link->host_off, link->clusters << s->geo.cluster_bits);
    }
}

int coroutine_fn qcow2_write_run_link(Qcow2State *s, Qcow2WriteRun *run)
{
    if (run->in_place || run->joined) {
        return 0;
    }
    qcow2_meta_lock(s, "link");
    int ret = link_locked(s, &run->link);
    if (ret < 0) {
        give_back(s, &run->link);
    } else {
        qcow2_join_done(&run->link);
    }
    qcow2_link_end_locked(s, &run->link);
    trace(TRACE_QCOW2, "link", "guest=0x%" PRIx64 " clusters=%" PRIu64 " ret=%d", run->link.guest_off,
          run->link.clusters, ret);
    qcow2_meta_unlock(s, "link");
    return ret;
}

void coroutine_fn qcow2_write_run_abort(Qcow2State *s, Qcow2WriteRun *run)
{
    if (run->in_place || run->joined) {
        return;
    }
    qcow2_meta_lock(s, "abort");
    give_back(s, &run->link);
    qcow2_link_end_locked(s, &run->link);
    qcow2_meta_unlock(s, "abort");
}
