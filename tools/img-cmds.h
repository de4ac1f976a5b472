/* SPDX-License-Identifier: MIT */
/* The subcommands of qemu-img, a file each (img-<name>.c).
 *
 * argv[0] is the subcommand's name. Each prints its own errors and returns the exit status. Context: coroutine on the
 * tool's loop. */
#ifndef QBLOCK_TOOLS_IMG_CMDS_H
#define QBLOCK_TOOLS_IMG_CMDS_H

#include "util/coroutine/coroutine.h"

int coroutine_fn img_amend(int argc, char **argv);
int coroutine_fn img_bench(int argc, char **argv);
int coroutine_fn img_check(int argc, char **argv);
int coroutine_fn img_compare(int argc, char **argv);
int coroutine_fn img_convert(int argc, char **argv);
int coroutine_fn img_create(int argc, char **argv);
int coroutine_fn img_dd(int argc, char **argv);
int coroutine_fn img_info(int argc, char **argv);
int coroutine_fn img_map(int argc, char **argv);
int coroutine_fn img_measure(int argc, char **argv);
int coroutine_fn img_resize(int argc, char **argv);

#endif
