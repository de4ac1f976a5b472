/* SPDX-License-Identifier: MIT */
/* The file and host_device drivers: regular files and devices of the host. Open, length and the driver tables. */
#include "block/file/file-posix-int.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/base/aligned-buf.h"
#include "util/base/error.h"
#include "util/base/units.h"

#define MAX_DIRECT_ALIGN  4096u
#define MEMORY_ZERO_WORTH (16u << 10)

/* ---- options --------------------------------------------------------------------------------------------------- */

/* aio=: threads are workers of the pool. "native" and "io_uring" are the event loop's engine, but what native cannot do
 * is refused all the same. Without a word the engine does it. */
static bool take_aio(OptDict *options, unsigned flags, LoopIoBy *by, GError **errp)
{
    g_autofree char *given = optdict_take(options, "aio");
    const char *by_flags = flags & BLOCK_OPEN_AIO_NATIVE    ? "native"
                           : flags & BLOCK_OPEN_AIO_THREADS ? "threads"
                                                            : "io_uring";
    const char *aio = given ? given : by_flags;

    *by = g_str_equal(aio, "threads") ? LOOP_IO_WORKER : LOOP_IO_ENGINE;
    if (!g_str_equal(aio, "threads") && !g_str_equal(aio, "io_uring") && !g_str_equal(aio, "native")) {
        error_set(errp, "invalid parameter value: %s", aio);
        return false;
    }
    if (g_str_equal(aio, "native") && !(flags & BLOCK_OPEN_DIRECT)) {
        error_set(errp, "aio=native was specified, but it requires cache.direct=on, which was not specified.");
        return false;
    }
    return true;
}

static bool take_locking(OptDict *options, FileLockMode *out, GError **errp)
{
    g_autofree char *name = optdict_take(options, "locking");

    *out = FILE_LOCK_AUTO;
    if (name && !file_lock_mode_from_name(name, out)) {
        error_set(errp, "invalid parameter value: %s", name);
        return false;
    }
    return true;
}

static char *take_filename(OptDict *options, const BlockDriver *drv, GError **errp)
{
    g_autofree char *name = optdict_take(options, "filename");

    if (!name || !*name) {
        error_set(errp, "The '%s' block driver requires a file name", drv->format_name);
        return NULL;
    }
    return g_steal_pointer(&name);
}

/* ---- open ------------------------------------------------------------------------------------------------------ */

/* Before any open(): that of a pipe would wait for a writer. What is not there at all is left to open(). */
static bool check_kind(const BlockDriver *drv, const char *path, FileKind *kind, GError **errp)
{
    struct stat st;

    *kind = FILE_REGULAR;
    if (stat(path, &st) < 0) {
        return true;
    }
    if (S_ISBLK(st.st_mode) || S_ISCHR(st.st_mode)) {
        *kind = S_ISBLK(st.st_mode) ? FILE_BLOCK_DEVICE : FILE_CHAR_DEVICE;
    }
    if (drv == &block_driver_file ? S_ISREG(st.st_mode) : *kind != FILE_REGULAR) {
        return true;
    }
    error_set(errp, "'%s' driver requires '%s' to be %s", drv->format_name, path,
              drv == &block_driver_file ? "a regular file" : "either a character or block device");
    return false;
}

