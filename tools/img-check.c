/* SPDX-License-Identifier: MIT */
/* qemu-img check: look for errors in an image's metadata, and mend them when asked to. */
#include "tools/img-cmds.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tools/cmdline.h"
#include "tools/image-opts.h"
#include "tools/report.h"
#include "util/base/error.h"

enum { OPT_OUTPUT = IMG_OPT_OWN };

/* Exit codes of its own; scripts branch on them. */
enum { CHECK_CORRUPT = 2, CHECK_LEAKS = 3, CHECK_NOT_SUPPORTED = 63 };

static const CmdOption check_opts[] = {
    {'q', "quiet", NULL, "print problems only, no summary"},
    {'f', "format", "FMT", "format of the image (default: probed)"},
    {IMG_OPT_IMAGE_OPTS, "image-opts", NULL, "FILE is a list of options: key=value,..."},
    {'T', "cache", "MODE", "cache mode (default writeback)"},
    {'U', "force-share", NULL, "check even while another process writes; not with --repair"},
    {OPT_OUTPUT, "output", "human|json", "form of the output (default human)"},
    {'r', "repair", "leaks|all", "mend leaked clusters, or all that can be mended"},
    {IMG_OPT_OBJECT, "object", "OBJECT", "define a secret: secret,id=ID,file=PATH"},
    {0},
};

static const CmdHelp check_help = {
    .name = "check",
    .usage = "[-q] [-f FMT | --image-opts] [-T MODE] [-U] [-r leaks|all] [--output human|json] FILE",
    .summary = "Check an image for errors. Exit status: 0 clean, 2 corrupt, 3 only leaks, 63 not supported, 1 failed.",
    .opts = check_opts,
};

typedef struct CheckArgs {
    ImgOpenArgs open;
    bool quiet, json;
    unsigned fix;
    const char *filename, *cache; /* cache: the mode as given */
} CheckArgs;

static void set_if_any(InfoTree *tree, const char *key, int64_t count)
{
    if (count > 0) {
        info_set_int(tree, key, count);
    }
}

static void print_json(const CheckArgs *a, const char *format, const BlockCheckResult *res)
{
    g_autoptr(InfoTree) tree = info_object_new();

    info_set_str(tree, "filename", a->filename);
    info_set_str(tree, "format", format);
    info_set_int(tree, "check-errors", res->check_errors);
    set_if_any(tree, "image-end-offset", res->image_end_offset);
    set_if_any(tree, "corruptions", res->corruptions);
    set_if_any(tree, "leaks", res->leaks);
    set_if_any(tree, "corruptions-fixed", res->corruptions_fixed);
    set_if_any(tree, "leaks-fixed", res->leaks_fixed);
    set_if_any(tree, "total-clusters", res->total_clusters);
    set_if_any(tree, "allocated-clusters", res->allocated_clusters);
    set_if_any(tree, "fragmented-clusters", res->fragmented_clusters);
    set_if_any(tree, "compressed-clusters", res->compressed_clusters);
    info_sort_hash_order(tree);
    g_autofree char *text = info_to_json(tree, false);

    printf("%s\n", text);
}

static void print_verdict(const BlockCheckResult *res)
{
    if (res->corruptions == 0 && res->leaks == 0 && res->check_errors == 0) {
        printf("No errors were found on the image.\n");
        return;
    }
    if (res->corruptions > 0) {
        printf("\n%" G_GINT64_FORMAT " errors were found on the image.\n"
               "Data may be corrupted, or further writes to the image may corrupt it.\n",
               res->corruptions);
    }
    if (res->leaks > 0) {
        printf("\n%" G_GINT64_FORMAT " leaked clusters were found on the image.\n"
               "This means waste of disk space, but no harm to data.\n",
               res->leaks);
    }
    if (res->check_errors > 0) {
        printf("\n%" G_GINT64_FORMAT " internal errors have occurred during the check.\n", res->check_errors);
    }
}

static void print_human(const BlockCheckResult *res)
{
    print_verdict(res);
    if (res->total_clusters > 0 && res->allocated_clusters > 0) {
        double allocated = (double)res->allocated_clusters;

        printf("%" G_GINT64_FORMAT "/%" G_GINT64_FORMAT " = %0.2f%% allocated, %0.2f%% fragmented, %0.2f%% compressed "
               "clusters\n",
               res->allocated_clusters, res->total_clusters, allocated * 100.0 / (double)res->total_clusters,
               (double)res->fragmented_clusters * 100.0 / allocated,
               (double)res->compressed_clusters * 100.0 / allocated);
    }
    if (res->image_end_offset > 0) {
        printf("Image end offset: %" G_GINT64_FORMAT "\n", res->image_end_offset);
    }
}

