/* SPDX-License-Identifier: MIT */
/* Data of the file driver: reads, writes, zeroes, discards, syncs, holes. */
#include "block/file/file-posix-int.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "util/base/aligned-buf.h"
#include "util/loop/event-loop.h"
#include "util/thread/thread-pool.h"
#include "util/base/trace.h"
#include "util/base/units.h"

/* ---- transfers ------------------------------------------------------------------------------------------------- */

/* Up to here a copy from or to a file in memory is done on the loop's own thread: handing it over costs as much as it
 * saves, and the bytes stay in this core's cache. */
#define MAX_INLINE_BYTES (2 * MIB)

/* One system call's worth from @done on. A fresh, whole list is used as it is: the common path builds nothing. */
static ssize_t coroutine_fn transfer_some(const FileState *s, const BlockRw *rw, int64_t done, bool is_write)
{
    g_auto(IoVec) rest;
    const IoVec *v = rw->iov;

    iovec_init(&rest);
    if (rw->iov_off + done != 0 || (size_t)rw->bytes != v->size) {
        iovec_add_slice(&rest, v, rw->iov_off + done, rw->bytes - done);
        v = &rest;
    }
    int niov = MIN(v->niov, IOV_MAX);
    LoopIoBy by = s->in_memory && rw->bytes <= MAX_INLINE_BYTES ? LOOP_IO_HERE : s->io_by;
    return is_write ? loop_co_pwritev(s->fd, v->iov, niov, rw->offset + done, 0, by)
                    : loop_co_preadv(s->fd, v->iov, niov, rw->offset + done, by);
}

static int coroutine_fn transfer(const FileState *s, const BlockRw *rw, bool is_write)
{
    int64_t done = 0;

    while (done < rw->bytes) {
        ssize_t n = transfer_some(s, rw, done, is_write);
        if (n == -EINTR || n == -EAGAIN) {
            continue;
        }
        if (n < 0) {
            return n;
        }
        done += n;
        /* The end of the file; O_DIRECT may tell so by a count that the next offset could not have. */
        if (!is_write && (n == 0 || (s->direct && !is_aligned(done, SECTOR_SIZE)))) {
            iovec_memset(rw->iov, rw->iov_off + done, 0, rw->bytes - done);
            return 0;
        }
        if (n == 0) {
            return -ENOSPC;
        }
    }
    return 0;
}

/* O_DIRECT with memory the kernel would refuse. */
static int coroutine_fn transfer_bounced(const FileState *s, const BlockRw *rw, bool is_write)
{
    g_autoaligned buf = aligned_buf_try_new(rw->bytes);
    g_auto(IoVec) iov;

    iovec_init(&iov);
    if (!buf) {
        return -ENOMEM;
    }
    iovec_add(&iov, buf, rw->bytes);
    BlockRw flat = {.offset = rw->offset, .bytes = rw->bytes, .iov = &iov};
    if (is_write) {
        iovec_to_buf(rw->iov, rw->iov_off, buf, rw->bytes);
        return transfer(s, &flat, true);
    }
    int ret = transfer(s, &flat, false);
    if (ret == 0) {
        iovec_from_buf(rw->iov, rw->iov_off, buf, rw->bytes);
    }
    return ret;
}

static int coroutine_fn read_or_write(BlockNode *node, const BlockRw *rw, bool is_write)
{
    const FileState *s = node->state;

    if (s->direct && !iovec_is_aligned(rw->iov, rw->iov_off, rw->bytes, node->limits.memory_align)) {
        return transfer_bounced(s, rw, is_write);
    }
    return transfer(s, rw, is_write);
}

int coroutine_fn file_posix_co_read(BlockNode *node, const BlockRw *rw)
{
    return read_or_write(node, rw, false);
}

int coroutine_fn file_posix_co_write(BlockNode *node, const BlockRw *rw)
{
    FileState *s = node->state;

    if (s->direct && rw->offset + rw->bytes > node->total_bytes) {
        s->padded_end = true;
    }
    return read_or_write(node, rw, true);
}