int file_posix_open_fd(const char *path, int oflags)
{
    int fd;

    do {
        fd = open(path, oflags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0644);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

static bool is_in_memory(const FileState *s)
{
    struct statfs fs;

    return !s->direct && fstatfs(s->fd, &fs) == 0 && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC);
}

static bool open_fd(FileState *s, const BlockDriver *drv, const char *path, unsigned flags, GError **errp)
{
    int oflags = flags & BLOCK_OPEN_RDWR ? O_RDWR : O_RDONLY;

    if (!check_kind(drv, path, &s->kind, errp)) {
        return false;
    }
    s->direct = flags & BLOCK_OPEN_DIRECT;
    s->fd = file_posix_open_fd(path, oflags | (s->direct ? O_DIRECT : 0));
    if (s->fd >= 0) {
        s->in_memory = is_in_memory(s);
        return true;
    }
    if (errno == EINVAL && s->direct) {
        error_set(errp,
                  "Could not open '%s': the file system does not support O_DIRECT (cache mode none or directsync)",
                  path);
    } else {
        error_set_errno(errp, errno, "Could not open '%s'", path);
    }
    return false;
}

/* The smallest read that O_DIRECT takes, where the kernel does not tell. */
static uint32_t try_direct_reads(int fd)
{
    g_autoaligned buf = aligned_buf_try_new(MAX_DIRECT_ALIGN);

    for (uint32_t align = SECTOR_SIZE; buf && align < MAX_DIRECT_ALIGN; align *= 2) {
        if (pread(fd, buf, align, 0) >= 0) {
            return align;
        }
    }
    return MAX_DIRECT_ALIGN;
}

static void probe_direct_alignment(const FileState *s, BlockLimits *l)
{
    l->request_align = l->memory_align = 0;
#ifdef STATX_DIOALIGN
    struct statx stx;
    if (statx(s->fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &stx) == 0 && (stx.stx_mask & STATX_DIOALIGN) &&
        is_power_of_2(stx.stx_dio_offset_align) && stx.stx_dio_offset_align <= MAX_DIRECT_ALIGN &&
        is_power_of_2(stx.stx_dio_mem_align) && stx.stx_dio_mem_align <= MAX_DIRECT_ALIGN) {
        l->request_align = stx.stx_dio_offset_align;
        l->memory_align = stx.stx_dio_mem_align;
        return;
    }
#endif
    l->request_align = try_direct_reads(s->fd);
    l->memory_align = l->request_align;
}

int64_t file_posix_length(const FileState *s)
{
    if (s->kind == FILE_BLOCK_DEVICE) {
        uint64_t bytes;
        return ioctl(s->fd, BLKGETSIZE64, &bytes) < 0 ? -errno : (int64_t)MIN(bytes, (uint64_t)INT64_MAX);
    }
    off_t end = lseek(s->fd, 0, SEEK_END);
    if (end < 0) {
        return s->kind == FILE_CHAR_DEVICE ? 0 : -errno;
    }
    return end;
}

static int64_t coroutine_fn file_co_getlength(BlockNode *node)
{
    int64_t bytes = file_posix_length(node->state);

    /* What is counted in sectors elsewhere: the part past the end reads as zeros. */
    return bytes < 0 ? bytes : (int64_t)round_up(MIN(bytes, INT64_MAX - SECTOR_SIZE), SECTOR_SIZE);
}

/* Devices zero whole sectors of theirs only. 0 for what has none. */
static uint32_t device_sector_bytes(const FileState *s)
{
    int bytes;

    if (s->kind != FILE_BLOCK_DEVICE || ioctl(s->fd, BLKSSZGET, &bytes) < 0 || bytes <= 0 || !is_power_of_2(bytes)) {
        return 0;
    }
    return bytes;
}

static void set_limits(BlockNode *node, const FileState *s)
{
    if (s->direct) {
        probe_direct_alignment(s, &node->limits);
    }
    node->limits.zero_align = MAX(device_sector_bytes(s), node->limits.request_align);
    /* Pages that are only reserved are neither cleared nor copied. */
    node->limits.zero_worth = s->in_memory ? MEMORY_ZERO_WORTH : 0;
    /* fallocate() works on whole pages; smaller holes only cost metadata. */
    node->limits.discard_align = node->limits.zero_align;
}

static bool coroutine_fn file_co_open(BlockNode *node, OptDict *options, unsigned flags, GError **errp)
{
    FileState *s = node->state;
    g_autofree char *path = take_filename(options, node->drv, errp);

    if (!path || !take_aio(options, flags, &s->io_by, errp) || !take_locking(options, &s->locking, errp) ||
        !open_fd(s, node->drv, path, flags, errp)) {
        return false;
    }
    if (flags & BLOCK_OPEN_NO_LOCK) {
        s->locking = FILE_LOCK_OFF;
    }
    node->exact_path = g_steal_pointer(&path);
    node->in_memory = s->in_memory;
    node->is_device = s->kind != FILE_REGULAR;
    set_limits(node, s);
    return true;
}

static bool coroutine_fn file_co_set_perms(BlockNode *node, GError **errp)
{
    FileState *s = node->state;
    unsigned unshared = node->flags & BLOCK_OPEN_FORCE_SHARE ? 0 : node->unshared;

    return file_lock_set(s->fd, s->locking, &s->locks, node->perms, unshared, node->exact_path, errp);
}

/* The file ends where the node does: what O_DIRECT had to write behind it, to the end of an aligned block, is cut off.
 */
static int cut_padding(const BlockNode *node)
{
    const FileState *s = node->state;
    int64_t padding = s->padded_end && s->kind == FILE_REGULAR ? file_posix_length(s) - node->total_bytes : 0;

    if (padding <= 0 || padding >= node->limits.request_align) {
        return 0;
    }
    return ftruncate(s->fd, node->total_bytes) < 0 ? -errno : 0;
}

static int coroutine_fn file_co_close(BlockNode *node)
{
    FileState *s = node->state;
    int ret = cut_padding(node);

    /* Not left to close(): an engine may still hold the open file for a moment, and the next tool is waiting. */
    file_lock_drop(s->fd, s->locking);
    if (close(s->fd) < 0 && errno != EINTR && ret == 0) {
        ret = -errno;
    }
    return ret;
}

static int64_t coroutine_fn file_co_allocated_bytes(BlockNode *node)
{
    const FileState *s = node->state;
    struct stat st;

    return fstat(s->fd, &st) < 0 ? -errno : (int64_t)st.st_blocks * 512;
}

/* Nothing to tell, but the tools' JSON always has the empty object. */
static InfoTree *coroutine_fn file_co_specific_info(BlockNode *node, GError **errp)
{
    return info_object_new();
}

#define FILE_DRIVER(name, create)                                                                                      \
    {                                                                                                                  \
        .format_name = name, .protocol = name, .state_bytes = sizeof(FileState), .needs_filename = true,               \
        .create_opts = file_posix_create_opts, .co_open = file_co_open, .co_create = create,                           \
        .co_set_perms = file_co_set_perms, .co_close = file_co_close, .co_read = file_posix_co_read,                   \
        .co_write = file_posix_co_write, .supported_write_flags = BLOCK_REQ_OWN_BUFFER,                                \
        .co_write_zeroes = file_posix_co_write_zeroes, .co_discard = file_posix_co_discard,                            \
        .co_flush = file_posix_co_flush, .co_status = file_posix_co_status, .co_reads_zero = file_posix_co_reads_zero, \
        .co_getlength = file_co_getlength, .co_truncate = file_posix_co_truncate,                                      \
        .co_allocated_bytes = file_co_allocated_bytes, .co_specific_info = file_co_specific_info,                      \
    }

const BlockDriver block_driver_file = FILE_DRIVER("file", file_posix_co_create);
const BlockDriver block_driver_host_device = FILE_DRIVER("host_device", file_posix_co_create_on_device);
