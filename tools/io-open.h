/* SPDX-License-Identifier: MIT */
/* The image a qemu-io shell works on: how it is named and opened, and opened again. */
#ifndef QBLOCK_TOOLS_IO_OPEN_H
#define QBLOCK_TOOLS_IO_OPEN_H

#include <glib.h>
#include <stdbool.h>

#include "block/block.h"

#define IO_OPEN_FLAGS (BLOCK_OPEN_RDWR | BLOCK_OPEN_UNMAP) /* unless options say otherwise */

/* Everything that decides how the image is opened. Zeroed but for IO_OPEN_FLAGS it is the default. */
typedef struct IoImage {
    char *filename;   /* NULL: the options name it */
    char *format;     /* NULL: options' driver, or probed */
    OptDict *options; /* NULL: none */
    unsigned flags;   /* BLOCK_OPEN_* */
    bool snapshot;    /* writes go to a temporary overlay and are lost at close */
} IoImage;

void io_image_clear(IoImage *img);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IoImage, io_image_clear)

/* Take one of the letters r s n C k U t d i o, which the command line and the "open" command share.
 * Returns: false after a message. */
bool io_image_option(IoImage *img, int letter, const char *arg);

/* Open what @img says; takes what it owns, in any case. With the warning about a probed raw image.
 * Returns: false after a message; then no image is open. */
struct IoShell;
bool coroutine_fn io_open_image(struct IoShell *sh, IoImage *img);

/* Wait for aio, close the image. False after a message when what was written could not be made safe. */
bool coroutine_fn io_close_image(struct IoShell *sh);

#endif
