/* SPDX-License-Identifier: MIT */
#include "block/qcow2/format/qcow2-ext.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "block/qcow2/format/qcow2-format.h"
#include "util/base/endian.h"
#include "util/base/error.h"

enum {
    EXT_HEAD_BYTES = 8,     /* type, length */
    FEATURE_ROW_BYTES = 48, /* set, bit, name */
    FEATURE_NAME_BYTES = 46,
    FEATURE_SET_INCOMPATIBLE = 0,
    FEATURE_SET_COMPATIBLE = 1,
    FEATURE_SET_AUTOCLEAR = 2,
    BITMAPS_EXT_BYTES = 24,
    CRYPTO_EXT_BYTES = 16,
    MAX_BITMAPS = 65535,
    MAX_BITMAP_DIR_BYTES = MAX_BITMAPS * 1024,
};

typedef struct Ext {
    uint32_t type, bytes;
    const uint8_t *data;
} Ext;

/* Step to the record at *@pos. 1: *@ext is filled and *@pos is behind it; 0: no more; -1: it leaves the area. */
static int ext_next(const uint8_t *area, size_t len, size_t *pos, Ext *ext)
{
    if (len - *pos < EXT_HEAD_BYTES) {
        return 0;
    }
    ext->type = load_be32(area + *pos);
    ext->bytes = load_be32(area + *pos + 4);
    if (ext->type == QCOW2_EXT_END) {
        return 0;
    }
    *pos += EXT_HEAD_BYTES;
    if (ext->bytes > len - *pos) {
        return -1;
    }
    ext->data = area + *pos;
    *pos += MIN(round_up(ext->bytes, 8), len - *pos);
    return 1;
}

/* --- decode: one function per type --- */

static bool decode_backing_format(Qcow2Header *h, const Ext *ext, GError **errp)
{
    if (ext->bytes > QCOW2_MAX_BACKING_FORMAT) {
        error_set(errp, "ERROR: ext_backing_format: len=%" PRIu32 " too large (>=%d)", ext->bytes,
                  QCOW2_MAX_BACKING_FORMAT + 1);
        return false;
    }
    g_free(h->backing_format);
    h->backing_format = g_strndup((const char *)ext->data, ext->bytes);
    return true;
}

static bool decode_data_file(Qcow2Header *h, const Ext *ext, GError **errp)
{
    g_free(h->data_file_name);
    h->data_file_name = g_strndup((const char *)ext->data, ext->bytes);
    return true;
}

static bool decode_crypto(Qcow2Header *h, const Ext *ext, GError **errp)
{
    uint64_t cluster_bytes = UINT64_C(1) << h->cluster_bits;

    if (h->crypt_method != QCOW2_CRYPT_LUKS) {
        error_set(errp, "CRYPTO header extension only expected with LUKS encryption method");
        return false;
    }
    if (ext->bytes != CRYPTO_EXT_BYTES) {
        error_set(errp, "CRYPTO header extension size %" PRIu32 ", but expected size %d", ext->bytes, CRYPTO_EXT_BYTES);
        return false;
    }
    h->crypto_off = load_be64(ext->data);
    h->crypto_bytes = load_be64(ext->data + 8);
    if (!is_aligned(h->crypto_off, cluster_bytes) || h->crypto_off == 0) {
        error_set(errp, "Encryption header offset '%" PRIu64 "' is not a multiple of cluster size '%" PRIu64 "'",
                  h->crypto_off, cluster_bytes);
        return false;
    }
    if (h->crypto_bytes == 0 || h->crypto_off >= (uint64_t)QCOW2_MAX_HOST_OFF ||
        h->crypto_bytes > (uint64_t)QCOW2_MAX_HOST_OFF - h->crypto_off) {
        error_set(errp, "Encryption header length %" PRIu64 " at offset %" PRIu64 " is invalid", h->crypto_bytes,
                  h->crypto_off);
        return false;
    }
    return true;
}

/* Without the autoclear bit a writer that knows no bitmaps was here; in a v2 image the extension cannot be trusted
 * either. */
