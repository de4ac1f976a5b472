/* SPDX-License-Identifier: MIT */
/* qemu-io: facts about the image, its length, and the shell itself. */
#include "tools/io-cmd.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/report.h"
#include "util/loop/event-loop.h"
#include "util/base/number.h"

/* ---- facts ----------------------------------------------------------------------------------------------------- */

static int coroutine_fn run_length(IoShell *sh, const IoCommand *cmd, int argc, char **argv)
{
    int64_t bytes = block_getlength(sh->node);

    if (bytes < 0) {
        printf("getlength: %s\n", g_strerror((int)-bytes));
        return -1;
    }
    g_autofree char *text = number_format_io_size((double)bytes);

    printf("%s\n", text);
    return 0;
}

static int coroutine_fn run_info(IoShell *sh, const IoCommand *cmd, int argc, char **argv)
{
    g_autoptr(GError) err = NULL;
    g_autoptr(InfoTree) specific = block_co_specific_info(sh->node, &err);
    g_autoptr(GString) lines = g_string_new(NULL);
    BlockInfo info = {0};
    int ret = block_co_get_info(sh->node, &info);

    if (err) {
        report_gerror(err, "%s", "");
        return -1;
    }
    if (ret < 0) {
        printf("Could not get the image's facts: %s\n", g_strerror(-ret));
        return -1;
    }
    g_autofree char *cluster = number_format_io_size((double)info.cluster_bytes);
    g_autofree char *vm_state = number_format_io_size((double)info.vm_state_offset);

    printf("format name: %s\ncluster size: %s\nvm state offset: %s\n", block_node_format(sh->node), cluster, vm_state);
    if (specific && info_get(specific, "data")) {
        info_sort_hash_order(specific);
        info_to_human(info_get(specific, "data"), 4, lines);
    }
    if (lines->len > 0) {
        printf("Format specific information:\n%s", lines->str);
    }
    return 0;
}

/* Length of the run at @offset, at most @bytes, that this layer decides (or does not) as a whole; 0 at the end of the
 * image, or -errno where nothing is known from @offset on. */
static int64_t coroutine_fn allocation_run(BlockNode *node, int64_t offset, int64_t bytes, bool *allocated)
{
    int64_t done = 0;

    while (done < bytes) {
        BlockStatus st = {0};
        int ret = block_co_status(node, offset + done, bytes - done, &st);
        bool is = st.flags & BLOCK_STATUS_ALLOCATED;

        if (ret < 0) {
            return done > 0 ? done : ret;
        }
        if (st.bytes == 0 || (done > 0 && is != *allocated)) {
            break;
        }
        *allocated = is;
        done += st.bytes;
    }
    return done;
}

static int alloc_failed(int64_t ret)
{
    printf("is_allocated failed: %s\n", g_strerror((int)-ret));
    return -1;
}

static int map_failed(int64_t ret)
{
    report_error("Failed to get allocation status: %s", g_strerror((int)-ret));
    return -1;
}

static int coroutine_fn run_alloc(IoShell *sh, const IoCommand *cmd, int argc, char **argv)
{
    int64_t length = block_getlength(sh->node), offset, bytes = 512, allocated = 0;

    if (!io_parse_number(argv[1], &offset) || (argc == 3 && !io_parse_number(argv[2], &bytes))) {
        return -1;
    }
    if (length < 0) {
        return alloc_failed(length);
    }
    bytes = offset >= length ? 0 : MIN(bytes, length - offset);
    for (int64_t done = 0; done < bytes;) {
        bool is = false;
        int64_t n = allocation_run(sh->node, offset + done, bytes - done, &is);

        if (n < 0) {
            return alloc_failed(n);
        }
        if (n == 0) {
            break;
        }
        allocated += is ? n : 0;
        done += n;
    }
    g_autofree char *where = number_format_io_size((double)offset);

    printf("%" G_GINT64_FORMAT "/%" G_GINT64_FORMAT " bytes allocated at offset %s\n", allocated, bytes, where);
    return 0;
}

