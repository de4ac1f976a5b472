/* SPDX-License-Identifier: MIT */
#include "tools/io-cmd.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "tools/report.h"
#include "util/base/number.h"

static const IoCommand *const tables[] = {io_rw_commands, io_aio_commands, io_open_commands, io_misc_commands};

static const IoCommand *find_command(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(tables); i++) {
        for (const IoCommand *c = tables[i]; c->name; c++) {
            if (strcmp(c->name, name) == 0 || (c->alias && strcmp(c->alias, name) == 0)) {
                return c;
            }
        }
    }
    return NULL;
}

static void print_line(const char *fmt, ...) G_GNUC_PRINTF(1, 2);

/* Mistakes in a line go to stderr without the tool's name in front. */
static void print_line(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    g_autofree char *text = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    report_notice(text);
}

static bool check_arguments(const IoCommand *cmd, const char *name, int count)
{
    if (count >= cmd->min_args && (cmd->max_args < 0 || count <= cmd->max_args)) {
        return true;
    }
    if (cmd->max_args < 0) {
        print_line("bad argument count %d to %s, expected at least %d arguments", count, name, cmd->min_args);
    } else if (cmd->min_args == cmd->max_args) {
        print_line("bad argument count %d to %s, expected %d arguments", count, name, cmd->min_args);
    } else {
        print_line("bad argument count %d to %s, expected between %d and %d arguments", count, name, cmd->min_args,
                   cmd->max_args);
    }
    return false;
}

static bool check_image(const IoShell *sh, const IoCommand *cmd)
{
    if ((cmd->needs & IO_NEEDS_IMAGE) && !sh->node) {
        report_notice("no file open, try 'help open'");
        return false;
    }
    if ((cmd->needs & IO_NEEDS_WRITE) && block_node_read_only(sh->node)) {
        report_error("Block node is read-only");
        return false;
    }
    return true;
}

/* Words end at spaces and nothing else; there is no quoting. */
static GPtrArray *split_words(const char *line)
{
    g_auto(GStrv) pieces = g_strsplit(line, " ", -1);
    GPtrArray *words = g_ptr_array_new_with_free_func(g_free);

    for (char **p = pieces; *p; p++) {
        if (**p) {
            g_ptr_array_add(words, g_strdup(*p));
        }
    }
    g_ptr_array_add(words, NULL);
    return words;
}

int coroutine_fn io_run_line(IoShell *sh, const char *line)
{
    g_autoptr(GPtrArray) words = split_words(line);
    char **argv = (char **)words->pdata;
    int argc = (int)words->len - 1;

    if (argc == 0) {
        return 0;
    }
    /* Commands see a copy: option parsing moves the words about. */
    g_autofree char **moved = g_memdup2(argv, words->len * sizeof(char *));
    const IoCommand *cmd = find_command(argv[0]);

    if (!cmd) {
        print_line("command \"%s\" not found", argv[0]);
        return -1;
    }
    if (!check_arguments(cmd, argv[0], argc - 1) || !check_image(sh, cmd)) {
        return -1;
    }
    return cmd->run(sh, cmd, argc, moved);
}

int io_print_usage(const IoCommand *cmd)
{
    printf("%s%s%s -- %s\n", cmd->name, *cmd->args ? " " : "", cmd->args, cmd->summary);
    return -1;
}

int io_next_option(int argc, char **argv, const char *letters, int *index, char **arg)
{
    int letter;

    report_flush_stdout(); /* before what the C library may have to say */
    if (*index == 0) {
        optind = 0;
        opterr = 1;
    }
    letter = getopt(argc, argv, letters);
    *index = optind;
    *arg = optarg;
    return letter;
}

bool io_parse_number(const char *text, int64_t *out)
{
    uint64_t value = 0;
    NumberResult r = number_parse_size(text, &value);

    if (r == NUMBER_INVALID) {
        printf("Parsing error: non-numeric argument, or extraneous/unrecognized suffix -- %s\n", text);
        return false;
    }
    if (r == NUMBER_RANGE || value > INT64_MAX) {
        printf("Parsing error: argument too large -- %s\n", text);
        return false;
    }
    *out = (int64_t)value;
    return true;
}

bool io_parse_pieces(int argc, char **argv, int index, int64_t *offset, int64_t *bytes, GArray *pieces)
{
    int64_t piece;

    *bytes = 0;
    if (!io_parse_number(argv[index], offset)) {
        return false;
    }
    for (int i = index + 1; i < argc; i++) {
        if (!io_parse_number(argv[i], &piece)) {
            return false;
        }
        if (piece > BLOCK_MAX_REQUEST_BYTES - *bytes) {
            printf("The total number of bytes exceed the maximum size %" G_GINT64_FORMAT "\n",
                   (gint64)BLOCK_MAX_REQUEST_BYTES);
            return false;
        }
        *bytes += piece;
        g_array_append_val(pieces, piece);
    }
    return true;
}

void io_aio_begin(IoShell *sh)
{
    sh->aio_running++;
}

void io_aio_end(IoShell *sh)
{
    g_assert(sh->aio_running > 0);
    if (--sh->aio_running == 0 && sh->aio_waiter) {
        coroutine_wake(g_steal_pointer(&sh->aio_waiter));
    }
}

void coroutine_fn io_aio_wait(IoShell *sh)
{
    if (sh->aio_running > 0) {
        sh->aio_waiter = coroutine_self();
        coroutine_yield();
    }
}

static int compare_names(const void *a, const void *b)
{
    const IoCommand *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

void io_help_all(void)
{
    g_autoptr(GPtrArray) all = g_ptr_array_new();

    for (size_t i = 0; i < G_N_ELEMENTS(tables); i++) {
        for (const IoCommand *c = tables[i]; c->name; c++) {
            g_ptr_array_add(all, (void *)c);
        }
    }
    g_ptr_array_sort(all, compare_names);
    for (guint i = 0; i < all->len; i++) {
        io_print_usage(g_ptr_array_index(all, i));
    }
    printf("\nUse 'help commandname' for extended help.\n");
}

bool io_help_one(const char *name)
{
    const IoCommand *cmd = find_command(name);

    if (!cmd) {
        printf("command %s not found\n", name);
        return false;
    }
    io_print_usage(cmd);
    if (cmd->alias) {
        printf("\n Short form: %s\n", cmd->alias);
    }
    if (cmd->details) {
        printf("\n%s\n", cmd->details);
    }
    return true;
}
