/* SPDX-License-Identifier: MIT */
/* Cluster 0 of a qcow2 image: any bytes are refused with one line of error, or decode to a header that encodes to a
 * cluster which decodes to the same. */
#include <errno.h>
#include <string.h>

#include "block/qcow2/format/qcow2-format.h"
#include "block/qcow2/format/qcow2-geometry.h"
#include "block/qcow2/format/qcow2-header.h"
#include "tests/fuzz/fuzz.h"

static void check_error(const GError *err)
{
    g_assert(err && err->message[0] && g_utf8_validate(err->message, -1, NULL) && !strpbrk(err->message, "\r\n\x1b"));
}

/* What later code relies on without looking again. */
static void check_promises(const Qcow2Header *h)
{
    Qcow2Geometry g;

    qcow2_geometry_init(&g, h->version, h->cluster_bits, h->refcount_order, h->incompatible & QCOW2_INCOMPAT_EXTL2);
    g_assert(h->size % SECTOR_SIZE == 0 && h->size <= INT64_MAX);
    g_assert(h->l1_size >= qcow2_l1_entries_for(&g, h->size));
    g_assert(h->l1_size * sizeof(uint64_t) <= QCOW2_MAX_L1_BYTES && qcow2_in_cluster(&g, h->l1_off) == 0);
    g_assert(h->reftable_clusters * g.cluster_bytes <= QCOW2_MAX_REFTABLE_BYTES);
    g_assert(qcow2_in_cluster(&g, h->reftable_off) == 0 && h->nb_snapshots <= QCOW2_MAX_SNAPSHOTS);
    g_assert(!h->backing_name || strlen(h->backing_name) <= QCOW2_MAX_BACKING_NAME);
    g_assert((h->crypt_method == QCOW2_CRYPT_LUKS) == (h->crypto_off != 0));
}

static void check_round_trip(const Qcow2Header *h)
{
    size_t bytes = (size_t)1 << h->cluster_bits;
    g_autofree uint8_t *first = g_malloc(bytes), *second = g_malloc(bytes);
    Qcow2Header again;
    int ret = qcow2_header_encode(h, first);

    if (ret < 0) {
        g_assert(ret == -ENOSPC); /* the feature names that we add may not fit */
        return;
    }
    g_assert(qcow2_header_decode(&again, first, bytes, false, NULL));
    g_assert(qcow2_header_decode_exts(&again, first, NULL));
    check_promises(&again);
    g_assert(qcow2_header_encode(&again, second) == 0 && !memcmp(first, second, bytes));
    qcow2_header_clear(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GError) err = NULL;
    Qcow2Header h;

    if (!qcow2_header_decode(&h, data, size, false, &err)) {
        check_error(err);
        return 0;
    }
    size_t bytes = (size_t)1 << h.cluster_bits;
    g_autofree uint8_t *cluster = g_malloc0(bytes);
    memcpy(cluster, data, MIN(size, bytes));
    if (!qcow2_header_decode_exts(&h, cluster, &err)) {
        check_error(err);
        return 0;
    }
    check_promises(&h);
    check_round_trip(&h);
    qcow2_header_clear(&h);
    return 0;
}