int coroutine_fn file_posix_co_flush(BlockNode *node)
{
    FileState *s = node->state;

    if (s->sync_error) {
        return -s->sync_error;
    }
    int ret = loop_co_fdatasync(s->fd, s->io_by);
    if (ret == -EINVAL || ret == -EROFS) {
        return 0; /* nothing behind this descriptor that could be synced */
    }
    if (ret < 0) {
        s->sync_error = EIO;
    }
    return ret;
}

/* ---- zeroes and discards --------------------------------------------------------------------------------------- */

typedef struct RangeJob {
    FileState *s;
    int64_t offset, bytes;
    bool may_unmap;
} RangeJob;

static bool is_unsupported(int err)
{
    return err == EOPNOTSUPP || err == ENOSYS || err == ENOTTY || err == ENODEV;
}

/* 0, -ENOTSUP (remembered in *@unsupported when it will not change), or -errno. */
static int do_fallocate(int fd, int mode, int64_t offset, int64_t bytes, _Atomic bool *unsupported)
{
    if (*unsupported) {
        return -ENOTSUP;
    }
    while (fallocate(fd, mode, offset, bytes) < 0) {
        int err = errno;
        if (err == EINTR) {
            continue;
        }
        if (is_unsupported(err)) {
            *unsupported = true;
            return -ENOTSUP;
        }
        /* Devices say EINVAL to ranges they cannot cut; data will do there. */
        return err == EINVAL || err == ETXTBSY || err == EPERM ? -ENOTSUP : -err;
    }
    return 0;
}

static int punch_hole(const RangeJob *j)
{
    return do_fallocate(j->s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, j->offset, j->bytes, &j->s->no_punch);
}

static int allocate(const RangeJob *j)
{
    return do_fallocate(j->s->fd, 0, j->offset, j->bytes, &j->s->no_fallocate);
}

/* What a kernel does whose fallocate() knows no devices. */
static int zero_out(const RangeJob *j)
{
    uint64_t range[2] = {j->offset, j->bytes};

    if (j->s->no_zeroout) {
        return -ENOTSUP;
    }
    if (ioctl(j->s->fd, BLKZEROOUT, range) == 0) {
        return 0;
    }
    int err = errno;
    if (is_unsupported(err)) {
        j->s->no_zeroout = true;
    }
    return is_unsupported(err) || err == EINVAL ? -ENOTSUP : -err;
}

/* Zeros at and past the end of a regular file: the file gets longer. */
static int extend_zeroes(const RangeJob *j)
{
    if (!j->may_unmap) {
        return allocate(j);
    }
    return ftruncate(j->s->fd, j->offset + j->bytes) < 0 ? -errno : 0;
}

/* Of a device too a hole reads as zeros, or the kernel refuses to make one; what was only discarded need not. */
static int zero_existing(const RangeJob *j)
{
    int ret = j->may_unmap ? punch_hole(j) : -ENOTSUP;

    if (ret == -ENOTSUP) {
        ret = do_fallocate(j->s->fd, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, j->offset, j->bytes,
                           &j->s->no_zero_range);
    }
    if (ret == -ENOTSUP && j->s->kind == FILE_BLOCK_DEVICE) {
        ret = zero_out(j);
    }
    if (ret == -ENOTSUP && j->s->kind == FILE_REGULAR && !j->s->no_fallocate) {
        ret = punch_hole(j);
        ret = ret == 0 ? allocate(j) : ret;
    }
    return ret;
}

