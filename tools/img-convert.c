/* SPDX-License-Identifier: MIT */
/* qemu-img convert: the command line and the run. The target is img-convert-target.c, the copy block/copy. */
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "block/job/copy.h"
#include "tools/cmdline.h"
#include "tools/img-cmds.h"
#include "tools/img-convert-int.h"
#include "tools/report.h"
#include "util/base/number.h"
#include "util/base/units.h"

#define CONVERT_DEFAULT_WORKERS 8
#define CONVERT_DEFAULT_SPARSE  4096
#define CONVERT_MAX_SPARSE      (16 * MIB)

enum {
    OPT_SOURCE_IMAGE_OPTS = IMG_OPT_OWN,
    OPT_TARGET_IMAGE_OPTS,
    OPT_TARGET_IS_ZERO,
    OPT_BITMAPS,
    OPT_SKIP_BROKEN,
    OPT_SALVAGE
};

static const CmdOption convert_options[] = {
    {'q', "quiet", NULL, "print nothing but errors"},
    {'p', "progress", NULL, "show progress"},
    {'f', "source-format", "SRC_FMT", "format of the sources (probed)"},
    {OPT_SOURCE_IMAGE_OPTS, "source-image-opts", NULL, "SRC_FILENAMEs are key=value texts (not with -f)"},
    {IMG_OPT_IMAGE_OPTS, "image-opts", NULL, NULL},
    {'T', "source-cache", "SRC_CACHE", "how the sources are cached (writeback)"},
    {'U', "force-share", NULL, "open sources that others may be writing"},
    {'O', "target-format", "TGT_FMT", "format of the target (raw)"},
    {OPT_TARGET_IMAGE_OPTS, "target-image-opts", NULL, "TGT_FILENAME is a key=value text (needs -n, not with -O)"},
    {'o', "target-options", "TGT_OPTS", "options of the new target; -o help lists them"},
    {'c', "compress", NULL, "store compressed clusters (qcow2)"},
    {'t', "target-cache", "TGT_CACHE", "how the target is cached (unsafe)"},
    {'B', "backing", "BACKING_FILENAME", "backing file of the target: copy only what differs from it"},
    {'F', "backing-format", "BACKING_FMT", "format of the backing file"},
    {'n', "no-create", NULL, "write into an existing target"},
    {OPT_TARGET_IS_ZERO, "target-is-zero", NULL, "the target reads as zeros already (needs -n)"},
    {'S', "sparse-size", "SPARSE_SIZE", "shortest run of zeros left out (4k; 0 writes everything)"},
    {'m', "parallel", "NUM_COROUTINES", "requests in flight, 1 to 16 (8)"},
    {'W', "oob-writes", NULL, "let clusters be allocated out of order"},
    {IMG_OPT_OBJECT, "object", "OBJDEF", "define a secret"},
    {'l', "source-snapshot", "SNAPSHOT", "not supported yet"},
    {'C', "copy-range-offloading", NULL, "not supported yet"},
    {'r', "rate", "RATE", "not supported yet"},
    {OPT_BITMAPS, "bitmaps", NULL, "not supported yet"},
    {OPT_SKIP_BROKEN, "skip-broken-bitmaps", NULL, "not supported yet"},
    {OPT_SALVAGE, "salvage", NULL, "not supported yet"},
    {0},
};

static const CmdHelp convert_help = {
    .name = "convert",
    .usage =
        "[-f SRC_FMT | --source-image-opts] [-T SRC_CACHE] [-U] [-O TGT_FMT | --target-image-opts] [-o TGT_OPTS] [-c] "
        "[-t TGT_CACHE] [-n [--target-is-zero]] [-B BACKING -F BACKING_FMT] [-S SIZE] [-m N] [-W] [-p] [-q] "
        "[--object OBJDEF] SRC_FILENAME... TGT_FILENAME",
    .summary = "Copy one or more images, one after the other, into a target, with another format where wanted.",
    .opts = convert_options,
};

