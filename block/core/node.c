/* SPDX-License-Identifier: MIT */
#include "block/core/node.h"

#include <errno.h>

BlockNode *block_node_new(const BlockDriver *drv, unsigned flags)
{
    BlockNode *node = g_new0(BlockNode, 1);

    node->drv = drv;
    node->flags = flags;
    node->state = g_malloc0(MAX(drv->state_bytes, 1));
    node->options = optdict_new();
    g_atomic_ref_count_init(&node->refs);
    reqlist_init(&node->reqs);
    return node;
}

static void node_free(BlockNode *node)
{
    reqlist_destroy(&node->reqs);
    optdict_free(node->options);
    g_free(node->backing_format);
    g_free(node->backing_name);
    g_free(node->exact_path);
    g_free(node->filename);
    g_free(node->state);
    g_free(node);
}

void coroutine_fn block_node_discard(BlockNode *node)
{
    g_assert(!node->backing);
    if (node->aux) {
        block_co_close(node->aux);
    }
    if (node->file) {
        block_co_close(node->file);
    }
    node_free(node);
}

static int coroutine_fn node_close(BlockNode *node)
{
    int ret = block_co_flush(node);

    if (node->drv->co_close) {
        int err = node->drv->co_close(node);
        ret = ret < 0 ? ret : err;
    }
    /* Flushes what co_close wrote. */
    BlockNode *const children[] = {node->aux, node->file};
    for (size_t i = 0; i < G_N_ELEMENTS(children); i++) {
        int err = children[i] ? block_co_close(children[i]) : 0;
        ret = ret < 0 ? ret : err;
    }
    node_free(node);
    return ret;
}

int coroutine_fn block_co_close(BlockNode *node)
{
    int ret = 0;

    g_assert(in_coroutine());
    /* A loop, not a recursion: chains may be longer than a coroutine's stack is deep. */
    while (node && g_atomic_ref_count_dec(&node->refs)) {
        BlockNode *backing = node->backing;
        int err = node_close(node);
        ret = ret < 0 ? ret : err;
        node = backing;
    }
    return ret;
}

void block_node_ref(BlockNode *node)
{
    g_atomic_ref_count_inc(&node->refs);
}

const char *block_node_format(const BlockNode *node)
{
    return node->drv->format_name;
}

const char *block_node_filename(const BlockNode *node)
{
    return node->filename;
}

bool block_node_read_only(const BlockNode *node)
{
    return !(node->flags & BLOCK_OPEN_RDWR);
}

bool block_node_encrypted(const BlockNode *node)
{
    return node->encrypted;
}

bool block_node_in_memory(const BlockNode *node)
{
    for (; node; node = node->backing) {
        if (!(node->file ? block_node_in_memory(node->file) : node->in_memory)) {
            return false;
        }
    }
    return true;
}

bool block_node_on_device(const BlockNode *node)
{
    while (!node->is_device && node->drv->passthrough && node->file) {
        node = node->file;
    }
    return node->is_device;
}

BlockNode *block_node_file(const BlockNode *node)
{
    return node->file;
}

BlockNode *block_node_backing(const BlockNode *node)
{
    return node->backing;
}

BlockNode *block_node_aux(const BlockNode *node, const char **name)
{
    *name = node->aux_name;
    return node->aux;
}

const char *block_node_backing_name(const BlockNode *node)
{
    return node->backing_name;
}

const char *block_node_backing_format(const BlockNode *node)
{
    return node->backing_format;
}

void *block_node_state(const BlockNode *node)
{
    return node->state;
}

int64_t block_getlength(const BlockNode *node)
{
    return node->total_bytes;
}

void block_node_set_length(BlockNode *node, int64_t bytes)
{
    g_assert(bytes >= 0);
    node->total_bytes = bytes;
}
