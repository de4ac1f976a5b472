/* SPDX-License-Identifier: MIT */
/* Command lines by table: each option is named once, and its row feeds parsing, --help and errors.
 *
 * Options and operands may be mixed; "--" ends the options; a long name may be cut short where it stays unambiguous.
 * Context: any, one command line at a time (the C library's parser underneath has one state). */
#ifndef QBLOCK_TOOLS_CMDLINE_H
#define QBLOCK_TOOLS_CMDLINE_H

#include <glib.h>
#include <stdbool.h>

#define CMDLINE_LONG 256 /* option keys from here on have no short form */

typedef struct CmdOption {
    int key;          /* the short option's letter, or CMDLINE_LONG + n; 0 ends a table */
    const char *name; /* long name; NULL = short form only */
    const char *arg;  /* name of the argument in the help; NULL = takes none */
    const char *help; /* NULL = hidden: a synonym of another row */
} CmdOption;

typedef struct CmdHelp {
    const char *name;      /* subcommand, NULL for a tool without one */
    const char *usage;     /* what follows the name: "[-q] FILE [SIZE]" */
    const char *summary;   /* one sentence */
    const CmdOption *opts; /* "-h, --help" is added to it */
    bool options_first;    /* the first operand ends the options */
    void (*print_more)(void); /* adds to the page; NULL = nothing to add */
} CmdHelp;

typedef struct CmdLine {
    const CmdHelp *help;
    int argc;
    char **argv;      /* argv[0] is the name of the tool or of the subcommand */
    const char *arg;  /* argument of the option that cmdline_next() gave last */
    int status;       /* exit status, after CMDLINE_EXIT */
    int first;        /* index of the first operand, after CMDLINE_END */
    char *full_name;  /* the rest: the table in the parser's own forms */
    char *letters;
    void *long_opts;
} CmdLine;

enum { CMDLINE_END = -1, CMDLINE_EXIT = -2 };

/* @argv is permuted so that operands come last; argv[0] is replaced until cmdline_destroy(). */
void cmdline_init(CmdLine *c, const CmdHelp *help, int argc, char **argv);
void cmdline_destroy(CmdLine *c);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CmdLine, cmdline_destroy)

/* The next option's key; CMDLINE_END when only operands are left; CMDLINE_EXIT when the command is over with c->status
 * (help was asked for, or a mistake was found, and printed). */
int cmdline_next(CmdLine *c);

/* Takes one option into @opaque. False after a message. */
typedef bool CmdTakeOption(void *opaque, int key, const char *arg);

/* Give each option to @take. False when the command is over with c->status, also because @take refused one. */
bool cmdline_take_all(CmdLine *c, CmdTakeOption *take, void *opaque);

/* After CMDLINE_END, or cmdline_take_all(). */
int cmdline_operands(const CmdLine *c);
char *cmdline_operand(const CmdLine *c, int i); /* borrowed from argv; NULL when there are not so many */

/* The help page on stdout. */
void cmdline_print_help(const CmdHelp *help);

#endif
