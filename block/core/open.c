/* SPDX-License-Identifier: MIT */
/* From names and options to an opened graph.
 *
 * A node is opened bottom up: its file child, then its driver on top; the backing chain is attached from the top down,
 * in a loop, because it may be longer than a coroutine's stack is deep. Locks are taken by whoever opens a node
 * (set_perms), once it is known what the node is for: probing takes none. */
#include "block/block.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "block/block-int.h"
#include "block/core/filename.h"
#include "block/core/graph.h"
#include "block/core/limits.h"
#include "block/core/node.h"
#include "block/core/open-options.h"
#include "block/core/probe.h"
#include "util/base/error.h"
#include "util/base/trace.h"

#define MAX_NESTING 8 /* file children below one another: each opens on the stack of the one above */

/* What the opener of a node wants of it. */
typedef struct OpenFor {
    unsigned flags;           /* BLOCK_OPEN_* */
    unsigned perms, unshared; /* BLOCK_PERM_*; a file child is opened with none, its parent asks for them later */
    int nesting;
} OpenFor;

static BlockNode *coroutine_fn open_node(OptDict *opts, const BlockDriver *drv, const OpenFor *want, GError **errp);

/* ---- drivers --------------------------------------------------------------------------------------------------- */

/* The driver that @format or the option "driver" names; *@drv is NULL when neither does. */
static bool take_driver(OptDict *opts, const char *format, const BlockDriver **drv, GError **errp)
{
    g_autofree char *name = optdict_take(opts, "driver");

    if (name && format && !g_str_equal(name, format)) {
        error_set(errp, "Driver specified twice");
        return false;
    }
    *drv = NULL;
    if (name || format) {
        *drv = block_driver_find(name ? name : format);
        if (!*drv) {
            error_set(errp, "Unknown driver '%s'", name ? name : format);
            return false;
        }
    }
    return true;
}

/* References to existing nodes are a thing of long-running processes; here no node has a name. */
static bool refuse_reference(const OptDict *opts, const char *key, GError **errp)
{
    const char *name = optdict_get(opts, key);

    if (!name) {
        return true;
    }
    error_set(errp, "Cannot find device='%s' nor node-name='%s'", name, name);
    return false;
}

/* ---- one node -------------------------------------------------------------------------------------------------- */

/* @child: the options of the child without their prefix. */
static BlockNode *coroutine_fn open_child(OptDict *child, const BlockDriver *drv, const OpenFor *parent, GError **errp)
{
    OpenFor want = {.flags = block_child_flags(drv, parent->flags), .nesting = parent->nesting + 1};
    const BlockDriver *child_drv;

    if (want.nesting > MAX_NESTING) {
        error_set(errp, "Nodes are nested more than %d deep", MAX_NESTING);
        return NULL;
    }
    if (!take_driver(child, NULL, &child_drv, errp)) {
        return NULL;
    }
    if (!child_drv) {
        /* The file of a format is a protocol unless it says otherwise: never probed, and its name is taken literally.
         */
        const char *name = optdict_get(child, "filename");
        child_drv = name ? block_driver_for_path(name) : &block_driver_file;
    }
    BlockNode *node = open_node(child, child_drv, &want, errp);
    if (node) {
        node->growable = true;
    }
    return node;
}

static BlockNode *coroutine_fn open_file_child(OptDict *opts, const BlockDriver *drv, const OpenFor *parent,
                                               GError **errp)
{
    if (!refuse_reference(opts, "file", errp)) {
        return NULL;
    }
    g_autoptr(OptDict) child = optdict_take_prefix(opts, "file.");
    if (optdict_size(child) == 0) {
        error_set(errp, drv ? "A block device must be specified for \"file\"" : "Must specify either driver or file");
        return NULL;
    }
    return open_child(child, drv, parent, errp);
}

