/* SPDX-License-Identifier: MIT */
#include "block/qcow2/format/qcow2-header.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "block/qcow2/format/qcow2-ext.h"
#include "block/qcow2/format/qcow2-format.h"
#include "block/qcow2/format/qcow2-geometry.h"
#include "util/base/endian.h"
#include "util/base/error.h"

/* Byte offsets of the header's fields (section 2). */
enum {
    AT_MAGIC = 0,
    AT_VERSION = 4,
    AT_BACKING_OFF = 8,
    AT_BACKING_BYTES = 16,
    AT_CLUSTER_BITS = 20,
    AT_SIZE = 24,
    AT_CRYPT_METHOD = 32,
    AT_L1_SIZE = 36,
    AT_L1_OFF = 40,
    AT_REFTABLE_OFF = 48,
    AT_REFTABLE_CLUSTERS = 56,
    AT_NB_SNAPSHOTS = 60,
    AT_SNAPSHOTS_OFF = 64,
    AT_INCOMPATIBLE = 72,
    AT_COMPATIBLE = 80,
    AT_AUTOCLEAR = 88,
    AT_REFCOUNT_ORDER = 96,
    AT_HEADER_LENGTH = 100,
    AT_COMPRESSION_TYPE = 104,
};

static void unknown_ext_free(void *opaque)
{
    Qcow2UnknownExt *u = opaque;

    g_bytes_unref(u->data);
    g_free(u);
}

void qcow2_header_clear(Qcow2Header *h)
{
    g_clear_pointer(&h->unknown_fields, g_bytes_unref);
    g_clear_pointer(&h->backing_name, g_free);
    g_clear_pointer(&h->backing_format, g_free);
    g_clear_pointer(&h->data_file_name, g_free);
    g_clear_pointer(&h->unknown_exts, g_ptr_array_unref);
}

/* --- decode --- */

/* Fields that both versions have. */
static bool decode_base(Qcow2Header *h, const uint8_t *buf, size_t len, GError **errp)
{
    if (len < QCOW2_V2_HEADER_BYTES || load_be32(buf + AT_MAGIC) != QCOW2_MAGIC) {
        error_set(errp, "Image is not in qcow2 format");
        return false;
    }
    h->version = load_be32(buf + AT_VERSION);
    if (h->version != 2 && h->version != 3) {
        error_set(errp, "Unsupported qcow2 version %" PRIu32, h->version);
        return false;
    }
    h->cluster_bits = load_be32(buf + AT_CLUSTER_BITS);
    if (h->cluster_bits < QCOW2_MIN_CLUSTER_BITS || h->cluster_bits > QCOW2_MAX_CLUSTER_BITS) {
        error_set(errp, "Unsupported cluster size: 2^%" PRIu32, h->cluster_bits);
        return false;
    }
    h->size = round_down(load_be64(buf + AT_SIZE), SECTOR_SIZE);
    h->crypt_method = load_be32(buf + AT_CRYPT_METHOD);
    h->l1_size = load_be32(buf + AT_L1_SIZE);
    h->l1_off = load_be64(buf + AT_L1_OFF);
    h->reftable_off = load_be64(buf + AT_REFTABLE_OFF);
    h->reftable_clusters = load_be32(buf + AT_REFTABLE_CLUSTERS);
    h->nb_snapshots = load_be32(buf + AT_NB_SNAPSHOTS);
    h->snapshots_off = load_be64(buf + AT_SNAPSHOTS_OFF);
    return true;
}

static bool decode_versioned(Qcow2Header *h, const uint8_t *buf, size_t len, GError **errp)
{
    if (h->version == 2) {
        h->refcount_order = 4;
        h->header_length = QCOW2_V2_HEADER_BYTES;
        return true;
    }
    h->header_length = len >= QCOW2_V3_MIN_HEADER_BYTES ? load_be32(buf + AT_HEADER_LENGTH) : 0;
    if (h->header_length < QCOW2_V3_MIN_HEADER_BYTES) {
        error_set(errp, "qcow2 header too short");
        return false;
    }
    if (h->header_length > UINT32_C(1) << h->cluster_bits) {
        error_set(errp, "qcow2 header exceeds cluster size");
        return false;
    }
    if (h->header_length % 8 != 0) {
        error_set(errp, "qcow2 header length %" PRIu32 " is not a multiple of 8", h->header_length);
        return false;
    }
    h->incompatible = load_be64(buf + AT_INCOMPATIBLE);
    h->compatible = load_be64(buf + AT_COMPATIBLE);
    h->autoclear = load_be64(buf + AT_AUTOCLEAR);
    h->refcount_order = load_be32(buf + AT_REFCOUNT_ORDER);
    if (h->header_length > AT_COMPRESSION_TYPE && len > AT_COMPRESSION_TYPE) {
        h->compression_type = buf[AT_COMPRESSION_TYPE];
    }
    return true;
}

