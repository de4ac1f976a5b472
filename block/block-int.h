/* SPDX-License-Identifier: MIT */
/* What a block driver sees: the driver table and the inside of a node. For block/ only.
 *
 * A driver is one const table. A NULL callback has the meaning given beside it. Callbacks with co_ run in coroutines on
 * any loop, several at once; the io layer has checked the range (inside the image, bytes > 0), aligned it to the node's
 * request_align and tracked it. */
#ifndef QBLOCK_BLOCK_BLOCK_INT_H
#define QBLOCK_BLOCK_BLOCK_INT_H

#include <stdatomic.h>

#include "block/block.h"
#include "util/loop/reqlist.h"
#include "util/coroutine/co-lock.h"
#include "util/offload/offload.h"

typedef struct BlockLimits {
    uint32_t request_align;      /* power of two, bytes; default 1 */
    uint32_t memory_align;       /* buffer address alignment; default 1 */
    uint32_t zero_align;         /* write_zeroes granularity worth splitting to; 0 = request_align */
    uint32_t zero_worth;         /* bytes from which zeroing takes less than writing zeros; 0 = not known */
    uint32_t discard_align;      /* discard granularity; parts smaller are ignored; 0 = request_align */
    int64_t max_transfer;        /* bytes; 0 = BLOCK_MAX_REQUEST_BYTES */
    int64_t max_zero, max_discard;
} BlockLimits;

struct BlockDriver {
    const char *format_name;     /* "qcow2" */
    const char *protocol;        /* "file" for names "file:x"; NULL for formats */
    size_t state_bytes;          /* of node->state, zeroed before open */
    bool supports_backing;
    bool needs_filename;         /* protocol drivers: takes the option "filename" */
    bool passthrough;            /* its file child needs no more permissions than its own user asked for (raw, luks) */
    const char *const *strong_open_opts; /* NULL-ended: options that a filename must show as json: when given */
    const OptDesc *open_opts;    /* runtime options; NULL = none of its own */
    const OptDesc *create_opts;  /* NULL = cannot create */
    const OptDesc *amend_opts;   /* what co_amend takes */

    /* 0..100: how sure are we that @buf (first bytes of the file) is this format. NULL = never probed. */
    int (*probe)(const uint8_t *buf, size_t len, const char *filename);

    /* Open. Format drivers find their file child in node->file, opened. Take known keys out of @options; what is left
     * is refused by the caller. On failure leave nothing allocated. */
    bool coroutine_fn (*co_open)(BlockNode *node, OptDict *options, unsigned flags, GError **errp);
    /* Protocols: node->perms or node->unshared changed; take and check the image locks. NULL: passed to node->file. */
    bool coroutine_fn (*co_set_perms)(BlockNode *node, GError **errp);
    /* Last: everything is flushed down to node->file afterwards. NULL = nothing to do. */
    int coroutine_fn (*co_close)(BlockNode *node);
    /* NULL: format cannot be made. A format driver creates and opens its protocol file by block_create_file(). */
    bool coroutine_fn (*co_create)(const char *filename, OptDict *options, GError **errp);

    int coroutine_fn (*co_read)(BlockNode *node, const BlockRw *rw);
    int coroutine_fn (*co_write)(BlockNode *node, const BlockRw *rw);  /* NULL = read-only format */
    bool supports_compressed;                                          /* co_write takes BLOCK_REQ_COMPRESSED */
    unsigned supported_write_flags; /* of FUA, OWN_BUFFER (reads too): else emulated/dropped */
    /* -ENOTSUP (or NULL): the io layer writes zero data. */
    int coroutine_fn (*co_write_zeroes)(BlockNode *node, int64_t offset, int64_t bytes, unsigned flags);
    int coroutine_fn (*co_discard)(BlockNode *node, int64_t offset, int64_t bytes); /* NULL / -ENOTSUP: ignored */
    int coroutine_fn (*co_flush)(BlockNode *node); /* own metadata; then the io layer flushes node->file. NULL = none */
    /* NULL = all data. */
    int coroutine_fn (*co_status)(BlockNode *node, int64_t offset, int64_t bytes, BlockStatus *st);
    /* Does [@offset, +@bytes) read as zeros at this moment, by facts that the driver has itself? Not by who made the
     * image, or that it is new. What a cipher is between never does. NULL: "I do not know", which is no. */
    bool coroutine_fn (*co_reads_zero)(BlockNode *node, int64_t offset, int64_t bytes);
    int64_t coroutine_fn (*co_getlength)(BlockNode *node);
    /* New space reads as zeros, also where a longer backing file has data. */
    bool coroutine_fn (*co_truncate)(BlockNode *node, int64_t bytes, BlockPrealloc prealloc, GError **errp);
    int coroutine_fn (*co_get_info)(BlockNode *node, BlockInfo *info);          /* NULL = zeros */
    InfoTree *coroutine_fn (*co_specific_info)(BlockNode *node, GError **errp); /* NULL = none; the data object */
    int64_t coroutine_fn (*co_allocated_bytes)(BlockNode *node);                /* NULL = that of node->file */
    /* @options are checked against amend_opts. NULL = no option can be changed. */
    bool coroutine_fn (*co_amend)(BlockNode *node, OptDict *options, bool force, GError **errp);
    int coroutine_fn (*co_check)(BlockNode *node, BlockCheckResult *res, unsigned fix); /* NULL = no check */
    bool coroutine_fn (*co_measure)(const OptDict *options, BlockNode *node, BlockMeasure *out, GError **errp);
};

