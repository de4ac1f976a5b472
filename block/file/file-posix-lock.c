/* SPDX-License-Identifier: MIT */
#include "block/file/file-posix-lock.h"

#include <errno.h>
#include <fcntl.h>

#include "util/base/error.h"
#include "util/base/trace.h"

#define LOCK_PERM_BASE     100 /* byte of permission i held */
#define LOCK_UNSHARED_BASE 200 /* byte of permission i not shared with others */
#define LOCK_PERMS         4

static const char *const perm_names[LOCK_PERMS] = {"consistent read", "write", "write unchanged", "resize"};

static int set_lock(int fd, int start, short type)
{
    struct flock fl = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = 1};
    int ret;

    do {
        ret = fcntl(fd, F_OFD_SETLK, &fl);
    } while (ret < 0 && errno == EINTR);
    return ret < 0 ? -errno : 0;
}

/* Could the byte be locked exclusively? Then nobody else holds a lock on it. -EAGAIN if somebody does. */
static int test_lock(int fd, int start)
{
    struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = 1};

    if (fcntl(fd, F_OFD_GETLK, &fl) < 0) {
        return -errno;
    }
    return fl.l_type == F_UNLCK ? 0 : -EAGAIN;
}

static int set_bits(int fd, int base, unsigned bits, short type)
{
    for (int i = 0; i < LOCK_PERMS; i++) {
        int ret = bits & (1u << i) ? set_lock(fd, base + i, type) : 0;
        if (ret < 0) {
            return ret;
        }
    }
    return 0;
}

/* The first conflicting permission into *@which. */
static int test_bits(int fd, int base, unsigned bits, int *which)
{
    for (int i = 0; i < LOCK_PERMS; i++) {
        int ret = bits & (1u << i) ? test_lock(fd, base + i) : 0;
        if (ret < 0) {
            *which = i;
            return ret;
        }
    }
    return 0;
}

/* Own locks first, then the look at others': of two that do this at once at least one sees the other. */
static int take_and_test(int fd, const FileLocks *held, unsigned perms, unsigned unshared, const char **kind,
                         int *which)
{
    int ret = set_bits(fd, LOCK_PERM_BASE, perms & ~held->perms, F_RDLCK);

    *which = 0;
    *kind = "";
    if (ret == 0) {
        ret = set_bits(fd, LOCK_UNSHARED_BASE, unshared & ~held->unshared, F_RDLCK);
    }
    if (ret == 0) {
        ret = test_bits(fd, LOCK_UNSHARED_BASE, perms, which);
    }
    if (ret == 0) {
        *kind = "shared ";
        ret = test_bits(fd, LOCK_PERM_BASE, unshared, which);
    }
    return ret;
}

static bool is_unsupported(int err)
{
    return err == -ENOLCK || err == -EINVAL || err == -EOPNOTSUPP || err == -ENOSYS || err == -ENOTTY || err == -EBADF;
}

bool file_lock_set(int fd, FileLockMode mode, FileLocks *held, unsigned perms, unsigned unshared, const char *name,
                   GError **errp)
{
    const char *kind;
    int which;

    if (mode == FILE_LOCK_OFF) {
        return true;
    }
    int ret = take_and_test(fd, held, perms, unshared, &kind, &which);
    if (ret == 0) {
        set_bits(fd, LOCK_PERM_BASE, held->perms & ~perms, F_UNLCK);
        set_bits(fd, LOCK_UNSHARED_BASE, held->unshared & ~unshared, F_UNLCK);
        *held = (FileLocks){.perms = perms, .unshared = unshared};
        trace(TRACE_FILE, "locks", "fd=%d perms=0x%x unshared=0x%x", fd, perms, unshared);
        return true;
    }
    set_bits(fd, LOCK_PERM_BASE, perms & ~held->perms, F_UNLCK);
    set_bits(fd, LOCK_UNSHARED_BASE, unshared & ~held->unshared, F_UNLCK);
    if (is_unsupported(ret) && mode == FILE_LOCK_AUTO) {
        return true;
    }
    if (ret == -EAGAIN || ret == -EACCES) {
        error_set(errp, "Failed to get %s\"%s\" lock\nIs another process using the image [%s]?", kind,
                  perm_names[which], name);
    } else {
        error_set_errno(errp, -ret, "Failed to lock '%s'", name);
    }
    return false;
}

bool file_lock_mode_from_name(const char *name, FileLockMode *out)
{
    static const char *const names[] = {"auto", "on", "off"};

    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        if (g_str_equal(name, names[i])) {
            *out = (FileLockMode)i;
            return true;
        }
    }
    return false;
}

void file_lock_drop(int fd, FileLockMode mode)
{
    struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

    if (mode != FILE_LOCK_OFF) {
        fcntl(fd, F_OFD_SETLK, &all);
    }
}
