/* SPDX-License-Identifier: MIT */
#include "tools/cmdline.h"

#include <getopt.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "tools/report.h"

enum { HELP_KEY = 'h', HELP_COLUMN = 34 };

static size_t count_options(const CmdOption *opts)
{
    size_t n = 0;

    while (opts[n].key) {
        n++;
    }
    return n;
}

void cmdline_init(CmdLine *c, const CmdHelp *help, int argc, char **argv)
{
    size_t n = count_options(help->opts), n_long = 0;
    struct option *long_opts = g_new0(struct option, n + 2);
    GString *letters = g_string_new(help->options_first ? "+" : "");

    *c = (CmdLine){.help = help, .argc = argc, .argv = argv};
    for (size_t i = 0; i < n; i++) {
        const CmdOption *o = &help->opts[i];

        if (o->name) {
            long_opts[n_long++] = (struct option){o->name, o->arg ? required_argument : no_argument, NULL, o->key};
        }
        if (o->key < CMDLINE_LONG) {
            g_string_append_printf(letters, "%c%s", o->key, o->arg ? ":" : "");
        }
    }
    g_string_append_c(letters, HELP_KEY);
    long_opts[n_long] = (struct option){"help", no_argument, NULL, HELP_KEY};
    c->letters = g_string_free(letters, FALSE);
    c->long_opts = long_opts;
    c->full_name = g_strjoin(" ", report_tool_name(), help->name, NULL);
    c->argv[0] = c->full_name; /* what the C library puts in front of its messages */
    optind = 0;                /* makes it start afresh */
}

void cmdline_destroy(CmdLine *c)
{
    g_clear_pointer(&c->full_name, g_free);
    g_clear_pointer(&c->letters, g_free);
    g_clear_pointer(&c->long_opts, g_free);
}

static int exit_with(CmdLine *c, int status)
{
    c->status = status;
    return CMDLINE_EXIT;
}

int cmdline_next(CmdLine *c)
{
    int key = getopt_long(c->argc, c->argv, c->letters, c->long_opts, NULL);

    c->arg = optarg;
    switch (key) {
    case -1:
        c->first = optind;
        return CMDLINE_END;
    case HELP_KEY:
        cmdline_print_help(c->help);
        return exit_with(c, EXIT_OK);
    case ':':
    case '?': /* the C library has said what is wrong */
        report_usage_hint(c->help->name);
        return exit_with(c, EXIT_FAILED);
    default:
        return key;
    }
}

bool cmdline_take_all(CmdLine *c, CmdTakeOption *take, void *opaque)
{
    int key;

    while ((key = cmdline_next(c)) >= 0) {
        if (!take(opaque, key, c->arg)) {
            c->status = EXIT_FAILED;
            return false;
        }
    }
    return key == CMDLINE_END;
}

int cmdline_operands(const CmdLine *c)
{
    return c->argc - c->first;
}

char *cmdline_operand(const CmdLine *c, int i)
{
    return i < cmdline_operands(c) ? c->argv[c->first + i] : NULL;
}

/* "  -f, --format FMT" padded to the help column, or on a line of its own when it is longer. */
static void print_option(const CmdOption *o)
{
    g_autoptr(GString) left = g_string_new("  ");

    if (o->key < CMDLINE_LONG) {
        g_string_append_printf(left, "-%c%s", o->key, o->name ? ", " : "");
    }
    if (o->name) {
        g_string_append_printf(left, "--%s", o->name);
    }
    if (o->arg) {
        g_string_append_printf(left, " %s", o->arg);
    }
    if (left->len >= HELP_COLUMN) {
        g_string_append_printf(left, "\n%*s", HELP_COLUMN, "");
    }
    printf("%-*s%s\n", HELP_COLUMN, left->str, o->help);
}

void cmdline_print_help(const CmdHelp *help)
{
    static const CmdOption help_row = {HELP_KEY, "help", NULL, "print this help and exit"};
    size_t n = count_options(help->opts);

    printf("Usage: %s%s%s %s\n", report_tool_name(), help->name ? " " : "", help->name ? help->name : "", help->usage);
    printf("%s\n\nOptions:\n", help->summary);
    for (size_t i = 0; i < n; i++) {
        if (help->opts[i].help) {
            print_option(&help->opts[i]);
        }
    }
    print_option(&help_row);
    if (help->print_more) {
        help->print_more();
    }
}
