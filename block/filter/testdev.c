/* SPDX-License-Identifier: MIT */
/* The testdev driver: a file that behaves as a block device does, for tests where there is none. Its length is fixed,
 * what is in the file when it is opened is what the device held before, nothing is ever a hole, and zeros are written
 * for whole sectors only.
 *
 * Options beside file.*:
 *   sector=N        512 (default) to 4096: the length of the file is a multiple of it, and so is each request under
 *                   cache.direct=on
 *   zero=off        it cannot write zeros but as data
 *   discard-to=W    what is read where something was discarded: old (default), zero, or junk (bytes 0xa5) */
#include "block/block-int.h"

#include <errno.h>

#include "util/base/aligned-buf.h"
#include "util/base/error.h"
#include "util/base/units.h"

#define JUNK_BYTE        0xa5
#define MAX_SECTOR_BYTES 4096u

typedef enum DiscardTo { DISCARD_TO_OLD, DISCARD_TO_ZERO, DISCARD_TO_JUNK } DiscardTo;

typedef struct TestdevState {
    /* fixed after open */
    uint32_t sector_bytes;
    bool no_zero;
    DiscardTo discard_to;
} TestdevState;

static bool take_sector(OptDict *options, uint32_t *out, GError **errp)
{
    uint64_t bytes = SECTOR_SIZE;

    if (!optdict_take_uint(options, "sector", MAX_SECTOR_BYTES, &bytes, errp)) {
        return false;
    }
    if (bytes < SECTOR_SIZE || !is_power_of_2(bytes)) {
        error_set(errp, "Parameter 'sector' must be a power of two from %d to %u", SECTOR_SIZE, MAX_SECTOR_BYTES);
        return false;
    }
    *out = bytes;
    return true;
}

static bool take_discard_to(OptDict *options, DiscardTo *out, GError **errp)
{
    static const char *const names[] = {
        [DISCARD_TO_OLD] = "old", [DISCARD_TO_ZERO] = "zero", [DISCARD_TO_JUNK] = "junk"};
    g_autofree char *value = optdict_take(options, "discard-to");

    *out = DISCARD_TO_OLD;
    for (size_t i = 0; value && i < G_N_ELEMENTS(names); i++) {
        if (g_str_equal(value, names[i])) {
            *out = (DiscardTo)i;
            return true;
        }
    }
    if (value) {
        error_set(errp, "Parameter 'discard-to' does not accept value '%s'", value);
    }
    return !value;
}

static bool coroutine_fn testdev_co_open(BlockNode *node, OptDict *options, unsigned flags, GError **errp)
{
    TestdevState *s = node->state;
    int64_t bytes = node->file->total_bytes;
    bool zero = true;

    if (!take_sector(options, &s->sector_bytes, errp) || !take_discard_to(options, &s->discard_to, errp) ||
        !optdict_take_bool(options, "zero", &zero, errp)) {
        return false;
    }
    if (!is_aligned(bytes, s->sector_bytes)) {
        error_set(errp, "The length of a device, %" PRId64 ", is a multiple of its sector of %u bytes", bytes,
                  s->sector_bytes);
        return false;
    }
    s->no_zero = !zero;
    node->is_device = true;
    node->limits.request_align = flags & BLOCK_OPEN_DIRECT ? s->sector_bytes : 1;
    node->limits.zero_align = node->limits.discard_align = s->sector_bytes;
    block_node_set_length(node, bytes);
    return true;
}

/* ---- data ------------------------------------------------------------------------------------------------------ */

static int coroutine_fn testdev_co_read(BlockNode *node, const BlockRw *rw)
{
    return block_co_rw_read(node->file, rw);
}

/* A format writes behind its file's end to make it longer; here there is nothing behind the end. */
static bool fits(const BlockNode *node, int64_t offset, int64_t bytes)
{
    return offset + bytes <= node->file->total_bytes;
}

static int coroutine_fn testdev_co_write(BlockNode *node, const BlockRw *rw)
{
    return fits(node, rw->offset, rw->bytes) ? block_co_rw_write(node->file, rw) : -ENOSPC;
}

static int coroutine_fn testdev_co_write_zeroes(BlockNode *node, int64_t offset, int64_t bytes, unsigned flags)
{
    const TestdevState *s = node->state;

    if (!fits(node, offset, bytes)) {
        return -ENOSPC;
    }
    if (s->no_zero || !is_aligned(offset | bytes, s->sector_bytes)) {
        return -ENOTSUP;
    }
    return block_co_pwrite_zeroes(node->file, offset, bytes, flags);
}

static int coroutine_fn write_junk(BlockNode *node, int64_t offset, int64_t bytes)
{
    size_t piece = MIN((uint64_t)bytes, MIB);
    g_autoaligned buf = aligned_buf_try_new(piece);
    int ret = buf ? 0 : -ENOMEM;

    if (buf) {
        memset(buf, JUNK_BYTE, piece);
    }
    for (int64_t end = offset + bytes; ret == 0 && offset < end; offset += piece) {
        ret = block_co_pwrite(node->file, offset, buf, MIN((int64_t)piece, end - offset), 0);
    }
    return ret;
}

static int coroutine_fn testdev_co_discard(BlockNode *node, int64_t offset, int64_t bytes)
{
    const TestdevState *s = node->state;

    if (!fits(node, offset, bytes) || !is_aligned(offset | bytes, s->sector_bytes)) {
        return -ENOTSUP;
    }
    switch (s->discard_to) {
    case DISCARD_TO_OLD:
        return 0;
    case DISCARD_TO_ZERO:
        return block_co_pwrite_zeroes(node->file, offset, bytes, BLOCK_REQ_MAY_UNMAP);
    case DISCARD_TO_JUNK:
        return write_junk(node, offset, bytes);
    }
    g_assert_not_reached();
}

static int coroutine_fn testdev_co_status(BlockNode *node, int64_t offset, int64_t bytes, BlockStatus *st)
{
    *st = (BlockStatus){.flags = BLOCK_STATUS_ALLOCATED | BLOCK_STATUS_OFFSET | BLOCK_STATUS_DATA,
                        .bytes = bytes,
                        .host_off = offset,
                        .file = node};
    return 0;
}

static int64_t coroutine_fn testdev_co_getlength(BlockNode *node)
{
    return node->file->total_bytes;
}

static bool coroutine_fn testdev_co_truncate(BlockNode *node, int64_t bytes, BlockPrealloc prealloc, GError **errp)
{
    if (prealloc != BLOCK_PREALLOC_OFF) {
        error_set(errp, "Preallocation mode '%s' unsupported for this non-regular file", block_prealloc_name(prealloc));
        return false;
    }
    if (bytes > node->file->total_bytes) {
        error_set(errp, "Cannot grow device files");
    }
    return bytes <= node->file->total_bytes;
}

static const char *const testdev_strong_opts[] = {"sector", "zero", "discard-to", NULL};

const BlockDriver block_driver_testdev = {
    .format_name = "testdev",
    .state_bytes = sizeof(TestdevState),
    .passthrough = true,
    .strong_open_opts = testdev_strong_opts,
    .co_open = testdev_co_open,
    .co_read = testdev_co_read,
    .co_write = testdev_co_write,
    .supported_write_flags = BLOCK_REQ_OWN_BUFFER,
    .co_write_zeroes = testdev_co_write_zeroes,
    .co_discard = testdev_co_discard,
    .co_status = testdev_co_status,
    .co_getlength = testdev_co_getlength,
    .co_truncate = testdev_co_truncate,
};