static bool decode_bitmaps(Qcow2Header *h, const Ext *ext, GError **errp)
{
    if (ext->bytes != BITMAPS_EXT_BYTES) {
        error_set(errp, "bitmaps_ext: Invalid extension length");
        return false;
    }
    if (h->version < 3 || !(h->autoclear & QCOW2_AUTOCLEAR_BITMAPS)) {
        h->bitmaps_stale = true;
        return true;
    }
    h->bitmaps.present = true;
    h->bitmaps.nb = load_be32(ext->data);
    h->bitmaps.dir_bytes = load_be64(ext->data + 8);
    h->bitmaps.dir_off = load_be64(ext->data + 16);
    if (load_be32(ext->data + 4) != 0) {
        error_set(errp, "bitmaps_ext: Reserved field is not zero");
    } else if (h->bitmaps.nb > MAX_BITMAPS) {
        error_set(errp, "bitmaps_ext: Image has %" PRIu32 " bitmaps, exceeding the QEMU supported maximum of %d",
                  h->bitmaps.nb, MAX_BITMAPS);
    } else if (h->bitmaps.nb == 0) {
        error_set(errp, "found bitmaps extension with zero bitmaps");
    } else if (!is_aligned(h->bitmaps.dir_off, UINT64_C(1) << h->cluster_bits) || h->bitmaps.dir_off == 0 ||
               h->bitmaps.dir_off >= (uint64_t)QCOW2_MAX_HOST_OFF) {
        error_set(errp, "bitmaps_ext: invalid bitmap directory offset");
    } else if (h->bitmaps.dir_bytes > MAX_BITMAP_DIR_BYTES) {
        error_set(errp, "bitmaps_ext: bitmap directory size (%" PRIu64 ") exceeds the maximum supported size (%d)",
                  h->bitmaps.dir_bytes, MAX_BITMAP_DIR_BYTES);
    } else if (h->bitmaps.dir_bytes == 0) {
        error_set(errp, "Requested bitmap directory size is zero");
    } else {
        return true;
    }
    return false;
}

/* Written anew each time, so nothing is kept. */
static bool decode_feature_names(Qcow2Header *h, const Ext *ext, GError **errp)
{
    return true;
}

static const struct ExtType {
    uint32_t type;
    bool (*decode)(Qcow2Header *h, const Ext *ext, GError **errp);
} ext_types[] = {
    {QCOW2_EXT_BACKING_FORMAT, decode_backing_format},
    {QCOW2_EXT_FEATURE_NAMES, decode_feature_names},
    {QCOW2_EXT_BITMAPS, decode_bitmaps},
    {QCOW2_EXT_CRYPTO, decode_crypto},
    {QCOW2_EXT_DATA_FILE, decode_data_file},
};

static void keep_unknown(Qcow2Header *h, const Ext *ext)
{
    Qcow2UnknownExt *u = g_new(Qcow2UnknownExt, 1);

    u->type = ext->type;
    u->data = g_bytes_new(ext->data, ext->bytes);
    g_ptr_array_add(h->unknown_exts, u);
}

static bool decode_one(Qcow2Header *h, const Ext *ext, GError **errp)
{
    for (size_t i = 0; i < G_N_ELEMENTS(ext_types); i++) {
        if (ext_types[i].type == ext->type) {
            return ext_types[i].decode(h, ext, errp);
        }
    }
    keep_unknown(h, ext);
    return true;
}

bool qcow2_exts_decode(Qcow2Header *h, const uint8_t *area, size_t len, GError **errp)
{
    size_t pos = 0;
    Ext ext;
    int more;

    while ((more = ext_next(area, len, &pos, &ext)) > 0) {
        if (!decode_one(h, &ext, errp)) {
            return false;
        }
    }
    if (more < 0) {
        error_set(errp, "Header extension too large");
        return false;
    }
    return true;
}

/* --- feature names --- */

static const struct FeatureName {
    uint8_t set, bit;
    const char *name;
} feature_names[] = {
    {FEATURE_SET_INCOMPATIBLE, 0, "dirty bit"},
    {FEATURE_SET_INCOMPATIBLE, 1, "corrupt bit"},
    {FEATURE_SET_INCOMPATIBLE, 2, "external data file"},
    {FEATURE_SET_INCOMPATIBLE, 3, "compression type"},
    {FEATURE_SET_INCOMPATIBLE, 4, "extended L2 entries"},
    {FEATURE_SET_COMPATIBLE, 0, "lazy refcounts"},
    {FEATURE_SET_AUTOCLEAR, 0, "bitmaps"},
    {FEATURE_SET_AUTOCLEAR, 1, "raw external data"},
};

/* The image chose the name: nothing that a terminal would obey gets through. */
static void append_name(GString *out, const char *name, size_t max)
{
    size_t len = strnlen(name, max);

    g_string_append(out, out->len ? ", " : "");
    for (size_t i = 0; i < len; i++) {
        g_string_append_c(out, g_ascii_isprint(name[i]) ? name[i] : '?');
    }
}

/* Append the names that @table has for @bits; the bits left without one. */
static uint64_t append_known(GString *out, const Ext *table, uint64_t bits)
{
    for (const uint8_t *row = table->data; row + FEATURE_ROW_BYTES <= table->data + table->bytes;
         row += FEATURE_ROW_BYTES) {
        uint64_t bit = row[1] < 64 ? UINT64_C(1) << row[1] : 0;

        if (row[0] == FEATURE_SET_INCOMPATIBLE && (bits & bit)) {
            append_name(out, (const char *)row + 2, FEATURE_NAME_BYTES);
            bits &= ~bit;
        }
    }
    return bits;
}

