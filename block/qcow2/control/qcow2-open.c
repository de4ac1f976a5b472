/* SPDX-License-Identifier: MIT */
/* Opening and closing an image, in named steps.
 *
 * Read-only opens load the header and the L1 table only, so that facts and data of huge images are at hand at once; the
 * refcount table is for writers. With BLOCK_OPEN_NO_IO not even the L1 table is read. */
#include "block/qcow2/control/qcow2-control.h"

#include <errno.h>
#include <stdio.h>

#include "block/qcow2/check/qcow2-check.h"
#include "block/qcow2/alloc/qcow2-clusters.h"
#include "block/qcow2/control/qcow2-crypto.h"
#include "block/qcow2/format/qcow2-header-io.h"
#include "block/qcow2/map/qcow2-flush.h"
#include "block/qcow2/map/qcow2-map.h"
#include "block/qcow2/control/qcow2-options.h"
#include "util/base/error.h"

/* Where zero writes are not known to be cheap: smaller edges are written along with the data in one request. */
enum { ZERO_EDGE_BYTES = 128 << 10 };

static bool is_rdwr(const Qcow2State *s)
{
    return s->node->flags & BLOCK_OPEN_RDWR;
}

/* --- what this build does --- */

static bool refuse(GError **errp, const char *what, const char *hint)
{
    error_set_code(errp, QB_ERROR_UNSUPPORTED, "%s%s", what, hint);
    return false;
}

/* Features of the image that decide whether its data can be reached at all. */
static bool check_readable(const Qcow2State *s, unsigned flags, GError **errp)
{
    const Qcow2Header *h = &s->header;

    if (flags & BLOCK_OPEN_NO_IO) {
        return true;
    }
    if (h->incompatible & QCOW2_INCOMPAT_DATA_FILE) {
        return refuse(errp, "External data files are not supported yet by this build", "");
    }
    if (h->incompatible & QCOW2_INCOMPAT_EXTL2) {
        return refuse(errp, "Extended L2 entries (extended_l2=on) are not supported yet by this build", "");
    }
    return true;
}

/* Writing to what a snapshot or a bitmap depends on, without keeping it true, would lose it silently. */
static bool check_writable(const Qcow2State *s, unsigned flags, GError **errp)
{
    const Qcow2Header *h = &s->header;

    if ((h->incompatible & QCOW2_INCOMPAT_CORRUPT) && !(flags & BLOCK_OPEN_CHECK)) {
        error_set_code(errp, QB_ERROR_CORRUPT, "qcow2: Image is corrupt; cannot be opened read/write");
        return false;
    }
    if (h->nb_snapshots > 0) {
        return refuse(errp, "Writing to an image with internal snapshots is not supported yet by this build",
                      " (open it read-only)");
    }
    if (h->bitmaps.present) {
        return refuse(errp, "Writing to an image with persistent bitmaps is not supported yet by this build",
                      " (open it read-only, or remove them with 'qemu-img bitmap --remove')");
    }
    return true;
}

/* --- steps of open --- */

static bool coroutine_fn open_header(Qcow2State *s, unsigned flags, GError **errp)
{
    Qcow2Header *h = &s->header;

    if (!qcow2_header_read(s->node->file, h, flags & BLOCK_OPEN_CHECK, errp)) {
        return false;
    }
    qcow2_geometry_init(&s->geo, h->version, h->cluster_bits, h->refcount_order,
                        h->incompatible & QCOW2_INCOMPAT_EXTL2);
    s->dirty_bit_set = h->incompatible & QCOW2_INCOMPAT_DIRTY;
    return check_readable(s, flags, errp) && (!(flags & BLOCK_OPEN_RDWR) || check_writable(s, flags, errp));
}

static void warn_stale_bitmaps(const Qcow2State *s)
{
    const char *tool = g_get_prgname();

    if (!s->header.bitmaps_stale) {
        return;
    }
    fprintf(stderr,
            "%s: warning: a program lacking bitmap support modified this file, so all bitmaps are now considered "
            "inconsistent\nSome clusters may be leaked, run 'qemu-img check -r' on the image file to fix.\n",
            tool ? tool : "qcow2");
}

static void make_caches(Qcow2State *s)
{
    s->l2 = qcow2_cache_new(s->node->file, s->geo.cluster_bytes, s->l2_cache_bytes);
    s->refblocks = qcow2_cache_new(s->node->file, s->geo.cluster_bytes, s->refcount_cache_bytes);
}

static bool coroutine_fn repair_dirty(Qcow2State *s, GError **errp)
{
    BlockCheckResult res = {0};
    int ret = qcow2_check_image(s, &res, BLOCK_FIX_LEAKS | BLOCK_FIX_ERRORS);

    if (ret < 0) {
        error_set_errno(errp, -ret, "Could not repair dirty image");
        return false;
    }
    if (res.check_errors || res.corruptions) {
        error_set_code(errp, QB_ERROR_CORRUPT, "Could not repair dirty image: %" PRId64 " errors remain",
                       res.check_errors + res.corruptions);
        return false;
    }
    return true;
}

