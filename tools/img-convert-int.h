/* SPDX-License-Identifier: MIT */
/* State of one qemu-img convert, shared by img-convert.c (command line, run) and img-convert-target.c. The functions
 * print their own errors. */
#ifndef QBLOCK_TOOLS_IMG_CONVERT_INT_H
#define QBLOCK_TOOLS_IMG_CONVERT_INT_H

#include "block/block.h"
#include "block/job/copy.h"
#include "tools/image-opts.h"

typedef struct ConvertArgs {
    ImgOpenArgs source;
    const char *target_format; /* NULL = raw */
    bool target_image_opts;
    const char *source_cache, *target_cache; /* modes as given: each is looked at where its image is opened */
    unsigned target_flags;                   /* of opening the target */
    char *create_options;  /* -o, merged; owned */
    const char *backing, *backing_format;
    bool quiet, progress, compressed, no_create, target_is_zero, out_of_order;
    int64_t sparse_bytes;
    int64_t workers;
    bool bitmaps, skip_broken_bitmaps;
} ConvertArgs;

typedef struct Convert {
    ConvertArgs args;
    const char *target_name;
    GPtrArray *sources; /* of BlockNode, open */
    BlockNode *target;
    const BlockDriver *driver; /* of a new target */
    OptDict *options;          /* of a new target */
    bool created;              /* there is a new target file that is ours to remove */
} Convert;

/* c->driver and c->options of a new target; checked as far as that needs no file. False after a message. */
bool convert_prepare_target(Convert *c);

/* Make the new target and open it. False after a message; c->created says whether there is a file to remove. */
bool coroutine_fn convert_create_target(Convert *c);

/* Open a target that is there. False after a message. */
bool coroutine_fn convert_open_target(Convert *c);

/* May zeros be left out? Where the target's drivers know that it reads as zeros; or the user says so, but for a target
 * with a cipher in it: what was never written there is noise. */
bool coroutine_fn convert_target_is_zero(const Convert *c);

/* What a new target's preallocation means for the copy; opts->target_is_zero is set. */
void convert_settle_zeros(const Convert *c, BlockCopyOptions *opts);

#endif
