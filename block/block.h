/* SPDX-License-Identifier: MIT */
/* The block layer as tools see it: open a node, do I/O on it, ask about it, close it.
 *
 * Offsets and lengths are bytes. A node may be entered from several event loops at once. Functions with _co_ are for
 * coroutines; the data path returns 0 or -errno, the control path sets a GError. Requests of any alignment are taken;
 * the io layer pads them to what a driver wants. */
#ifndef QBLOCK_BLOCK_BLOCK_H
#define QBLOCK_BLOCK_BLOCK_H

#include <glib.h>
#include <stdbool.h>
#include <inttypes.h>

#include "util/coroutine/coroutine.h"
#include "util/output/info-tree.h"
#include "util/base/iov.h"
#include "util/options/optdict.h"
#include "util/options/options.h"

typedef struct BlockNode BlockNode;
typedef struct BlockDriver BlockDriver;

#define BLOCK_MAX_REQUEST_BYTES ((INT64_C(1) << 31) - 512) /* qcow2 sheet section 15 */

/* How a node is opened. */
enum {
    BLOCK_OPEN_RDWR = 1 << 0,          /* else read-only */
    BLOCK_OPEN_NO_BACKING = 1 << 1,    /* leave the backing chain closed */
    BLOCK_OPEN_NO_IO = 1 << 2,         /* facts only: no key needed, data I/O fails */
    BLOCK_OPEN_CHECK = 1 << 3,         /* for check/repair: tolerate what repair can mend */
    BLOCK_OPEN_FORCE_SHARE = 1 << 4,   /* read-only although somebody writes; takes no lock that conflicts */
    BLOCK_OPEN_DIRECT = 1 << 5,        /* O_DIRECT (cache none, directsync) */
    BLOCK_OPEN_WRITETHROUGH = 1 << 6,  /* every write is followed by a flush (writethrough, directsync) */
    BLOCK_OPEN_NO_FLUSH = 1 << 7,      /* flushes do nothing (unsafe) */
    BLOCK_OPEN_UNMAP = 1 << 8,         /* pass discards down to the host file */
    BLOCK_OPEN_NO_LOCK = 1 << 9,       /* take no image locks at all */
    BLOCK_OPEN_NO_EXTERNAL = 1 << 10,  /* refuse images that name a backing or data file */
    BLOCK_OPEN_RESIZE = 1 << 11,       /* the caller may truncate: takes the resize permission */
    BLOCK_OPEN_UNSHARE = 1 << 12,      /* others may neither write nor resize meanwhile (convert's source) */
    BLOCK_OPEN_AIO_NATIVE = 1 << 13,   /* files without an "aio" of their own take native: needs O_DIRECT */
    BLOCK_OPEN_COPY_ON_READ = 1 << 14, /* what a read gets from the backing chain is kept in the image; needs RDWR */
    BLOCK_OPEN_AIO_THREADS = 1 << 15,  /* files without an "aio" of their own take threads */
};

/* cache mode name -> flags added to *@flags (and cleared: the four cache bits). false if unknown. */
bool block_parse_cache_mode(const char *mode, unsigned *flags);

/* How a request is done. */
enum {
    BLOCK_REQ_FUA = 1 << 0,         /* stable before completion */
    BLOCK_REQ_MAY_UNMAP = 1 << 1,   /* zero write may deallocate */
    BLOCK_REQ_NO_FALLBACK = 1 << 2, /* zero write: -ENOTSUP rather than writing zero data */
    BLOCK_REQ_COMPRESSED = 1 << 3,  /* write: store compressed; whole clusters only */
    BLOCK_REQ_OWN_BUFFER = 1 << 4,  /* the caller owns the memory alone: read may hold ciphertext in it meanwhile,
                                     * write may leave ciphertext in it */
};

/* Placement hook of a write, for callers that want data laid out on disk in the order of their requests while
 * everything else (compression, encryption, the writes themselves) runs in parallel. A driver that allocates calls
 * block_place_wait() just before it allocates, with no lock held, and block_placed() once the request's clusters are
 * all allocated; a request that allocates nothing may call the latter without the former. The io layer calls
 * block_placed() on completion for drivers that do not. */
typedef struct BlockPlace {
    void coroutine_fn (*wait)(void *opaque); /* yields until it is this request's turn */
    void (*placed)(void *opaque);            /* lets the next one go; may not yield */
    void *opaque;
    bool wait_done, placed_done; /* set by the two calls below: each hook runs once */
} BlockPlace;
void coroutine_fn block_place_wait(BlockPlace *p); /* NULL allowed */
void block_placed(BlockPlace *p);                  /* NULL allowed */

/* One read or write. The range [@iov_off, @iov_off+@bytes) of @iov is the memory. */
typedef struct BlockRw {
    int64_t offset, bytes;
    const IoVec *iov;
    size_t iov_off;
    unsigned flags;
    BlockPlace *place; /* writes only; NULL = order does not matter */
} BlockRw;

/* ---- open and close -------------------------------------------------------------------------------------------- */