static bool check_features(const Qcow2Header *h, const uint8_t *buf, size_t len, GError **errp)
{
    uint64_t unknown = h->incompatible & ~QCOW2_INCOMPAT_KNOWN;

    if (unknown) {
        size_t start = MIN(h->header_length, len);
        size_t end = MIN(len, (size_t)1 << h->cluster_bits);
        g_autofree char *names = qcow2_exts_name_features(buf + start, end - MIN(start, end), unknown);

        error_set_code(errp, QB_ERROR_UNSUPPORTED, "Unsupported qcow2 feature(s): %s", names);
        return false;
    }
    if (h->compression_type > QCOW2_COMPRESSION_ZSTD) {
        error_set_code(errp, QB_ERROR_UNSUPPORTED, "qcow2: unknown compression type: %u", h->compression_type);
        return false;
    }
    if ((h->compression_type != 0) != ((h->incompatible & QCOW2_INCOMPAT_COMPRESSION) != 0)) {
        error_set(errp, "qcow2: Compression type incompatible feature bit must %sbe set",
                  h->compression_type != 0 ? "" : "not ");
        return false;
    }
    if ((h->incompatible & QCOW2_INCOMPAT_EXTL2) && h->cluster_bits < 14) {
        error_set(errp, "Unsupported subcluster size: %d", (1 << h->cluster_bits) / 32);
        return false;
    }
    if (h->refcount_order > QCOW2_MAX_REFCOUNT_ORDER) {
        error_set(errp, "Reference count entry width too large; may not exceed 64 bits");
        return false;
    }
    if (h->crypt_method > QCOW2_CRYPT_LUKS) {
        error_set_code(errp, QB_ERROR_UNSUPPORTED, "Unsupported encryption method %" PRIu32, h->crypt_method);
        return false;
    }
    return true;
}

static bool check_table(const char *name, uint64_t off, uint64_t entries, uint64_t entry_bytes, uint64_t max_bytes,
                        unsigned cluster_bits, GError **errp)
{
    if (entries > max_bytes / entry_bytes) {
        error_set(errp, "%s too large", name);
        return false;
    }
    if (off > (uint64_t)INT64_MAX - entries * entry_bytes || !is_aligned(off, UINT64_C(1) << cluster_bits)) {
        error_set(errp, "%s offset invalid", name);
        return false;
    }
    return true;
}

static bool check_l1(const Qcow2Header *h, GError **errp)
{
    Qcow2Geometry g;

    if (!check_table("Active L1 table", h->l1_off, h->l1_size, 8, QCOW2_MAX_L1_BYTES, h->cluster_bits, errp)) {
        return false;
    }
    if (h->l1_size > 0 && (h->l1_off == 0 || h->l1_off >= (uint64_t)QCOW2_MAX_HOST_OFF)) {
        error_set(errp, "Active L1 table offset invalid");
        return false;
    }
    qcow2_geometry_init(&g, h->version, h->cluster_bits, h->refcount_order, h->incompatible & QCOW2_INCOMPAT_EXTL2);
    uint64_t needed = qcow2_l1_entries_for(&g, h->size);
    if (needed > INT_MAX) {
        error_set(errp, "Image is too big");
        return false;
    }
    if (h->l1_size < needed) {
        error_set(errp, "L1 table is too small");
        return false;
    }
    return true;
}

static bool check_tables(const Qcow2Header *h, bool check, GError **errp)
{
    unsigned cluster_bits = h->cluster_bits;

    if (h->reftable_clusters == 0 && !check) {
        error_set(errp, "Image does not contain a reference count table");
        return false;
    }
    return check_table("Reference count table", h->reftable_off, h->reftable_clusters, UINT64_C(1) << cluster_bits,
                       QCOW2_MAX_REFTABLE_BYTES, cluster_bits, errp) &&
           check_table("Snapshot table", h->snapshots_off, h->nb_snapshots, 40, QCOW2_MAX_SNAPSHOTS * 40, cluster_bits,
                       errp) &&
           check_l1(h, errp);
}

static bool check_backing(const Qcow2Header *h, const uint8_t *buf, GError **errp)
{
    if (load_be64(buf + AT_BACKING_OFF) > UINT64_C(1) << h->cluster_bits) {
        error_set(errp, "Invalid backing file offset");
        return false;
    }
    return true;
}

bool qcow2_header_decode(Qcow2Header *h, const uint8_t *buf, size_t len, bool check, GError **errp)
{
    memset(h, 0, sizeof(*h));
    return decode_base(h, buf, len, errp) && decode_versioned(h, buf, len, errp) && check_backing(h, buf, errp) &&
           check_features(h, buf, len, errp) && check_tables(h, check, errp);
}

