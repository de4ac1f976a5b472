/* SPDX-License-Identifier: MIT */
#include "block/core/probe.h"

#include "util/base/error.h"

const BlockDriver *block_probe_buffer(const uint8_t *buf, size_t len, const char *filename)
{
    const BlockDriver *best = &block_driver_raw;
    int best_score = 0;

    for (size_t i = 0; block_drivers[i]; i++) {
        const BlockDriver *drv = block_drivers[i];
        int score = drv->probe ? drv->probe(buf, len, filename) : 0;
        if (score > best_score) {
            best = drv;
            best_score = score;
        }
    }
    return best;
}

const BlockDriver *coroutine_fn block_probe_node(BlockNode *file, GError **errp)
{
    uint8_t buf[BLOCK_PROBE_BYTES];
    size_t len = MIN(file->total_bytes, BLOCK_PROBE_BYTES);
    int ret = block_co_pread(file, 0, buf, len, 0);

    if (ret < 0) {
        error_set_errno(errp, -ret, "Could not read image for determining its format");
        return NULL;
    }
    return block_probe_buffer(buf, len, file->exact_path);
}

bool block_node_probed_raw(const BlockNode *node)
{
    return node->probed && node->drv == &block_driver_raw;
}

char *block_probed_raw_warning(const BlockNode *node)
{
    return g_strdup_printf(
        "WARNING: Image format was not specified for '%s' and probing guessed raw.\n"
        "         Automatically detecting the format is dangerous for raw images, write operations on "
        "block 0 will be restricted.\n"
        "         Specify the 'raw' format explicitly to remove the restrictions.",
        node->exact_path ? node->exact_path : node->filename);
}