static void convert_clear(Convert *c)
{
    for (guint i = 0; c->sources && i < c->sources->len; i++) {
        block_co_close(g_ptr_array_index(c->sources, i));
    }
    g_clear_pointer(&c->sources, g_ptr_array_unref);
    g_clear_pointer(&c->target, block_co_close);
    g_clear_pointer(&c->options, optdict_free);
    g_clear_pointer(&c->args.create_options, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Convert, convert_clear)

/* ---- command line ---------------------------------------------------------------------------------------------- */

static bool parse_sparse(const char *text, int64_t *out)
{
    if (!img_parse_size("buffer size for sparse output", text, out)) {
        return false;
    }
    if (*out % SECTOR_SIZE || *out > CONVERT_MAX_SPARSE) {
        report_error("Invalid buffer size for sparse output specified. Valid sizes are multiples of %d up to %" PRId64
                     ". Select 0 to disable sparse detection (fully allocates output).",
                     SECTOR_SIZE, CONVERT_MAX_SPARSE);
        return false;
    }
    return true;
}

static bool parse_workers(const char *text, int64_t *out)
{
    if (number_parse_int(text, INT64_MIN, INT64_MAX, out) == NUMBER_INVALID) {
        report_error("Invalid number of coroutines specified: '%s'.", text);
        return false;
    }
    if (*out < 1 || *out > COPY_MAX_WORKERS) {
        report_error("Invalid number of coroutines specified. Must be between 1 and %d.", COPY_MAX_WORKERS);
        return false;
    }
    return true;
}

static bool refuse_option(int key)
{
    for (const CmdOption *o = convert_options; o->key; o++) {
        if (o->key == key) {
            report_unsupported("Option '--%s'", o->name);
        }
    }
    return false;
}

static bool take_flag(ConvertArgs *a, int key)
{
    switch (key) {
    case 'q':
        a->quiet = true;
        return true;
    case 'p':
        a->progress = true;
        return true;
    case OPT_SOURCE_IMAGE_OPTS:
        a->source.image_opts = true;
        return true;
    case OPT_TARGET_IMAGE_OPTS:
        a->target_image_opts = true;
        return true;
    case 'c':
        a->compressed = true;
        return true;
    case 'n':
        a->no_create = true;
        return true;
    case OPT_TARGET_IS_ZERO:
        a->target_is_zero = true;
        return true;
    case 'W':
        a->out_of_order = true;
        return true;
    case OPT_BITMAPS:
        a->bitmaps = true;
        return true;
    case OPT_SKIP_BROKEN:
        a->skip_broken_bitmaps = true;
        return true;
    default:
        return refuse_option(key);
    }
}

/* One option. False, with a message, on a bad argument. */
static bool take_option(void *opaque, int key, const char *arg)
{
    ConvertArgs *a = opaque;

    switch (key) {
    case 'f':
    case 'U':
    case IMG_OPT_IMAGE_OPTS:
    case IMG_OPT_OBJECT:
        return img_take_open_option(&a->source, key, arg);
    case 'O':
        a->target_format = arg;
        return true;
    case 'o':
        return img_add_create_options(&a->create_options, arg);
    case 'B':
        a->backing = arg;
        return true;
    case 'F':
        a->backing_format = arg;
        return true;
    case 'T':
        a->source_cache = arg;
        return true;
    case 't':
        a->target_cache = arg;
        return true;
    case 'S':
        return parse_sparse(arg, &a->sparse_bytes);
    case 'm':
        return parse_workers(arg, &a->workers);
    default:
        return take_flag(a, key);
    }
}

/* Combinations that make no sense, and the cache mode of the sources, which they come before. */
static bool check_args(ConvertArgs *a, int operands)
{
    if (a->skip_broken_bitmaps && !a->bitmaps) {
        report_error("Use of --skip-broken-bitmaps requires --bitmaps");
    } else if (a->bitmaps) {
        return refuse_option(OPT_BITMAPS);
    } else if (a->target_image_opts && !a->no_create) {
        report_error("--target-image-opts requires use of -n flag");
    } else if (a->target_is_zero && !a->no_create) {
        report_error("--target-is-zero requires use of -n flag");
    } else if (a->no_create && a->create_options) {
        report_error("-o has no effect when skipping image creation");
    } else if (a->target_image_opts && a->target_format) {
        report_error("--image-opts and --format are mutually exclusive");
    } else if (operands < 2) {
        report_error("Must specify image file name");
    } else if (operands > 2 && a->backing) {
        report_error("Having a backing file for the target makes no sense when concatenating multiple input images");
    } else {
        return img_parse_cache("source cache", a->source_cache, &a->source.cache_flags) &&
               img_open_args_check(&a->source, "--format");
    }
    return false;
}

/* ---- the copy -------------------------------------------------------------------------------------------------- */

static bool same_file(const char *a, const char *b)
{
    struct stat sa, sb;

    return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

/* The layer of the source's chain that the target's backing file stands for: the one of that name, else the first
 * below the source. */
static BlockNode *find_source_base(const Convert *c)
{
    BlockNode *source = g_ptr_array_index(c->sources, 0);
    BlockNode *base = block_node_backing(c->target);

    for (BlockNode *n = block_node_backing(source); n && base; n = block_node_backing(n)) {
        if (same_file(block_node_filename(n), block_node_filename(base))) {
            return n;
        }
    }
    return block_node_backing(source);
}

/* Compressed clusters end anywhere; the file they are in ends with a sector (qcow2 sheet section 7). */
static bool coroutine_fn end_file_with_sector(BlockNode *target)
{
    BlockNode *file = block_node_file(target);
    g_autoptr(GError) err = NULL;
    int64_t length = file ? block_getlength(file) : 0;

    if (length <= 0 || block_co_truncate(file, round_up(length, SECTOR_SIZE), BLOCK_PREALLOC_OFF, &err)) {
        return true;
    }
    report_error("error while writing the end of the image: %s", err->message);
    return false;
}

static int coroutine_fn copy_all(Convert *c)
{
    static const char *const stages[] = {[BLOCK_COPY_STATUS] = "reading block status at offset",
                                         [BLOCK_COPY_READ] = "reading at byte",
                                         [BLOCK_COPY_WRITE] = "writing at byte"};
    ConvertArgs *a = &c->args;
    bool has_backing = a->backing && block_node_backing(c->target); /* a target that is there may have none */
    BlockNode *const *sources = (BlockNode *const *)c->sources->pdata;
    BlockCopyError where;
    BlockCopyOptions opts = {
        .sources = sources,
        .n_sources = c->sources->len,
        .target = c->target,
        .workers = a->workers,
        .out_of_order = a->out_of_order,
        .compressed = a->compressed,
        .target_is_zero = convert_target_is_zero(c),
        .sparse_bytes = a->sparse_bytes,
        .target_has_backing = has_backing,
        .source_base = has_backing ? find_source_base(c) : NULL,
    };

    convert_settle_zeros(c, &opts);
    opts.progress = progress_new(a->progress && !a->quiet, block_copy_total(sources, c->sources->len));
    int ret = block_co_copy(&opts, &where);
    if (ret == 0) {
        progress_done(opts.progress);
    }
    progress_end(opts.progress);
    if (ret == 0) {
        return a->compressed && !end_file_with_sector(c->target) ? EXIT_FAILED : EXIT_OK;
    }
    report_error("error while %s %" PRId64 ": %s", stages[where.stage], where.offset, g_strerror(-ret));
    return EXIT_FAILED;
}

static bool coroutine_fn open_sources(Convert *c, CmdLine *cmd, int n)
{
    c->sources = g_ptr_array_new();
    for (int i = 0; i < n; i++) {
        BlockNode *node = img_co_open(&c->args.source, cmdline_operand(cmd, i), BLOCK_OPEN_UNSHARE);
        if (!node) {
            return false;
        }
        g_ptr_array_add(c->sources, node);
    }
    return true;
}

static int coroutine_fn convert(Convert *c)
{
    if ((!c->args.no_create && !convert_prepare_target(c)) ||
        !img_parse_cache("cache", c->args.target_cache, &c->args.target_flags)) {
        return EXIT_FAILED;
    }
    int status = (c->args.no_create ? convert_open_target(c) : convert_create_target(c)) ? copy_all(c) : EXIT_FAILED;

    if (status == EXIT_OK) {
        status = img_co_close(g_steal_pointer(&c->target)) ? EXIT_OK : EXIT_FAILED;
    } else {
        g_clear_pointer(&c->target, block_co_close); /* what went wrong is said already */
    }
    if (status != EXIT_OK && c->created) {
        block_delete_file(c->target_name); /* half an image is worse than none */
    }
    return status;
}

int coroutine_fn img_convert(int argc, char **argv)
{
    g_auto(CmdLine) cmd;
    g_auto(Convert) c = {.args = {.sparse_bytes = CONVERT_DEFAULT_SPARSE,
                                  .workers = CONVERT_DEFAULT_WORKERS,
                                  .source_cache = "writeback",
                                  .target_cache = "unsafe",
                                  .target_flags = BLOCK_OPEN_UNMAP}};

    cmdline_init(&cmd, &convert_help, argc, argv);
    if (!cmdline_take_all(&cmd, take_option, &c.args)) {
        return cmd.status;
    }
    int operands = cmdline_operands(&cmd);
    if (img_wants_option_help(c.args.create_options)) {
        const BlockDriver *drv = img_find_format(c.args.target_format ? c.args.target_format : "raw");
        if (drv) {
            img_print_option_help(drv, operands > 0);
        }
        return drv ? EXIT_OK : EXIT_FAILED;
    }
    if (!check_args(&c.args, operands)) {
        return EXIT_FAILED;
    }
    c.target_name = cmdline_operand(&cmd, operands - 1);
    return open_sources(&c, &cmd, operands - 1) ? convert(&c) : EXIT_FAILED;
}
