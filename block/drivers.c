/* SPDX-License-Identifier: MIT */
/* The one list of block drivers, in probing order. */
#include "block/block-int.h"

#include <string.h>

#include "util/base/error.h"

/* clang-format off */
const BlockDriver *const block_drivers[] = {
    &block_driver_qcow2,
    &block_driver_luks,
    &block_driver_raw,
    &block_driver_file,
    &block_driver_host_device,
    &block_driver_null_co,
    &block_driver_null_aio,
    &block_driver_fault,
    &block_driver_record,
    &block_driver_testdev,
    NULL,
};
/* clang-format on */

const BlockDriver *block_driver_find(const char *format)
{
    for (size_t i = 0; block_drivers[i]; i++) {
        if (g_str_equal(block_drivers[i]->format_name, format)) {
            return block_drivers[i];
        }
    }
    return NULL;
}

const OptDesc *block_driver_create_opts(const BlockDriver *drv)
{
    return drv->co_create ? drv->create_opts : NULL;
}

bool block_driver_supports_backing(const BlockDriver *drv)
{
    return drv->supports_backing;
}

bool block_driver_supports_compressed(const BlockDriver *drv)
{
    return drv->supports_compressed;
}

const char *block_driver_name(const BlockDriver *drv)
{
    return drv->format_name;
}

void block_driver_foreach(void (*fn)(const BlockDriver *drv, void *opaque), void *opaque)
{
    for (size_t i = 0; block_drivers[i]; i++) {
        fn(block_drivers[i], opaque);
    }
}

/* Options of the format, then those of the protocol that the format does not have under the same name. */
static OptDesc *tables_joined(const OptDesc *format, const OptDesc *protocol)
{
    GArray *all = g_array_new(TRUE, TRUE, sizeof(OptDesc));

    for (; format && format->name; format++) {
        g_array_append_vals(all, format, 1);
    }
    for (; protocol && protocol->name; protocol++) {
        g_array_append_vals(all, protocol, 1);
        for (guint i = 0; i + 1 < all->len; i++) {
            if (strcmp(g_array_index(all, OptDesc, i).name, protocol->name) == 0) {
                g_array_set_size(all, all->len - 1);
                break;
            }
        }
    }
    return (OptDesc *)(void *)g_array_free(all, FALSE);
}

OptDesc *block_driver_create_opts_all(const BlockDriver *drv)
{
    return tables_joined(block_driver_create_opts(drv), block_driver_file.create_opts);
}
