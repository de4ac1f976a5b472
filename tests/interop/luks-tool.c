/* SPDX-License-Identifier: MIT */
/* A LUKS volume through the crypto layer alone, for tests that compare it with other tools:
 *
 *     luks-tool create FILE SIZE PASSFILE [OPT=VALUE,...]   new volume whose payload is the pattern
 *     luks-tool dump FILE PASSFILE OUT                      the payload in clear
 *     luks-tool pattern SIZE OUT                            the pattern itself
 *     luks-tool info FILE                                   the header as JSON
 *     luks-tool mend FILE PASSFILE                          open read-write: a damaged LUKS2 header copy is rewritten
 *
 * The pattern differs in every sector, so that a wrong IV shows. SIZE is a multiple of 512. Errors: one line, status 1.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crypto/formats/block-open.h"
#include "crypto/volume/block.h"
#include "crypto/secret/secret.h"
#include "util/base/endian.h"
#include "util/base/error.h"

enum { CHUNK = 65536 };

static int file_read(void *opaque, uint64_t offset, void *buf, size_t bytes)
{
    ssize_t n = pread(*(int *)opaque, buf, bytes, offset);

    return n == (ssize_t)bytes ? 0 : n < 0 ? -errno : -EIO;
}

static int file_write(void *opaque, uint64_t offset, const void *buf, size_t bytes)
{
    ssize_t n = pwrite(*(int *)opaque, buf, bytes, offset);

    return n == (ssize_t)bytes ? 0 : n < 0 ? -errno : -EIO;
}

static void fill_pattern(uint8_t *buf, uint64_t offset, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 8) {
        store_le64(buf + i, (offset + i) * UINT64_C(0x9e3779b97f4a7c15));
    }
}

static bool add_password(const char *path, GError **errp)
{
    g_autoptr(OptDict) o = optdict_new();

    optdict_set(o, "id", "pw");
    optdict_set(o, "file", path);
    return secret_add(o, errp);
}

static int open_file(const char *path, int flags, GError **errp)
{
    int fd = open(path, flags | O_CLOEXEC, 0666);

    if (fd < 0) {
        error_set_errno(errp, errno, "%s", path);
    }
    return fd;
}

static CryptoBlock *open_volume(int *fd, const char *path, unsigned flags, GError **errp)
{
    CryptoIo io = {.read = file_read, .write = file_write, .opaque = fd};
    g_autoptr(OptDict) o = optdict_new();
    struct stat st;

    *fd = open_file(path, flags & CRYPTO_OPEN_REPAIR ? O_RDWR : O_RDONLY, errp);
    if (*fd < 0) {
        return NULL;
    }
    if (fstat(*fd, &st)) {
        error_set_errno(errp, errno, "%s", path);
        return NULL;
    }
    optdict_set(o, "key-secret", "pw");
    return crypto_block_open(CRYPTO_FORMAT_LUKS_ANY, o, "", &io, st.st_size, flags, errp);
}

/* Write the pattern into @fd, encrypted when @b. */
static bool write_pattern(int fd, CryptoBlock *b, uint64_t size, GError **errp)
{
    uint64_t base = b ? crypto_block_payload_offset(b) : 0;
    g_autofree uint8_t *buf = g_malloc(CHUNK);

    for (uint64_t pos = 0; pos < size; pos += CHUNK) {
        size_t n = MIN(CHUNK, size - pos);
        int ret = 0;

        fill_pattern(buf, pos, n);
        if (b) {
            ret = crypto_block_encrypt(b, pos, buf, buf, n);
        }
        if (ret == 0) {
            ret = file_write(&fd, base + pos, buf, n);
        }
        if (ret < 0) {
            error_set_errno(errp, -ret, "Unable to write payload");
            return false;
        }
    }
    return true;
}

