/* SPDX-License-Identifier: MIT */
/* The one list of block drivers, in probing order. */
#include "block/block-int.h"

#include "util/error.h"

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
    NULL,
};

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
