/* SPDX-License-Identifier: MIT */
/* What tests of qcow2's control path share: making images, patterns in them, numbers in their files. */
#ifndef QBLOCK_TESTS_UNIT_QCOW2_FIXTURE_H
#define QBLOCK_TESTS_UNIT_QCOW2_FIXTURE_H

#include <fcntl.h>

#include "block/qcow2/state/qcow2-int.h"
#include "crypto/cipher/init.h"
#include "crypto/secret/secret.h"
#include "tests/unit/block-fixture.h"
#include "util/base/endian.h"
#include "util/base/error.h"

enum { CLUSTER = 65536 };

static inline bool try_create(const char *path, const char *options, GError **errp)
{
    g_autoptr(OptDict) opts = optdict_parse_keyval(options, NULL, NULL);

    return block_co_create("qcow2", path, opts, errp);
}

static inline void create_image(const char *path, const char *options)
{
    g_autoptr(GError) err = NULL;

    ck_assert_msg(try_create(path, options, &err), "%s: %s", options, err ? err->message : "?");
}

static inline BlockNode *open_image(const char *path, const char *more, unsigned flags)
{
    g_autofree char *text =
        g_strdup_printf("driver=qcow2,file.filename=%s%s%s", path, more ? "," : "", more ? more : "");

    /* Nothing here is about power loss, and syncs are slow. */
    return open_opts(text, flags | BLOCK_OPEN_NO_FLUSH);
}

static inline void fill(BlockNode *node, uint64_t offset, uint64_t bytes, uint8_t pattern)
{
    g_autofree uint8_t *buf = g_malloc(bytes);

    memset(buf, pattern, bytes);
    ck_assert_int_eq(block_co_pwrite(node, offset, buf, bytes, 0), 0);
}

static inline void assert_filled(BlockNode *node, uint64_t offset, uint64_t bytes, uint8_t pattern)
{
    g_autofree uint8_t *buf = g_malloc(bytes);

    ck_assert_int_eq(block_co_pread(node, offset, buf, bytes, 0), 0);
    /* One assertion: each tells the test runner where it is. */
    uint64_t same = 0;
    while (same < bytes && buf[same] == pattern) {
        same++;
    }
    ck_assert_msg(same == bytes, "byte %" PRIu64 " is %#x, not %#x", offset + same, buf[MIN(same, bytes - 1)], pattern);
}

static inline void close_image(BlockNode *node)
{
    ck_assert_int_eq(block_co_close(node), 0);
}

/* Check @path without fixing; the number of errors and leaks. */
static inline int64_t count_problems(const char *path)
{
    BlockNode *node = open_image(path, NULL, BLOCK_OPEN_CHECK);
    BlockCheckResult res = {0};

    ck_assert_int_eq(block_co_check(node, &res, 0), 0);
    close_image(node);
    return res.corruptions + res.leaks + res.check_errors;
}

static inline uint64_t file_u64(const char *path, uint64_t at)
{
    uint8_t raw[8];
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pread(fd, raw, sizeof(raw), at), sizeof(raw));
    close(fd);
    return load_be64(raw);
}

static inline void poke(const char *path, uint64_t at, const void *data, size_t bytes)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pwrite(fd, data, bytes, at), bytes);
    close(fd);
}

static inline void poke_u64(const char *path, uint64_t at, uint64_t value)
{
    uint8_t raw[8];

    store_be64(raw, value);
    poke(path, at, raw, sizeof(raw));
}

static inline void poke_u16(const char *path, uint64_t at, uint16_t value)
{
    uint8_t raw[2];

    store_be16(raw, value);
    poke(path, at, raw, sizeof(raw));
}

static inline int64_t file_bytes(const char *path)
{
    struct stat st;

    ck_assert_int_eq(stat(path, &st), 0);
    return st.st_size;
}

#endif
