/* SPDX-License-Identifier: MIT */
#include "block/qcow2/check/qcow2-check.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#include "block/qcow2/check/qcow2-check-int.h"
#include "block/qcow2/format/qcow2-header-io.h"
#include "block/qcow2/map/qcow2-flush.h"
#include "util/base/endian.h"

/* --- helpers of all parts --- */

static void G_GNUC_PRINTF(1, 0) report_valist(const char *fmt, va_list ap)
{
    /* stderr is not buffered: a damaged image may have thousands of findings, and each is one write. */
    g_autoptr(GString) line = g_string_new(NULL);

    g_string_append_vprintf(line, fmt, ap);
    g_string_append_c(line, '\n');
    fputs(line->str, stderr);
}

void qcow2_check_report(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    report_valist(fmt, ap);
    va_end(ap);
}

void qcow2_check_corruption(Qcow2Check *c, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    report_valist(fmt, ap);
    va_end(ap);
    c->res->corruptions++;
}

int coroutine_fn qcow2_check_read(Qcow2Check *c, uint64_t host_off, void *buf, uint64_t bytes)
{
    uint64_t have = host_off < c->file_bytes ? MIN(bytes, c->file_bytes - host_off) : 0;

    memset((uint8_t *)buf + have, 0, bytes - have);
    return have ? block_co_pread(c->file, host_off, buf, have, 0) : 0;
}

int coroutine_fn qcow2_check_read_table(Qcow2Check *c, uint64_t host_off, uint64_t entries, uint64_t **table)
{
    *table = g_try_malloc_n(MAX(entries, 1), sizeof(uint64_t));
    if (!*table) {
        return -ENOMEM;
    }
    int ret = qcow2_check_read(c, host_off, *table, entries * sizeof(uint64_t));
    for (uint64_t i = 0; ret == 0 && i < entries; i++) {
        (*table)[i] = be64toh((*table)[i]);
    }
    return ret;
}

/* --- compare --- */

/* A cluster whose refcount is not the number of references found. The first pass (no @fix) only tells. */
static int coroutine_fn settle(Qcow2Check *c, uint64_t cluster, uint64_t on_disk, uint64_t found, unsigned fix)
{
    BlockCheckResult *res = c->res;
    int64_t *fixed = NULL;

    if (on_disk == 0) {
        c->need_rebuild = true;
    } else if (on_disk > found && (fix & BLOCK_FIX_LEAKS)) {
        fixed = &res->leaks_fixed;
    } else if (on_disk < found && (fix & BLOCK_FIX_ERRORS)) {
        fixed = &res->corruptions_fixed;
    }
    qcow2_check_report("%s cluster %" PRIu64 " refcount=%" PRIu64 " reference=%" PRIu64,
                       fixed             ? "Repairing"
                       : on_disk < found ? "ERROR"
                                         : "Leaked",
                       cluster, on_disk, found);
    if (fixed) {
        int ret = qcow2_disk_ref_set(c, cluster, found);

        (*fixed) += ret == 0;
        return ret;
    }
    if (on_disk < found) {
        res->corruptions++;
    } else {
        res->leaks++;
    }
    return 0;
}

static int coroutine_fn compare_cluster(Qcow2Check *c, uint64_t cluster, unsigned fix, uint64_t *end)
{
    uint64_t found = qcow2_counts_get(&c->counts, cluster), on_disk;
    int ret = qcow2_disk_ref_get(c, cluster, &on_disk);

    if (ret < 0) {
        qcow2_check_report("Can't get refcount for cluster %" PRIu64 ": %s", cluster, g_strerror(-ret));
        c->res->check_errors++;
        return 0;
    }
    if (on_disk || found) {
        *end = cluster + 1;
    }
    return on_disk == found ? 0 : settle(c, cluster, on_disk, found, fix);
}

static int coroutine_fn compare(Qcow2Check *c, unsigned fix)
{
    uint64_t per_block = UINT64_C(1) << c->g->refblock_bits, end = 0;

    for (uint64_t first = 0; first < c->clusters; first += per_block) {
        uint64_t idx = first >> c->g->refblock_bits, last = MIN(first + per_block, c->clusters);
        bool has_block = idx < c->disk.entries && c->disk.table[idx];

        /* Holes of a huge sparse file cost nothing. */
        if (!has_block && qcow2_counts_none(&c->counts, first, per_block)) {
            continue;
        }
        for (uint64_t i = first; i < last; i++) {
            int ret = compare_cluster(c, i, fix, &end);

            if (ret < 0) {
                return ret;
            }
        }
    }
    c->res->image_end_offset = end << c->g->cluster_bits;
    return qcow2_disk_refs_flush(c);
}

