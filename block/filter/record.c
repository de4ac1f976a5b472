/* SPDX-License-Identifier: MIT */
/* The record driver: passes everything to its file and appends what changed there to a log, from which a test can
 * rebuild the file as it may look after a power cut (tests/crash).
 *
 * Option beside file.*: log=PATH, made anew at each open.
 *
 * Format of the log, all integers little-endian:
 *
 *   file header, 32 bytes:   "qblock record 1\n"   u64 length of the file at open   u64 zero
 *   record, 32 bytes:        tag[4]   u32 flags   u64 issued   u64 offset   u64 bytes
 *                            and after a WRIT record its @bytes bytes of data
 *
 *   tag    WRIT  data written; past the end of the file it grows (with zeros between)
 *          ZERO  zeros written; flags bit 0: the range may be deallocated; the file may grow
 *          DISC  range discarded: reads as zeros or as before
 *          FLSH  flush; offset and bytes are 0
 *          TRUN  length set to @bytes; offset is the old length
 *          FAIL  the FLSH record before it failed
 *   issued the number of records already in the log when the operation was handed down
 *
 * Order: WRIT, ZERO, DISC and TRUN are logged when they have completed, FLSH when it starts: what stands before
 * it was complete when the flush began, which is exactly what the flush makes stable. If the flush fails, a FAIL record
 * whose offset is the number of the FLSH record takes it back. An operation may be on the disk, wholly
 * or in part, from its @issued-th record on; it must be there after the first FLSH behind its own record. */
#include "block/block-int.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "util/base/endian.h"
#include "util/base/error.h"

#define RECORD_BYTES 32
#define HEADER_BYTES 32

typedef struct RecordState {
    /* fixed after open */
    int fd;

    /* under guard */
    pthread_mutex_t guard;
    uint64_t records;
} RecordState;

/* ---- the log --------------------------------------------------------------------------------------------------- */

static int write_all(int fd, const void *buf, size_t bytes)
{
    const uint8_t *p = buf;

    while (bytes > 0) {
        ssize_t n = write(fd, p, bytes);
        if (n < 0 && errno != EINTR) {
            return -errno;
        }
        p += MAX(n, 0);
        bytes -= MAX(n, 0);
    }
    return 0;
}

static uint64_t records_now(RecordState *s)
{
    PTHREAD_GUARD(&s->guard);
    return s->records;
}

static int write_data(int fd, const BlockRw *rw)
{
    g_auto(IoVec) part;
    int ret = 0;

    iovec_init(&part);
    iovec_add_slice(&part, rw->iov, rw->iov_off, rw->bytes);
    for (int i = 0; i < part.niov && ret == 0; i++) {
        ret = write_all(fd, part.iov[i].iov_base, part.iov[i].iov_len);
    }
    return ret;
}

typedef struct Record {
    const char *tag; /* 4 characters */
    unsigned flags;
    uint64_t issued, offset, bytes;
    uint64_t number; /* filled: its place in the log */
} Record;

/* Append @r, with the data of @rw if not NULL. Blocks the loop: the log is for tests. */
static int log_append(RecordState *s, Record *r, const BlockRw *rw)
{
    uint8_t head[RECORD_BYTES];

    memcpy(head, r->tag, 4);
    store_le32(head + 4, r->flags);
    store_le64(head + 8, r->issued);
    store_le64(head + 16, r->offset);
    store_le64(head + 24, r->bytes);

    PTHREAD_GUARD(&s->guard);
    r->number = s->records++;
    int ret = write_all(s->fd, head, sizeof(head));
    return ret == 0 && rw ? write_data(s->fd, rw) : ret;
}

/* ---- driver ---------------------------------------------------------------------------------------------------- */

static bool open_log(RecordState *s, const char *path, uint64_t length, GError **errp)
{
    uint8_t head[HEADER_BYTES] = "qblock record 1\n";

    s->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
    if (s->fd < 0) {
        error_set_errno(errp, errno, "Could not create the log '%s'", path);
        return false;
    }
    store_le64(head + 16, length);
    int ret = write_all(s->fd, head, sizeof(head));
    if (ret < 0) {
        close(s->fd);
        error_set_errno(errp, -ret, "Could not write the log '%s'", path);
    }
    return ret == 0;
}

