/* SPDX-License-Identifier: MIT */
/* Resizing of host files, with the space behind them. */
#include "block/file/file-posix-int.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "util/base/aligned-buf.h"
#include "util/base/error.h"
#include "util/thread/thread-pool.h"
#include "util/base/units.h"

#define FULL_CHUNK_BYTES ((size_t)MIB)

typedef struct ResizeJob {
    FileState *s;
    int64_t old, bytes;
    BlockPrealloc prealloc;
    const char *failed; /* what was tried when it failed */
} ResizeJob;

/* ftruncate() of a file opened with O_NONBLOCK may be interrupted too. */
static int set_length(int fd, int64_t bytes)
{
    int ret;

    do {
        ret = ftruncate(fd, bytes);
    } while (ret < 0 && errno == EINTR);
    return ret < 0 ? -errno : 0;
}

static int write_all(int fd, const uint8_t *buf, size_t bytes, int64_t offset)
{
    while (bytes > 0) {
        ssize_t n = pwrite(fd, buf, bytes, offset);
        if (n < 0 && errno != EINTR) {
            return -errno;
        }
        n = MAX(n, 0);
        buf += n;
        offset += n;
        bytes -= n;
    }
    return 0;
}

/* Data in every block: fallocate() would leave unwritten extents. The descriptor may be O_DIRECT, so the writes start
 * and end on aligned offsets; the length is set last. */
static int fill_with_zeros(const ResizeJob *j)
{
    g_autoaligned buf = aligned_buf_try_new(FULL_CHUNK_BYTES);
    int64_t offset = round_up(j->old, j->s->direct ? ALIGNED_BUF_ALIGN : 1);
    int ret = buf ? 0 : -ENOMEM;

    if (ret == 0) {
        memset(buf, 0, FULL_CHUNK_BYTES);
    }
    while (ret == 0 && offset < j->bytes) {
        size_t n = MIN((uint64_t)(j->bytes - offset), FULL_CHUNK_BYTES);
        n = round_up(n, j->s->direct ? ALIGNED_BUF_ALIGN : 1);
        ret = write_all(j->s->fd, buf, n, offset);
        offset += n;
    }
    if (ret == 0 && fsync(j->s->fd) < 0) {
        ret = -errno;
    }
    return ret;
}

static int allocate_space(const ResizeJob *j)
{
    /* The portable form: writes where the file system cannot allocate. */
    return -posix_fallocate(j->s->fd, j->old, j->bytes - j->old);
}

static int resize_job(void *arg)
{
    ResizeJob *j = arg;
    int ret;

    if (j->bytes <= j->old || j->prealloc == BLOCK_PREALLOC_OFF) {
        j->failed = "Could not resize file";
        return set_length(j->s->fd, j->bytes);
    }
    j->failed = "Could not preallocate data for the new file";
    ret = j->prealloc == BLOCK_PREALLOC_FULL ? fill_with_zeros(j) : allocate_space(j);
    if (ret == 0) {
        ret = set_length(j->s->fd, j->bytes);
    }
    if (ret < 0) {
        set_length(j->s->fd, j->old); /* give back what was taken */
    }
    return ret;
}

static bool check_mode(const FileState *s, int64_t old, int64_t bytes, BlockPrealloc prealloc, GError **errp)
{
    if (s->kind != FILE_REGULAR && prealloc != BLOCK_PREALLOC_OFF) {
        error_set(errp, "Preallocation mode '%s' unsupported for this non-regular file", block_prealloc_name(prealloc));
        return false;
    }
    if (prealloc == BLOCK_PREALLOC_METADATA) {
        error_set(errp, "Unsupported preallocation mode: metadata");
        return false;
    }
    if (prealloc != BLOCK_PREALLOC_OFF && bytes < old) {
        error_set(errp, "Cannot use preallocation for shrinking files");
        return false;
    }
    return true;
}

bool coroutine_fn file_posix_co_truncate(BlockNode *node, int64_t bytes, BlockPrealloc prealloc, GError **errp)
{
    ResizeJob job = {.s = node->state, .bytes = bytes, .prealloc = prealloc};

    job.old = file_posix_length(job.s);
    if (job.old < 0) {
        error_set_errno(errp, -job.old, "Could not determine the length of '%s'", node->exact_path);
        return false;
    }
    if (!check_mode(job.s, job.old, bytes, prealloc, errp)) {
        return false;
    }
    if (job.s->kind != FILE_REGULAR) {
        if (bytes > job.old) {
            error_set(errp, "Cannot grow device files");
        }
        return bytes <= job.old;
    }
    /* A worker is worth its hand-over only for the modes that move data. */
    int ret = prealloc == BLOCK_PREALLOC_OFF ? resize_job(&job) : thread_pool_submit_co(resize_job, &job);
    if (ret == -EFBIG) {
        error_set(errp, "The image size is too large for file format '%s'", "raw");
    } else if (ret < 0) {
        error_set_errno(errp, -ret, "%s", job.failed);
    }
    return ret == 0;
}
