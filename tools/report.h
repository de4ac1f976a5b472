/* SPDX-License-Identifier: MIT */
/* What a tool says to its user: diagnostics on stderr, each "<tool>: <message>", and the exit codes.
 *
 * Standard output is flushed before a diagnostic, so that both streams read in order when they end in one file.
 * Context: any, after report_init(). */
#ifndef QBLOCK_TOOLS_REPORT_H
#define QBLOCK_TOOLS_REPORT_H

#include <glib.h>
#include <stdbool.h>

enum { EXIT_OK = 0, EXIT_FAILED = 1 };

/* Once, first thing in main(): the name in front of each message. @name must stay valid. */
void report_init(const char *name);
const char *report_tool_name(void);

/* "<tool>: <message>\n" on stderr. */
void report_error(const char *fmt, ...) G_GNUC_PRINTF(1, 2);
/* "<tool>: warning: <message>\n" on stderr. */
void report_warning(const char *fmt, ...) G_GNUC_PRINTF(1, 2);
/* Text of its own, without the tool's name, on stderr; @text has no final newline. */
void report_notice(const char *text);
/* "<tool>: <prefix><message>\n"; @prefix is a format and may be "". @err is borrowed. */
void report_gerror(const GError *err, const char *prefix, ...) G_GNUC_PRINTF(2, 3);

/* A mistake on the command line: the message, then where to look. @cmd: subcommand or NULL. Always EXIT_FAILED. */
int report_usage(const char *cmd, const char *fmt, ...) G_GNUC_PRINTF(2, 3);
void report_usage_hint(const char *cmd); /* the second part alone */

/* Something this build does not do yet: "<what> is not supported by this build yet". Always EXIT_FAILED. */
int report_unsupported(const char *fmt, ...) G_GNUC_PRINTF(1, 2);

/* Flush standard output, so that what follows on the other stream comes after it. */
void report_flush_stdout(void);

/* Flush standard output for good. False, with a message the first time, when any part of it could not be written; a
 * reader that closed its end of a pipe is no failure, as for the tools whose names these are. */
bool report_finish_stdout(void);

#endif