static int zero_job(void *arg)
{
    const RangeJob *j = arg;
    int64_t len = file_posix_length(j->s);

    if (len < 0) {
        return len;
    }
    if (j->offset + j->bytes <= len) {
        return zero_existing(j);
    }
    if (j->s->kind != FILE_REGULAR) {
        return -ENOSPC; /* as a write of data; the kernel would zero what there is and say that all is done */
    }
    RangeJob past = *j;
    RangeJob inside = *j;
    int ret = 0;
    if (j->offset < len) {
        inside.bytes = len - j->offset;
        past.offset = len;
        past.bytes = j->bytes - inside.bytes;
        ret = zero_existing(&inside);
    }
    return ret == 0 ? extend_zeroes(&past) : ret;
}

int coroutine_fn file_posix_co_write_zeroes(BlockNode *node, int64_t offset, int64_t bytes, unsigned flags)
{
    RangeJob job = {
        .s = node->state, .offset = offset, .bytes = bytes, .may_unmap = (flags & BLOCK_REQ_MAY_UNMAP) != 0};
    bool inline_job = job.s->in_memory && bytes <= MAX_INLINE_BYTES;
    int ret = inline_job ? zero_job(&job) : thread_pool_submit_co(zero_job, &job);

    trace(TRACE_FILE, "zeroes", "offset=0x%" PRIx64 " bytes=%" PRId64 " unmap=%d ret=%d", offset, bytes, job.may_unmap,
          ret);
    return ret;
}

static int discard_job(void *arg)
{
    const RangeJob *j = arg;

    if (j->s->kind == FILE_REGULAR) {
        return punch_hole(j);
    }
    uint64_t range[2] = {j->offset, j->bytes};
    if (j->s->kind != FILE_BLOCK_DEVICE || j->s->no_discard) {
        return -ENOTSUP;
    }
    if (ioctl(j->s->fd, BLKDISCARD, range) == 0) {
        return 0;
    }
    int err = errno;
    if (is_unsupported(err)) {
        j->s->no_discard = true;
    }
    return is_unsupported(err) || err == EINVAL ? -ENOTSUP : -err;
}

int coroutine_fn file_posix_co_discard(BlockNode *node, int64_t offset, int64_t bytes)
{
    RangeJob job = {.s = node->state, .offset = offset, .bytes = bytes};

    return thread_pool_submit_co(discard_job, &job);
}

/* ---- holes ----------------------------------------------------------------------------------------------------- */

/* The file system knows which ranges hold data, cached and unwritten ones included. Whatever it says that makes no
 * sense (the file may change under us) counts as data: never a hole that was not named one. */
int coroutine_fn file_posix_co_status(BlockNode *node, int64_t offset, int64_t bytes, BlockStatus *st)
{
    const FileState *s = node->state;

    *st = (BlockStatus){.flags = BLOCK_STATUS_ALLOCATED | BLOCK_STATUS_OFFSET | BLOCK_STATUS_DATA,
                        .bytes = bytes,
                        .host_off = offset,
                        .file = node};
    if (s->kind != FILE_REGULAR) {
        return 0;
    }
    off_t data = lseek(s->fd, offset, SEEK_DATA);
    if (data < 0 && errno == ENXIO) {
        data = INT64_MAX; /* a hole up to the end, or past it */
    } else if (data < offset) {
        return 0;
    }
    if (data > offset) {
        st->flags = (st->flags & ~(unsigned)BLOCK_STATUS_DATA) | BLOCK_STATUS_ZERO;
        st->bytes = MIN(bytes, data - offset);
        return 0;
    }
    off_t hole = lseek(s->fd, offset, SEEK_HOLE);
    if (hole > offset) {
        st->bytes = MIN(bytes, hole - offset);
    }
    return 0;
}

/* Of a regular file only, and only because it has no data there: that it is new says nothing. Of a device nobody knows
 * what it holds. */
bool coroutine_fn file_posix_co_reads_zero(BlockNode *node, int64_t offset, int64_t bytes)
{
    const FileState *s = node->state;

    if (s->kind != FILE_REGULAR) {
        return false;
    }
    off_t data = lseek(s->fd, offset, SEEK_DATA);
    return data < 0 ? errno == ENXIO : data >= offset + bytes;
}
