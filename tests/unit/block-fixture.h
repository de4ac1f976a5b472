/* SPDX-License-Identifier: MIT */
/* What tests of the block layer share: a body run in a coroutine, scratch files, a node in memory, opening by text. */
#ifndef QBLOCK_TESTS_UNIT_BLOCK_FIXTURE_H
#define QBLOCK_TESTS_UNIT_BLOCK_FIXTURE_H

#include <check.h>
#include <errno.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "block/block-int.h"
#include "block/core/limits.h"
#include "block/core/node.h"
#include "tests/unit/loop-fixture.h"
#include "util/loop/event-loop.h"

/* A test whose body runs in a coroutine. */
#define START_CO_TEST(name)                                                                                            \
    static void name##_body(void *opaque G_GNUC_UNUSED);                                                               \
    START_TEST(name)                                                                                                   \
    {                                                                                                                  \
        run_on_fresh_loop(name##_body, NULL);                                                                          \
    }                                                                                                                  \
    END_TEST                                                                                                           \
    static void name##_body(void *opaque G_GNUC_UNUSED)

/* ---- scratch files --------------------------------------------------------------------------------------------- */

/* A path in a fresh folder that scratch_free() removes with everything in it. */
static inline char *scratch_dir(void)
{
    g_autofree char *dir = g_build_filename(g_get_tmp_dir(), "qblock-test-XXXXXX", NULL);

    ck_assert_ptr_nonnull(g_mkdtemp(dir));
    return g_steal_pointer(&dir);
}

static inline void scratch_free(char *dir)
{
    g_autoptr(GDir) d = g_dir_open(dir, 0, NULL);
    const char *name;

    while (d && (name = g_dir_read_name(d)) != NULL) {
        g_autofree char *path = g_build_filename(dir, name, NULL);
        g_unlink(path);
    }
    g_rmdir(dir);
    g_free(dir);
}
typedef char ScratchDir;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ScratchDir, scratch_free)

static inline char *scratch_file(const char *dir, const char *name, const void *data, size_t bytes)
{
    char *path = g_build_filename(dir, name, NULL);

    ck_assert(g_file_set_contents(path, data ? data : "", bytes, NULL));
    return path;
}

/* ---- opening --------------------------------------------------------------------------------------------------- */

/* Open from key=value text, as --image-opts does; the test fails when that does. */
static inline BlockNode *open_opts(const char *text, unsigned flags)
{
    g_autoptr(GError) err = NULL;
    g_autoptr(OptDict) opts = optdict_parse_keyval(text, NULL, &err);

    ck_assert_msg(opts != NULL, "%s", err ? err->message : "?");
    BlockNode *node = block_co_open(NULL, NULL, opts, flags, &err);
    ck_assert_msg(node != NULL, "%s: %s", text, err ? err->message : "?");
    return node;
}

/* The message that opening fails with; the test fails when it does not. Caller frees. */
static inline char *open_error(const char *filename, const char *format, const char *text, unsigned flags)
{
    GError *err = NULL;
    g_autoptr(OptDict) opts = text ? optdict_parse_keyval(text, NULL, &err) : NULL;
    BlockNode *node = block_co_open(filename, format, opts, flags, &err);

    ck_assert_msg(node == NULL, "%s opened", filename ? filename : text);
    ck_assert_ptr_nonnull(err);
    char *message = g_strdup(err->message);
    g_error_free(err);
    return message;
}

#define ck_assert_open_error(filename, format, opts, flags, expected)                                                  \
    do {                                                                                                               \
        g_autofree char *message_ = open_error(filename, format, opts, flags);                                         \
        ck_assert_str_eq(message_, expected);                                                                          \
    } while (0)

/* ---- a node in memory ------------------------------------------------------------------------------------------ */

#define MEM_BYTES (256u << 10)

/* How the driver was called, and how it shall behave. */
typedef struct MemState {
    uint8_t data[MEM_BYTES];
    unsigned reads, writes, zeroes, discards, flushes;
    int64_t largest; /* request seen */
    int fail_write, fail_flush;
    bool refuses_zeroes; /* with -ENOTSUP */
    bool yields;         /* lets others run within each request */
} MemState;

static inline void mem_enter(MemState *m, const BlockNode *node, int64_t offset, int64_t bytes)
{
    ck_assert(offset % node->limits.request_align == 0 && bytes % node->limits.request_align == 0);
    ck_assert(bytes > 0 && offset + bytes <= MEM_BYTES);
    m->largest = MAX(m->largest, bytes);
    if (m->yields) {
        coroutine_reschedule();
    }
}

static inline int mem_co_read(BlockNode *node, const BlockRw *rw)
{
    MemState *m = node->state;

    mem_enter(m, node, rw->offset, rw->bytes);
    m->reads++;
    iovec_from_buf(rw->iov, rw->iov_off, m->data + rw->offset, rw->bytes);
    return 0;
}

static inline int mem_co_write(BlockNode *node, const BlockRw *rw)
{
    MemState *m = node->state;

    mem_enter(m, node, rw->offset, rw->bytes);
    m->writes++;
    if (m->fail_write) {
        return -m->fail_write;
    }
    iovec_to_buf(rw->iov, rw->iov_off, m->data + rw->offset, rw->bytes);
    return 0;
}

static inline int mem_co_write_zeroes(BlockNode *node, int64_t offset, int64_t bytes, unsigned flags)
{
    MemState *m = node->state;

    mem_enter(m, node, offset, bytes);
    if (m->refuses_zeroes || offset % node->limits.zero_align || bytes % node->limits.zero_align) {
        return -ENOTSUP;
    }
    m->zeroes++;
    memset(m->data + offset, 0, bytes);
    return 0;
}

static inline int mem_co_discard(BlockNode *node, int64_t offset, int64_t bytes)
{
    MemState *m = node->state;

    mem_enter(m, node, offset, bytes);
    m->discards++;
    memset(m->data + offset, 0xdd, bytes);
    return 0;
}

static inline int mem_co_flush(BlockNode *node)
{
    MemState *m = node->state;

    m->flushes++;
    return -m->fail_flush;
}

static const BlockDriver mem_driver = {
    .format_name = "mem",
    .protocol = "mem",
    .state_bytes = sizeof(MemState),
    .co_read = mem_co_read,
    .co_write = mem_co_write,
    .co_write_zeroes = mem_co_write_zeroes,
    .co_discard = mem_co_discard,
    .co_flush = mem_co_flush,
};

static inline BlockNode *mem_node_new(unsigned flags, const BlockLimits *limits)
{
    BlockNode *node = block_node_new(&mem_driver, flags | BLOCK_OPEN_RDWR);

    node->limits = limits ? *limits : (BlockLimits){0};
    block_limits_complete(&node->limits);
    block_node_set_length(node, MEM_BYTES);
    return node;
}

static inline MemState *mem_state(BlockNode *node)
{
    return node->state;
}

#endif
