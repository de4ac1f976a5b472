/* SPDX-License-Identifier: MIT */
#include "tools/io-open.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/image-opts.h"
#include "tools/io-cmd.h"
#include "tools/report.h"
#include "util/base/error.h"

void io_image_clear(IoImage *img)
{
    g_clear_pointer(&img->filename, g_free);
    g_clear_pointer(&img->format, g_free);
    g_clear_pointer(&img->options, optdict_free);
}

static bool take_discard(IoImage *img, const char *mode)
{
    if (strcmp(mode, "unmap") == 0 || strcmp(mode, "on") == 0) {
        img->flags |= BLOCK_OPEN_UNMAP;
    } else if (strcmp(mode, "ignore") == 0 || strcmp(mode, "off") == 0) {
        img->flags &= ~(unsigned)BLOCK_OPEN_UNMAP;
    } else {
        report_error("Invalid discard option: %s", mode);
        return false;
    }
    return true;
}

static bool take_options(IoImage *img, const char *text)
{
    g_autoptr(GError) err = NULL;
    g_autoptr(OptDict) more = optdict_parse_keyval(text, NULL, &err);

    if (!more) {
        report_gerror(err, "%s", "");
        return false;
    }
    if (!img->options) {
        img->options = optdict_new();
    }
    optdict_merge(img->options, "", more, false);
    return true;
}

bool io_image_option(IoImage *img, int letter, const char *arg)
{
    switch (letter) {
    case 'r':
        img->flags &= ~(unsigned)BLOCK_OPEN_RDWR;
        return true;
    case 's':
        img->snapshot = true;
        return true;
    case 'n':
        return block_parse_cache_mode("none", &img->flags);
    case 'C':
        img->flags |= BLOCK_OPEN_COPY_ON_READ;
        return true;
    case 'k':
        return img_parse_aio("native", &img->flags);
    case 'U':
        img->flags |= BLOCK_OPEN_FORCE_SHARE;
        return true;
    case 't':
        return img_parse_cache("cache", arg, &img->flags);
    case 'd':
        return take_discard(img, arg);
    case 'i':
        return img_parse_aio(arg, &img->flags);
    default:
        return take_options(img, arg);
    }
}

static void print_open_error(const char *filename, const GError *err)
{
    if (filename) {
        report_error("can't open device %s: %s", filename, err->message);
    } else {
        report_error("can't open: %s", err->message);
    }
}

/* ---- -s: a temporary overlay ----------------------------------------------------------------------------------- */

/* The options that name @img, for use under "backing.". */
static OptDict *image_as_options(const IoImage *img, GError **errp)
{
    g_autoptr(OptDict) opts = img->options ? optdict_copy(img->options) : optdict_new();

    if (img->format) {
        optdict_set(opts, "driver", img->format);
    }
    if (!img->filename) {
        return g_steal_pointer(&opts);
    }
    if (g_str_has_prefix(img->filename, "json:")) {
        g_autoptr(OptDict) named = optdict_parse_json(img->filename + strlen("json:"), errp);

        if (!named) {
            return NULL;
        }
        optdict_merge(opts, "", named, true);
    } else {
        const char *path = img->filename;

        optdict_set(opts, "file.filename", g_str_has_prefix(path, "file:") ? path + strlen("file:") : path);
    }
    return g_steal_pointer(&opts);
}

/* Size of the image that the overlay is for. */
static int64_t coroutine_fn image_length(const IoImage *img, GError **errp)
{
    unsigned flags = img->flags & ~(unsigned)(BLOCK_OPEN_RDWR | BLOCK_OPEN_COPY_ON_READ);
    g_autoptr(ImgNode) node = block_co_open(img->filename, img->format, img->options, flags, errp);
    int64_t bytes = node ? block_getlength(node) : -1;

    if (node && bytes < 0) {
        error_set_errno(errp, (int)-bytes, "Could not get image size");
    }
    return bytes;
}