/* --- the whole --- */

enum { REBUILDS_MAX = 3 }; /* the second round counts all that the first brought into the file */

static void release(Qcow2Check *c)
{
    qcow2_counts_free(&c->counts);
    qcow2_disk_refs_free(&c->disk);
}

/* Size of the file, table of refcounts, and all references. */
static int coroutine_fn gather(Qcow2Check *c)
{
    int64_t file_bytes = block_getlength(c->file);

    release(c);
    if (file_bytes < 0) {
        return file_bytes;
    }
    c->file_bytes = file_bytes;
    c->clusters = qcow2_clusters(c->g, file_bytes);
    c->need_rebuild = false;
    c->rebuild_limit = c->file_bytes * 2 + GIB;
    c->lost_from = c->lost_end = 0;
    if (c->clusters > INT_MAX) {
        return -EFBIG;
    }
    int ret = qcow2_counts_init(c);
    ret = ret < 0 ? ret : qcow2_disk_refs_load(c);
    return ret < 0 ? ret : qcow2_count_all(c);
}

/* New structures, and a second look at what they say. New tables may lie behind references that left the file, which
 * then are inside it and have no refcount yet: that wants another round. */
static int coroutine_fn rebuild_until_complete(Qcow2Check *c)
{
    BlockCheckResult *res = c->res;
    int ret = 0;

    for (int round = 0; ret == 0 && c->need_rebuild && round < REBUILDS_MAX; round++) {
        qcow2_check_report("Rebuilding refcount structure");
        ret = qcow2_rebuild_refcounts(c);
        res->corruptions = res->leaks = 0;
        ret = ret < 0 ? ret : gather(c);
        ret = ret < 0 ? ret : compare(c, BLOCK_FIX_LEAKS | BLOCK_FIX_ERRORS);
    }
    return ret;
}

/* What was wrong before is mended by the new structures; what the last look finds is either left over from the old
 * ones, to be freed, or an error that a rebuild cannot mend. */
static int coroutine_fn rebuild(Qcow2Check *c, const BlockCheckResult *before)
{
    BlockCheckResult *res = c->res;
    int64_t corruptions_fixed = res->corruptions_fixed + res->corruptions - before->corruptions;
    int64_t leaks_fixed = res->leaks_fixed + res->leaks - before->leaks;
    int ret = rebuild_until_complete(c);

    /* Errors reported a second time were not fixed by the first. */
    res->corruptions_fixed = corruptions_fixed - MIN(corruptions_fixed, res->corruptions);
    res->leaks_fixed = leaks_fixed;
    return ret;
}

static int coroutine_fn check_refcounts(Qcow2Check *c)
{
    BlockCheckResult start = *c->res;
    int ret = gather(c);
    BlockCheckResult counted = *c->res;

    ret = ret < 0 ? ret : compare(c, 0);
    if (ret < 0 || !c->fix) {
        return ret;
    }
    if (c->need_rebuild && (c->fix & BLOCK_FIX_ERRORS)) {
        return rebuild(c, &start);
    }
    if (c->need_rebuild) {
        qcow2_check_report("ERROR need to rebuild refcount structures");
        return -EIO;
    }
    if (c->res->leaks || c->res->corruptions) {
        c->res->leaks = counted.leaks;
        c->res->corruptions = counted.corruptions;
        ret = compare(c, c->fix);
    }
    return ret;
}

/* Nothing is wrong any more: the image may be written again. */
static int coroutine_fn clear_bits(Qcow2Check *c)
{
    uint64_t bits = QCOW2_INCOMPAT_DIRTY | QCOW2_INCOMPAT_CORRUPT;
    int ret = block_co_flush(c->file);

    if (ret < 0 || !(c->h->incompatible & bits)) {
        return ret;
    }
    c->h->incompatible &= ~bits;
    c->s->dirty_bit_set = false;
    ret = qcow2_header_store(c->file, c->h);
    return ret < 0 ? ret : block_co_flush(c->file);
}

int coroutine_fn qcow2_check_image(Qcow2State *s, BlockCheckResult *res, unsigned fix)
{
    Qcow2Check c = {.s = s, .file = s->node->file, .g = &s->geo, .h = &s->header, .res = res, .fix = fix};
    int ret = check_refcounts(&c);

    ret = ret < 0 ? ret : qcow2_check_copied(&c);
    release(&c);
    if (ret == 0 && fix && !res->corruptions && !res->check_errors) {
        ret = clear_bits(&c);
    }
    return ret;
}