bool coroutine_fn block_open_aux(BlockNode *node, OptDict *options, const char *name, GError **errp)
{
    g_autofree char *prefix = g_strconcat(name, ".", NULL);
    OpenFor parent = {.flags = node->flags, .nesting = node->nesting};

    g_assert(!node->aux);
    if (!refuse_reference(options, name, errp)) {
        return false;
    }
    g_autoptr(OptDict) child = optdict_take_prefix(options, prefix);
    if (optdict_size(child) == 0) {
        return true;
    }
    node->aux = open_child(child, node->drv, &parent, errp);
    node->aux_name = name;
    return node->aux && block_node_lock_aux(node, errp);
}

static bool coroutine_fn refresh_length(BlockNode *node, GError **errp)
{
    int64_t len = node->drv->co_getlength ? node->drv->co_getlength(node) : (int64_t)node->total_bytes;

    if (len < 0) {
        error_set_errno(errp, -len, "Could not determine the length of the image");
        return false;
    }
    node->total_bytes = len;
    return true;
}

/* What the options say of the backing child. Where none is wanted - the opener left it out, or "backing" is null or
 * empty - options for it stay in @opts, and are refused as unknown. */
static bool settle_backing(BlockNode *node, OptDict *opts, GError **errp)
{
    g_autoptr(OptDict) backing = optdict_take_prefix(opts, "backing.");
    OptKind kind = optdict_get_kind(opts, "backing");
    const char *ref = optdict_get(opts, "backing");

    if (ref && (kind == OPT_NULL || !*ref)) {
        optdict_remove(opts, "backing");
        node->flags |= BLOCK_OPEN_NO_BACKING;
        ref = NULL;
    }
    if (node->flags & BLOCK_OPEN_NO_BACKING) {
        optdict_merge(opts, "backing.", backing, false);
        return true;
    }
    if (!node->drv->supports_backing && (ref || optdict_size(backing) > 0)) {
        error_set(errp, "Driver doesn't support backing files");
        return false;
    }
    if (ref && optdict_size(backing) > 0) {
        error_set(errp, "Could not open backing file: Cannot reference an existing block device with additional "
                        "options or a new filename");
        return false;
    }
    if (!refuse_reference(opts, "backing", errp)) {
        g_prefix_error(errp, "Could not open backing file: ");
        return false;
    }
    return true;
}

static bool coroutine_fn finish_open(BlockNode *node, const OptDict *opts, GError **errp)
{
    if (!block_refuse_leftovers(opts, node->drv, errp) || !refresh_length(node, errp)) {
        return false;
    }
    if ((node->flags & BLOCK_OPEN_NO_EXTERNAL) && node->backing_name) {
        error_set(errp, "Image names the backing file '%s', and external files are not allowed", node->backing_name);
        return false;
    }
    block_limits_complete(&node->limits);
    if (!node->exact_path && node->file) {
        node->exact_path = g_strdup(node->file->exact_path);
    }
    node->filename = block_filename_display(node);
    trace(TRACE_BLOCK, "open", "node=%p driver=%s flags=0x%x bytes=%" PRId64 " name=%s", (void *)node,
          node->drv->format_name, node->flags, (int64_t)node->total_bytes, node->filename);
    return true;
}

/* Close a node whose driver opened but which cannot be used. */
static void coroutine_fn abandon(BlockNode *node)
{
    if (node->drv->co_close) {
        node->drv->co_close(node);
    }
    block_node_discard(node);
}

/* The file child and the driver of the node: *@drv is found by probing when it is NULL. False: nothing is left open. */
static bool coroutine_fn open_below(OptDict *opts, const BlockDriver **drv, const OpenFor *want, BlockNode **file,
                                    GError **errp)
{
    *file = NULL;
    if (*drv && (*drv)->protocol) {
        return true;
    }
    *file = open_file_child(opts, *drv, want, errp);
    if (*file && !*drv) {
        *drv = block_probe_node(*file, errp);
        if (!*drv) {
            block_co_close(*file);
            return false;
        }
        (*file)->flags = block_child_flags(*drv, (*file)->flags);
    }
    return *file != NULL;
}

/* The driver's part, over an opened file child. It opens between the two halves of taking permissions: a format must
 * not look at its file unlocked, and a protocol has nothing to lock before it is open. */