/* Make an empty overlay in $TMPDIR and open it over the image. Its name is removed at once: the file lives as long as
 * it is open, whatever becomes of this process. */
static BlockNode *coroutine_fn open_snapshot(const IoImage *img, GError **errp)
{
    g_autoptr(OptDict) backing = image_as_options(img, errp), opts = optdict_new(), create = optdict_new();
    g_autofree char *path = NULL;
    int64_t bytes = backing ? image_length(img, errp) : -1;
    BlockNode *node = NULL;
    int fd;

    if (bytes < 0) {
        return NULL;
    }
    fd = g_file_open_tmp("qemu-io-XXXXXX", &path, errp);
    if (fd < 0) {
        return NULL;
    }
    close(fd);
    optdict_set_int(create, "size", bytes);
    if (block_co_create("qcow2", path, create, errp)) {
        optdict_set(opts, "file.filename", path);
        optdict_merge(opts, "backing.", backing, false);
        /* Nothing of it is to survive, so no flush has to reach the disk. */
        unsigned flags = BLOCK_OPEN_NO_FLUSH | (img->flags & (BLOCK_OPEN_RDWR | BLOCK_OPEN_COPY_ON_READ));
        node = block_co_open(NULL, "qcow2", opts, flags, errp);
    }
    unlink(path);
    return node;
}

/* ---- open and close -------------------------------------------------------------------------------------------- */

static BlockNode *coroutine_fn open_node(const IoImage *img, GError **errp)
{
    if (img->snapshot) {
        return open_snapshot(img, errp);
    }
    return block_co_open(img->filename, img->format, img->options, img->flags, errp);
}

bool coroutine_fn io_open_image(IoShell *sh, IoImage *img)
{
    g_auto(IoImage) given = *img;
    g_autoptr(GError) err = NULL;

    *img = (IoImage){0};
    sh->node = open_node(&given, &err);
    if (!sh->node) {
        print_open_error(given.filename, err);
        return false;
    }
    if (!block_node_read_only(sh->node) && block_node_probed_raw(sh->node)) {
        g_autofree char *warning = block_probed_raw_warning(sh->node);

        report_notice(warning);
    }
    sh->image = given;
    given = (IoImage){0};
    return true;
}

bool coroutine_fn io_close_image(IoShell *sh)
{
    io_aio_wait(sh);
    io_image_clear(&sh->image);
    return img_co_close(g_steal_pointer(&sh->node));
}

static int coroutine_fn run_open(IoShell *sh, const IoCommand *cmd, int argc, char **argv)
{
    g_auto(IoImage) img = {.flags = IO_OPEN_FLAGS};
    int letter, index = 0;
    char *arg;

    while ((letter = io_next_option(argc, argv, "rsCnkUt:d:i:o:", &index, &arg)) != -1) {
        if (letter == '?') {
            return io_print_usage(cmd);
        }
        if (!io_image_option(&img, letter, arg)) {
            return -1;
        }
    }
    if (index < argc - 1 || (index == argc && !img.options)) {
        return io_print_usage(cmd);
    }
    if (sh->node) {
        report_error("file open already, try 'help close'");
        return -1;
    }
    img.filename = g_strdup(argv[index]);
    return io_open_image(sh, &img) ? 0 : -1;
}

static int coroutine_fn run_close(IoShell *sh, const IoCommand *cmd, int argc, char **argv)
{
    return io_close_image(sh) ? 0 : -1;
}

/* ---- reopen ---------------------------------------------------------------------------------------------------- */

typedef struct ReopenArgs {
    IoImage image; /* what to add: options, cache bits in flags */
    bool read_only, read_write, cache;
} ReopenArgs;

static void reopen_args_clear(ReopenArgs *a)
{
    io_image_clear(&a->image);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ReopenArgs, reopen_args_clear)

