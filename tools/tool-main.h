/* SPDX-License-Identifier: MIT */
/* The frame of a tool's process: layers started in order, one event loop, the tool's work as a coroutine on it. */
#ifndef QBLOCK_TOOLS_TOOL_MAIN_H
#define QBLOCK_TOOLS_TOOL_MAIN_H

#include "util/coroutine/coroutine.h"

/* What the tools answer to --version, so that scripts that parse "version <v>" go the right way: the release whose
 * behaviour is matched. */
#define TOOL_COMPAT_VERSION "10.0.2"

typedef int coroutine_fn ToolFunc(int argc, char **argv); /* exit status */

/* Run @func in a coroutine on this thread's new loop and take everything down again: the body of main().
 * Returns: the exit status. */
int tool_run(ToolFunc *func, int argc, char **argv);

/* "<tool> version 10.0.2 (qblock 0.1.0)" on stdout. */
void tool_print_version(void);

#endif