/* Open an image.
 * @filename: plain name, "proto:rest", "json:{...}", or NULL when @options name everything (--image-opts).
 * @format:   driver name; NULL = options' "driver", else probe.
 * @options:  borrowed, may be NULL; dotted keys as of --image-opts.
 * Returns:   a reference the caller drops by block_co_close(). NULL: the reason only ("No such file or directory"),
 *            without the "Could not open 'x': " that tools put in front (nested opens put theirs themselves).
 * Context:   coroutine. */
BlockNode *coroutine_fn block_co_open(const char *filename, const char *format, const OptDict *options, unsigned flags,
                                      GError **errp);

/* Drop the caller's reference; the last one flushes, closes and frees. 0 or the first -errno of flush/close: a caller
 * that wrote must look. */
int coroutine_fn block_co_close(BlockNode *node);
void block_node_ref(BlockNode *node);

/* Was the format found by probing, and as raw? Then tools warn before writing. */
bool block_node_probed_raw(const BlockNode *node);
/* The text of that three-line warning for @node, without a final newline. Caller frees. */
char *block_probed_raw_warning(const BlockNode *node);

const char *block_node_format(const BlockNode *node);   /* driver name */
const char *block_node_filename(const BlockNode *node); /* as given, or json:{...} when it does not reduce to a name */
bool block_node_read_only(const BlockNode *node);
bool block_node_encrypted(const BlockNode *node);
/* All files of the image and its chain are memory (tmpfs): no request waits for a device. */
bool block_node_in_memory(const BlockNode *node);
/* Are the bytes of @node those of a device, as they are or enciphered? Its length cannot be changed then. */
bool block_node_on_device(const BlockNode *node);
BlockNode *block_node_file(const BlockNode *node);    /* borrowed or NULL */
BlockNode *block_node_backing(const BlockNode *node); /* borrowed or NULL */
/* A further file of the image itself: the detached header of luks. Borrowed, or NULL; *@name is what options call
 * it. */
BlockNode *block_node_aux(const BlockNode *node, const char **name);
const char *block_node_backing_name(const BlockNode *node);   /* as stored, NULL if none */
const char *block_node_backing_format(const BlockNode *node); /* as stored, NULL if none */
/* The backing name made usable from here (relative to the overlay's folder). Caller frees; NULL if none. */
char *block_node_backing_path(const BlockNode *node);
/* The same for an image that is not there yet: @backing as an overlay called @overlay will find it. Absolute paths,
 * "proto:" and json: names stay as they are. Caller frees. */
char *block_backing_path_from(const char *overlay, const char *backing);
void *block_node_state(const BlockNode *node); /* driver state; for the driver and its tests */

/* ---- I/O: coroutine, any loop ---------------------------------------------------------------------------------- */

int coroutine_fn block_co_rw_read(BlockNode *node, const BlockRw *rw);
int coroutine_fn block_co_rw_write(BlockNode *node, const BlockRw *rw);
/* iov->size bytes. */
int coroutine_fn block_co_preadv(BlockNode *node, int64_t offset, const IoVec *iov, unsigned flags);
int coroutine_fn block_co_pwritev(BlockNode *node, int64_t offset, const IoVec *iov, unsigned flags);
int coroutine_fn block_co_pread(BlockNode *node, int64_t offset, void *buf, size_t bytes, unsigned flags);
int coroutine_fn block_co_pwrite(BlockNode *node, int64_t offset, const void *buf, size_t bytes, unsigned flags);
int coroutine_fn block_co_pwrite_zeroes(BlockNode *node, int64_t offset, int64_t bytes, unsigned flags);
int coroutine_fn block_co_pdiscard(BlockNode *node, int64_t offset, int64_t bytes);
int coroutine_fn block_co_flush(BlockNode *node);

/* Virtual size in bytes, or -errno. Context: any for the cached value. */
int64_t block_getlength(const BlockNode *node);

/* Does all of [@offset, +@bytes) read as zeros at this moment, as far as the drivers know for sure? What lies past the
 * end does. False when nobody knows, when finding out fails, and for what is enciphered: never a reason for more than
 * to write zeros. Reads metadata at most. The answer holds until the next write. Context: coroutine. */
bool coroutine_fn block_co_reads_zero(BlockNode *node, int64_t offset, int64_t bytes);

typedef enum BlockPrealloc {
    BLOCK_PREALLOC_OFF,
    BLOCK_PREALLOC_METADATA,
    BLOCK_PREALLOC_FALLOC,
    BLOCK_PREALLOC_FULL
} BlockPrealloc;
bool block_prealloc_from_name(const char *name, BlockPrealloc *out);
const char *block_prealloc_name(BlockPrealloc prealloc);
/* Grow or shrink to exactly @bytes. */
bool coroutine_fn block_co_truncate(BlockNode *node, int64_t bytes, BlockPrealloc prealloc, GError **errp);

/* ---- block status ---------------------------------------------------------------------------------------------- */