/* Check mode leaves the refcounts alone: they may be what is broken. */
static bool coroutine_fn load_tables(Qcow2State *s, unsigned flags, GError **errp)
{
    if (flags & BLOCK_OPEN_NO_IO) {
        return true;
    }
    if (!qcow2_l1_load(s, errp)) {
        return false;
    }
    return !(flags & BLOCK_OPEN_RDWR) || (flags & BLOCK_OPEN_CHECK) || qcow2_refcounts_load(s, errp);
}

/* The rule of section 3: a writer clears the autoclear bits it does not know before the first write. */
static bool coroutine_fn clear_unknown_autoclear(Qcow2State *s, GError **errp)
{
    uint64_t known = s->header.autoclear & (s->header.bitmaps.present ? QCOW2_AUTOCLEAR_BITMAPS : 0);

    if (known == s->header.autoclear) {
        return true;
    }
    s->header.autoclear = known;
    int ret = qcow2_write_header_locked(s);
    if (ret < 0) {
        error_set_errno(errp, -ret, "Could not update qcow2 header");
        return false;
    }
    return true;
}

/* From which size on a zero write of @file is worth a request of its own. Below a passthrough layer it is what the file
 * says. */
static uint32_t zero_edge_bytes(const BlockNode *file)
{
    while (file->drv->passthrough && file->file) {
        file = file->file;
    }
    return file->limits.zero_worth ? file->limits.zero_worth : ZERO_EDGE_BYTES;
}

static void publish_to_node(Qcow2State *s)
{
    BlockNode *node = s->node;

    node->backing_name = g_strdup(s->header.backing_name);
    node->backing_format = g_strdup(s->header.backing_format);
    node->encrypted = s->header.crypt_method != QCOW2_CRYPT_NONE;
    node->limits.request_align = node->encrypted ? SECTOR_SIZE : 1;
    node->limits.zero_align = s->geo.cluster_bytes;
    node->limits.discard_align = s->geo.cluster_bytes;
    block_node_set_length(node, s->header.size);
}

/* With meta_lock, as those who mark corruption and write headers expect. */
static bool coroutine_fn open_tables(Qcow2State *s, unsigned flags, GError **errp)
{
    CO_MUTEX_GUARD(&s->meta_lock);
    bool writes = (flags & BLOCK_OPEN_RDWR) && !(flags & BLOCK_OPEN_CHECK);

    if (writes && s->dirty_bit_set && !repair_dirty(s, errp)) {
        return false;
    }
    return load_tables(s, flags, errp) && (!writes || clear_unknown_autoclear(s, errp));
}

static void free_state(Qcow2State *s)
{
    qcow2_l1_free(s);
    qcow2_refcounts_free(s);
    qcow2_cache_free(s->l2);
    qcow2_cache_free(s->refblocks);
    qcow2_crypto_close(s);
    qcow2_header_clear(&s->header);
    co_mutex_destroy(&s->meta_lock);
}

bool coroutine_fn qcow2_open(BlockNode *node, OptDict *options, unsigned flags, GError **errp)
{
    Qcow2State *s = qcow2_state(node);

    s->node = node;
    s->data = node->file;
    s->zero_edge_bytes = zero_edge_bytes(s->data);
    co_mutex_init(&s->meta_lock);
    if (!open_header(s, flags, errp) || !qcow2_options_take(s, options, flags, errp)) {
        goto fail;
    }
    make_caches(s);
    if (!qcow2_crypto_open(s, options, flags, errp) || !open_tables(s, flags, errp)) {
        goto fail;
    }
    warn_stale_bitmaps(s);
    publish_to_node(s);
    return true;

fail:
    free_state(s);
    return false;
}

/* --- close --- */

/* Only when everything it stands for is on disk (section 16). */
static int coroutine_fn clear_dirty_bit_locked(Qcow2State *s)
{
    int ret = block_co_flush(s->node->file);

    if (ret < 0) {
        return ret;
    }
    s->header.incompatible &= ~QCOW2_INCOMPAT_DIRTY;
    s->dirty_bit_set = false;
    ret = qcow2_write_header_locked(s);
    return ret < 0 ? ret : block_co_flush(s->node->file);
}

static int coroutine_fn write_back(Qcow2State *s)
{
    CO_MUTEX_GUARD(&s->meta_lock);

    /* A corrupt image is not touched again, and check mode wrote what it had to. */
    if (!is_rdwr(s) || s->corrupt || !s->refs.table) {
        return 0;
    }
    int ret = qcow2_flush_metadata_locked(s, true);
    return ret < 0 || !s->dirty_bit_set ? ret : clear_dirty_bit_locked(s);
}

int coroutine_fn qcow2_close(BlockNode *node)
{
    Qcow2State *s = qcow2_state(node);
    int ret = write_back(s);

    free_state(s);
    return ret;
}

bool coroutine_fn qcow2_reload_tables_locked(Qcow2State *s, GError **errp)
{
    bool had_refs = s->refs.table;

    qcow2_cache_free(s->l2);
    qcow2_cache_free(s->refblocks);
    make_caches(s);
    qcow2_l1_free(s);
    qcow2_refcounts_free(s);
    return qcow2_l1_load(s, errp) && (!had_refs || qcow2_refcounts_load(s, errp));
}
