/* SPDX-License-Identifier: MIT */
/* qemu-io: read a line, run it. Lines come from -c options, or else from standard input. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/cmdline.h"
#include "tools/image-opts.h"
#include "tools/io-cmd.h"
#include "tools/report.h"
#include "tools/tool-main.h"
#include "util/loop/event-loop.h"
#include "util/base/trace.h"

enum { OPT_OBJECT = CMDLINE_LONG, OPT_IMAGE_OPTS };

static const CmdOption io_opts[] = {
    {'c', "cmd", "COMMAND", "run COMMAND; may be given several times"},
    {'f', "format", "FMT", "format of the image (default: probed)"},
    {OPT_IMAGE_OPTS, "image-opts", NULL, "FILE is a list of options: key=value,..."},
    {'r', "read-only", NULL, "open the image read-only"},
    {'s', "snapshot", NULL, "keep writes in a temporary overlay that is gone at the end"},
    {'n', "nocache", NULL, "cache mode none"},
    {'C', "copy-on-read", NULL, "keep in the image what is read from its backing chain"},
    {'m', "misalign", NULL, "use memory at odd addresses"},
    {'k', "native-aio", NULL, "aio mode native"},
    {'i', "aio", "MODE", "aio mode: threads, native, io_uring"},
    {'t', "cache", "MODE", "cache mode (default writeback)"},
    {'d', "discard", "MODE", "discard mode: ignore, unmap"},
    {'U', "force-share", NULL, "read-only, although another process may write"},
    {OPT_OBJECT, "object", "OBJECT", "define a secret: secret,id=ID,file=PATH"},
    {'T', "trace", "[enable=]PATTERN[,file=FILE]", "print trace events; 'help' lists their groups"},
    {'V', "version", NULL, "print the version and exit"},
    {0},
};

static void print_command_hint(void)
{
    printf("\n'%s -c help' lists the commands.\n", report_tool_name());
}

static const CmdHelp io_help = {
    .usage = "[OPTION]... [-c COMMAND]... [FILE]",
    .summary = "Read, write and examine a disk image by commands, from -c options or standard input.",
    .opts = io_opts,
    .print_more = print_command_hint,
};

typedef struct IoArgs {
    IoImage image;
    GPtrArray *commands; /* of -c; borrowed texts */
    bool image_opts, misalign;
    int status;
} IoArgs;

static void io_args_clear(IoArgs *a)
{
    io_image_clear(&a->image);
    g_clear_pointer(&a->commands, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IoArgs, io_args_clear)

static bool take_trace(const char *arg)
{
    g_autoptr(GError) err = NULL;

    if (!trace_option(arg, &err)) {
        report_gerror(err, "%s", "");
        return false;
    }
    return true;
}

static bool take_option(IoArgs *a, int opt, const char *arg)
{
    switch (opt) {
    case 'c':
        g_ptr_array_add(a->commands, (void *)arg);
        return true;
    case 'f':
        g_free(a->image.format);
        a->image.format = g_strdup(arg);
        return true;
    case OPT_IMAGE_OPTS:
        a->image_opts = true;
        return true;
    case 'm':
        a->misalign = true;
        return true;
    case OPT_OBJECT:
        return img_add_object(arg);
    case 'T':
        return take_trace(arg);
    default:
        return io_image_option(&a->image, opt, arg);
    }
}

/* ---- lines from standard input ---------------------------------------------------------------------------------- */

typedef struct LineReader {
    GString *buf; /* read but not given out */
    bool can_poll, eof;
    int error; /* errno of the read that failed */
} LineReader;

/* Read more; other coroutines go on meanwhile where the kind of file allows it. */
static void coroutine_fn read_more(LineReader *r)
{
    char chunk[4096];
    ssize_t n;

    if (r->can_poll && loop_co_poll(STDIN_FILENO, POLLIN) < 0) {
        r->can_poll = false;
    }
    do {
        n = read(STDIN_FILENO, chunk, sizeof(chunk));
    } while (n < 0 && errno == EINTR);
    if (n <= 0) {
        r->eof = true;
        r->error = n < 0 ? errno : 0;
    } else {
        g_string_append_len(r->buf, chunk, n);
    }
}

/* The next line without its newline; NULL at the end. Caller frees. */
static char *coroutine_fn next_line(LineReader *r)
{
    char *newline;

    while (!(newline = memchr(r->buf->str, '\n', r->buf->len)) && !r->eof) {
        read_more(r);
    }
    if (!newline && r->buf->len == 0) {
        return NULL;
    }
    gsize len = newline ? (gsize)(newline - r->buf->str) : r->buf->len;
    char *line = g_strndup(r->buf->str, len);

    g_string_erase(r->buf, 0, (gssize)(len + (newline ? 1 : 0)));
    return line;
}

static int coroutine_fn run_stdin(IoShell *sh)
{
    g_autoptr(GString) buf = g_string_new(NULL);
    struct stat st;
    bool is_file = fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode);
    LineReader reader = {.buf = buf, .can_poll = !is_file};
    int status = EXIT_OK;

    while (!sh->quit) {
        printf("%s> ", report_tool_name());
        report_flush_stdout();
        g_autofree char *line = next_line(&reader);

        if (!line) {
            break;
        }
        if (io_run_line(sh, line) < 0) {
            status = EXIT_FAILED;
        }
    }
    if (isatty(STDIN_FILENO) && !sh->quit) {
        putchar('\n');
    }
    if (reader.error) {
        report_error("Could not read commands: %s", g_strerror(reader.error));
        return EXIT_FAILED;
    }
    return status;
}

