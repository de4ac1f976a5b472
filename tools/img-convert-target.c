/* SPDX-License-Identifier: MIT */
/* The target of qemu-img convert: a new image, or one that is there. */
#include "tools/img-convert-int.h"

#include <string.h>

#include "block/job/copy.h"
#include "tools/report.h"

static bool preallocates(const OptDict *options)
{
    const char *mode = optdict_get(options, "preallocation");

    return mode && strcmp(mode, "off") != 0;
}

static bool wants_encryption(const OptDict *options)
{
    const char *legacy = optdict_get(options, "encryption");

    return optdict_has(options, "encrypt.format") || (legacy && strcmp(legacy, "on") == 0);
}

/* A backing file may come by -B or by -o. */
static bool settle_backing(Convert *c)
{
    ConvertArgs *a = &c->args;

    if (!a->backing) {
        a->backing = optdict_get(c->options, "backing_file");
    } else {
        optdict_set(c->options, "backing_file", a->backing);
    }
    if (a->backing_format) {
        optdict_set(c->options, "backing_fmt", a->backing_format);
    }
    if (a->backing && !optdict_has(c->options, "backing_fmt")) {
        report_error("Use of backing file requires explicit backing format");
        return false;
    }
    if (a->backing && !block_driver_supports_backing(c->driver)) {
        report_error("Backing file not supported for file format '%s'", block_driver_name(c->driver));
        return false;
    }
    return true;
}

bool convert_prepare_target(Convert *c)
{
    const char *format = c->args.target_format ? c->args.target_format : "raw";
    g_autoptr(GError) err = NULL;

    c->driver = img_find_format(format);
    if (!c->driver) {
        return false;
    }
    if (!block_driver_create_opts(c->driver)) {
        report_error("Format driver '%s' does not support image creation", format);
        return false;
    }
    if (!block_filename_protocol_known(c->target_name, &err)) {
        report_gerror(err, "%s", "");
        return false;
    }
    c->options = img_parse_create_options(c->driver, c->args.create_options, &err);
    if (!c->options) {
        report_gerror(err, "%s", "");
        return false;
    }
    optdict_set_int(c->options, "size", block_copy_total((BlockNode *const *)c->sources->pdata, c->sources->len));
    if (!settle_backing(c)) {
        return false;
    }
    if (c->args.compressed && !block_driver_supports_compressed(c->driver)) {
        report_error("Compression not supported for this file format");
        return false;
    }
    if (c->args.compressed && wants_encryption(c->options)) {
        report_error("Compression and encryption not supported at the same time");
        return false;
    }
    if (c->args.compressed && preallocates(c->options)) {
        report_error("Compression and preallocation not supported at the same time");
        return false;
    }
    return true;
}

/* The runtime options that a target created with @options needs: its key, and the file of a detached header. */
static OptDict *target_open_options(const OptDict *options)
{
    static const char *const keys[] = {"key-secret", "encrypt.key-secret", "header.filename"};
    OptDict *d = optdict_new();

    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        if (optdict_has(options, keys[i])) {
            optdict_set(d, keys[i], optdict_get(options, keys[i]));
        }
    }
    return d;
}

bool coroutine_fn convert_create_target(Convert *c)
{
    g_autoptr(GError) err = NULL;
    const char *format = block_driver_name(c->driver);

    if (!block_co_create(format, c->target_name, c->options, &err)) {
        report_gerror(err, "%s: error while converting %s: ", c->target_name, format);
        return false;
    }
    c->created = true;
    g_autoptr(OptDict) open_options = target_open_options(c->options);
    c->target = block_co_open(c->target_name, format, open_options, c->args.target_flags | BLOCK_OPEN_RDWR, &err);
    if (!c->target) {
        report_gerror(err, "Could not open '%s': ", c->target_name);
    }
    return c->target != NULL;
}

bool coroutine_fn convert_open_target(Convert *c)
{
    ImgOpenArgs open = {.format = c->args.target_format,
                        .image_opts = c->args.target_image_opts,
                        .cache_flags = c->args.target_flags,
                        .quiet = c->args.quiet};

    if (!open.image_opts && !open.format) {
        open.format = "raw";
    }
    c->target = img_co_open(&open, c->target_name, BLOCK_OPEN_RDWR);
    if (!c->target) {
        return false;
    }
    c->driver = block_driver_find(block_node_format(c->target));
    if (c->args.compressed && !block_driver_supports_compressed(c->driver)) {
        report_error("Compression not supported for this file format");
        return false;
    }
    if (c->args.compressed && block_node_encrypted(c->target)) {
        report_error("Compression and encryption not supported at the same time");
        return false;
    }
    if (block_getlength(c->target) < block_copy_total((BlockNode *const *)c->sources->pdata, c->sources->len)) {
        report_error("output file is smaller than input file");
        return false;
    }
    return true;
}

/* Is there a cipher anywhere between the target and its bytes? */
static bool is_enciphered(const BlockNode *node)
{
    while (node && !block_node_encrypted(node)) {
        node = block_node_file(node);
    }
    return node;
}

bool coroutine_fn convert_target_is_zero(const Convert *c)
{
    int64_t bytes = block_copy_total((BlockNode *const *)c->sources->pdata, c->sources->len);
    bool believed = c->args.target_is_zero && !block_node_backing_name(c->target) && !is_enciphered(c->target);

    return believed || block_co_reads_zero(c->target, 0, bytes);
}

void convert_settle_zeros(const Convert *c, BlockCopyOptions *opts)
{
    const char *mode = c->options ? optdict_get(c->options, "preallocation") : NULL;

    /* Space that was asked for is not given back; where it was to be written, it stays written. */
    opts->keep_space = c->options && preallocates(c->options);
    if (!opts->target_is_zero && mode && strcmp(mode, "full") == 0) {
        opts->sparse_bytes = 0;
    }
}
