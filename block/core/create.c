/* SPDX-License-Identifier: MIT */
/* Making of new images: dispatch to the driver, and nothing half-made left behind. */
#include "block/block.h"

#include <errno.h>
#include <sys/stat.h>

#include "block/block-int.h"
#include "block/core/filename.h"
#include "util/base/error.h"

/* Is there a file by the name of the image already? A link to nothing is none. */
static bool file_exists(const char *filename)
{
    g_autoptr(OptDict) options = optdict_new();
    struct stat st;

    if (!block_filename_to_options(filename, options, NULL) || !optdict_has(options, "filename")) {
        return false;
    }
    return stat(optdict_get(options, "filename"), &st) == 0;
}

bool coroutine_fn block_co_create(const char *format, const char *filename, const OptDict *options, GError **errp)
{
    const BlockDriver *drv = block_driver_find(format);
    g_autoptr(OptDict) opts = options ? optdict_copy(options) : optdict_new();

    g_assert(in_coroutine());
    if (!drv) {
        error_set(errp, "Unknown file format '%s'", format);
        return false;
    }
    if (!drv->co_create) {
        error_set(errp, "Format driver '%s' does not support image creation", format);
        return false;
    }
    bool existed = file_exists(filename);
    if (drv->co_create(filename, opts, errp)) {
        return true;
    }
    /* A file of that name from before is the user's: it may be empty now, but it stays. */
    if (!existed) {
        block_delete_file(filename);
    }
    return false;
}