static bool coroutine_fn open_locked(BlockNode *node, OptDict *opts, const OpenFor *want, GError **errp)
{
    if (node->file && !block_node_set_perms(node, want->perms, want->unshared, errp)) {
        return false;
    }
    return node->drv->co_open(node, opts, node->flags, errp);
}

/* Zeros that are found may be unmapped only where that is allowed. What lies below the top is, unless it says no. */
static bool check_detect_zeroes(const BlockNode *node, const OptDict *given, GError **errp)
{
    if (node->detect_zeroes != BLOCK_DETECT_ZEROES_UNMAP || (node->flags & BLOCK_OPEN_UNMAP) ||
        (node->nesting > 0 && !optdict_has(given, "discard"))) {
        return true;
    }
    error_set(errp, "setting detect-zeroes to unmap is not allowed without setting discard operation to unmap");
    return false;
}

/* Open the node of @opts (consumed keys are taken) with driver @drv, or, when that is NULL, the one its file looks
 * like. The backing chain is left to the caller. */
static BlockNode *coroutine_fn open_node(OptDict *opts, const BlockDriver *drv, const OpenFor *want, GError **errp)
{
    NodeOptions common = {.flags = want->flags};
    g_autoptr(OptDict) given = optdict_copy(opts);
    OpenFor below = *want;
    BlockNode *file;
    bool probed = !drv;

    if (!block_take_node_options(opts, &common, errp)) {
        return NULL;
    }
    below.flags = common.flags;
    if (!open_below(opts, &drv, &below, &file, errp)) {
        return NULL;
    }
    BlockNode *node = block_node_new(drv, common.flags);
    node->file = file;
    node->probed = probed;
    node->nesting = want->nesting;
    node->detect_zeroes = common.detect_zeroes;
    optdict_merge(node->options, "", given, false);
    if (!check_detect_zeroes(node, given, errp) || !open_locked(node, opts, want, errp)) {
        block_node_discard(node);
        return NULL;
    }
    if (!settle_backing(node, opts, errp) || !finish_open(node, opts, errp) ||
        (!node->file && !block_node_set_perms(node, want->perms, want->unshared, errp))) {
        abandon(node);
        return NULL;
    }
    return node;
}

/* ---- names to options ------------------------------------------------------------------------------------------ */

static bool merge_json_name(const char *filename, OptDict *opts, GError **errp)
{
    g_autoptr(GError) err = NULL;
    g_autoptr(OptDict) json = optdict_parse_json(filename + strlen("json:"), &err);

    if (!json) {
        bool is_syntax = g_str_has_prefix(err->message, "JSON parse error") ||
                         g_str_has_prefix(err->message, "Expecting a JSON value");
        error_set(errp, "%s%s", is_syntax ? "Could not parse the JSON options: " : "", err->message);
        return false;
    }
    optdict_merge(opts, "", json, true);
    return true;
}

/* Put @filename where its driver looks for it. */
static bool merge_plain_name(const char *filename, const BlockDriver *drv, OptDict *opts, GError **errp)
{
    g_autoptr(OptDict) child = optdict_new();
    g_autofree char *proto = block_filename_protocol(filename);

    if (drv && drv->protocol && drv->needs_filename && g_strcmp0(proto, drv->protocol) != 0) {
        optdict_set(opts, "filename", filename);
        return true;
    }
    if (drv && drv->protocol && !drv->needs_filename) {
        return true;
    }
    if (!block_filename_to_options(filename, child, errp)) {
        return false;
    }
    if (drv && drv->protocol) {
        optdict_set(opts, "filename", optdict_get(child, "filename"));
        return true;
    }
    optdict_merge(opts, "file.", child, true);
    return true;
}

