/* SPDX-License-Identifier: MIT */
/* qemu-img create: a new image, its options printed before it is made. */
#include "tools/img-cmds.h"

#include <stdio.h>
#include <string.h>

#include "tools/cmdline.h"
#include "tools/image-opts.h"
#include "tools/report.h"
#include "util/base/error.h"
#include "util/base/number.h"

static const CmdOption create_opts[] = {
    {'q', "quiet", NULL, "print nothing but errors"},
    {'f', "format", "FMT", "format of the new image (default raw)"},
    {'o', "options", "KEY=VALUE[,...]", "options of the format; '-o help' lists them"},
    {'b', "backing", "FILE", "image that the new one is an overlay of"},
    {'F', "backing-format", "FMT", "format of the backing image"},
    {'u', "backing-unsafe", NULL, "do not open the backing image; needs a SIZE"},
    {IMG_OPT_OBJECT, "object", "OBJECT", "define a secret: secret,id=ID,file=PATH"},
    {0},
};

static const CmdHelp create_help = {
    .name = "create",
    .usage = "[-q] [-f FMT] [-b FILE [-F FMT]] [-u] [-o OPTIONS] [--object OBJECT] FILE [SIZE]",
    .summary = "Make a new image of SIZE bytes (suffixes k M G T P E), or of the size of its backing image.",
    .opts = create_opts,
};

typedef struct CreateArgs {
    bool quiet, unsafe;
    const char *format, *backing, *backing_format, *filename;
    char *options; /* all -o texts as one; owned */
    int64_t size;  /* -1 = not given */
} CreateArgs;

