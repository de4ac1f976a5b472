/* SPDX-License-Identifier: MIT */
#include "block/qcow2/control/qcow2-spec.h"

#include <string.h>

#include "block/qcow2/control/qcow2-crypto.h"
#include "block/qcow2/format/qcow2-format.h"
#include "crypto/formats/block-open.h"
#include "util/base/error.h"

/* In the order of the "Formatting" line. */
const OptDesc qcow2_create_opts[] = {
    {"encryption", OPT_TYPE_BOOL, "Encrypt the image with format 'aes'. (Deprecated in favor of encrypt.format=aes)"},
    {"encrypt.format", OPT_TYPE_STR, "Encrypt the image, format choices: 'aes', 'luks'"},
    {"encrypt.key-secret", OPT_TYPE_STR, "ID of secret providing qcow AES key or LUKS passphrase"},
    {"encrypt.cipher-alg", OPT_TYPE_STR, "Name of encryption cipher algorithm"},
    {"encrypt.cipher-mode", OPT_TYPE_STR, "Name of encryption cipher mode"},
    {"encrypt.ivgen-alg", OPT_TYPE_STR, "Name of IV generator algorithm"},
    {"encrypt.ivgen-hash-alg", OPT_TYPE_STR, "Name of IV generator hash algorithm"},
    {"encrypt.hash-alg", OPT_TYPE_STR, "Name of encryption hash algorithm"},
    {"encrypt.iter-time", OPT_TYPE_NUM, "Time to spend in PBKDF in milliseconds"},
    {"cluster_size", OPT_TYPE_SIZE, "qcow2 cluster size", "65536"},
    {"extended_l2", OPT_TYPE_BOOL, "Extended L2 tables", "off"},
    {"preallocation", OPT_TYPE_STR, "Preallocation mode (allowed values: off, metadata, falloc, full)"},
    {"compression_type", OPT_TYPE_STR, "Compression method used for image cluster compression", "zlib"},
    {"size", OPT_TYPE_SIZE, "Virtual disk size", NULL, true},
    {"compat", OPT_TYPE_STR, "Compatibility level (v2 [0.10] or v3 [1.1])", NULL, true},
    {"backing_file", OPT_TYPE_STR, "File name of a base image", NULL, true},
    {"backing_fmt", OPT_TYPE_STR, "Image format of the base image", NULL, true},
    {"data_file", OPT_TYPE_STR, "File name of an external data file", NULL, true},
    {"data_file_raw", OPT_TYPE_BOOL, "The external data file must stay valid as a raw image", NULL, true},
    {"lazy_refcounts", OPT_TYPE_BOOL, "Postpone refcount updates", "off", true},
    {"refcount_bits", OPT_TYPE_NUM, "Width of a reference count entry in bits", "16", true},
    {NULL},
};

/* The numbers and flags as given, before they are checked against one another. */
typedef struct Raw {
    uint64_t size, cluster_bytes, refcount_bits;
    bool extended_l2, lazy_refcounts, data_file_raw, encryption;
    char *data_file;
    unsigned version;
} Raw;

static bool refuse_value(GError **errp, const char *name, const char *value)
{
    error_set(errp, "Parameter '%s' does not accept value '%s'", name, value);
    return false;
}

/* --- values with names --- */

static bool take_version(Raw *r, OptDict *d, GError **errp)
{
    g_autofree char *compat = optdict_take(d, "compat");

    if (!compat || g_str_equal(compat, "1.1") || g_str_equal(compat, "v3")) {
        r->version = 3;
    } else if (g_str_equal(compat, "0.10") || g_str_equal(compat, "v2")) {
        r->version = 2;
    } else {
        return refuse_value(errp, "version", compat);
    }
    return true;
}

static bool take_compression(Qcow2Spec *spec, OptDict *d, GError **errp)
{
    g_autofree char *type = optdict_take(d, "compression_type");

    if (!type || g_str_equal(type, "zlib")) {
        spec->compression_type = QCOW2_COMPRESSION_ZLIB;
    } else if (g_str_equal(type, "zstd")) {
        spec->compression_type = QCOW2_COMPRESSION_ZSTD;
    } else {
        return refuse_value(errp, "compression-type", type);
    }
    return true;
}

