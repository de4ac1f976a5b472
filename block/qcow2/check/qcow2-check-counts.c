/* SPDX-License-Identifier: MIT */
#include "block/qcow2/check/qcow2-check-int.h"

#include <errno.h>
#include <inttypes.h>

static size_t entry_bytes(const Qcow2Counts *k)
{
    return k->wide ? sizeof(uint32_t) : sizeof(uint16_t);
}

/* Zeroed pages cost nothing until they are counted in, so the array may cover a huge sparse file. */
int qcow2_counts_init(Qcow2Check *c)
{
    Qcow2Counts *k = &c->counts;

    k->wide = c->g->refcount_order > 4;
    k->max = MIN(c->g->refcount_max, (uint64_t)UINT32_MAX);
    k->len = c->clusters + 1; /* a reference may start in the file and end one cluster behind */
    k->values = g_try_malloc0(k->len * entry_bytes(k));
    return k->values ? 0 : -ENOMEM;
}

void qcow2_counts_free(Qcow2Counts *k)
{
    g_clear_pointer(&k->values, g_free);
    k->len = 0;
}

uint32_t qcow2_counts_get(const Qcow2Counts *k, uint64_t cluster)
{
    if (cluster >= k->len) {
        return 0;
    }
    return k->wide ? ((const uint32_t *)k->values)[cluster] : ((const uint16_t *)k->values)[cluster];
}

static int grow(Qcow2Counts *k, uint64_t len)
{
    uint64_t new_len = MAX(len, k->len + k->len / 8 + 64);
    uint8_t *values = g_try_realloc(k->values, new_len * entry_bytes(k));

    if (!values) {
        return -ENOMEM;
    }
    memset(values + k->len * entry_bytes(k), 0, (new_len - k->len) * entry_bytes(k));
    k->values = values;
    k->len = new_len;
    return 0;
}

int qcow2_counts_set(Qcow2Counts *k, uint64_t cluster, uint32_t value)
{
    if (cluster >= k->len && grow(k, cluster + 1) < 0) {
        return -ENOMEM;
    }
    if (k->wide) {
        ((uint32_t *)k->values)[cluster] = value;
    } else {
        ((uint16_t *)k->values)[cluster] = value;
    }
    return 0;
}

bool qcow2_counts_none(const Qcow2Counts *k, uint64_t first, uint64_t n)
{
    uint64_t end = MIN(first + n, k->len);

    return first >= end ||
           buffer_is_zero((const uint8_t *)k->values + first * entry_bytes(k), (end - first) * entry_bytes(k));
}

static int count_cluster(Qcow2Check *c, uint64_t cluster)
{
    uint32_t value = qcow2_counts_get(&c->counts, cluster);

    if (value == c->counts.max) {
        qcow2_check_corruption(c,
                               "ERROR: overflow cluster offset=0x%" PRIx64
                               "\nUse qemu-img amend to increase the refcount entry width or qemu-img convert to "
                               "create a clean copy if the image cannot be opened for writing",
                               cluster << c->g->cluster_bits);
        return 0;
    }
    return qcow2_counts_set(&c->counts, cluster, value + 1);
}

static void note_lost(Qcow2Check *c, uint64_t host_off, uint64_t end)
{
    if (host_off >= c->rebuild_limit) {
        return;
    }
    end = MIN(end, c->rebuild_limit);
    c->lost_from = c->lost_end ? MIN(c->lost_from, host_off) : host_off;
    c->lost_end = MAX(c->lost_end, end);
}

int qcow2_count_range(Qcow2Check *c, uint64_t host_off, uint64_t bytes)
{
    uint64_t end;

    if (bytes == 0) {
        return 0;
    }
    if (!CHECKED_ADD(host_off, bytes, &end)) {
        end = UINT64_MAX;
    }
    if (end >= c->file_bytes + c->g->cluster_bytes) {
        qcow2_check_corruption(c,
                               "ERROR: counting reference for region exceeding the end of the file by one cluster or "
                               "more: offset 0x%" PRIx64 " size 0x%" PRIx64,
                               host_off, bytes);
        note_lost(c, host_off, end);
        return 0;
    }
    for (uint64_t i = host_off >> c->g->cluster_bits; i <= (end - 1) >> c->g->cluster_bits; i++) {
        int ret = count_cluster(c, i);

        if (ret < 0) {
            return ret;
        }
    }
    return 0;
}