char *qcow2_exts_name_features(const uint8_t *area, size_t len, uint64_t bits)
{
    g_autoptr(GString) out = g_string_new(NULL);
    size_t pos = 0;
    Ext ext;

    while (bits && ext_next(area, len, &pos, &ext) > 0) {
        if (ext.type == QCOW2_EXT_FEATURE_NAMES) {
            bits = append_known(out, &ext, bits);
        }
    }
    if (bits) {
        g_autofree char *number = g_strdup_printf("Unknown incompatible feature: %" PRIx64, bits);
        append_name(out, number, strlen(number));
    }
    return g_string_free(g_steal_pointer(&out), FALSE);
}

/* --- encode --- */

typedef struct Writer {
    uint8_t *area;
    size_t len, pos;
    bool full;
} Writer;

/* Start a record; its zeroed data, or NULL when it does not fit. */
static uint8_t *put_ext(Writer *w, uint32_t type, size_t bytes)
{
    size_t padded = round_up(bytes, 8);

    if (w->full || w->len - w->pos < EXT_HEAD_BYTES || w->len - w->pos - EXT_HEAD_BYTES < padded) {
        w->full = true;
        return NULL;
    }
    store_be32(w->area + w->pos, type);
    store_be32(w->area + w->pos + 4, bytes);
    uint8_t *data = w->area + w->pos + EXT_HEAD_BYTES;
    memset(data, 0, padded);
    w->pos += EXT_HEAD_BYTES + padded;
    return data;
}

static void put_bytes(Writer *w, uint32_t type, const void *data, size_t bytes)
{
    uint8_t *to = put_ext(w, type, bytes);

    if (to && bytes) {
        memcpy(to, data, bytes);
    }
}

static void put_crypto(Writer *w, const Qcow2Header *h)
{
    uint8_t *to = put_ext(w, QCOW2_EXT_CRYPTO, CRYPTO_EXT_BYTES);

    if (to) {
        store_be64(to, h->crypto_off);
        store_be64(to + 8, h->crypto_bytes);
    }
}

static void put_feature_names(Writer *w)
{
    uint8_t *to =
        put_ext(w, QCOW2_EXT_FEATURE_NAMES, sizeof(feature_names) / sizeof(feature_names[0]) * FEATURE_ROW_BYTES);

    for (size_t i = 0; to && i < G_N_ELEMENTS(feature_names); i++, to += FEATURE_ROW_BYTES) {
        to[0] = feature_names[i].set;
        to[1] = feature_names[i].bit;
        memcpy(to + 2, feature_names[i].name, strlen(feature_names[i].name));
    }
}

static void put_bitmaps(Writer *w, const Qcow2Header *h)
{
    uint8_t *to = put_ext(w, QCOW2_EXT_BITMAPS, BITMAPS_EXT_BYTES);

    if (to) {
        store_be32(to, h->bitmaps.nb);
        store_be64(to + 8, h->bitmaps.dir_bytes);
        store_be64(to + 16, h->bitmaps.dir_off);
    }
}

ssize_t qcow2_exts_encode(const Qcow2Header *h, uint8_t *area, size_t len)
{
    Writer w = {.area = area, .len = len};

    if (h->backing_format) {
        put_bytes(&w, QCOW2_EXT_BACKING_FORMAT, h->backing_format, strlen(h->backing_format));
    }
    if (h->data_file_name && (h->incompatible & QCOW2_INCOMPAT_DATA_FILE)) {
        put_bytes(&w, QCOW2_EXT_DATA_FILE, h->data_file_name, strlen(h->data_file_name));
    }
    if (h->crypto_off) {
        put_crypto(&w, h);
    }
    /* With clusters of 4 KiB and less the room is left to the backing name. */
    if (h->version >= 3 && h->cluster_bits > 12) {
        put_feature_names(&w);
    }
    if (h->bitmaps.present && h->bitmaps.nb > 0) {
        put_bitmaps(&w, h);
    }
    for (guint i = 0; h->unknown_exts && i < h->unknown_exts->len; i++) {
        const Qcow2UnknownExt *u = g_ptr_array_index(h->unknown_exts, i);
        gsize bytes;
        const void *data = g_bytes_get_data(u->data, &bytes);

        put_bytes(&w, u->type, data, bytes);
    }
    put_ext(&w, QCOW2_EXT_END, 0);
    return w.full ? -ENOSPC : (ssize_t)w.pos;
}
