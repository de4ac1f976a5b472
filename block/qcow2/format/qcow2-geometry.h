/* SPDX-License-Identifier: MIT */
/* Index arithmetic of one image: pure, fixed after open, readable from any thread. Source: qcow2 sheet sections 1,
 * 5-7. */
#ifndef QBLOCK_BLOCK_QCOW2_GEOMETRY_H
#define QBLOCK_BLOCK_QCOW2_GEOMETRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Qcow2Geometry {
    unsigned version;       /* 2 or 3 */
    unsigned cluster_bits;
    uint64_t cluster_bytes;
    bool extended_l2;       /* 16-byte entries with subcluster bitmaps */
    unsigned l2_entry_bytes; /* 8, or 16 extended */
    unsigned l2_bits;       /* log2 of entries per L2 table */
    unsigned refcount_order, refcount_bits;
    unsigned refblock_bits; /* log2 of refcounts per block */
    uint64_t refcount_max;
} Qcow2Geometry;

void qcow2_geometry_init(Qcow2Geometry *g, unsigned version, unsigned cluster_bits, unsigned refcount_order,
                         bool extended_l2);

static inline uint64_t qcow2_in_cluster(const Qcow2Geometry *g, uint64_t off)
{
    return off & (g->cluster_bytes - 1);
}

static inline uint64_t qcow2_cluster_start(const Qcow2Geometry *g, uint64_t off)
{
    return off & ~(g->cluster_bytes - 1);
}

static inline uint64_t qcow2_cluster_end(const Qcow2Geometry *g, uint64_t off)
{
    return (off + g->cluster_bytes - 1) & ~(g->cluster_bytes - 1);
}

static inline uint64_t qcow2_clusters(const Qcow2Geometry *g, uint64_t bytes)
{
    return (bytes >> g->cluster_bits) + ((bytes & (g->cluster_bytes - 1)) != 0);
}

static inline uint64_t qcow2_l1_idx(const Qcow2Geometry *g, uint64_t guest_off)
{
    return guest_off >> (g->cluster_bits + g->l2_bits);
}

static inline unsigned qcow2_l2_idx(const Qcow2Geometry *g, uint64_t guest_off)
{
    return (guest_off >> g->cluster_bits) & ((1u << g->l2_bits) - 1);
}

/* L1 entries needed for @bytes of guest disk; UINT64_MAX never (callers bound it). */
uint64_t qcow2_l1_entries_for(const Qcow2Geometry *g, uint64_t bytes);

/* Compressed descriptors (section 7). */
typedef struct Qcow2CompressedExtent {
    uint64_t host_off;
    uint64_t bytes; /* span handed to the decompressor */
} Qcow2CompressedExtent;
Qcow2CompressedExtent qcow2_compressed_decode(const Qcow2Geometry *g, uint64_t l2_entry);
uint64_t qcow2_compressed_encode(const Qcow2Geometry *g, uint64_t host_off, uint64_t bytes);
uint64_t qcow2_compressed_max_off(const Qcow2Geometry *g); /* host offsets must be below */

/* Refcount entry @idx of a block (section 5: sub-byte entries low bits first). */
uint64_t qcow2_refcount_get(const void *block, unsigned order, uint64_t idx);
void qcow2_refcount_set(void *block, unsigned order, uint64_t idx, uint64_t value);

#endif
