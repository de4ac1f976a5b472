/* SPDX-License-Identifier: MIT */
/* How tools take and open images: --object, --image-opts, format, cache mode, force-share.
 *
 * These functions print their own errors, so that a command only has to return. Context: coroutine for opening and
 * closing, else any. */
#ifndef QBLOCK_TOOLS_IMAGE_OPTS_H
#define QBLOCK_TOOLS_IMAGE_OPTS_H

#include <glib.h>
#include <stdbool.h>

#include "block/block.h"
#include "tools/cmdline.h"

/* How one image is opened. Zeroed = probed, by name, cache mode writeback. */
typedef struct ImgOpenArgs {
    const char *format; /* NULL = probe */
    bool image_opts;    /* the name is a key=value text */
    bool force_share;
    unsigned aio_flags;   /* BLOCK_OPEN_AIO_*: what files without an "aio" of their own take */
    unsigned cache_flags; /* of BLOCK_OPEN_DIRECT, _WRITETHROUGH, _NO_FLUSH */
    bool quiet;           /* no warning about a probed raw image */
} ImgOpenArgs;

/* Keys of long options that most commands have; those of a command alone begin at IMG_OPT_OWN. */
enum { IMG_OPT_OBJECT = CMDLINE_LONG, IMG_OPT_IMAGE_OPTS, IMG_OPT_OWN };

/* -f, -U, --image-opts or --object, with its argument: what remains of a command line when its command has taken its
 * own. False after a message. */
bool img_take_open_option(ImgOpenArgs *args, int key, const char *arg);

/* False, with a message, when --image-opts and a format are both given. @format_option: "--format". */
bool img_open_args_check(const ImgOpenArgs *args, const char *format_option);

/* From now on, refuse images that name further files and whose data are asked for. Before the first open, by the one
 * thread there is. */
void img_refuse_external_files(void);

/* Open; "Could not open 'x': <reason>" and NULL on failure. @flags: BLOCK_OPEN_* above those of @args. */
BlockNode *coroutine_fn img_co_open(const ImgOpenArgs *args, const char *name, unsigned flags);

/* The same without printing: @errp gets the reason alone, without the "Could not open". */
BlockNode *coroutine_fn img_co_open_quiet(const ImgOpenArgs *args, const char *name, unsigned flags, GError **errp);

/* Close after use. False, with a message, when what was written could not be made safe. NULL is fine. */
bool coroutine_fn img_co_close(BlockNode *node);

/* A node that is closed at the end of the block on every path; what was only read cannot fail to close. A command that
 * wrote calls img_co_close(g_steal_pointer(&node)) itself and looks. */
typedef BlockNode ImgNode;
void coroutine_fn img_node_cleanup(ImgNode *node);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ImgNode, img_node_cleanup)

/* Argument of --object. The process leaves no core dumps any more, for it has keys. */
bool img_add_object(const char *text);

/* Argument of a cache option: the cache bits of *@flags are set anew. @what: "cache", "source cache". */
bool img_parse_cache(const char *what, const char *mode, unsigned *flags);

/* Argument of an aio option: sets one of BLOCK_OPEN_AIO_* in @flags or, for io_uring, none. native stays, whatever
 * comes after it. False after reporting an unknown one. */
bool img_parse_aio(const char *mode, unsigned *flags);

/* Argument of --output of subcommand @cmd. */
bool img_parse_output(const char *cmd, const char *text, bool *json);

/* A size operand or option value, 0 .. 2^63-1. @what: "image size". */
bool img_parse_size(const char *what, const char *text, int64_t *out);
bool img_parse_size_in(const char *what, const char *text, int64_t min, int64_t max, int64_t *out);

/* A plain number without a suffix. @what: "request count". */
bool img_parse_number_in(const char *what, const char *text, int64_t min, int64_t max, int64_t *out);

/* The driver by its format name, or NULL with "Unknown file format 'x'". */
const BlockDriver *img_find_format(const char *format);
/* The same for a format that images can be made of. */
const BlockDriver *img_find_creatable(const char *format);

/* Several -o texts make one. *@all starts as NULL; the caller frees it. False, with a message, on an empty list or a
 * stray comma. */
bool img_add_create_options(char **all, const char *text);
/* Is one of the elements "help" or "?". */
bool img_wants_option_help(const char *all);

/* The create options of a format on stdout; @for_target: a file is named, so those of its protocol too. */
void img_print_option_help(const BlockDriver *drv, bool for_target);

/* Parse @text (NULL = nothing) as create options of @drv and its protocol; nothing is defaulted. NULL with @errp. */
OptDict *img_parse_create_options(const BlockDriver *drv, const char *text, GError **errp);

#endif