static bool coroutine_fn record_co_open(BlockNode *node, OptDict *options, unsigned flags, GError **errp)
{
    RecordState *s = node->state;
    g_autofree char *path = optdict_take(options, "log");

    if (!path) {
        error_set(errp, "Parameter 'log' is missing");
        return false;
    }
    if (!open_log(s, path, node->file->total_bytes, errp)) {
        return false;
    }
    pthread_mutex_init(&s->guard, NULL);
    return true;
}

static int coroutine_fn record_co_close(BlockNode *node)
{
    RecordState *s = node->state;

    pthread_mutex_destroy(&s->guard);
    return close(s->fd) < 0 ? -errno : 0;
}

static int coroutine_fn record_co_read(BlockNode *node, const BlockRw *rw)
{
    return block_co_rw_read(node->file, rw);
}

static int coroutine_fn record_co_write(BlockNode *node, const BlockRw *rw)
{
    RecordState *s = node->state;
    Record r = {.tag = "WRIT", .issued = records_now(s), .offset = rw->offset, .bytes = rw->bytes};
    int ret = block_co_rw_write(node->file, rw);

    return ret < 0 ? ret : log_append(s, &r, rw);
}

static int coroutine_fn record_co_write_zeroes(BlockNode *node, int64_t offset, int64_t bytes, unsigned flags)
{
    RecordState *s = node->state;
    Record r = {.tag = "ZERO", .issued = records_now(s), .offset = offset, .bytes = bytes};
    int ret = block_co_pwrite_zeroes(node->file, offset, bytes, flags);

    r.flags = (flags & BLOCK_REQ_MAY_UNMAP) != 0;
    return ret < 0 ? ret : log_append(s, &r, NULL);
}

static int coroutine_fn record_co_discard(BlockNode *node, int64_t offset, int64_t bytes)
{
    RecordState *s = node->state;
    Record r = {.tag = "DISC", .issued = records_now(s), .offset = offset, .bytes = bytes};
    int ret = block_co_pdiscard(node->file, offset, bytes);

    return ret < 0 ? ret : log_append(s, &r, NULL);
}

static int coroutine_fn record_co_flush(BlockNode *node)
{
    RecordState *s = node->state;
    Record r = {.tag = "FLSH", .issued = records_now(s)};
    int ret = log_append(s, &r, NULL);

    if (ret < 0) {
        return ret;
    }
    ret = block_co_flush(node->file);
    if (ret < 0) {
        Record fail = {.tag = "FAIL", .issued = records_now(s), .offset = r.number};
        log_append(s, &fail, NULL);
    }
    return ret;
}

static int coroutine_fn record_co_status(BlockNode *node, int64_t offset, int64_t bytes, BlockStatus *st)
{
    return block_co_status(node->file, offset, bytes, st);
}

static bool coroutine_fn record_co_reads_zero(BlockNode *node, int64_t offset, int64_t bytes)
{
    return block_co_reads_zero(node->file, offset, bytes);
}

static int64_t coroutine_fn record_co_getlength(BlockNode *node)
{
    return node->file->total_bytes;
}

static bool coroutine_fn record_co_truncate(BlockNode *node, int64_t bytes, BlockPrealloc prealloc, GError **errp)
{
    RecordState *s = node->state;
    Record r = {.tag = "TRUN", .issued = records_now(s), .offset = node->file->total_bytes, .bytes = bytes};

    if (!block_co_truncate(node->file, bytes, prealloc, errp)) {
        return false;
    }
    int ret = log_append(s, &r, NULL);
    if (ret < 0) {
        error_set_errno(errp, -ret, "Could not write the log");
    }
    return ret == 0;
}

static const char *const record_strong_opts[] = {"log", NULL};

const BlockDriver block_driver_record = {
    .format_name = "record",
    .state_bytes = sizeof(RecordState),
    .passthrough = true,
    .strong_open_opts = record_strong_opts,
    .co_open = record_co_open,
    .co_close = record_co_close,
    .co_read = record_co_read,
    .co_write = record_co_write,
    /* Not OWN_BUFFER: the data is logged after the write, and must still be what was written. */
    .co_write_zeroes = record_co_write_zeroes,
    .co_discard = record_co_discard,
    .co_flush = record_co_flush,
    .co_status = record_co_status,
    .co_reads_zero = record_co_reads_zero,
    .co_getlength = record_co_getlength,
    .co_truncate = record_co_truncate,
};
