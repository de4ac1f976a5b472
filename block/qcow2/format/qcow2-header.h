/* SPDX-License-Identifier: MIT */
/* The image header and its extensions: decode and validate once, encode whole. Pure; no I/O.
 *
 * Source: qcow2 sheet sections 2-4, 23. Messages are those of section 23. */
#ifndef QBLOCK_BLOCK_QCOW2_HEADER_H
#define QBLOCK_BLOCK_QCOW2_HEADER_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct Qcow2UnknownExt { uint32_t type; GBytes *data; } Qcow2UnknownExt;

typedef struct Qcow2Header {
    uint32_t version, cluster_bits, crypt_method, l1_size, reftable_clusters, nb_snapshots, refcount_order;
    uint32_t header_length;
    uint64_t size; /* bytes, rounded down to 512 */
    uint64_t l1_off, reftable_off, snapshots_off;
    uint64_t incompatible, compatible, autoclear;
    uint8_t compression_type;
    GBytes *unknown_fields;   /* header bytes from 112 on, kept verbatim; NULL if none */
    char *backing_name;       /* NULL if none */
    char *backing_format;     /* NULL if none */
    char *data_file_name;     /* NULL if none */
    uint64_t crypto_off, crypto_bytes; /* 0 if none */
    struct { bool present; uint32_t nb; uint64_t dir_bytes, dir_off; } bitmaps;
    bool bitmaps_stale;       /* there was a bitmaps extension that may not be used: warn; not written back */
    GPtrArray *unknown_exts;  /* of Qcow2UnknownExt, in file order */
} Qcow2Header;

/* Decode the fixed header. @buf: the first @len bytes of the file (at least up to 112 or EOF; names of unknown features
 * come from the feature name table as far as @buf has it). @check: repair mode is lenient where section 23 says so.
 * On success, release with _clear; on failure nothing is left to release. */
bool qcow2_header_decode(Qcow2Header *h, const uint8_t *buf, size_t len, bool check, GError **errp);
/* Decode extensions and the backing name from cluster 0 (@cluster, cluster_bytes long). */
bool qcow2_header_decode_exts(Qcow2Header *h, const uint8_t *cluster, GError **errp);
/* Rebuild cluster 0 into @cluster (zeroed here), in the order of section 4. -ENOSPC when it does not fit. */
int qcow2_header_encode(const Qcow2Header *h, uint8_t *cluster);
void qcow2_header_clear(Qcow2Header *h);

#endif
