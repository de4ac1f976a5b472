/* SPDX-License-Identifier: MIT */
/* Changing options of an existing image: what may be changed, and dispatch to the driver. */
#include "block/block.h"

#include "block/block-int.h"
#include "util/base/error.h"

const OptDesc *block_driver_amend_opts(const BlockDriver *drv)
{
    return drv->amend_opts;
}

/* What the format knows at creation is refused with the reason. */
static bool check_names(const BlockDriver *drv, const OptDict *options, GError **errp)
{
    for (size_t i = 0; i < optdict_size(options); i++) {
        const char *key = optdict_key_at(options, i);
        const OptDesc *create = drv->create_opts ? options_find(drv->create_opts, key) : NULL;

        if (options_find(drv->amend_opts, key)) {
            continue;
        }
        if (create && (g_str_equal(key, "backing_file") || g_str_equal(key, "backing_fmt"))) {
            error_set(errp, "Cannot amend the backing file\nYou can use 'qemu-img rebase' instead.");
        } else if (create && create->amendable) {
            error_set_code(errp, QB_ERROR_UNSUPPORTED,
                           "Changing '%s' of an existing image is not supported by this build yet", key);
        } else {
            error_set(errp, "Invalid parameter '%s'%s", key,
                      create ? "\nThis option is only supported for image creation" : "");
        }
        return false;
    }
    return true;
}

bool coroutine_fn block_co_amend(BlockNode *node, const OptDict *options, bool force, GError **errp)
{
    const BlockDriver *drv = node->drv;
    g_autoptr(OptDict) opts = optdict_copy(options);

    g_assert(in_coroutine());
    if (!drv->co_amend) {
        error_set(errp, "Format driver '%s' does not support option amendment", drv->format_name);
        return false;
    }
    return check_names(drv, opts, errp) && options_check(opts, drv->amend_opts, errp) &&
           drv->co_amend(node, opts, force, errp);
}