static bool decode_backing_name(Qcow2Header *h, const uint8_t *cluster, uint64_t off, GError **errp)
{
    uint32_t bytes = load_be32(cluster + AT_BACKING_BYTES);
    uint64_t cluster_bytes = UINT64_C(1) << h->cluster_bits;

    if (bytes > MIN((uint64_t)QCOW2_MAX_BACKING_NAME, cluster_bytes - off)) {
        error_set(errp, "Backing file name too long");
        return false;
    }
    /* An empty name is none. */
    if (bytes > 0) {
        h->backing_name = g_strndup((const char *)cluster + off, bytes);
    }
    return true;
}

bool qcow2_header_decode_exts(Qcow2Header *h, const uint8_t *cluster, GError **errp)
{
    uint64_t backing_off = load_be64(cluster + AT_BACKING_OFF);
    size_t end = backing_off ? backing_off : (size_t)1 << h->cluster_bits;
    size_t start = h->header_length;

    h->unknown_exts = g_ptr_array_new_with_free_func(unknown_ext_free);
    if (h->header_length > QCOW2_HEADER_BYTES) {
        h->unknown_fields = g_bytes_new(cluster + QCOW2_HEADER_BYTES, h->header_length - QCOW2_HEADER_BYTES);
    }
    if (end > start && !qcow2_exts_decode(h, cluster + start, end - start, errp)) {
        goto fail;
    }
    if (h->crypt_method == QCOW2_CRYPT_LUKS && h->crypto_off == 0) {
        error_set(errp, "Missing CRYPTO header for crypt method %" PRIu32, h->crypt_method);
        goto fail;
    }
    if (backing_off && !decode_backing_name(h, cluster, backing_off, errp)) {
        goto fail;
    }
    return true;

fail:
    qcow2_header_clear(h);
    return false;
}

/* --- encode --- */

static void encode_fields(const Qcow2Header *h, uint8_t *p, size_t header_length)
{
    store_be32(p + AT_MAGIC, QCOW2_MAGIC);
    store_be32(p + AT_VERSION, h->version);
    store_be32(p + AT_CLUSTER_BITS, h->cluster_bits);
    store_be64(p + AT_SIZE, h->size);
    store_be32(p + AT_CRYPT_METHOD, h->crypt_method);
    store_be32(p + AT_L1_SIZE, h->l1_size);
    store_be64(p + AT_L1_OFF, h->l1_off);
    store_be64(p + AT_REFTABLE_OFF, h->reftable_off);
    store_be32(p + AT_REFTABLE_CLUSTERS, h->reftable_clusters);
    store_be32(p + AT_NB_SNAPSHOTS, h->nb_snapshots);
    store_be64(p + AT_SNAPSHOTS_OFF, h->snapshots_off);
    if (h->version < 3) {
        return;
    }
    store_be64(p + AT_INCOMPATIBLE, h->incompatible);
    store_be64(p + AT_COMPATIBLE, h->compatible);
    store_be64(p + AT_AUTOCLEAR, h->autoclear);
    store_be32(p + AT_REFCOUNT_ORDER, h->refcount_order);
    store_be32(p + AT_HEADER_LENGTH, header_length);
    p[AT_COMPRESSION_TYPE] = h->compression_type;
}

int qcow2_header_encode(const Qcow2Header *h, uint8_t *cluster)
{
    size_t cluster_bytes = (size_t)1 << h->cluster_bits;
    size_t pos = h->version < 3 ? QCOW2_V2_HEADER_BYTES : QCOW2_HEADER_BYTES;

    memset(cluster, 0, cluster_bytes);
    if (h->unknown_fields && h->version >= 3) {
        gsize bytes;
        const void *data = g_bytes_get_data(h->unknown_fields, &bytes);

        if (bytes > cluster_bytes - pos) {
            return -ENOSPC;
        }
        memcpy(cluster + pos, data, bytes);
        pos += bytes;
    }
    encode_fields(h, cluster, pos);
    ssize_t exts = qcow2_exts_encode(h, cluster + pos, cluster_bytes - pos);
    if (exts < 0) {
        return exts;
    }
    pos += exts;
    if (h->backing_name) {
        size_t bytes = strlen(h->backing_name);

        if (bytes > cluster_bytes - pos) {
            return -ENOSPC;
        }
        memcpy(cluster + pos, h->backing_name, bytes);
        store_be64(cluster + AT_BACKING_OFF, pos);
        store_be32(cluster + AT_BACKING_BYTES, bytes);
    }
    return 0;
}
