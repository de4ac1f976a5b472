/* SPDX-License-Identifier: MIT */
/* qemu-img map: where the data of an image and its backing chain lives. */
#include "tools/img-cmds.h"

#include <stdio.h>

#include "tools/cmdline.h"
#include "tools/image-opts.h"
#include "tools/report.h"
#include "util/base/error.h"

enum { OPT_OUTPUT = IMG_OPT_OWN, OPT_START, OPT_LENGTH };

static const CmdOption map_opts[] = {
    {'f', "format", "FMT", "format of the image (default: probed)"},
    {IMG_OPT_IMAGE_OPTS, "image-opts", NULL, "FILE is a list of options: key=value,..."},
    {OPT_START, "start-offset", "OFFSET", "first byte to tell about (default 0)"},
    {OPT_LENGTH, "max-length", "LENGTH", "bytes to tell about (default: to the end)"},
    {OPT_OUTPUT, "output", "human|json", "form of the output (default human)"},
    {'U', "force-share", NULL, "look even while another process writes"},
    {IMG_OPT_OBJECT, "object", "OBJECT", "define a secret: secret,id=ID,file=PATH"},
    {0},
};

static const CmdHelp map_help = {
    .name = "map",
    .usage = "[-f FMT | --image-opts] [--start-offset OFFSET] [--max-length LENGTH] [--output human|json] [-U] FILE",
    .summary = "Show which parts of an image hold data, in which file of its chain, and at which offset.",
    .opts = map_opts,
};

typedef struct MapArgs {
    ImgOpenArgs open;
    bool json;
    int64_t start, length; /* length -1: to the end */
    const char *filename;
} MapArgs;

/* A run of the image whose parts have the same status. */
typedef struct MapRun {
    int64_t start, bytes;
    BlockStatus st; /* its bytes field is not used */
} MapRun;

static const char *bool_name(bool b)
{
    return b ? "true" : "false";
}

static void print_json_run(const MapRun *r, bool first)
{
    unsigned flags = r->st.flags;

    printf("%s{ \"start\": %" G_GINT64_FORMAT ", \"length\": %" G_GINT64_FORMAT ", \"depth\": %d, \"present\": %s, "
           "\"zero\": %s, \"data\": %s, \"compressed\": %s",
           first ? "" : ",\n", r->start, r->bytes, r->st.depth, bool_name(flags & BLOCK_STATUS_ALLOCATED),
           bool_name(flags & BLOCK_STATUS_ZERO), bool_name(flags & BLOCK_STATUS_DATA),
           bool_name(flags & BLOCK_STATUS_COMPRESSED));
    if (flags & BLOCK_STATUS_OFFSET) {
        printf(", \"offset\": %" G_GINT64_FORMAT, r->st.host_off);
    }
    printf("}");
}

/* False, with a message, for data that no offset in a file can name. */
static bool print_human_run(const MapRun *r)
{
    unsigned flags = r->st.flags;

    if (!(flags & BLOCK_STATUS_DATA) || (flags & BLOCK_STATUS_ZERO)) {
        return true;
    }
    if (!(flags & BLOCK_STATUS_OFFSET) || !r->st.file) {
        report_error("File contains external, encrypted or compressed clusters.");
        return false;
    }
    printf("%#-16" G_GINT64_MODIFIER "x%#-16" G_GINT64_MODIFIER "x%#-16" G_GINT64_MODIFIER "x%s\n", r->start, r->bytes,
           r->st.host_off, block_node_filename(r->st.file));
    return true;
}

static bool joins(const MapRun *r, const BlockStatus *next)
{
    unsigned mask = ~(unsigned)(BLOCK_STATUS_EOF | BLOCK_STATUS_RECURSE);

    if ((r->st.flags & mask) != (next->flags & mask) || r->st.depth != next->depth) {
        return false;
    }
    return !(next->flags & BLOCK_STATUS_OFFSET) ||
           (r->st.file == next->file && r->st.host_off + r->bytes == next->host_off);
}

static bool print_run(const MapArgs *a, const MapRun *r, bool first)
{
    if (a->json) {
        print_json_run(r, first);
        return true;
    }
    return print_human_run(r);
}

static bool coroutine_fn print_map(const MapArgs *a, BlockNode *node, int64_t end)
{
    MapRun run = {.start = a->start};
    bool first = true;

    while (run.start + run.bytes < end) {
        int64_t offset = run.start + run.bytes;
        BlockStatus st = {0};
        int ret = block_co_status_above(node, NULL, offset, end - offset, &st);

        if (ret < 0) {
            report_error("Could not read file metadata: %s", g_strerror(-ret));
            return false;
        }
        g_assert(st.bytes > 0);
        if (run.bytes > 0 && joins(&run, &st)) {
            run.bytes += st.bytes;
            continue;
        }
        if (run.bytes > 0) {
            if (!print_run(a, &run, first)) {
                return false;
            }
            first = false;
        }
        run = (MapRun){.start = offset, .bytes = st.bytes, .st = st};
    }
    return print_run(a, &run, first); /* of an empty range there is one run of no bytes */
}

static int coroutine_fn map_image(const MapArgs *a)
{
    g_autoptr(ImgNode) node = img_co_open(&a->open, a->filename, 0);
    int64_t end;

    if (!node) {
        return EXIT_FAILED;
    }
    end = block_getlength(node);
    if (end < 0) {
        report_error("Failed to get size for '%s'", a->filename);
        return EXIT_FAILED;
    }
    if (a->length >= 0 && a->length < end - a->start) {
        end = a->start + a->length;
    }
    if (a->json) {
        printf("[");
    } else {
        printf("%-16s%-16s%-16s%s\n", "Offset", "Length", "Mapped to", "File");
    }
    if (!print_map(a, node, end)) {
        return EXIT_FAILED;
    }
    if (a->json) {
        printf("]\n");
    }
    return EXIT_OK;
}

static bool take_option(void *opaque, int opt, const char *arg)
{
    MapArgs *a = opaque;

    switch (opt) {
    case OPT_START:
        return img_parse_size("start offset", arg, &a->start);
    case OPT_LENGTH:
        return img_parse_size("max length", arg, &a->length);
    case OPT_OUTPUT:
        return img_parse_output("map", arg, &a->json);
    default:
        return img_take_open_option(&a->open, opt, arg);
    }
}

int coroutine_fn img_map(int argc, char **argv)
{
    g_auto(CmdLine) cl = {0};
    MapArgs args = {.length = -1};

    cmdline_init(&cl, &map_help, argc, argv);
    if (!cmdline_take_all(&cl, take_option, &args)) {
        return cl.status;
    }
    if (cmdline_operands(&cl) != 1) {
        return report_usage("map", "Expecting one image file name");
    }
    args.filename = cmdline_operand(&cl, 0);
    if (!img_open_args_check(&args.open, "--format")) {
        return EXIT_FAILED;
    }
    return map_image(&args);
}
