/* SPDX-License-Identifier: MIT */
/* Making a new image: an empty one is written by hand, opened, and grown by the code that grows any image.
 *
 * Nothing is synced until the end, when one sync makes the whole image stable; a crash before leaves no image anybody
 * was told of. */
#include "block/qcow2/control/qcow2-control.h"

#include <errno.h>

#include "block/qcow2/control/qcow2-crypto.h"
#include "block/qcow2/format/qcow2-header-io.h"
#include "block/qcow2/control/qcow2-prealloc.h"
#include "block/qcow2/control/qcow2-spec.h"
#include "util/base/aligned-buf.h"
#include "util/base/endian.h"
#include "util/base/error.h"

/* Where the parts of an empty image lie (section 19), in clusters. */
enum { AT_REFTABLE = 1, AT_REFBLOCK = 2, EMPTY_CLUSTERS = 3 };

static Qcow2Header empty_header(const Qcow2Spec *spec)
{
    bool zstd = spec->compression_type != QCOW2_COMPRESSION_ZLIB;

    return (Qcow2Header){
        .version = spec->geo.version,
        .cluster_bits = spec->geo.cluster_bits,
        .refcount_order = spec->geo.refcount_order,
        .reftable_off = AT_REFTABLE * spec->geo.cluster_bytes,
        .reftable_clusters = 1,
        .incompatible = zstd ? QCOW2_INCOMPAT_COMPRESSION : 0,
        .compatible = spec->lazy_refcounts ? QCOW2_COMPAT_LAZY_REFCOUNTS : 0,
        .compression_type = spec->compression_type,
        .backing_name = spec->backing_name,
        .backing_format = spec->backing_format,
    };
}

static int coroutine_fn write_refcounts(BlockNode *file, const Qcow2Geometry *g)
{
    size_t bytes = 2 * g->cluster_bytes;
    g_autoaligned tables = aligned_buf_try_new(bytes);

    if (!tables) {
        return -ENOMEM;
    }
    memset(tables, 0, bytes);
    store_be64(tables, AT_REFBLOCK * g->cluster_bytes);
    for (unsigned i = 0; i < EMPTY_CLUSTERS; i++) {
        qcow2_refcount_set(tables + g->cluster_bytes, g->refcount_order, i, 1);
    }
    return block_co_pwrite(file, AT_REFTABLE * g->cluster_bytes, tables, bytes, 0);
}

static bool coroutine_fn write_empty(BlockNode *file, const Qcow2Spec *spec, GError **errp)
{
    Qcow2Header h = empty_header(spec);
    int ret = qcow2_header_store(file, &h);

    if (ret == -ENOSPC && spec->backing_name) {
        error_set_errno(errp, ENOSPC, "Could not assign backing file '%s' with format '%s'", spec->backing_name,
                        spec->backing_format ? spec->backing_format : "");
        return false;
    }
    ret = ret < 0 ? ret : write_refcounts(file, &spec->geo);
    if (ret < 0) {
        error_set_errno(errp, -ret, "Could not write the image's metadata");
        return false;
    }
    return true;
}

/* The steps that need an open image. */
static bool coroutine_fn fill_image(BlockNode *node, const Qcow2Spec *spec, GError **errp)
{
    Qcow2State *s = qcow2_state(node);

    if (!block_co_truncate(node, spec->size, BLOCK_PREALLOC_OFF, errp)) {
        g_prefix_error(errp, "Could not resize image: ");
        return false;
    }
    if (spec->encrypted) {
        g_autoptr(OptDict) encrypt = optdict_copy(spec->encrypt);

        if (!qcow2_crypto_create(s, spec->crypto_format, encrypt, errp)) {
            return false;
        }
    }
    return spec->prealloc == BLOCK_PREALLOC_OFF || qcow2_preallocate(s, 0, spec->size, spec->prealloc, errp);
}

static bool coroutine_fn close_image(BlockNode *node, GError **errp)
{
    int ret = block_co_close(node);

    if (ret < 0) {
        error_set_errno(errp, -ret, "Could not write the image's metadata");
        return false;
    }
    return true;
}

static bool coroutine_fn build_image(const char *filename, const Qcow2Spec *spec, GError **errp)
{
    unsigned flags = BLOCK_OPEN_RDWR | BLOCK_OPEN_RESIZE | BLOCK_OPEN_NO_BACKING | BLOCK_OPEN_NO_FLUSH;
    BlockNode *node = block_co_open(filename, "qcow2", NULL, flags, errp);

    if (!node) {
        return false;
    }
    if (!fill_image(node, spec, errp)) {
        block_co_close(node);
        return false;
    }
    return close_image(node, errp);
}

static bool coroutine_fn sync_file(const char *filename, GError **errp)
{
    BlockNode *file = block_co_open(filename, "raw", NULL, BLOCK_OPEN_RDWR, errp);

    if (!file) {
        return false;
    }
    int ret = block_co_flush(file);
    int closed = block_co_close(file);
    if (ret < 0 || closed < 0) {
        error_set_errno(errp, ret < 0 ? -ret : -closed, "Could not flush the image");
        return false;
    }
    return true;
}

static bool check_size(const Qcow2Spec *spec, GError **errp)
{
    if (spec->size > INT64_MAX) {
        error_set(errp, "Could not resize image: Image size cannot be negative");
        return false;
    }
    if (!qcow2_spec_fits(spec)) {
        error_set(errp, "The image size is too large for file format 'qcow2' (try using a larger cluster size)");
        return false;
    }
    return true;
}

static bool coroutine_fn create_file(const char *filename, const Qcow2Spec *spec, GError **errp)
{
    BlockNode *file = block_create_file(filename, errp);

    if (!file) {
        return false;
    }
    /* Tables alone can be made on a device too. */
    bool ok = spec->prealloc == BLOCK_PREALLOC_METADATA || block_check_new_prealloc(file, spec->prealloc, errp);
    ok = ok && write_empty(file, spec, errp);
    if (ok) {
        ok = close_image(file, errp);
    } else {
        block_co_close(file);
    }
    ok = ok && build_image(filename, spec, errp) && sync_file(filename, errp);
    if (!ok) {
        block_delete_file(filename);
    }
    return ok;
}

bool coroutine_fn qcow2_create(const char *filename, OptDict *options, GError **errp)
{
    Qcow2Spec spec;

    if (!qcow2_spec_parse(&spec, options, errp)) {
        return false;
    }
    bool ok = check_size(&spec, errp) && create_file(filename, &spec, errp);
    qcow2_spec_clear(&spec);
    return ok;
}