static bool take_prealloc(Qcow2Spec *spec, OptDict *d, GError **errp)
{
    g_autofree char *mode = optdict_take(d, "preallocation");

    spec->prealloc = BLOCK_PREALLOC_OFF;
    return !mode || block_prealloc_from_name(mode, &spec->prealloc) || refuse_value(errp, "preallocation", mode);
}

static bool take_backing(Qcow2Spec *spec, OptDict *d, GError **errp)
{
    spec->backing_name = optdict_take(d, "backing_file");
    spec->backing_format = optdict_take(d, "backing_fmt");
    if (spec->backing_name && !*spec->backing_name) {
        g_clear_pointer(&spec->backing_name, g_free);
    }
    if (spec->backing_name && strlen(spec->backing_name) > QCOW2_MAX_BACKING_NAME) {
        error_set(errp, "Backing file name too long (%zu bytes, at most %d)", strlen(spec->backing_name),
                  QCOW2_MAX_BACKING_NAME);
        return false;
    }
    if (spec->backing_format && !block_driver_find(spec->backing_format)) {
        return refuse_value(errp, "backing-fmt", spec->backing_format);
    }
    return true;
}

/* --- encryption --- */

static bool take_encryption(Qcow2Spec *spec, const Raw *r, OptDict *d, GError **errp)
{
    spec->encrypt = optdict_take_prefix(d, "encrypt.");
    g_autofree char *format = optdict_take(spec->encrypt, "format");

    if (r->encryption && format) {
        error_set(errp, "'encrypt.format' and its alias 'encryption' can't be used at the same time");
        return false;
    }
    if (!r->encryption && !format) {
        if (optdict_size(spec->encrypt) > 0) {
            error_set(errp, "Parameter 'encrypt.format' is missing");
            return false;
        }
        return true;
    }
    spec->encrypted = true;
    if (!qcow2_crypto_format_from_name(format ? format : "aes", &spec->crypto_format)) {
        return refuse_value(errp, "format", format);
    }
    /* Bad choices show before anything is made; only LUKS has a header. */
    return crypto_block_measure(spec->crypto_format, spec->encrypt, "encrypt.", &spec->crypto_bytes, errp);
}

/* --- checks of one value against another --- */

static bool need_v3(bool wanted, const Raw *r, const char *what, const char *verb, GError **errp)
{
    if (!wanted || r->version >= 3) {
        return true;
    }
    error_set(errp, "%s%s supported with compatibility level 1.1 and above (use version=v3 or greater)", what, verb);
    return false;
}

static bool check_geometry(const Raw *r, GError **errp)
{
    if (!is_power_of_2(r->cluster_bytes) || r->cluster_bytes < (1u << QCOW2_MIN_CLUSTER_BITS) ||
        r->cluster_bytes > (1u << QCOW2_MAX_CLUSTER_BITS)) {
        error_set(errp, "Cluster size must be a power of two between %d and %dk", 1 << QCOW2_MIN_CLUSTER_BITS,
                  1 << (QCOW2_MAX_CLUSTER_BITS - 10));
        return false;
    }
    if (!is_power_of_2(r->refcount_bits) || r->refcount_bits > 64) {
        error_set(errp, "Refcount width must be a power of two and may not exceed 64 bits");
        return false;
    }
    if (r->version < 3 && r->refcount_bits != 16) {
        error_set(errp, "Different refcount widths than 16 bits require compatibility level 1.1 or above (use "
                        "version=v3 or greater)");
        return false;
    }
    return true;
}

