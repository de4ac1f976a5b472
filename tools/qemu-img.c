/* SPDX-License-Identifier: MIT */
/* qemu-img: the table of subcommands and the global options. */
#include <stdio.h>
#include <string.h>

#include "block/block.h"
#include "tools/cmdline.h"
#include "tools/image-opts.h"
#include "tools/img-cmds.h"
#include "tools/report.h"
#include "tools/tool-main.h"
#include "util/base/trace.h"

typedef struct ImgCommand {
    const char *name;
    ToolFunc *run; /* NULL: known, but not there yet */
    const char *summary;
} ImgCommand;

static const ImgCommand commands[] = {
    {"amend", img_amend, "change format-specific options of an image"},
    {"bench", img_bench, "measure the speed of requests on an image"},
    {"bitmap", NULL, "work on the dirty bitmaps stored in an image"},
    {"check", img_check, "check an image for errors, and repair it"},
    {"commit", NULL, "write an overlay's changes into its backing file"},
    {"compare", img_compare, "check if two images have the same contents"},
    {"convert", img_convert, "copy an image, with another format where wanted"},
    {"create", img_create, "make a new image"},
    {"dd", img_dd, "copy blocks from one image to another"},
    {"info", img_info, "show facts about an image"},
    {"map", img_map, "show where an image's data lives"},
    {"measure", img_measure, "calculate the file size that a new image needs"},
    {"rebase", NULL, "change the backing file of an image"},
    {"resize", img_resize, "change the virtual size of an image"},
    {"snapshot", NULL, "list, take, apply and delete internal snapshots"},
};

enum { OPT_NO_EXTERNAL_FILES = CMDLINE_LONG };

static const CmdOption global_opts[] = {
    {'V', "version", NULL, "print the version and exit"},
    {'T', "trace", "[enable=]PATTERN[,file=FILE]", "print trace events; 'help' lists their groups"},
    {OPT_NO_EXTERNAL_FILES, "no-external-files", NULL, "refuse to read images that name further files (backing files)"},
    {0},
};

static void add_format_name(const BlockDriver *drv, void *opaque)
{
    g_string_append_printf(opaque, " %s", block_driver_name(drv));
}

static void print_commands(void)
{
    g_autoptr(GString) formats = g_string_new(NULL);

    printf("\nCommands ('%s COMMAND --help' tells more):\n", report_tool_name());
    for (size_t i = 0; i < G_N_ELEMENTS(commands); i++) {
        if (commands[i].run) {
            printf("  %-12s%s\n", commands[i].name, commands[i].summary);
        }
    }
    block_driver_foreach(add_format_name, formats);
    printf("\nSupported formats:%s\n", formats->str);
}

static const CmdHelp global_help = {
    .usage = "[-V] [-T TRACE] [--no-external-files] COMMAND [OPTION]... [FILE]...",
    .summary = "Make, convert, check and describe disk images.",
    .opts = global_opts,
    .options_first = true,
    .print_more = print_commands,
};

static int coroutine_fn run_command(const char *name, int argc, char **argv)
{
    for (size_t i = 0; i < G_N_ELEMENTS(commands); i++) {
        if (strcmp(commands[i].name, name) == 0) {
            return commands[i].run ? commands[i].run(argc, argv) : report_unsupported("Command '%s'", name);
        }
    }
    return report_usage(NULL, "Command not found: %s", name);
}

static int coroutine_fn img_main(int argc, char **argv)
{
    g_auto(CmdLine) cl = {0};
    g_autoptr(GError) err = NULL;
    int opt;

    cmdline_init(&cl, &global_help, argc, argv);
    while ((opt = cmdline_next(&cl)) != CMDLINE_END) {
        switch (opt) {
        case CMDLINE_EXIT:
            return cl.status;
        case 'V':
            tool_print_version();
            return EXIT_OK;
        case 'T':
            if (!trace_option(cl.arg, &err)) {
                report_gerror(err, "%s", "");
                return EXIT_FAILED;
            }
            if (g_str_equal(cl.arg, "help")) {
                return EXIT_OK;
            }
            break;
        case OPT_NO_EXTERNAL_FILES:
            img_refuse_external_files();
            break;
        }
    }
    if (cmdline_operands(&cl) == 0) {
        return report_usage(NULL, "Not enough arguments");
    }
    int first = argc - cmdline_operands(&cl);

    return run_command(argv[first], argc - first, argv + first);
}

int main(int argc, char **argv)
{
    report_init("qemu-img");
    return tool_run(img_main, argc, argv);
}
