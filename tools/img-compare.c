/* SPDX-License-Identifier: MIT */
/* qemu-img compare: do two images have the same contents? */
#include <inttypes.h>
#include <stdio.h>

#include "block/job/compare.h"
#include "tools/cmdline.h"
#include "tools/image-opts.h"
#include "tools/img-cmds.h"
#include "tools/report.h"

enum {
    COMPARE_IDENTICAL = 0,
    COMPARE_DIFFERENT = 1,
    COMPARE_OPEN_FAILED = 2, /* or another failure: 1 would be a verdict */
    COMPARE_STATUS_FAILED = 3,
    COMPARE_READ_FAILED = 4
};

static const CmdOption compare_options[] = {
    {'q', "quiet", NULL, "say nothing, only set the exit status"},
    {'p', "progress", NULL, "show progress"},
    {'f', "a-format", "FMT", "format of FILENAME1"},
    {'F', "b-format", "FMT", "format of FILENAME2"},
    {IMG_OPT_IMAGE_OPTS, "image-opts", NULL, "FILENAMEs are key=value texts (not with -f, -F)"},
    {'s', "strict", NULL, "sizes and allocation must be equal too"},
    {'T', "cache", "CACHE_MODE", "how both images are cached (writeback)"},
    {'U', "force-share", NULL, "open images that others may be writing"},
    {IMG_OPT_OBJECT, "object", "OBJDEF", "define a secret"},
    {0},
};

static const CmdHelp compare_help = {
    .name = "compare",
    .usage = "[--image-opts | [-f FMT] [-F FMT]] [-s] [-p] [-q] [-T CACHE] [-U] [--object OBJDEF] FILENAME1 FILENAME2",
    .summary = "Check if two images have the same contents.",
    .opts = compare_options,
};

typedef struct CompareArgs {
    ImgOpenArgs open[2];
    const char *cache; /* the mode as given */
    bool quiet, progress, strict;
} CompareArgs;

/* One option. False, with a message, on a bad argument. */
static bool take_option(CompareArgs *a, int key, const char *arg)
{
    switch (key) {
    case 'q':
        a->quiet = true;
        return true;
    case 'p':
        a->progress = true;
        return true;
    case 's':
        a->strict = true;
        return true;
    case 'f':
        a->open[0].format = arg;
        return true;
    case 'F':
        a->open[1].format = arg;
        return true;
    case IMG_OPT_IMAGE_OPTS:
        a->open[0].image_opts = a->open[1].image_opts = true;
        return true;
    case 'U':
        a->open[0].force_share = a->open[1].force_share = true;
        return true;
    case IMG_OPT_OBJECT:
        return img_add_object(arg);
    default: /* 'T' */
        a->cache = arg;
        return true;
    }
}

static int print_verdict(const CompareArgs *a, const BlockCompareResult *r, const char *const names[2])
{
    switch (r->verdict) {
    case BLOCK_COMPARE_STATUS_ERROR:
        report_error("Sector allocation test failed for %s", names[r->which]);
        return COMPARE_STATUS_FAILED;
    case BLOCK_COMPARE_READ_ERROR:
        report_error("Error while reading offset %" PRId64 " of %s: %s", r->offset, names[r->which],
                     g_strerror(-r->err));
        return COMPARE_READ_FAILED;
    case BLOCK_COMPARE_CONTENT:
        if (!a->quiet) {
            printf("Content mismatch at offset %" PRId64 "!\n", r->offset);
        }
        return COMPARE_DIFFERENT;
    case BLOCK_COMPARE_STATUS:
        if (!a->quiet) {
            printf("Strict mode: Offset %" PRId64 " block status mismatch!\n", r->offset);
        }
        return COMPARE_DIFFERENT;
    default:
        if (!a->quiet) {
            printf("Images are identical.\n");
        }
        return COMPARE_IDENTICAL;
    }
}

static int coroutine_fn compare_nodes(const CompareArgs *a, BlockNode *const nodes[2], const char *const names[2])
{
    int64_t len[2] = {block_getlength(nodes[0]), block_getlength(nodes[1])};
    BlockCompareOptions opts = {.nodes = {nodes[0], nodes[1]}, .strict = a->strict};
    BlockCompareResult result;

    if (len[0] != len[1] && a->strict) {
        printf("%s", a->quiet ? "" : "Strict mode: Image size mismatch!\n");
        return COMPARE_DIFFERENT;
    }
    opts.progress = progress_new(a->progress && !a->quiet, MAX(len[0], len[1]));
    block_co_compare(&opts, &result);
    /* Of no interest when what both have differs already. */
    if (len[0] != len[1] && (result.verdict == BLOCK_COMPARE_EQUAL || result.offset >= MIN(len[0], len[1]))) {
        printf("%s", a->quiet ? "" : "Warning: Image size mismatch!\n");
    }
    int status = print_verdict(a, &result, names);
    progress_end(opts.progress);
    return status;
}

int coroutine_fn img_compare(int argc, char **argv)
{
    g_auto(CmdLine) cmd;
    CompareArgs args = {.cache = "writeback"};
    int key;

    cmdline_init(&cmd, &compare_help, argc, argv);
    while ((key = cmdline_next(&cmd)) >= 0) {
        if (!take_option(&args, key, cmd.arg)) {
            return COMPARE_OPEN_FAILED;
        }
    }
    if (key == CMDLINE_EXIT) {
        return cmd.status;
    }
    if (cmdline_operands(&cmd) != 2) {
        return report_usage("compare", "Expecting two image file names");
    }
    if (!img_parse_cache("source cache", args.cache, &args.open[0].cache_flags)) {
        return COMPARE_OPEN_FAILED;
    }
    args.open[1].cache_flags = args.open[0].cache_flags;
    if (!img_open_args_check(&args.open[0], "--format") || !img_open_args_check(&args.open[1], "--format")) {
        return COMPARE_OPEN_FAILED;
    }
    const char *const names[2] = {cmdline_operand(&cmd, 0), cmdline_operand(&cmd, 1)};
    g_autoptr(ImgNode) a = img_co_open(&args.open[0], names[0], 0);
    g_autoptr(ImgNode) b = a ? img_co_open(&args.open[1], names[1], 0) : NULL;

    if (!a || !b) {
        return COMPARE_OPEN_FAILED;
    }
    int status = compare_nodes(&args, (BlockNode *const[2]){a, b}, names);
    return status == COMPARE_IDENTICAL && !report_finish_stdout() ? COMPARE_OPEN_FAILED : status;
}
