/* SPDX-License-Identifier: MIT */
#include "block/core/filename.h"

#include <string.h>
#include <sys/stat.h>

#include "util/base/error.h"
#include "util/output/info-tree.h"

char *block_filename_protocol(const char *filename)
{
    size_t len = strcspn(filename, ":/");

    return len > 0 && filename[len] == ':' ? g_strndup(filename, len) : NULL;
}

static const BlockDriver *find_protocol(const char *proto)
{
    for (size_t i = 0; block_drivers[i]; i++) {
        if (block_drivers[i]->protocol && g_str_equal(block_drivers[i]->protocol, proto)) {
            return block_drivers[i];
        }
    }
    return NULL;
}

bool block_filename_protocol_known(const char *filename, GError **errp)
{
    g_autofree char *proto = block_filename_protocol(filename);

    if (proto && !find_protocol(proto)) {
        error_set(errp, "Unknown protocol '%s'", proto);
        return false;
    }
    return true;
}

const BlockDriver *block_driver_for_path(const char *path)
{
    struct stat st;
    bool is_device = stat(path, &st) == 0 && (S_ISBLK(st.st_mode) || S_ISCHR(st.st_mode));

    return is_device ? &block_driver_host_device : &block_driver_file;
}

bool block_filename_to_options(const char *filename, OptDict *opts, GError **errp)
{
    g_autofree char *proto = block_filename_protocol(filename);
    const char *path = proto ? filename + strlen(proto) + 1 : filename;
    const BlockDriver *drv = proto ? find_protocol(proto) : NULL;

    if (proto && !drv) {
        error_set(errp, "Unknown protocol '%s'", proto);
        return false;
    }
    if (!drv || drv == &block_driver_file) {
        drv = block_driver_for_path(path);
    }
    if (!optdict_has(opts, "driver")) {
        optdict_set(opts, "driver", drv->format_name);
    }
    if (drv->needs_filename) {
        /* "file:a:b" is the file "a:b", whose plain name is "./a:b": shown like this it can be given back. */
        g_autofree char *inner = proto ? block_filename_protocol(path) : NULL;
        g_autofree char *dotted = inner ? g_strconcat("./", path, NULL) : NULL;

        optdict_set(opts, "filename", dotted ? dotted : path);
    }
    return true;
}

char *block_filename_combine(const char *base, const char *name)
{
    g_autofree char *proto = block_filename_protocol(name);
    const char *slash = base ? strrchr(base, '/') : NULL;

    if (proto || name[0] == '/' || !slash) {
        return g_strdup(name);
    }
    return g_strdup_printf("%.*s%s", (int)(slash + 1 - base), base, name);
}

char *block_node_backing_path(const BlockNode *node)
{
    return node->backing_name ? block_filename_combine(node->exact_path, node->backing_name) : NULL;
}

char *block_backing_path_from(const char *overlay, const char *backing)
{
    /* The folder of "file:dir/x" is "dir". */
    return block_filename_combine(g_str_has_prefix(overlay, "file:") ? overlay + strlen("file:") : overlay, backing);
}

/* ---- the name to show ------------------------------------------------------------------------------------------ */

static bool key_matches(const char *key, const char *const *names)
{
    for (size_t i = 0; names && names[i]; i++) {
        size_t len = strlen(names[i]);
        bool is_prefix = len > 0 && names[i][len - 1] == '.';
        if (is_prefix ? g_str_has_prefix(key, names[i]) : g_str_equal(key, names[i])) {
            return true;
        }
    }
    return false;
}

/* The options of @node that change what it shows. */
static OptDict *strong_options(const BlockNode *node)
{
    OptDict *strong = optdict_new();

    for (size_t i = 0; i < optdict_size(node->options); i++) {
        const char *key = optdict_key_at(node->options, i);
        if (key_matches(key, node->drv->strong_open_opts)) {
            optdict_set_kind(strong, key, optdict_value_at(node->options, i), optdict_get_kind(node->options, key));
        }
    }
    return strong;
}

static void tree_set(InfoTree *obj, const OptDict *d, const char *key)
{
    const char *value = optdict_get(d, key);

    switch (optdict_get_kind(d, key)) {
    case OPT_INT:
        info_set_int(obj, key, g_ascii_strtoll(value, NULL, 0));
        break;
    case OPT_BOOL:
        info_set_bool(obj, key, g_str_equal(value, "on") || g_str_equal(value, "true"));
        break;
    case OPT_STRING:
    case OPT_NULL:
        info_set_str(obj, key, value);
        break;
    }
}

/* Add the options of @d to @obj. Dotted keys stay as they are; only child nodes are objects of their own. */
static void tree_add_options(InfoTree *obj, const OptDict *d)
{
    for (size_t i = 0; i < optdict_size(d); i++) {
        tree_set(obj, d, optdict_key_at(d, i));
    }
}

static InfoTree *node_tree(const BlockNode *node)
{
    InfoTree *obj = info_object_new();
    g_autoptr(OptDict) strong = strong_options(node);

    info_set_str(obj, "driver", node->drv->format_name);
    tree_add_options(obj, strong);
    if (node->drv->needs_filename) {
        info_set_str(obj, "filename", node->exact_path);
    }
    if (node->file) {
        info_set(obj, "file", node_tree(node->file));
    }
    if (node->aux) {
        info_set(obj, node->aux_name, node_tree(node->aux));
    }
    return obj;
}

static bool is_plain(const BlockNode *node)
{
    g_autoptr(OptDict) strong = strong_options(node);

    if (optdict_size(strong) > 0 || node->aux) {
        return false;
    }
    return !node->file || (node->file->drv->protocol && is_plain(node->file));
}

char *block_filename_display(const BlockNode *node)
{
    if (!is_plain(node)) {
        g_autoptr(InfoTree) tree = node_tree(node);
        info_sort_hash_order(tree);
        g_autofree char *text = info_to_json(tree, true);
        return g_strconcat("json:", text, NULL);
    }
    if (node->exact_path) {
        return g_strdup(node->exact_path);
    }
    const BlockNode *last = node->file ? node->file : node;
    return g_strdup_printf("%s://", last->drv->protocol ? last->drv->protocol : last->drv->format_name);
}
