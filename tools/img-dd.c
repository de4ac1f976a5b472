/* SPDX-License-Identifier: MIT */
/* qemu-img dd: copy a range of blocks of one image into a new one. */
#include "tools/img-cmds.h"

#include <stdio.h>
#include <string.h>

#include "tools/cmdline.h"
#include "tools/image-opts.h"
#include "tools/report.h"
#include "util/base/aligned-buf.h"
#include "util/base/units.h"

enum { DD_CHUNK_BYTES = 2 << 20 };

static const CmdOption dd_opts[] = {
    {'f', "format", "FMT", "format of the input (default: probed)"},
    {IMG_OPT_IMAGE_OPTS, "image-opts", NULL, "the input is a list of options: key=value,..."},
    {'O', "output-format", "FMT", "format of the output (default raw)"},
    {'U', "force-share", NULL, "read even while another process writes"},
    {IMG_OPT_OBJECT, "object", "OBJECT", "define a secret: secret,id=ID,file=PATH"},
    {0},
};

static const CmdHelp dd_help = {
    .name = "dd",
    .usage = "[-f FMT | --image-opts] [-O FMT] [-U] [bs=SIZE] [count=BLOCKS] [skip=BLOCKS] if=INPUT of=OUTPUT",
    .summary =
        "Copy blocks of an image (default: all, of 512 bytes) into a new image. The count is one of blocks of the "
        "input: those that are skipped are part of it.",
    .opts = dd_opts,
};

typedef struct DdArgs {
    ImgOpenArgs open;
    const char *format, *input, *output;
    int64_t block_bytes, count, skip; /* count -1 = to the end */
} DdArgs;

static bool take_option(void *opaque, int opt, const char *arg)
{
    DdArgs *a = opaque;

    switch (opt) {
    case 'O':
        a->format = arg;
        return true;
    default:
        return img_take_open_option(&a->open, opt, arg);
    }
}

/* "name=value" */
static bool take_operand(DdArgs *a, const char *operand)
{
    const char *equals = strchr(operand, '=');
    g_autofree char *name = equals ? g_strndup(operand, (gsize)(equals - operand)) : g_strdup(operand);
    const char *value = equals ? equals + 1 : NULL;

    if (value && strcmp(name, "if") == 0) {
        a->input = value;
    } else if (value && strcmp(name, "of") == 0) {
        a->output = value;
    } else if (value && strcmp(name, "bs") == 0) {
        return img_parse_size_in("bs", value, 1, INT32_MAX, &a->block_bytes);
    } else if (value && strcmp(name, "count") == 0) {
        return img_parse_size("count", value, &a->count);
    } else if (value && strcmp(name, "skip") == 0) {
        return img_parse_size("skip", value, &a->skip);
    } else {
        report_error("unrecognized operand %s", name);
        return false;
    }
    return true;
}

/* Bytes [*@start, *@end) of an input of @bytes are copied. */
static void settle_range(const DdArgs *a, int64_t bytes, int64_t *start, int64_t *end)
{
    int64_t limit;

    *end = bytes;
    if (a->count >= 0 && CHECKED_MUL(a->count, a->block_bytes, &limit)) {
        *end = MIN(bytes, limit);
    }
    if (!CHECKED_MUL(a->skip, a->block_bytes, start) || *start > *end) {
        report_error("%s: cannot skip to specified offset", a->input);
        *start = *end;
    }
}

/* A new output image of @bytes. False after a message. */
static bool coroutine_fn make_output(const DdArgs *a, const BlockDriver *drv, int64_t bytes)
{
    g_autoptr(OptDict) options = optdict_new();
    g_autofree OptDesc *table = block_driver_create_opts_all(drv);
    g_autoptr(GError) err = NULL;

    optdict_set_int(options, "size", bytes);
    options_set_defaults(options, table);
    if (!block_co_create(a->format, a->output, options, &err)) {
        report_gerror(err, "%s: error while creating output image: ", a->output);
        return false;
    }
    return true;
}

static bool coroutine_fn copy_range(BlockNode *in, int64_t start, int64_t end, BlockNode *out)
{
    g_autoaligned buf = aligned_buf_try_new(DD_CHUNK_BYTES);

    if (!buf) {
        report_error("cannot allocate %d bytes of memory", DD_CHUNK_BYTES);
        return false;
    }
    for (int64_t pos = start; pos < end; pos += DD_CHUNK_BYTES) {
        size_t n = (size_t)MIN(end - pos, DD_CHUNK_BYTES);
        int ret = block_co_pread(in, pos, buf, n, BLOCK_REQ_OWN_BUFFER);

        if (ret < 0) {
            report_error("error while reading from input image file: %s", g_strerror(-ret));
            return false;
        }
        ret = block_co_pwrite(out, pos - start, buf, n, BLOCK_REQ_OWN_BUFFER);
        if (ret < 0) {
            report_error("error while writing to output image file: %s", g_strerror(-ret));
            return false;
        }
    }
    return true;
}

/* Copy [@start, @end) of @in into the new output. False after a message. */
static bool coroutine_fn fill_output(const DdArgs *a, BlockNode *in, int64_t start, int64_t end)
{
    ImgOpenArgs open = {.format = a->format};
    g_autoptr(ImgNode) out = img_co_open(&open, a->output, BLOCK_OPEN_RDWR);

    return out && copy_range(in, start, end, out) && img_co_close(g_steal_pointer(&out));
}

static int coroutine_fn dd_image(const DdArgs *a)
{
    const BlockDriver *drv = img_find_creatable(a->format);
    g_autoptr(ImgNode) in = drv ? img_co_open(&a->open, a->input, BLOCK_OPEN_UNSHARE) : NULL;
    int64_t bytes = in ? block_getlength(in) : 0, start, end;

    if (!in) {
        return EXIT_FAILED;
    }
    if (bytes < 0) {
        report_error("Failed to get size for '%s'", a->input);
        return EXIT_FAILED;
    }
    settle_range(a, bytes, &start, &end);
    if (!make_output(a, drv, end - start)) {
        return EXIT_FAILED;
    }
    if (!fill_output(a, in, start, end)) {
        block_delete_file(a->output); /* half an image is worse than none */
        return EXIT_FAILED;
    }
    return EXIT_OK;
}

int coroutine_fn img_dd(int argc, char **argv)
{
    g_auto(CmdLine) cl = {0};
    DdArgs args = {.format = "raw", .block_bytes = 512, .count = -1};

    cmdline_init(&cl, &dd_help, argc, argv);
    if (!cmdline_take_all(&cl, take_option, &args)) {
        return cl.status;
    }
    for (int i = 0; i < cmdline_operands(&cl); i++) {
        if (!take_operand(&args, cmdline_operand(&cl, i))) {
            return EXIT_FAILED;
        }
    }
    if (!args.input || !args.output) {
        report_error("Must specify both input and output files");
        return EXIT_FAILED;
    }
    if (!img_open_args_check(&args.open, "--format")) {
        return EXIT_FAILED;
    }
    return dd_image(&args);
}
