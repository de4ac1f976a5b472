/* SPDX-License-Identifier: MIT */
/* qemu-img amend: change options of an existing image, above all its key slots. */
#include "tools/img-cmds.h"

#include <stdio.h>

#include "tools/cmdline.h"
#include "tools/image-opts.h"
#include "tools/report.h"
#include "util/output/progress.h"

enum { OPT_FORCE = IMG_OPT_OWN };

static const CmdOption amend_opts[] = {
    {'o', "options", "OPTIONS", "what to change: name=value,...; 'help' lists the options of the format"},
    {'f', "format", "FMT", "format of the image (default: probed)"},
    {IMG_OPT_IMAGE_OPTS, "image-opts", NULL, "FILE is a list of options: key=value,..."},
    {OPT_FORCE, "force", NULL, "do also what may lose the data, such as erasing the last key"},
    {'t', "cache", "MODE", "cache mode: writeback, none, writethrough, directsync, unsafe"},
    {'p', "progress", NULL, "show how far the work is"},
    {'q', "quiet", NULL, "print nothing but errors"},
    {IMG_OPT_OBJECT, "object", "OBJECT", "define a secret: secret,id=ID,file=PATH"},
    {0},
};

static const CmdHelp amend_help = {
    .name = "amend",
    .usage = "[-f FMT | --image-opts] [-t MODE] [--force] [-p] [-q] -o OPTIONS FILE",
    .summary = "Change options of an existing image: the key slots of an encrypted one.",
    .opts = amend_opts,
};

typedef struct AmendArgs {
    ImgOpenArgs open;
    char *options; /* owned */
    bool force, progress, quiet;
    const char *filename, *cache; /* cache: the mode as given */
} AmendArgs;

static void amend_args_clear(AmendArgs *a)
{
    g_free(a->options);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AmendArgs, amend_args_clear)

static bool take_option(void *opaque, int opt, const char *arg)
{
    AmendArgs *a = opaque;

    switch (opt) {
    case 'o':
        return img_add_create_options(&a->options, arg);
    case OPT_FORCE:
        a->force = true;
        return true;
    case 't':
        a->cache = arg;
        return true;
    case 'p':
        a->progress = true;
        return true;
    case 'q':
        a->quiet = a->open.quiet = true;
        return true;
    default:
        return img_take_open_option(&a->open, opt, arg);
    }
}

static int print_help(const BlockDriver *drv)
{
    const OptDesc *table = block_driver_amend_opts(drv);
    g_autofree char *lines = table ? options_help(table) : NULL;

    if (!lines) {
        report_error("Format driver '%s' does not support option amendment", block_driver_name(drv));
        return EXIT_FAILED;
    }
    printf("Amend options for '%s':\n%s", block_driver_name(drv), lines);
    return EXIT_OK;
}

static int coroutine_fn amend_node(const AmendArgs *a, BlockNode *node)
{
    g_autoptr(GError) err = NULL;
    g_autoptr(OptDict) options = optdict_parse_keyval(a->options, NULL, &err);
    Progress *progress = progress_new(a->progress && !a->quiet, 1);
    bool ok = options && block_co_amend(node, options, a->force, &err);

    if (ok) {
        progress_done(progress);
    }
    progress_end(progress);
    if (!ok) {
        report_gerror(err, "%s", "");
    }
    return ok ? EXIT_OK : EXIT_FAILED;
}

/* Two tools that change the header of one image at a time would undo each other's work: nobody else may write. */
static int coroutine_fn amend_image(const AmendArgs *a)
{
    g_autoptr(ImgNode) node = img_co_open(&a->open, a->filename, BLOCK_OPEN_RDWR | BLOCK_OPEN_UNSHARE);
    int status;

    if (!node) {
        return EXIT_FAILED;
    }
    if (img_wants_option_help(a->options)) {
        return print_help(block_driver_find(block_node_format(node)));
    }
    status = amend_node(a, node);
    return img_co_close(g_steal_pointer(&node)) ? status : EXIT_FAILED;
}

int coroutine_fn img_amend(int argc, char **argv)
{
    g_auto(CmdLine) cl = {0};
    g_auto(AmendArgs) args = {.cache = "writeback"};

    cmdline_init(&cl, &amend_help, argc, argv);
    if (!cmdline_take_all(&cl, take_option, &args)) {
        return cl.status;
    }
    if (!args.options) {
        return report_usage("amend", "Must specify options (-o)");
    }
    if (args.open.format && img_wants_option_help(args.options)) {
        const BlockDriver *drv = img_find_format(args.open.format);

        return drv ? print_help(drv) : EXIT_FAILED;
    }
    args.filename = cmdline_operand(&cl, 0);
    if (cmdline_operands(&cl) != 1) {
        report_error("Expecting one image file name");
        return EXIT_FAILED;
    }
    if (!img_parse_cache("cache", args.cache, &args.open.cache_flags) || !img_open_args_check(&args.open, "--format")) {
        return EXIT_FAILED;
    }
    return amend_image(&args);
}
