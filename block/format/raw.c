/* SPDX-License-Identifier: MIT */
/* The raw format: the bytes of a file, or of a window of it. */
#include "block/block-int.h"

#include <errno.h>

#include "util/base/error.h"
#include "util/base/units.h"

typedef struct RawState {
    /* fixed after open */
    int64_t offset;    /* of the window in the file */
    bool has_size;     /* the window's length was given, and is then the node's */
    bool guards_start; /* probed: block 0 must not come to look like another format */
} RawState;

static int raw_probe(const uint8_t *buf, size_t len, const char *filename)
{
    return 1; /* anything can be raw: whatever another driver knows is better */
}

static bool take_window(OptDict *options, uint64_t *offset, uint64_t *size, bool *has_size, GError **errp)
{
    *offset = *size = 0;
    *has_size = optdict_has(options, "size");
    return optdict_take_size(options, "offset", offset, errp) && optdict_take_size(options, "size", size, errp);
}

static bool coroutine_fn raw_co_open(BlockNode *node, OptDict *options, unsigned flags, GError **errp)
{
    RawState *s = node->state;
    uint64_t offset, size, actual = node->file->total_bytes;

    if (!take_window(options, &offset, &size, &s->has_size, errp)) {
        return false;
    }
    if (offset > actual) {
        error_set(errp, "Offset (%" PRIu64 ") cannot be greater than size of the containing file (%" PRIu64 ")", offset,
                  actual);
        return false;
    }
    if (s->has_size && size > actual - offset) {
        error_set(errp,
                  "The sum of offset (%" PRIu64 ") and size (%" PRIu64
                  ") has to be smaller or equal to the  actual size of the containing file (%" PRIu64 ")",
                  offset, size, actual);
        return false;
    }
    if (s->has_size && !is_aligned(size, SECTOR_SIZE)) {
        error_set(errp, "Specified size is not multiple of %d", SECTOR_SIZE);
        return false;
    }
    s->offset = offset;
    block_node_set_length(node, s->has_size ? (int64_t)size : (int64_t)(actual - offset));
    s->guards_start = node->probed && offset == 0;
    if (s->guards_start) {
        /* Smaller writes to block 0 then arrive whole, one at a time. */
        node->limits.request_align = SECTOR_SIZE;
    }
    return true;
}

/* A guest that owns a raw disk could otherwise write a header that names files of the host, for the next opener that
 * probes. */
static int check_start(const BlockRw *rw)
{
    uint8_t block[SECTOR_SIZE];

    iovec_to_buf(rw->iov, rw->iov_off, block, sizeof(block));
    for (size_t i = 0; block_drivers[i]; i++) {
        const BlockDriver *drv = block_drivers[i];
        if (drv != &block_driver_raw && drv->probe && drv->probe(block, sizeof(block), NULL) > 0) {
            return -EPERM;
        }
    }
    return 0;
}

static int coroutine_fn raw_co_read(BlockNode *node, const BlockRw *rw)
{
    const RawState *s = node->state;
    BlockRw moved = *rw;

    moved.offset += s->offset;
    return block_co_rw_read(node->file, &moved);
}

static int coroutine_fn raw_co_write(BlockNode *node, const BlockRw *rw)
{
    const RawState *s = node->state;
    BlockRw moved = *rw;

    if (G_UNLIKELY(s->guards_start && rw->offset == 0)) {
        int ret = check_start(rw);
        if (ret < 0) {
            return ret;
        }
    }
    moved.offset += s->offset;
    return block_co_rw_write(node->file, &moved);
}

static int coroutine_fn raw_co_write_zeroes(BlockNode *node, int64_t offset, int64_t bytes, unsigned flags)
{
    const RawState *s = node->state;

    return block_co_pwrite_zeroes(node->file, offset + s->offset, bytes, flags);
}

static int coroutine_fn raw_co_discard(BlockNode *node, int64_t offset, int64_t bytes)
{
    const RawState *s = node->state;

    return block_co_pdiscard(node->file, offset + s->offset, bytes);
}

static int64_t coroutine_fn raw_co_getlength(BlockNode *node)
{
    const RawState *s = node->state;

    return s->has_size ? (int64_t)node->total_bytes : node->file->total_bytes - s->offset;
}

static int coroutine_fn raw_co_status(BlockNode *node, int64_t offset, int64_t bytes, BlockStatus *st)
{
    const RawState *s = node->state;

    return block_co_status(node->file, offset + s->offset, bytes, st);
}

static bool coroutine_fn raw_co_reads_zero(BlockNode *node, int64_t offset, int64_t bytes)
{
    const RawState *s = node->state;

    return block_co_reads_zero(node->file, offset + s->offset, bytes);
}

static bool coroutine_fn raw_co_truncate(BlockNode *node, int64_t bytes, BlockPrealloc prealloc, GError **errp)
{
    const RawState *s = node->state;

    if (s->has_size) {
        error_set(errp, "Cannot resize fixed-size raw disks");
        return false;
    }
    if (bytes > INT64_MAX - s->offset) {
        error_set(errp, "Disk size too large for the chosen offset");
        return false;
    }
    return block_co_truncate(node->file, bytes + s->offset, prealloc, errp);
}

/* ---- create and measure ---------------------------------------------------------------------------------------- */

/* What else there is to say about the file is its own driver's: preallocation and the like. */
static const OptDesc raw_create_opts[] = {
    {"size", OPT_TYPE_SIZE, "Virtual disk size"},
    {NULL},
};

static bool coroutine_fn raw_co_create(const char *filename, OptDict *options, GError **errp)
{
    return block_driver_file.co_create(filename, options, errp);
}

static bool coroutine_fn raw_co_measure(const OptDict *options, BlockNode *node, BlockMeasure *out, GError **errp)
{
    g_autoptr(OptDict) copy = optdict_copy(options);
    uint64_t size = node ? (uint64_t)node->total_bytes : 0;

    if (!node && !optdict_take_size(copy, "size", &size, errp)) {
        return false;
    }
    out->required = out->fully_allocated = round_up(MIN(size, (uint64_t)INT64_MAX), SECTOR_SIZE);
    return true;
}

static const char *const raw_strong_opts[] = {"offset", "size", NULL};

const BlockDriver block_driver_raw = {
    .format_name = "raw",
    .state_bytes = sizeof(RawState),
    .passthrough = true,
    .strong_open_opts = raw_strong_opts,
    .create_opts = raw_create_opts,
    .probe = raw_probe,
    .co_open = raw_co_open,
    .co_create = raw_co_create,
    .co_read = raw_co_read,
    .co_write = raw_co_write,
    .supported_write_flags = BLOCK_REQ_OWN_BUFFER,
    .co_write_zeroes = raw_co_write_zeroes,
    .co_discard = raw_co_discard,
    .co_status = raw_co_status,
    .co_reads_zero = raw_co_reads_zero,
    .co_getlength = raw_co_getlength,
    .co_truncate = raw_co_truncate,
    .co_measure = raw_co_measure,
};
