/* SPDX-License-Identifier: MIT */
/* The commands of qemu-io: their table, how a line becomes a command, and what commands share.
 *
 * A shell has at most one image open. Its commands run one after the other in one coroutine; aio requests run in
 * coroutines of their own and outlive the command that started them. Context: coroutine on the tool's loop. */
#ifndef QBLOCK_TOOLS_IO_CMD_H
#define QBLOCK_TOOLS_IO_CMD_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "block/block.h"
#include "tools/io-open.h"
#include "util/coroutine/coroutine.h"

typedef struct IoShell {
    BlockNode *node;  /* NULL = no image is open */
    IoImage image;    /* how it was opened, for reopen */
    bool misalign;    /* buffers at odd addresses */
    bool quit;
    unsigned aio_running;
    Coroutine *aio_waiter; /* waits for aio_running to become 0 */
} IoShell;

enum { IO_NEEDS_IMAGE = 1, IO_NEEDS_WRITE = 2 };

typedef struct IoCommand {
    const char *name;
    const char *alias; /* short form, or NULL */
    /* 0, or -1 when the command failed; it has said why. argv[0] is the command's name. */
    int coroutine_fn (*run)(IoShell *sh, const struct IoCommand *cmd, int argc, char **argv);
    int min_args, max_args; /* -1 = any number */
    unsigned needs;         /* IO_NEEDS_* */
    const char *args;       /* as the usage line shows them */
    const char *summary;
    const char *details;    /* more for "help name", or NULL */
} IoCommand;

/* Each ends with a NULL name. */
extern const IoCommand io_rw_commands[], io_aio_commands[], io_open_commands[], io_misc_commands[];

/* Run one line. An empty one is fine. Returns: 0 or -1. */
int coroutine_fn io_run_line(IoShell *sh, const char *line);

/* The usage line on stdout; always -1, for commands to return. */
int io_print_usage(const IoCommand *cmd);

/* Options of a command, with letters as getopt() takes them: the next letter, -1 at the end, '?' after a message. The
 * first call has *@index 0; then *@index is that of the first operand. *@arg: the option's argument. */
int io_next_option(int argc, char **argv, const char *letters, int *index, char **arg);

/* Parse an offset or length; on failure a message on stdout and false. */
bool io_parse_number(const char *text, int64_t *out);
/* The operands of a request of several pieces: the offset at @argv[@index]; the lengths behind it into @pieces, of
 * int64_t; their sum, one request at most, into *@bytes. On failure a message on stdout and false. */
bool io_parse_pieces(int argc, char **argv, int index, int64_t *offset, int64_t *bytes, GArray *pieces);

/* Start and end of an aio request, so that the shell knows how many run. */
void io_aio_begin(IoShell *sh);
void io_aio_end(IoShell *sh);
/* Wait until none runs. */
void coroutine_fn io_aio_wait(IoShell *sh);

/* The one-line list of all commands, or of one in detail; for "help". False if there is no such command. */
void io_help_all(void);
bool io_help_one(const char *name);

#endif