static void create_args_clear(CreateArgs *a)
{
    g_clear_pointer(&a->options, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CreateArgs, create_args_clear)

static bool take_option(void *opaque, int opt, const char *arg)
{
    CreateArgs *a = opaque;

    switch (opt) {
    case 'q':
        a->quiet = true;
        return true;
    case 'f':
        a->format = arg;
        return true;
    case 'o':
        return img_add_create_options(&a->options, arg);
    case 'b':
        a->backing = arg;
        return true;
    case 'F':
        a->backing_format = arg;
        return true;
    case 'u':
        a->unsafe = true;
        return true;
    default:
        return img_add_object(arg);
    }
}

/* The driver that will make the image, when the format and the protocol of the file name are known. */
static const BlockDriver *find_driver(const CreateArgs *a, GError **errp)
{
    const BlockDriver *drv = block_driver_find(a->format);

    if (!drv) {
        error_set(errp, "Unknown file format '%s'", a->format);
        return NULL;
    }
    if (!block_filename_protocol_known(a->filename, errp)) {
        return NULL;
    }
    if (!block_driver_create_opts(drv)) {
        error_set(errp, "Format driver '%s' does not support image creation", a->format);
        return NULL;
    }
    return drv;
}

/* -b and -F go over what -o says; the size operand and the size option exclude each other. */
static bool merge_arguments(const CreateArgs *a, const BlockDriver *drv, OptDict *options, GError **errp)
{
    const OptDesc *table = block_driver_create_opts(drv);

    if (a->size >= 0) {
        if (optdict_has(options, "size")) {
            error_set(errp, "The image size must be specified only once");
            return false;
        }
        optdict_set_int(options, "size", a->size);
    }
    if (a->backing) {
        if (!options_find(table, "backing_file")) {
            error_set(errp, "Backing file not supported for file format '%s'", a->format);
            return false;
        }
        optdict_set(options, "backing_file", a->backing);
    }
    if (a->backing_format) {
        if (!options_find(table, "backing_fmt")) {
            error_set(errp, "Backing file format not supported for file format '%s'", a->format);
            return false;
        }
        optdict_set(options, "backing_fmt", a->backing_format);
    }
    return true;
}

/* Open the backing image for its size and format. Nothing is read from it, so no key is needed and a writer does no
 * harm. */
static bool coroutine_fn look_at_backing(const CreateArgs *a, OptDict *options, GError **errp)
{
    const char *name = optdict_get(options, "backing_file"), *format = optdict_get(options, "backing_fmt");
    g_autofree char *path = block_backing_path_from(a->filename, name);
    g_autoptr(GError) err = NULL;
    g_autoptr(ImgNode) node = block_co_open(path, format, NULL, BLOCK_OPEN_NO_IO | BLOCK_OPEN_FORCE_SHARE, &err);

    if (!node) {
        error_set(errp, "%s\nCould not open backing image.", err->message);
        return false;
    }
    if (!format) {
        error_set(errp, "Backing file specified without backing format\nDetected format of %s.",
                  block_node_format(node));
        return false;
    }
    if (!optdict_has(options, "size")) {
        int64_t size = block_getlength(node);

        if (size < 0) {
            error_set_errno(errp, (int)-size, "Could not get size of '%s'", path);
            return false;
        }
        optdict_set_int(options, "size", size);
    }
    return true;
}

static bool coroutine_fn settle_backing(const CreateArgs *a, OptDict *options, GError **errp)
{
    const char *name = optdict_get(options, "backing_file");

    if (!name) {
        return true;
    }
    if (!*name) {
        error_set(errp, "Expected backing file name, got empty string");
        return false;
    }
    if (strcmp(name, a->filename) == 0) {
        error_set(errp, "Error: Trying to create an image with the same filename as the backing file");
        return false;
    }
    if (!a->unsafe) {
        return look_at_backing(a, options, errp);
    }
    if (!optdict_has(options, "backing_fmt")) {
        error_set(errp, "Backing file specified without backing format");
        return false;
    }
    return true;
}

/* The value as the Formatting line shows it: sizes and numbers in plain decimal, commas doubled. */
static char *shown_value(const OptDesc *desc, const char *value)
{
    uint64_t number;

    if (desc->type == OPT_TYPE_SIZE && number_parse_size(value, &number) == NUMBER_OK) {
        return g_strdup_printf("%" G_GUINT64_FORMAT, number);
    }
    if (desc->type == OPT_TYPE_NUM && number_parse_uint(value, UINT64_MAX, &number) == NUMBER_OK) {
        return g_strdup_printf("%" G_GUINT64_FORMAT, number);
    }
    return optdict_escape_value(value);
}

static void print_formatting(const CreateArgs *a, const OptDesc *table, const OptDict *options)
{
    printf("Formatting '%s', fmt=%s", a->filename, a->format);
    for (; table->name; table++) {
        const char *value = optdict_get(options, table->name);

        if (value) {
            g_autofree char *shown = shown_value(table, value);

            printf(" %s=%s", table->name, shown);
        }
    }
    putchar('\n');
    report_flush_stdout(); /* it is the announcement of what comes */
}

static bool coroutine_fn create_image(const CreateArgs *a, GError **errp)
{
    const BlockDriver *drv = find_driver(a, errp);
    g_autoptr(OptDict) options = drv ? img_parse_create_options(drv, a->options, errp) : NULL;

    if (!options || !merge_arguments(a, drv, options, errp) || !settle_backing(a, options, errp)) {
        return false;
    }
    if (!optdict_has(options, "size")) {
        error_set(errp, "Image creation needs a size parameter");
        return false;
    }
    g_autofree OptDesc *table = block_driver_create_opts_all(drv);

    options_set_defaults(options, table);
    if (!a->quiet) {
        print_formatting(a, table, options);
    }
    return block_co_create(a->format, a->filename, options, errp);
}

int coroutine_fn img_create(int argc, char **argv)
{
    g_auto(CmdLine) cl = {0};
    g_auto(CreateArgs) args = {.format = "raw", .size = -1};
    g_autoptr(GError) err = NULL;

    cmdline_init(&cl, &create_help, argc, argv);
    if (!cmdline_take_all(&cl, take_option, &args)) {
        return cl.status;
    }
    if (args.options && img_wants_option_help(args.options)) {
        const BlockDriver *drv = img_find_creatable(args.format);

        if (drv) {
            img_print_option_help(drv, cmdline_operands(&cl) > 0);
        }
        return drv ? EXIT_OK : EXIT_FAILED;
    }
    args.filename = cmdline_operand(&cl, 0);
    if (!args.filename) {
        return report_usage("create", "Expecting image file name");
    }
    if (cmdline_operands(&cl) > 1 && !img_parse_size("image size", cmdline_operand(&cl, 1), &args.size)) {
        return EXIT_FAILED;
    }
    if (cmdline_operands(&cl) > 2) {
        return report_usage("create", "Unexpected argument: %s", cmdline_operand(&cl, 2));
    }
    if (!create_image(&args, &err)) {
        report_gerror(err, "%s: ", args.filename);
        return EXIT_FAILED;
    }
    return EXIT_OK;
}
