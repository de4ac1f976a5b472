/* SPDX-License-Identifier: MIT */
#include "block/qcow2/format/qcow2-geometry.h"

#include <glib.h>

#include "block/qcow2/format/qcow2-format.h"
#include "util/base/endian.h"

void qcow2_geometry_init(Qcow2Geometry *g, unsigned version, unsigned cluster_bits, unsigned refcount_order,
                         bool extended_l2)
{
    g_assert(cluster_bits >= QCOW2_MIN_CLUSTER_BITS && cluster_bits <= QCOW2_MAX_CLUSTER_BITS);
    g_assert(refcount_order <= QCOW2_MAX_REFCOUNT_ORDER);

    g->version = version;
    g->cluster_bits = cluster_bits;
    g->cluster_bytes = UINT64_C(1) << cluster_bits;
    g->extended_l2 = extended_l2;
    g->l2_entry_bytes = extended_l2 ? 16 : 8;
    g->l2_bits = cluster_bits - (extended_l2 ? 4 : 3);
    g->refcount_order = refcount_order;
    g->refcount_bits = 1u << refcount_order;
    g->refblock_bits = cluster_bits + 3 - refcount_order;
    g->refcount_max = refcount_order == 6 ? UINT64_MAX : (UINT64_C(1) << g->refcount_bits) - 1;
}

uint64_t qcow2_l1_entries_for(const Qcow2Geometry *g, uint64_t bytes)
{
    unsigned shift = g->cluster_bits + g->l2_bits;

    return (bytes >> shift) + ((bytes & ((UINT64_C(1) << shift) - 1)) != 0);
}

/* --- compressed descriptors: the low bits are a byte offset, the next cluster_bits - 8 a count of further sectors ---
 */

static unsigned compressed_off_bits(const Qcow2Geometry *g)
{
    return 62 - (g->cluster_bits - 8);
}

Qcow2CompressedExtent qcow2_compressed_decode(const Qcow2Geometry *g, uint64_t l2_entry)
{
    unsigned off_bits = compressed_off_bits(g);
    uint64_t host_off = l2_entry & ((UINT64_C(1) << off_bits) - 1);
    uint64_t more = (l2_entry & ~QCOW2_OFLAG_COMPRESSED & ~QCOW2_OFLAG_COPIED) >> off_bits;

    return (Qcow2CompressedExtent){
        .host_off = host_off,
        .bytes = (more + 1) * SECTOR_SIZE - (host_off & (SECTOR_SIZE - 1)),
    };
}

uint64_t qcow2_compressed_encode(const Qcow2Geometry *g, uint64_t host_off, uint64_t bytes)
{
    unsigned off_bits = compressed_off_bits(g);
    uint64_t more = ((host_off + bytes - 1) >> SECTOR_BITS) - (host_off >> SECTOR_BITS);

    g_assert(bytes > 0 && bytes < g->cluster_bytes && host_off < qcow2_compressed_max_off(g));
    return QCOW2_OFLAG_COMPRESSED | (more << off_bits) | host_off;
}

uint64_t qcow2_compressed_max_off(const Qcow2Geometry *g)
{
    return MIN(UINT64_C(1) << compressed_off_bits(g), (uint64_t)QCOW2_MAX_HOST_OFF);
}

/* --- refcount entries --- */

static unsigned subbyte_shift(unsigned order, uint64_t idx)
{
    return (idx << order) & 7;
}

uint64_t qcow2_refcount_get(const void *block, unsigned order, uint64_t idx)
{
    const uint8_t *p = block;

    switch (order) {
    case 3:
        return p[idx];
    case 4:
        return load_be16(p + idx * 2);
    case 5:
        return load_be32(p + idx * 4);
    case 6:
        return load_be64(p + idx * 8);
    default:
        return (p[(idx << order) >> 3] >> subbyte_shift(order, idx)) & ((1u << (1u << order)) - 1);
    }
}

void qcow2_refcount_set(void *block, unsigned order, uint64_t idx, uint64_t value)
{
    uint8_t *p = block;

    g_assert(order == 6 || value >> (1u << order) == 0);
    switch (order) {
    case 3:
        p[idx] = value;
        break;
    case 4:
        store_be16(p + idx * 2, value);
        break;
    case 5:
        store_be32(p + idx * 4, value);
        break;
    case 6:
        store_be64(p + idx * 8, value);
        break;
    default: {
        unsigned shift = subbyte_shift(order, idx);
        uint8_t mask = ((1u << (1u << order)) - 1) << shift;
        uint8_t *byte = &p[(idx << order) >> 3];

        *byte = (*byte & ~mask) | (value << shift);
        break;
    }
    }
}