static bool cmd_create(int argc, char **argv, GError **errp)
{
    int fd = open_file(argv[0], O_RDWR | O_CREAT | O_TRUNC, errp);
    CryptoIo io = {.read = file_read, .write = file_write, .opaque = &fd};
    g_autoptr(OptDict) o = optdict_parse_keyval(argc > 3 ? argv[3] : "", NULL, errp);
    g_autoptr(CryptoBlock) b = NULL;
    bool ok = false;

    if (fd >= 0 && o && add_password(argv[2], errp)) {
        optdict_set(o, "key-secret", "pw");
        b = crypto_block_create(CRYPTO_FORMAT_LUKS_ANY, o, "", &io, errp);
        ok = b && write_pattern(fd, b, strtoull(argv[1], NULL, 0), errp);
    }
    if (ok && optdict_size(o) > 0) {
        error_set(errp, "Invalid parameter '%s'", optdict_key_at(o, 0));
        ok = false;
    }
    if (fd >= 0) {
        close(fd);
    }
    return ok;
}

static bool cmd_dump(int argc, char **argv, GError **errp)
{
    int fd = -1, out = open_file(argv[2], O_WRONLY | O_CREAT | O_TRUNC, errp);
    g_autofree uint8_t *buf = g_malloc(CHUNK);
    g_autoptr(CryptoBlock) b = NULL;
    ssize_t n = 0;

    if (out < 0 || !add_password(argv[1], errp) || !(b = open_volume(&fd, argv[0], 0, errp))) {
        return false;
    }
    for (uint64_t pos = 0; (n = pread(fd, buf, CHUNK, crypto_block_payload_offset(b) + pos)) > 0; pos += n) {
        int ret = crypto_block_decrypt(b, pos, buf, buf, n);

        if (ret == 0) {
            ret = file_write(&out, pos, buf, n);
        }
        if (ret < 0) {
            error_set_errno(errp, -ret, "Unable to dump payload");
            return false;
        }
    }
    close(fd);
    close(out);
    return n == 0;
}

static bool cmd_pattern(int argc, char **argv, GError **errp)
{
    int fd = open_file(argv[1], O_WRONLY | O_CREAT | O_TRUNC, errp);

    return fd >= 0 && write_pattern(fd, NULL, strtoull(argv[0], NULL, 0), errp);
}

static bool cmd_info(int argc, char **argv, GError **errp)
{
    int fd;
    g_autoptr(CryptoBlock) b = open_volume(&fd, argv[0], CRYPTO_OPEN_NO_IO, errp);
    g_autoptr(InfoTree) t = b ? crypto_block_info(b) : NULL;
    g_autofree char *json = t ? info_to_json(t, false) : NULL;

    if (json) {
        puts(json);
    }
    return json;
}

static bool cmd_mend(int argc, char **argv, GError **errp)
{
    int fd = -1;
    g_autoptr(CryptoBlock) b = NULL;

    if (!add_password(argv[1], errp) || !(b = open_volume(&fd, argv[0], CRYPTO_OPEN_REPAIR, errp))) {
        return false;
    }
    return close(fd) == 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int min_args;
        bool (*func)(int argc, char **argv, GError **errp);
    } commands[] = {{"create", 3, cmd_create},
                    {"dump", 3, cmd_dump},
                    {"pattern", 2, cmd_pattern},
                    {"info", 1, cmd_info},
                    {"mend", 2, cmd_mend}};

    for (size_t i = 0; i < G_N_ELEMENTS(commands); i++) {
        if (argc >= 2 && !strcmp(argv[1], commands[i].name) && argc - 2 >= commands[i].min_args) {
            g_autoptr(GError) err = NULL;
            bool ok = commands[i].func(argc - 2, argv + 2, &err);

            if (!ok) {
                fprintf(stderr, "luks-tool: %s\n", err ? err->message : "failed");
            }
            secret_forget_all();
            return ok ? 0 : 1;
        }
    }
    fprintf(stderr, "luks-tool: create|dump|pattern|info|mend\n");
    return 2;
}
