/* SPDX-License-Identifier: MIT */
/* Image locks: shared byte-range locks that tell other processes what we do and do not share (command-line sheet
 * section 1, "Force share and image locking"). They belong to the open file description and go with it. */
#ifndef QBLOCK_BLOCK_FILE_POSIX_LOCK_H
#define QBLOCK_BLOCK_FILE_POSIX_LOCK_H

#include <glib.h>
#include <stdbool.h>

typedef enum FileLockMode {
    FILE_LOCK_AUTO, /* where the file system can */
    FILE_LOCK_ON,   /* or else refuse */
    FILE_LOCK_OFF,
} FileLockMode;

/* What is held on a descriptor: bits of BLOCK_PERM_*. */
typedef struct FileLocks {
    unsigned perms, unshared;
} FileLocks;

/* Hold exactly @perms and not share @unshared on @fd, after checking that nobody else objects. On failure *@held is as
 * it was. @name is for the message. Context: any. */
bool file_lock_set(int fd, FileLockMode mode, FileLocks *held, unsigned perms, unsigned unshared, const char *name,
                   GError **errp);

/* Give up every lock of @fd. For the end: what was held is not recorded. */
void file_lock_drop(int fd, FileLockMode mode);

/* "on", "off", "auto". */
bool file_lock_mode_from_name(const char *name, FileLockMode *out);

#endif