static int coroutine_fn run_commands(IoShell *sh, const GPtrArray *commands)
{
    int status = EXIT_OK;

    for (guint i = 0; i < commands->len && !sh->quit; i++) {
        if (io_run_line(sh, g_ptr_array_index(commands, i)) < 0) {
            status = EXIT_FAILED;
        }
    }
    return status;
}

/* ---- the tool --------------------------------------------------------------------------------------------------- */

static bool coroutine_fn open_operand(IoShell *sh, IoArgs *a, const char *name)
{
    g_autoptr(GError) err = NULL;

    if (!a->image_opts) {
        a->image.filename = g_strdup(name);
        return io_open_image(sh, &a->image);
    }
    if (a->image.format) {
        report_error("--image-opts and -f are mutually exclusive");
        return false;
    }
    g_autoptr(OptDict) named = optdict_parse_keyval(name, "file", &err);

    if (!named) {
        report_gerror(err, "%s", "");
        return false;
    }
    if (a->image.options) {
        optdict_merge(named, "", a->image.options, false);
        optdict_free(a->image.options);
    }
    a->image.options = g_steal_pointer(&named);
    return io_open_image(sh, &a->image);
}

static int coroutine_fn run_shell(IoArgs *a, const char *operand)
{
    IoShell sh = {.misalign = a->misalign};
    int status;

    if (operand && !open_operand(&sh, a, operand)) {
        return EXIT_FAILED;
    }
    status = a->commands->len > 0 ? run_commands(&sh, a->commands) : run_stdin(&sh);
    if (!io_close_image(&sh)) {
        status = EXIT_FAILED;
    }
    return status;
}

static int coroutine_fn io_main(int argc, char **argv)
{
    g_auto(CmdLine) cl = {0};
    g_auto(IoArgs) args = {.image.flags = IO_OPEN_FLAGS, .commands = g_ptr_array_new()};
    int opt;

    cmdline_init(&cl, &io_help, argc, argv);
    while ((opt = cmdline_next(&cl)) != CMDLINE_END) {
        if (opt == CMDLINE_EXIT) {
            return cl.status;
        }
        if (opt == 'V') {
            tool_print_version();
            return EXIT_OK;
        }
        if (!take_option(&args, opt, cl.arg)) {
            return EXIT_FAILED;
        }
    }
    if (cmdline_operands(&cl) > 1) {
        return report_usage(NULL, "Expecting at most one image file name");
    }
    return run_shell(&args, cmdline_operand(&cl, 0));
}

int main(int argc, char **argv)
{
    report_init("qemu-io");
    return tool_run(io_main, argc, argv);
}