/* Run the check; after repairs look once more, so that the verdict is about the image as it is now. */
static int coroutine_fn check_node(const CheckArgs *a, BlockNode *node, BlockCheckResult *res)
{
    int64_t corruptions_fixed, leaks_fixed;
    int ret = block_co_check(node, res, a->fix);

    if (ret < 0 || (res->corruptions_fixed == 0 && res->leaks_fixed == 0)) {
        return ret;
    }
    corruptions_fixed = res->corruptions_fixed;
    leaks_fixed = res->leaks_fixed;
    if (!a->quiet && !a->json) {
        printf("The following inconsistencies were found and repaired:\n\n"
               "    %" G_GINT64_FORMAT " leaked clusters\n"
               "    %" G_GINT64_FORMAT " corruptions\n\n"
               "Double checking the fixed image now...\n",
               leaks_fixed, corruptions_fixed);
        report_flush_stdout();
    }
    *res = (BlockCheckResult){0};
    ret = block_co_check(node, res, 0);
    res->corruptions_fixed = corruptions_fixed;
    res->leaks_fixed = leaks_fixed;
    return ret;
}

static int exit_status(const BlockCheckResult *res)
{
    if (res->check_errors > 0) {
        return EXIT_FAILED;
    }
    if (res->corruptions > 0) {
        return CHECK_CORRUPT;
    }
    return res->leaks > 0 ? CHECK_LEAKS : EXIT_OK;
}

static int coroutine_fn check_image(const CheckArgs *a)
{
    unsigned flags = BLOCK_OPEN_CHECK | (a->fix ? BLOCK_OPEN_RDWR : 0);
    g_autoptr(ImgNode) node = img_co_open(&a->open, a->filename, flags);
    BlockCheckResult res = {0};
    int ret;

    if (!node) {
        return EXIT_FAILED;
    }
    ret = check_node(a, node, &res);
    if (ret == -ENOTSUP) {
        report_error("This image format does not support checks");
        return CHECK_NOT_SUPPORTED;
    }
    if (ret < 0) {
        report_error("Check failed: %s", g_strerror(-ret));
        return EXIT_FAILED;
    }
    if (a->json && !a->quiet) {
        print_json(a, block_node_format(node), &res);
    } else if (!a->quiet) {
        print_human(&res);
    }
    if (!img_co_close(g_steal_pointer(&node))) {
        return EXIT_FAILED;
    }
    return exit_status(&res);
}

static bool take_repair(CheckArgs *a, const char *arg)
{
    if (strcmp(arg, "leaks") == 0) {
        a->fix = BLOCK_FIX_LEAKS;
    } else if (strcmp(arg, "all") == 0) {
        a->fix = BLOCK_FIX_LEAKS | BLOCK_FIX_ERRORS;
    } else {
        report_usage("check", "--repair (-r) expects 'leaks' or 'all' not '%s'", arg);
        return false;
    }
    return true;
}

static bool take_option(void *opaque, int opt, const char *arg)
{
    CheckArgs *a = opaque;

    switch (opt) {
    case 'q':
        a->quiet = true;
        return true;
    case 'T':
        a->cache = arg;
        return true;
    case OPT_OUTPUT:
        return img_parse_output("check", arg, &a->json);
    case 'r':
        return take_repair(a, arg);
    default:
        return img_take_open_option(&a->open, opt, arg);
    }
}

int coroutine_fn img_check(int argc, char **argv)
{
    g_auto(CmdLine) cl = {0};
    CheckArgs args = {.cache = "writeback"};

    cmdline_init(&cl, &check_help, argc, argv);
    if (!cmdline_take_all(&cl, take_option, &args)) {
        return cl.status;
    }
    if (cmdline_operands(&cl) != 1) {
        return report_usage("check", "Expecting one image file name");
    }
    args.filename = cmdline_operand(&cl, 0);
    if (!img_parse_cache("source cache", args.cache, &args.open.cache_flags) ||
        !img_open_args_check(&args.open, "--format")) {
        return EXIT_FAILED;
    }
    return check_image(&args);
}