enum {
    BLOCK_STATUS_DATA = 1 << 0,      /* has data of its own to read */
    BLOCK_STATUS_ZERO = 1 << 1,      /* reads as zeros */
    BLOCK_STATUS_ALLOCATED = 1 << 2, /* decided by this layer, not by its backing file */
    BLOCK_STATUS_OFFSET = 1 << 3,    /* host_off is valid and the range is stored raw there */
    BLOCK_STATUS_COMPRESSED = 1 << 4,
    BLOCK_STATUS_EOF = 1 << 5,     /* the run ends at the end of the image */
    BLOCK_STATUS_RECURSE = 1 << 6, /* drivers: ask the file child at host_off too (holes in raw) */
};
typedef struct BlockStatus {
    unsigned flags;
    int64_t bytes;    /* length of the run, > 0 unless at EOF */
    int64_t host_off; /* offset in @file when BLOCK_STATUS_OFFSET */
    BlockNode *file;  /* borrowed: the node host_off is in (the image's protocol file) */
    int depth;        /* layer of the chain that decides, 0 = @node; set by block_co_status_above */
} BlockStatus;

/* Status of a run at @offset of at most @bytes, in this layer alone. */
int coroutine_fn block_co_status(BlockNode *node, int64_t offset, int64_t bytes, BlockStatus *st);
/* The same through the chain from @node down to but not including @base (NULL = all of it). Unallocated everywhere:
 * ZERO without DATA and ALLOCATED, depth = deepest layer. */
int coroutine_fn block_co_status_above(BlockNode *node, BlockNode *base, int64_t offset, int64_t bytes,
                                       BlockStatus *st);

/* ---- create, facts, check, measure ----------------------------------------------------------------------------- */

/* Create an image of @format at @filename. @options: create options by name ("size", "cluster_size",
 * "encrypt.key-secret", "backing_file", ...), already checked against the driver's table. Nothing half-made is left. */
bool coroutine_fn block_co_create(const char *format, const char *filename, const OptDict *options, GError **errp);

/* Remove the file of an image that was made and could not be finished. Devices stay, and so do links: what they point
 * to is removed. */
void coroutine_fn block_delete_file(const char *filename);

const BlockDriver *block_driver_find(const char *format);        /* by format name; NULL if unknown */
const OptDesc *block_driver_create_opts(const BlockDriver *drv); /* NULL = cannot create */
/* The same followed by the options of the file that the image is made in: all that block_co_create() takes. The caller
 * frees the array, not what it points at. */
OptDesc *block_driver_create_opts_all(const BlockDriver *drv);
bool block_driver_supports_backing(const BlockDriver *drv);
bool block_driver_supports_compressed(const BlockDriver *drv);
const char *block_driver_name(const BlockDriver *drv);
void block_driver_foreach(void (*fn)(const BlockDriver *drv, void *opaque), void *opaque);
/* False when "proto:" of the @filename of a new image names a protocol we lack: "Unknown protocol 'x'". So
 * does json:, which names what is there, not what is to be. */
bool block_filename_protocol_known(const char *filename, GError **errp);

/* Change options of an image that is open read-write, by nobody else. @options: names and values as in -o. @force: also
 * what may lose the data. Errors: "Format driver 'x' does not support option amendment", "Invalid parameter 'x'" (with
 * a second line for options of creation only), and the driver's. */
bool coroutine_fn block_co_amend(BlockNode *node, const OptDict *options, bool force, GError **errp);
const OptDesc *block_driver_amend_opts(const BlockDriver *drv); /* NULL = nothing can be amended */

typedef struct BlockInfo {
    int64_t cluster_bytes;   /* 0 = none */
    int64_t vm_state_offset; /* 0 = none */
    bool is_dirty;
    bool needs_compressed_whole_clusters;
} BlockInfo;
int coroutine_fn block_co_get_info(BlockNode *node, BlockInfo *info);
/* "Format specific information" as {type, data} in plain order, or NULL if the format has none. Caller frees. */
InfoTree *coroutine_fn block_co_specific_info(BlockNode *node, GError **errp);
int64_t coroutine_fn block_co_allocated_bytes(BlockNode *node); /* "disk size" of the image's own files, or -errno */

enum { BLOCK_FIX_LEAKS = 1, BLOCK_FIX_ERRORS = 2 };
typedef struct BlockCheckResult {
    int64_t corruptions, leaks, check_errors, corruptions_fixed, leaks_fixed;
    int64_t image_end_offset;
    int64_t total_clusters, allocated_clusters, fragmented_clusters, compressed_clusters;
} BlockCheckResult;
/* Details go to stderr as they are found. 0; -ENOTSUP if the format has no check; -errno when it could not be done. */
int coroutine_fn block_co_check(BlockNode *node, BlockCheckResult *res, unsigned fix);

typedef struct BlockMeasure {
    uint64_t required, fully_allocated;
    uint64_t bitmaps; /* for the source's persistent bitmaps */
    bool has_bitmaps; /* both formats can hold them: @bitmaps counts, and may be 0 */
} BlockMeasure;
/* @node NULL: for a new image of options' "size". */
bool coroutine_fn block_co_measure(const BlockDriver *drv, const OptDict *options, BlockNode *node, BlockMeasure *out,
                                   GError **errp);

#endif