/* What a user of a node does to it, and what it does not let others do: the bits of the image locks (command-line
 * sheet section 1, "Force share and image locking"). */
enum { BLOCK_PERM_READ = 1, BLOCK_PERM_WRITE = 2, BLOCK_PERM_WRITE_UNCHANGED = 4, BLOCK_PERM_RESIZE = 8 };

typedef enum BlockDetectZeroes {
    BLOCK_DETECT_ZEROES_OFF,
    BLOCK_DETECT_ZEROES_ON,
    BLOCK_DETECT_ZEROES_UNMAP
} BlockDetectZeroes;

struct BlockNode {
    /* fixed after open */
    const BlockDriver *drv;
    void *state;
    unsigned flags;          /* BLOCK_OPEN_* */
    unsigned perms;          /* BLOCK_PERM_*: what our user does */
    unsigned unshared;       /* BLOCK_PERM_*: what others must not do meanwhile */
    bool growable;           /* a format's file: writes past the end extend it, reads past the end give zeros */
    BlockDetectZeroes detect_zeroes;
    char *filename;          /* display name, see block_node_filename() */
    char *exact_path;        /* protocol nodes: the path; formats: that of their file; NULL if none */
    OptDict *options;        /* as given, after merging; for json: names */
    BlockNode *file;         /* counted; NULL for protocols */
    BlockNode *aux;          /* counted; the driver's own further child, see block_open_aux(); NULL if none */
    const char *aux_name;    /* what options call it: "header" */
    int nesting;             /* children below one another, from the node that was asked for */
    BlockNode *backing;      /* counted; NULL if none or BLOCK_OPEN_NO_BACKING */
    char *backing_name;      /* as stored in the image; set by the driver's co_open */
    char *backing_format;    /* as stored */
    bool encrypted;
    bool is_device;          /* protocols: never changes its length, and what it held before an image is made stays */
    bool in_memory;          /* protocols: transfers wait for no device; formats: see block_node_in_memory() */
    bool probed;
    BlockLimits limits;

    /* atomic */
    gatomicrefcount refs;
    _Atomic int64_t total_bytes;
    _Atomic uint64_t write_gen;   /* bumped by each completed write */
    _Atomic uint64_t flushed_gen; /* write_gen that a finished flush covered */

    /* locked inside */
    ReqList reqs;
};

/* Create @filename as an empty protocol file (truncating an old one) and open it read-write. For co_create. */
BlockNode *coroutine_fn block_create_file(const char *filename, GError **errp);

/* For co_create, with the file of a new image before anything is written there. A device cannot be told to reserve
 * space: "Unsupported preallocation mode 'x'". Context: any. */
bool block_check_new_prealloc(const BlockNode *file, BlockPrealloc prealloc, GError **errp);
/* Zeros over the first @bytes of the device that @file is on, as far as it goes, so that nothing it held looks like a
 * part of the new image. A file has been emptied: nothing is done. 0 or -errno. */
int coroutine_fn block_wipe_new(BlockNode *file, int64_t bytes);

/* For co_open: open the child that the options "<name>." of @options describe and take them out. It becomes node->aux
 * with the permissions of a file, and is closed with @node, also when co_open fails afterwards. @name: a constant.
 * True without a child when there are no such options. */
bool coroutine_fn block_open_aux(BlockNode *node, OptDict *options, const char *name, GError **errp);

/* For drivers with backing files: read what @node leaves to its backing chain; zeros where nobody has anything. The
 * range may lie past the end of the backing file. */
int coroutine_fn block_co_read_backing(BlockNode *node, const BlockRw *rw);

/* For drivers, after a resize inside. */
void block_node_set_length(BlockNode *node, int64_t bytes);

/* Every driver, in probing order. */
extern const BlockDriver *const block_drivers[]; /* NULL-ended; block/drivers.c */
extern const BlockDriver block_driver_file, block_driver_host_device, block_driver_raw, block_driver_luks,
    block_driver_qcow2, block_driver_null_co, block_driver_null_aio, block_driver_fault, block_driver_record,
    block_driver_testdev;

#endif