static bool check_features(const Qcow2Spec *spec, const Raw *r, GError **errp)
{
    if (!need_v3(r->extended_l2, r, "Extended L2 entries", " are only", errp) ||
        !need_v3(r->lazy_refcounts, r, "Lazy refcounts", " only", errp) ||
        !need_v3(r->data_file, r, "External data files", " are only", errp) ||
        !need_v3(spec->compression_type != QCOW2_COMPRESSION_ZLIB, r, "Non-zlib compression type", " is only", errp)) {
        return false;
    }
    if (r->extended_l2 && r->cluster_bytes < 16384) {
        error_set(errp, "Extended L2 entries are only supported with cluster sizes of at least 16384 bytes");
    } else if (r->data_file_raw && !r->data_file) {
        error_set(errp, "data-file-raw requires data-file");
    } else if (r->data_file_raw && spec->backing_name) {
        error_set(errp, "Backing file and data-file-raw cannot be used at the same time");
    } else if (spec->backing_format && !spec->backing_name) {
        error_set(errp, "Backing format cannot be used without backing file");
    } else if (spec->backing_name && spec->prealloc != BLOCK_PREALLOC_OFF && !r->extended_l2) {
        error_set(errp, "Backing file and preallocation can only be used at the same time if extended_l2 is on");
    } else if (r->extended_l2) {
        error_set_code(errp, QB_ERROR_UNSUPPORTED, "extended_l2=on is not supported yet by this build");
    } else if (r->data_file) {
        error_set_code(errp, QB_ERROR_UNSUPPORTED, "data_file is not supported yet by this build");
    } else {
        return true;
    }
    return false;
}

bool qcow2_spec_fits(const Qcow2Spec *spec)
{
    return spec->size <= INT64_MAX &&
           qcow2_l1_entries_for(&spec->geo, spec->size) <= QCOW2_MAX_L1_BYTES / sizeof(uint64_t);
}

static bool take_raw(Raw *r, OptDict *d, GError **errp)
{
    r->cluster_bytes = QCOW2_DEFAULT_CLUSTER_BYTES;
    r->refcount_bits = 16;
    r->data_file = optdict_take(d, "data_file");
    return take_version(r, d, errp) && optdict_take_size(d, "size", &r->size, errp) &&
           optdict_take_size(d, "cluster_size", &r->cluster_bytes, errp) &&
           optdict_take_uint(d, "refcount_bits", UINT64_MAX, &r->refcount_bits, errp) &&
           optdict_take_bool(d, "extended_l2", &r->extended_l2, errp) &&
           optdict_take_bool(d, "lazy_refcounts", &r->lazy_refcounts, errp) &&
           optdict_take_bool(d, "data_file_raw", &r->data_file_raw, errp) &&
           optdict_take_bool(d, "encryption", &r->encryption, errp);
}

static bool parse(Qcow2Spec *spec, Raw *r, OptDict *d, GError **errp)
{
    if (!take_raw(r, d, errp) || !take_compression(spec, d, errp) || !take_prealloc(spec, d, errp) ||
        !take_backing(spec, d, errp) || !check_geometry(r, errp) || !check_features(spec, r, errp) ||
        !take_encryption(spec, r, d, errp)) {
        return false;
    }
    spec->lazy_refcounts = r->lazy_refcounts;
    qcow2_geometry_init(&spec->geo, r->version, log2_exact(r->cluster_bytes), log2_exact(r->refcount_bits),
                        r->extended_l2);
    /* A size that cannot be rounded up is too large in any case. */
    spec->size = r->size > UINT64_MAX - SECTOR_SIZE ? r->size : round_up(r->size, SECTOR_SIZE);
    return true;
}

bool qcow2_spec_parse(Qcow2Spec *spec, const OptDict *options, GError **errp)
{
    g_autoptr(OptDict) d = optdict_copy(options);
    Raw r = {0};

    memset(spec, 0, sizeof(*spec));
    bool ok = parse(spec, &r, d, errp);
    g_free(r.data_file);
    if (!ok) {
        qcow2_spec_clear(spec);
    }
    return ok;
}

void qcow2_spec_clear(Qcow2Spec *spec)
{
    g_clear_pointer(&spec->backing_name, g_free);
    g_clear_pointer(&spec->backing_format, g_free);
    g_clear_pointer(&spec->encrypt, optdict_free);
}
