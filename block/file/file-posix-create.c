/* SPDX-License-Identifier: MIT */
/* New files on the host. */
#include "block/file/file-posix-int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "block/core/filename.h"
#include "util/base/error.h"
#include "util/base/units.h"

/* The path that @filename means, as options of its protocol driver. NULL where that is not one of ours. */
static char *host_path(const char *filename, GError **errp)
{
    g_autoptr(OptDict) options = optdict_new();

    if (!block_filename_to_options(filename, options, errp)) {
        return NULL;
    }
    const BlockDriver *drv = block_driver_find(optdict_get(options, "driver"));
    if (drv != &block_driver_file && drv != &block_driver_host_device) {
        error_set(errp, "Protocol driver '%s' does not support image creation", drv->format_name);
        return NULL;
    }
    return optdict_take(options, "filename");
}

/* Empty an existing file only once its users have been asked: the locks come before the truncation. Who writes it is
 * not to lose it, though a luks image, raw below its header, is shared with other writers. */
static bool empty_file(int fd, const char *path, GError **errp)
{
    FileLocks held = {0};
    struct stat st;

    if (!file_lock_set(fd, FILE_LOCK_AUTO, &held, BLOCK_PERM_WRITE | BLOCK_PERM_RESIZE,
                       BLOCK_PERM_WRITE | BLOCK_PERM_RESIZE, path, errp)) {
        return false;
    }
    if (fstat(fd, &st) < 0 || (S_ISREG(st.st_mode) && ftruncate(fd, 0) < 0)) {
        error_set_errno(errp, errno, "Could not create '%s'", path);
        return false;
    }
    return true;
}

static bool make_empty(const char *path, GError **errp)
{
    int fd = file_posix_open_fd(path, O_RDWR | O_CREAT);

    if (fd < 0) {
        error_set_errno(errp, errno, "Could not create '%s'", path);
        return false;
    }
    bool ok = empty_file(fd, path, errp);
    close(fd);
    return ok;
}

BlockNode *coroutine_fn block_create_file(const char *filename, GError **errp)
{
    g_autofree char *path = host_path(filename, errp);
    g_autoptr(OptDict) options = optdict_new();

    if (!path || !make_empty(path, errp) || !block_filename_to_options(filename, options, errp)) {
        return NULL;
    }
    BlockNode *node = block_co_open(NULL, NULL, options, BLOCK_OPEN_RDWR | BLOCK_OPEN_RESIZE | BLOCK_OPEN_UNMAP, errp);
    if (node) {
        node->growable = true;
    }
    return node;
}

bool block_check_new_prealloc(const BlockNode *file, BlockPrealloc prealloc, GError **errp)
{
    if (prealloc != BLOCK_PREALLOC_OFF && block_node_on_device(file)) {
        error_set(errp, "Unsupported preallocation mode '%s'", block_prealloc_name(prealloc));
        return false;
    }
    return true;
}

int coroutine_fn block_wipe_new(BlockNode *file, int64_t bytes)
{
    return block_node_on_device(file) ? block_co_pwrite_zeroes(file, 0, MIN(bytes, block_getlength(file)), 0) : 0;
}

void coroutine_fn block_delete_file(const char *filename)
{
    g_autofree char *path = host_path(filename, NULL);
    char *file = path ? realpath(path, NULL) : NULL; /* it was made through the links that lead to it */
    struct stat st;

    if (file && lstat(file, &st) == 0 && S_ISREG(st.st_mode)) {
        unlink(file);
    }
    free(file);
}

/* ---- images that are nothing but a file ------------------------------------------------------------------------ */

const OptDesc file_posix_create_opts[] = {
    {"size", OPT_TYPE_SIZE, "Virtual disk size"},
    {"preallocation", OPT_TYPE_STR, "Preallocation mode (allowed values: off, falloc, full)"},
    {"nocow", OPT_TYPE_BOOL, "Turn off copy-on-write (valid only on btrfs)"},
    {"extent_size_hint", OPT_TYPE_SIZE, "Extent size hint for the image file, 0 to disable"},
    {NULL},
};

typedef struct FileCreate {
    uint64_t size;
    BlockPrealloc prealloc;
} FileCreate;

/* nocow and extent_size_hint are advice to particular file systems: taken, checked for form and not needed here. */
static bool take_create_options(OptDict *options, FileCreate *c, GError **errp)
{
    g_autofree char *prealloc = optdict_take(options, "preallocation");
    bool nocow;
    uint64_t hint;

    if (!optdict_take_size(options, "size", &c->size, errp) || !optdict_take_bool(options, "nocow", &nocow, errp) ||
        !optdict_take_size(options, "extent_size_hint", &hint, errp)) {
        return false;
    }
    if (prealloc && !block_prealloc_from_name(prealloc, &c->prealloc)) {
        error_set(errp, "invalid parameter value: %s", prealloc);
        return false;
    }
    if (c->size > INT64_MAX - SECTOR_SIZE) {
        error_set(errp, "The image size is too large for file format 'raw'");
        return false;
    }
    return true;
}

/* The first sector of a device is cleared, so that nobody takes the new image for one of the format that was there. */
static bool coroutine_fn make_image(BlockNode *file, const FileCreate *c, GError **errp)
{
    if (!block_check_new_prealloc(file, c->prealloc, errp) ||
        !block_co_truncate(file, round_up(c->size, SECTOR_SIZE), c->prealloc, errp)) {
        return false;
    }
    int ret = block_wipe_new(file, SECTOR_SIZE);
    if (ret < 0) {
        error_set_errno(errp, -ret, "Could not clear the start of the device");
    }
    return ret == 0;
}

bool coroutine_fn file_posix_co_create(const char *filename, OptDict *options, GError **errp)
{
    FileCreate c = {.prealloc = BLOCK_PREALLOC_OFF};

    if (!take_create_options(options, &c, errp)) {
        return false;
    }
    BlockNode *file = block_create_file(filename, errp);
    if (!file) {
        return false;
    }
    bool ok = make_image(file, &c, errp);
    int ret = block_co_close(file);
    if (ok && ret < 0) {
        error_set_errno(errp, -ret, "Could not write '%s'", filename);
    }
    return ok && ret == 0;
}

/* A device is not made: it is there already, and gets the contents of a new image. */
bool coroutine_fn file_posix_co_create_on_device(const char *filename, OptDict *options, GError **errp)
{
    g_autofree char *path = host_path(filename, errp);

    if (!path) {
        return false;
    }
    if (block_driver_for_path(path) != &block_driver_host_device) {
        error_set(errp, "'host_device' driver requires '%s' to be either a character or block device", path);
        return false;
    }
    return file_posix_co_create(filename, options, errp);
}
