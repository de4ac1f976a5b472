/* SPDX-License-Identifier: MIT */
/* qemu-img resize: change the virtual size of an image. */
#include "tools/img-cmds.h"

#include <stdio.h>
#include <string.h>

#include "tools/cmdline.h"
#include "tools/image-opts.h"
#include "tools/report.h"

enum { OPT_SHRINK = IMG_OPT_OWN, OPT_PREALLOCATION };

static const CmdOption resize_opts[] = {
    {'q', "quiet", NULL, "print nothing but errors"},
    {'f', "format", "FMT", "format of the image (default: probed)"},
    {IMG_OPT_IMAGE_OPTS, "image-opts", NULL, "FILE is a list of options: key=value,..."},
    {OPT_SHRINK, "shrink", NULL, "allow a smaller size; what lies beyond it is lost"},
    {OPT_PREALLOCATION, "preallocation", "MODE", "for what is added: off, metadata, falloc, full (default off)"},
    {IMG_OPT_OBJECT, "object", "OBJECT", "define a secret: secret,id=ID,file=PATH"},
    {0},
};

static const CmdHelp resize_help = {
    .name = "resize",
    .usage = "[-q] [-f FMT | --image-opts] [--shrink] [--preallocation MODE] FILE [+|-]SIZE",
    .summary = "Set the virtual size of an image, or change it by SIZE (suffixes k M G T P E).",
    .opts = resize_opts,
};

typedef struct ResizeArgs {
    ImgOpenArgs open;
    bool quiet, shrink;
    BlockPrealloc prealloc;
    const char *filename, *size;
} ResizeArgs;

static bool take_option(void *opaque, int opt, const char *arg)
{
    ResizeArgs *a = opaque;

    switch (opt) {
    case 'q':
        a->quiet = true;
        return true;
    case OPT_SHRINK:
        a->shrink = true;
        return true;
    case OPT_PREALLOCATION:
        if (!block_prealloc_from_name(arg, &a->prealloc)) {
            report_error("Invalid preallocation mode '%s'", arg);
            return false;
        }
        return true;
    default:
        return img_take_open_option(&a->open, opt, arg);
    }
}

/* The new size of an image of @old bytes. False after a message. */
static bool new_size(const char *text, int64_t old, int64_t *out)
{
    int sign = text[0] == '+' ? 1 : text[0] == '-' ? -1 : 0;
    g_autoptr(OptDict) dict = optdict_new();
    g_autoptr(GError) err = NULL;
    uint64_t bytes = 0;

    optdict_set(dict, "size", sign ? text + 1 : text);
    if (!optdict_take_size(dict, "size", &bytes, &err)) {
        report_gerror(err, "%s", "");
        return false;
    }
    if (bytes > INT64_MAX || (sign > 0 && (int64_t)bytes > INT64_MAX - old)) {
        bytes = 0; /* out of range is as bad as nothing */
        sign = 0;
    }
    *out = sign ? old + sign * (int64_t)bytes : (int64_t)bytes;
    if (*out <= 0) {
        report_error("New image size must be positive");
        return false;
    }
    return true;
}

static bool check_change(const ResizeArgs *a, int64_t old, int64_t bytes)
{
    if (bytes <= old && a->prealloc != BLOCK_PREALLOC_OFF) {
        report_error("Preallocation can only be used for growing images");
        return false;
    }
    if (bytes < old && !a->shrink) {
        report_error("Use the --shrink option to perform a shrink operation.");
        report_warning(
            "Shrinking an image will delete all data beyond the shrunken image's end. Before performing such "
            "an operation, make sure there is no important data there.");
        return false;
    }
    return true;
}

static bool coroutine_fn change_size(BlockNode *node, int64_t old, int64_t bytes, BlockPrealloc prealloc)
{
    g_autoptr(GError) err = NULL;

    /* A new image may leave a part of a device unused; this one is as long as it is. */
    if (bytes != old && prealloc == BLOCK_PREALLOC_OFF && block_node_on_device(node)) {
        report_error("Cannot resize device files");
        return false;
    }
    if (!block_co_truncate(node, bytes, prealloc, &err)) {
        report_gerror(err, "%s", "");
        return false;
    }
    return true;
}

static int coroutine_fn resize_image(const ResizeArgs *a)
{
    g_autoptr(ImgNode) node = img_co_open(&a->open, a->filename, BLOCK_OPEN_RDWR | BLOCK_OPEN_RESIZE);
    int64_t old, bytes;

    if (!node) {
        return EXIT_FAILED;
    }
    old = block_getlength(node);
    if (old < 0) {
        report_error("Failed to get size for '%s'", a->filename);
        return EXIT_FAILED;
    }
    if (!new_size(a->size, old, &bytes) || !check_change(a, old, bytes)) {
        return EXIT_FAILED;
    }
    if (!change_size(node, old, bytes, a->prealloc)) {
        return EXIT_FAILED;
    }
    if (!img_co_close(g_steal_pointer(&node))) {
        return EXIT_FAILED;
    }
    if (!a->quiet) {
        printf("Image resized.\n");
    }
    return EXIT_OK;
}

/* A size such as -1M is no option, wherever it stands: it is taken away before options are looked for. */
static const char *take_negative_size(int *argc, char **argv)
{
    for (int i = 1; i < *argc && strcmp(argv[i], "--") != 0; i++) {
        const char *arg = argv[i];

        if (arg[0] == '-' && (g_ascii_isdigit(arg[1]) || arg[1] == '.')) {
            memmove(&argv[i], &argv[i + 1], (size_t)(*argc - i) * sizeof(*argv)); /* with the NULL at the end */
            (*argc)--;
            return arg;
        }
    }
    return NULL;
}

int coroutine_fn img_resize(int argc, char **argv)
{
    g_auto(CmdLine) cl = {0};
    ResizeArgs args = {.prealloc = BLOCK_PREALLOC_OFF};
    const char *negative = take_negative_size(&argc, argv);
    int operands;

    cmdline_init(&cl, &resize_help, argc, argv);
    if (!cmdline_take_all(&cl, take_option, &args)) {
        return cl.status;
    }
    operands = cmdline_operands(&cl) + (negative ? 1 : 0);
    if (operands < 2) {
        return report_usage("resize", "Expecting image file name and size");
    }
    if (operands > 2) {
        return report_usage("resize", "Extra argument(s) in command line");
    }
    args.filename = cmdline_operand(&cl, 0);
    args.size = negative ? negative : cmdline_operand(&cl, 1);
    if (!img_open_args_check(&args.open, "--format")) {
        return EXIT_FAILED;
    }
    return resize_image(&args);
}
