/* SPDX-License-Identifier: MIT */
/* Names of images: protocol prefixes, relative backing names, and the json: form. Opens nothing; a path is only looked
 * at for being a device. */
#ifndef QBLOCK_BLOCK_FILENAME_H
#define QBLOCK_BLOCK_FILENAME_H

#include "block/block-int.h"

/* The "proto" of "proto:rest": what stands before a colon that comes before any slash. Caller frees; NULL if none. */
char *block_filename_protocol(const char *filename);

/* Turn a plain or "proto:rest" name into options of its protocol node: sets "driver", and "filename" where the driver
 * takes one, in @opts. False: unknown protocol. */
bool block_filename_to_options(const char *filename, OptDict *opts, GError **errp);

/* file or host_device, by what is at @path. */
const BlockDriver *block_driver_for_path(const char *path);

/* @name as found in the image at @base: relative names are relative to its folder. Caller frees. */
char *block_filename_combine(const char *base, const char *name);

/* The name to show for an opened node: its plain file name, or json:{...} when options were given that the plain name
 * would not bring back. Caller frees. */
char *block_filename_display(const BlockNode *node);

#endif