static bool take_reopen_option(ReopenArgs *a, int letter, const char *arg)
{
    switch (letter) {
    case 'r':
        a->read_only = true;
        break;
    case 'w':
        a->read_write = true;
        break;
    case 'c':
        a->cache = true;
        return img_parse_cache("cache", arg, &a->image.flags);
    default:
        return take_options(&a->image, arg);
    }
    if (a->read_only && a->read_write) {
        report_error("Only one -r/-w option may be given");
        return false;
    }
    return true;
}

static IoImage image_copy(const IoImage *img)
{
    return (IoImage){
        .filename = g_strdup(img->filename),
        .format = g_strdup(img->format),
        .options = img->options ? optdict_copy(img->options) : NULL,
        .flags = img->flags,
    };
}

/* Close and open again with the changes; when that does not work, with what was there before. */
static bool coroutine_fn reopen_image(IoShell *sh, const ReopenArgs *a)
{
    const unsigned cache_bits = BLOCK_OPEN_DIRECT | BLOCK_OPEN_WRITETHROUGH | BLOCK_OPEN_NO_FLUSH;
    g_auto(IoImage) before = image_copy(&sh->image), after = image_copy(&sh->image);

    g_clear_pointer(&after.format, g_free); /* the format that was probed stays */
    after.format = g_strdup(block_node_format(sh->node));
    if (a->image.options) {
        after.options = after.options ? after.options : optdict_new();
        optdict_merge(after.options, "", a->image.options, false);
    }
    if (a->read_only) {
        after.flags &= ~(unsigned)BLOCK_OPEN_RDWR;
    }
    if (a->read_write) {
        after.flags |= BLOCK_OPEN_RDWR;
    }
    if (a->cache) {
        after.flags = (after.flags & ~cache_bits) | (a->image.flags & cache_bits);
    }
    if (!io_close_image(sh)) {
        return false;
    }
    if (io_open_image(sh, &after)) {
        return true;
    }
    io_open_image(sh, &before);
    return false;
}

static int coroutine_fn run_reopen(IoShell *sh, const IoCommand *cmd, int argc, char **argv)
{
    g_auto(ReopenArgs) args = {0};
    int letter, index = 0;
    char *arg;

    while ((letter = io_next_option(argc, argv, "rwc:o:", &index, &arg)) != -1) {
        if (letter == '?') {
            return io_print_usage(cmd);
        }
        if (!take_reopen_option(&args, letter, arg)) {
            return -1;
        }
    }
    if (index != argc) {
        return io_print_usage(cmd);
    }
    if (sh->image.snapshot) {
        report_unsupported("reopen of a temporary overlay (-s)");
        return -1;
    }
    return reopen_image(sh, &args) ? 0 : -1;
}

const IoCommand io_open_commands[] = {
    {"open", "o", run_open, 1, -1, 0, "[-rsCnkU] [-t cache] [-d discard] [-i aio] [-o options] [path]",
     "open an image for the commands that follow",
     " -r  read-only\n"
     " -s  keep writes in a temporary overlay that is gone at close\n"
     " -C  keep in the image what is read from its backing chain\n"
     " -n  cache mode none\n"
     " -k  aio mode native\n"
     " -U  read-only, although another process may write\n"
     " -t  cache mode: none, writeback, writethrough, directsync, unsafe\n"
     " -d  discard mode: ignore, unmap\n"
     " -i  aio mode: threads, native, io_uring\n"
     " -o  options of the nodes: driver=qcow2,file.filename=x,..."},
    {"close", "c", run_close, 0, 0, IO_NEEDS_IMAGE, "", "close the image", NULL},
    {"reopen", NULL, run_reopen, 0, -1, IO_NEEDS_IMAGE, "[(-r|-w)] [-c cache] [-o options]",
     "close the image and open it again with other options",
     " -r  read-only from now on\n"
     " -w  read-write from now on\n"
     " -c  cache mode\n"
     " -o  further options"},
    {0},
};
