/* SPDX-License-Identifier: MIT */
/* qemu-img measure: the file size a new image needs, for a virtual size or for the data of an existing image. */
#include "tools/img-cmds.h"

#include <stdio.h>

#include "tools/cmdline.h"
#include "tools/image-opts.h"
#include "tools/report.h"
#include "util/base/error.h"

enum { OPT_OUTPUT = IMG_OPT_OWN, OPT_SIZE };

static const CmdOption measure_opts[] = {
    {'O', "target-format", "FMT", "format of the new image (default raw)"},
    {'o', "target-options", "KEY=VALUE[,...]", "options it would be created with"},
    {OPT_SIZE, "size", "SIZE", "virtual size of a new, empty image"},
    {'f', "format", "FMT", "format of FILE (default: probed)"},
    {IMG_OPT_IMAGE_OPTS, "image-opts", NULL, "FILE is a list of options: key=value,..."},
    {'l', "snapshot", "SNAPSHOT", "measure an internal snapshot of FILE"},
    {OPT_OUTPUT, "output", "human|json", "form of the output (default human)"},
    {'U', "force-share", NULL, "look even while another process writes"},
    {IMG_OPT_OBJECT, "object", "OBJECT", "define a secret: secret,id=ID,file=PATH"},
    {0},
};

static const CmdHelp measure_help = {
    .name = "measure",
    .usage = "[-O FMT] [-o OPTIONS] [--output human|json] (--size SIZE | [-f FMT | --image-opts] [-U] FILE)",
    .summary = "Calculate how large the file of a new image gets: at first, and when all of it is written.",
    .opts = measure_opts,
};

typedef struct MeasureArgs {
    ImgOpenArgs open;
    bool json;
    int64_t size; /* -1 = not given */
    const char *format, *snapshot, *filename;
    char *options; /* all -o texts as one; owned */
} MeasureArgs;

static void measure_args_clear(MeasureArgs *a)
{
    g_clear_pointer(&a->options, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(MeasureArgs, measure_args_clear)

static void print_json(const BlockMeasure *m)
{
    g_autoptr(InfoTree) tree = info_object_new();

    info_set_uint(tree, "required", m->required);
    info_set_uint(tree, "fully-allocated", m->fully_allocated);
    if (m->has_bitmaps) {
        info_set_uint(tree, "bitmaps", m->bitmaps);
    }
    info_sort_hash_order(tree);
    g_autofree char *text = info_to_json(tree, false);

    printf("%s\n", text);
}

static void print_human(const BlockMeasure *m)
{
    printf("required size: %" G_GUINT64_FORMAT "\nfully allocated size: %" G_GUINT64_FORMAT "\n", m->required,
           m->fully_allocated);
    if (m->has_bitmaps) {
        printf("bitmaps size: %" G_GUINT64_FORMAT "\n", m->bitmaps);
    }
}

/* The options of the target, as create would take them. NULL after a message. */
static OptDict *target_options(const MeasureArgs *a, const BlockDriver *drv)
{
    g_autoptr(GError) err = NULL;
    g_autoptr(OptDict) options = img_parse_create_options(drv, a->options, &err);

    if (!options) {
        report_gerror(err, "%s", "");
        report_error("Invalid options for file format '%s'", a->format);
        return NULL;
    }
    if (a->size >= 0) {
        optdict_set_int(options, "size", a->size);
    }
    g_autofree OptDesc *table = block_driver_create_opts_all(drv);

    options_set_defaults(options, table);
    return g_steal_pointer(&options);
}

static int coroutine_fn measure_image(const MeasureArgs *a)
{
    g_autoptr(ImgNode) node = NULL;
    g_autoptr(GError) err = NULL;
    BlockMeasure m = {0};

    if (a->filename) {
        node = img_co_open(&a->open, a->filename, 0);
        if (!node) {
            return EXIT_FAILED;
        }
    }
    const BlockDriver *drv = img_find_creatable(a->format);
    g_autoptr(OptDict) options = drv ? target_options(a, drv) : NULL;

    if (!options) {
        return EXIT_FAILED;
    }
    if (!block_co_measure(drv, options, node, &m, &err)) {
        report_gerror(err, "%s", "");
        return EXIT_FAILED;
    }
    if (a->json) {
        print_json(&m);
    } else {
        print_human(&m);
    }
    return EXIT_OK;
}

static bool take_option(void *opaque, int opt, const char *arg)
{
    MeasureArgs *a = opaque;

    switch (opt) {
    case 'O':
        a->format = arg;
        return true;
    case 'o':
        return img_add_create_options(&a->options, arg);
    case OPT_SIZE:
        return img_parse_size("image size", arg, &a->size);
    case 'l':
        a->snapshot = arg;
        return true;
    case OPT_OUTPUT:
        return img_parse_output("measure", arg, &a->json);
    default:
        return img_take_open_option(&a->open, opt, arg);
    }
}

/* Which of the two ways is it: --size, or a file to look at. */
static bool check_arguments(const MeasureArgs *a, int operands)
{
    if (operands > 1) {
        report_error("At most one filename argument is allowed.");
    } else if (operands == 0 && (a->open.image_opts || a->open.format || a->snapshot)) {
        report_error("--image-opts, -f, and -l require a filename argument.");
    } else if (operands == 0 && a->size < 0) {
        report_error("Either --size N or one filename must be specified.");
    } else if (operands == 1 && a->size >= 0) {
        report_error("--size N cannot be used together with a filename.");
    } else {
        return img_open_args_check(&a->open, "--format");
    }
    return false;
}

int coroutine_fn img_measure(int argc, char **argv)
{
    g_auto(CmdLine) cl = {0};
    g_auto(MeasureArgs) args = {.format = "raw", .size = -1};

    cmdline_init(&cl, &measure_help, argc, argv);
    if (!cmdline_take_all(&cl, take_option, &args)) {
        return cl.status;
    }
    if (!check_arguments(&args, cmdline_operands(&cl))) {
        return EXIT_FAILED;
    }
    args.filename = cmdline_operand(&cl, 0);
    if (args.snapshot) {
        return report_unsupported("Option '--snapshot'");
    }
    return measure_image(&args);
}