static int coroutine_fn run_map(IoShell *sh, const IoCommand *cmd, int argc, char **argv)
{
    int64_t length = block_getlength(sh->node);

    if (length < 0) {
        return map_failed(length);
    }
    for (int64_t offset = 0; offset < length;) {
        bool is = false;
        int64_t n = allocation_run(sh->node, offset, length - offset, &is);

        if (n < 0) {
            return map_failed(n);
        }
        if (n == 0) {
            break;
        }
        g_autofree char *size = number_format_io_size((double)n), *where = number_format_io_size((double)offset);

        printf("%s (0x%" G_GINT64_MODIFIER "x) bytes %s at offset %s (0x%" G_GINT64_MODIFIER "x)\n", size, n,
               is ? "    allocated" : "not allocated", where, offset);
        offset += n;
    }
    return 0;
}

/* ---- changes ---------------------------------------------------------------------------------------------------- */

static int coroutine_fn run_flush(IoShell *sh, const IoCommand *cmd, int argc, char **argv)
{
    int ret = block_co_flush(sh->node);

    if (ret < 0) {
        printf("flush failed: %s\n", g_strerror(-ret));
        return -1;
    }
    return 0;
}

static int coroutine_fn run_truncate(IoShell *sh, const IoCommand *cmd, int argc, char **argv)
{
    BlockPrealloc prealloc = BLOCK_PREALLOC_OFF;
    g_autoptr(GError) err = NULL;
    int letter, index = 0;
    int64_t bytes;
    char *arg;

    while ((letter = io_next_option(argc, argv, "m:", &index, &arg)) != -1) {
        if (letter == '?') {
            return io_print_usage(cmd);
        }
        if (!block_prealloc_from_name(arg, &prealloc)) {
            report_error("Invalid preallocation mode '%s'", arg);
            return -1;
        }
    }
    if (index >= argc) {
        return io_print_usage(cmd);
    }
    if (!io_parse_number(argv[index], &bytes)) {
        return -1;
    }
    if (!block_co_truncate(sh->node, bytes, prealloc, &err)) {
        report_gerror(err, "%s", "");
        return -1;
    }
    return 0;
}

/* ---- the shell -------------------------------------------------------------------------------------------------- */

static int coroutine_fn run_sleep(IoShell *sh, const IoCommand *cmd, int argc, char **argv)
{
    uint64_t ms;

    if (number_parse_uint(argv[1], INT64_MAX / 1000000, &ms) != NUMBER_OK) {
        printf("%s is not a valid number\n", argv[1]);
        return -1;
    }
    report_flush_stdout();
    loop_co_sleep_ns((int64_t)ms * 1000000);
    return 0;
}

static int coroutine_fn run_sigraise(IoShell *sh, const IoCommand *cmd, int argc, char **argv)
{
    int64_t number;

    if (!io_parse_number(argv[1], &number)) {
        return -1;
    }
    if (number > 64) {
        printf("signal %" G_GINT64_FORMAT " does not exist\n", number);
        return -1;
    }
    report_flush_stdout(); /* likely the last chance */
    raise((int)number);
    return 0;
}

static int coroutine_fn run_abort(IoShell *sh, const IoCommand *cmd, int argc, char **argv)
{
    report_flush_stdout();
    abort();
}

static int coroutine_fn run_quit(IoShell *sh, const IoCommand *cmd, int argc, char **argv)
{
    sh->quit = true;
    return 0;
}

static int coroutine_fn run_help(IoShell *sh, const IoCommand *cmd, int argc, char **argv)
{
    if (argc == 1) {
        io_help_all();
        return 0;
    }
    return io_help_one(argv[1]) ? 0 : -1;
}

/* ---- commands for nodes that no driver of ours provides --------------------------------------------------------- */

static int coroutine_fn run_break(IoShell *sh, const IoCommand *cmd, int argc, char **argv)
{
    printf("Could not set breakpoint: Operation not supported\n");
    return -1;
}

