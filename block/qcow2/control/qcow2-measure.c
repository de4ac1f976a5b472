/* SPDX-License-Identifier: MIT */
/* The size a new image will have. Source: qcow2 sheet section 22. */
#include "block/qcow2/control/qcow2-control.h"

#include "block/qcow2/control/qcow2-spec.h"
#include "util/base/error.h"

typedef struct Refs {
    uint64_t blocks, table;
} Refs;

/* Clusters for the refcounts of @clusters and of themselves. Each step can only grow, so the loop ends at the least
 * fixed point. */
static Refs refcount_clusters(const Qcow2Geometry *g, uint64_t clusters)
{
    Refs r = {0};

    for (;;) {
        uint64_t blocks = div_round_up(clusters + r.blocks + r.table, UINT64_C(1) << g->refblock_bits);
        uint64_t table = div_round_up(blocks * sizeof(uint64_t), g->cluster_bytes);

        if (blocks == r.blocks && table == r.table) {
            return r;
        }
        r = (Refs){blocks, table};
    }
}

/* Header, tables and refcounts of a fully allocated image; its LUKS area comes on top, in whole clusters. */
static uint64_t metadata_clusters(const Qcow2Spec *spec)
{
    const Qcow2Geometry *g = &spec->geo;
    uint64_t data = qcow2_clusters(g, spec->size);
    uint64_t l2 = qcow2_l1_entries_for(g, spec->size);
    uint64_t meta = 1 + l2 + div_round_up(l2 * sizeof(uint64_t), g->cluster_bytes);
    Refs refs = refcount_clusters(g, meta + data);

    return meta + refs.blocks + refs.table + qcow2_clusters(g, spec->crypto_bytes);
}

/* Clusters of @g that hold data of @node: not those that read as zeros. */
static bool coroutine_fn count_data(BlockNode *node, const Qcow2Geometry *g, uint64_t *clusters, GError **errp)
{
    int64_t bytes = block_getlength(node);
    uint64_t counted_to = 0;

    *clusters = 0;
    for (int64_t at = 0; at < bytes;) {
        BlockStatus st;
        int ret = block_co_status_above(node, NULL, at, bytes - at, &st);

        if (ret < 0) {
            error_set_errno(errp, -ret, "Unable to get block status");
            return false;
        }
        if (st.bytes <= 0) {
            break;
        }
        if (!(st.flags & BLOCK_STATUS_ZERO) && (st.flags & (BLOCK_STATUS_DATA | BLOCK_STATUS_ALLOCATED))) {
            uint64_t from = MAX(counted_to, qcow2_cluster_start(g, at)), to = qcow2_cluster_end(g, at + st.bytes);

            *clusters += to > from ? (to - from) >> g->cluster_bits : 0;
            counted_to = MAX(counted_to, to);
        }
        at += st.bytes;
    }
    return true;
}

static bool coroutine_fn count_required(const Qcow2Spec *spec, BlockNode *node, uint64_t *clusters, GError **errp)
{
    *clusters = 0;
    if (spec->prealloc == BLOCK_PREALLOC_FULL || spec->prealloc == BLOCK_PREALLOC_FALLOC) {
        *clusters = qcow2_clusters(&spec->geo, spec->size);
        return true;
    }
    return !node || count_data(node, &spec->geo, clusters, errp);
}

/* Could the source hold persistent bitmaps, and holds none? Of those it holds this build does not know the size yet. */
static bool lacks_bitmaps(BlockNode *node)
{
    if (!node || node->drv->co_measure != qcow2_measure) {
        return false;
    }
    const Qcow2Header *h = &qcow2_state(node)->header;

    return h->version >= 3 && !h->bitmaps.present;
}

bool coroutine_fn qcow2_measure(const OptDict *options, BlockNode *node, BlockMeasure *out, GError **errp)
{
    g_autoptr(OptDict) d = optdict_copy(options);
    Qcow2Spec spec;
    uint64_t required;

    if (node) {
        int64_t bytes = block_getlength(node);

        if (bytes < 0) {
            error_set_errno(errp, -bytes, "Unable to get image virtual_size");
            return false;
        }
        optdict_set_int(d, "size", bytes);
    }
    if (!qcow2_spec_parse(&spec, d, errp)) {
        return false;
    }
    bool ok = qcow2_spec_fits(&spec);
    if (!ok) {
        error_set(errp, "The image size is too large (try using a larger cluster size)");
    }
    ok = ok && count_required(&spec, node, &required, errp);
    if (ok) {
        uint64_t meta = metadata_clusters(&spec);

        out->required = (meta + required) << spec.geo.cluster_bits;
        out->has_bitmaps = spec.geo.version >= 3 && lacks_bitmaps(node);
        out->fully_allocated = (meta + qcow2_clusters(&spec.geo, spec.size)) << spec.geo.cluster_bits;
    }
    qcow2_spec_clear(&spec);
    return ok;
}