/* The driver and options of @filename (may be NULL) and @opts together. */
static bool resolve(const char *filename, const char *format, OptDict *opts, const BlockDriver **drv, GError **errp)
{
    bool is_json = filename && g_str_has_prefix(filename, "json:");

    if (is_json && !merge_json_name(filename, opts, errp)) {
        return false;
    }
    if (!take_driver(opts, format, drv, errp)) {
        return false;
    }
    return !filename || is_json || merge_plain_name(filename, *drv, opts, errp);
}

/* ---- the backing chain ----------------------------------------------------------------------------------------- */

/* Identity of the file at @path, for finding loops. */
typedef struct FileId {
    dev_t dev;
    ino_t ino;
} FileId;

static bool note_file(GArray *seen, const BlockNode *node, GError **errp)
{
    struct stat st;

    if (!node->exact_path || stat(node->exact_path, &st) < 0) {
        return true;
    }
    for (guint i = 0; i < seen->len; i++) {
        const FileId *id = &g_array_index(seen, FileId, i);
        if (id->dev == st.st_dev && id->ino == st.st_ino) {
            error_set(errp, "Backing chain loops: '%s' is already part of it", node->exact_path);
            return false;
        }
    }
    FileId id = {.dev = st.st_dev, .ino = st.st_ino};
    g_array_append_val(seen, id);
    return true;
}

static BlockNode *coroutine_fn open_backing(BlockNode *overlay, GError **errp)
{
    g_autoptr(OptDict) opts = optdict_new();
    g_autoptr(OptDict) given = optdict_copy(overlay->options);
    g_autofree char *path = NULL;
    const char *format = NULL;
    const BlockDriver *drv;

    g_autoptr(OptDict) override = optdict_take_prefix(given, "backing.");
    optdict_merge(opts, "", override, false);
    /* Options may add to the name that the image stores, or replace it. */
    if (!optdict_has(opts, "file.filename") && !optdict_has(opts, "file.driver") && !optdict_has(opts, "filename")) {
        path = block_node_backing_path(overlay);
        format = optdict_has(opts, "driver") ? NULL : overlay->backing_format;
    }
    if (!resolve(path, format, opts, &drv, errp)) {
        return NULL;
    }
    OpenFor want = {.flags = block_backing_flags(overlay->flags), .perms = BLOCK_PERM_READ};
    return open_node(opts, drv, &want, errp);
}

static bool wants_backing(const BlockNode *node)
{
    return node->drv->supports_backing && !(node->flags & BLOCK_OPEN_NO_BACKING) &&
           (node->backing_name || optdict_has_prefix(node->options, "backing."));
}

static bool coroutine_fn open_chain(BlockNode *top, GError **errp)
{
    g_autoptr(GArray) seen = g_array_new(FALSE, FALSE, sizeof(FileId));
    g_autoptr(GString) prefix = g_string_new(NULL);

    if (!wants_backing(top)) {
        return true;
    }
    for (BlockNode *node = top; wants_backing(node); node = node->backing) {
        g_string_append(prefix, "Could not open backing file: ");
        if (!note_file(seen, node, errp)) {
            return false;
        }
        if (seen->len >= BLOCK_MAX_CHAIN) {
            error_set(errp, "Backing chain is longer than %d images", BLOCK_MAX_CHAIN);
            return false;
        }
        node->backing = open_backing(node, errp);
        if (!node->backing) {
            g_prefix_error(errp, "%s", prefix->str);
            return false;
        }
    }
    return true;
}

/* ---- entry ----------------------------------------------------------------------------------------------------- */

BlockNode *coroutine_fn block_co_open(const char *filename, const char *format, const OptDict *options, unsigned flags,
                                      GError **errp)
{
    g_autoptr(OptDict) opts = options ? optdict_copy(options) : optdict_new();
    OpenFor want = {.flags = flags};
    const BlockDriver *drv;

    g_assert(in_coroutine());
    if (!resolve(filename, format, opts, &drv, errp)) {
        return NULL;
    }
    block_top_perms(flags, &want.perms, &want.unshared);
    BlockNode *node = open_node(opts, drv, &want, errp);
    if (node && !open_chain(node, errp)) {
        block_co_close(node);
        return NULL;
    }
    return node;
}