static int coroutine_fn run_remove_break(IoShell *sh, const IoCommand *cmd, int argc, char **argv)
{
    printf("Could not remove breakpoint %s: Operation not supported\n", argv[1]);
    return -1;
}

static int coroutine_fn run_resume(IoShell *sh, const IoCommand *cmd, int argc, char **argv)
{
    printf("Could not resume request: Operation not supported\n");
    return -1;
}

static int coroutine_fn run_wait_break(IoShell *sh, const IoCommand *cmd, int argc, char **argv)
{
    printf("Could not wait for breakpoint: Operation not supported\n");
    return -1;
}

static int coroutine_fn run_zone(IoShell *sh, const IoCommand *cmd, int argc, char **argv)
{
    g_autofree char *what = g_strdelimit(g_strdup(cmd->name), "_", ' ');

    printf("%s failed: Operation not supported\n", what);
    return -1;
}

const IoCommand io_misc_commands[] = {
    {"length", "l", run_length, 0, 0, IO_NEEDS_IMAGE, "", "print the virtual size", NULL},
    {"info", "i", run_info, 0, 0, IO_NEEDS_IMAGE, "", "print facts about the image", NULL},
    {"alloc", "a", run_alloc, 1, 2, IO_NEEDS_IMAGE, "offset [count]",
     "count the bytes that this image's own layer holds", NULL},
    {"map", NULL, run_map, 0, 0, IO_NEEDS_IMAGE, "", "print the ranges that this image's own layer holds", NULL},
    {"flush", "f", run_flush, 0, 0, IO_NEEDS_IMAGE, "", "make everything written stable", NULL},
    {"truncate", "t", run_truncate, 1, 3, IO_NEEDS_IMAGE | IO_NEEDS_WRITE, "[-m prealloc_mode] off",
     "set the virtual size", " -m  preallocation: off, metadata, falloc, full"},
    {"sleep", NULL, run_sleep, 1, 1, 0, "milliseconds", "wait; requests that were started go on", NULL},
    {"sigraise", NULL, run_sigraise, 1, 1, 0, "signal", "send a signal to this process", NULL},
    {"abort", NULL, run_abort, 0, 0, 0, "", "end as a crash does, by SIGABRT", NULL},
    {"quit", "q", run_quit, 0, -1, 0, "", "leave; later commands are not run", NULL},
    {"help", "?", run_help, 0, 1, 0, "[command]", "tell about all commands, or one", NULL},
    {"break", NULL, run_break, 2, 2, IO_NEEDS_IMAGE, "event tag", "set a breakpoint (not supported by any driver)",
     NULL},
    {"remove_break", NULL, run_remove_break, 1, 1, IO_NEEDS_IMAGE, "tag", "remove a breakpoint (not supported)", NULL},
    {"resume", NULL, run_resume, 1, 1, IO_NEEDS_IMAGE, "tag", "let a stopped request go on (not supported)", NULL},
    {"wait_break", NULL, run_wait_break, 1, 1, IO_NEEDS_IMAGE, "tag", "wait for a stopped request (not supported)",
     NULL},
    {"zone_append", NULL, run_zone, 2, -1, IO_NEEDS_IMAGE, "offset len [len..]", "zoned devices (not supported)", NULL},
    {"zone_close", NULL, run_zone, 2, 2, IO_NEEDS_IMAGE, "offset len", "zoned devices (not supported)", NULL},
    {"zone_finish", NULL, run_zone, 2, 2, IO_NEEDS_IMAGE, "offset len", "zoned devices (not supported)", NULL},
    {"zone_open", NULL, run_zone, 2, 2, IO_NEEDS_IMAGE, "offset len", "zoned devices (not supported)", NULL},
    {"zone_report", NULL, run_zone, 2, 2, IO_NEEDS_IMAGE, "offset number", "zoned devices (not supported)", NULL},
    {"zone_reset", NULL, run_zone, 2, 2, IO_NEEDS_IMAGE, "offset len", "zoned devices (not supported)", NULL},
    {0},
};
