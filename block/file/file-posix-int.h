/* SPDX-License-Identifier: MIT */
/* State of the file drivers, shared by file-posix.c (open, length, tables), file-posix-io.c (data), file-posix-size.c
 * (truncate) and file-posix-create.c. */
#ifndef QBLOCK_BLOCK_FILE_POSIX_INT_H
#define QBLOCK_BLOCK_FILE_POSIX_INT_H

#include "block/block-int.h"
#include "block/file/file-posix-lock.h"
#include "util/loop/event-loop.h"

typedef enum FileKind { FILE_REGULAR, FILE_BLOCK_DEVICE, FILE_CHAR_DEVICE } FileKind;

typedef struct FileState {
    /* fixed after open */
    int fd;
    FileKind kind;
    bool direct;    /* O_DIRECT: offsets, lengths and addresses are aligned */
    bool in_memory; /* a file of tmpfs: transfers wait for no device */
    LoopIoBy io_by; /* aio=threads: workers; else the engine */
    FileLockMode locking;
    FileLocks locks; /* changed by set_perms only, while nobody does I/O */

    /* atomic: what the file system turned out not to support */
    _Atomic bool no_punch, no_zero_range, no_fallocate, no_zeroout, no_discard;
    /* atomic: a write under O_DIRECT ended past the length of the node: padding may lie behind it */
    _Atomic bool padded_end;
    /* atomic: errno of the first failed sync. The kernel drops the pages and the next sync would succeed. */
    _Atomic int sync_error;
} FileState;

/* Length of the file in bytes, or -errno. Context: any. */
int64_t file_posix_length(const FileState *s);

/* open() of a file or device; never waits. A descriptor, or -1 with errno. Context: any. */
int file_posix_open_fd(const char *path, int oflags);

/* The driver's callbacks that live in the other files. */
int coroutine_fn file_posix_co_read(BlockNode *node, const BlockRw *rw);
int coroutine_fn file_posix_co_write(BlockNode *node, const BlockRw *rw);
int coroutine_fn file_posix_co_write_zeroes(BlockNode *node, int64_t offset, int64_t bytes, unsigned flags);
int coroutine_fn file_posix_co_discard(BlockNode *node, int64_t offset, int64_t bytes);
int coroutine_fn file_posix_co_flush(BlockNode *node);
int coroutine_fn file_posix_co_status(BlockNode *node, int64_t offset, int64_t bytes, BlockStatus *st);
bool coroutine_fn file_posix_co_reads_zero(BlockNode *node, int64_t offset, int64_t bytes);
bool coroutine_fn file_posix_co_truncate(BlockNode *node, int64_t bytes, BlockPrealloc prealloc, GError **errp);
bool coroutine_fn file_posix_co_create(const char *filename, OptDict *options, GError **errp);
bool coroutine_fn file_posix_co_create_on_device(const char *filename, OptDict *options, GError **errp);
extern const OptDesc file_posix_create_opts[];

#endif
