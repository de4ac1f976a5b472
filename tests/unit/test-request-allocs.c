/* SPDX-License-Identifier: MIT */
/* In steady state a request takes nothing from the heap: not plain, not encrypted, not when it allocates clusters.
 *
 * This program's own malloc() counts and passes on to libc's. */
#include "tests/unit/qcow2-fixture.h"
#include "util/loop/loop-team.h"

#if !defined(__GLIBC__) || defined(QBLOCK_ASAN) || defined(QBLOCK_TSAN)

int main(void)
{
    printf("skipped: another malloc() is in use\n");
    return 77;
}

#else

enum { REQUEST = 4096, ROUND = 500, DEPTH = 8 };

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *mem, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);

static _Atomic unsigned long taken;

__attribute__((visibility("default"))) void *malloc(size_t bytes)
{
    taken++;
    return __libc_malloc(bytes);
}

__attribute__((visibility("default"))) void *calloc(size_t n, size_t bytes)
{
    taken++;
    return __libc_calloc(n, bytes);
}

__attribute__((visibility("default"))) void *realloc(void *mem, size_t bytes)
{
    taken++;
    return __libc_realloc(mem, bytes);
}

__attribute__((visibility("default"))) int posix_memalign(void **mem, size_t align, size_t bytes)
{
    taken++;
    *mem = __libc_memalign(align, bytes);
    return *mem ? 0 : ENOMEM;
}

typedef enum Op { OP_READ, OP_WRITE } Op;

typedef struct Crowd {
    BlockNode *node;
    Op op;
    uint64_t first; /* request; they follow each other */
    _Atomic unsigned next, failed;
} Crowd;

static void coroutine_fn requester(void *opaque, unsigned idx)
{
    Crowd *c = opaque;
    uint8_t buf[REQUEST] = {0x5a};

    for (unsigned i; (i = c->next++) < ROUND;) {
        uint64_t off = (c->first + i) * REQUEST;
        int ret = c->op == OP_READ ? block_co_pread(c->node, off, buf, REQUEST, 0)
                                   : block_co_pwrite(c->node, off, buf, REQUEST, 0);
        c->failed += ret < 0;
    }
}

/* Heap blocks taken while ROUND requests ran, DEPTH at a time, on one loop. */
static unsigned long count(LoopTeam *team, BlockNode *node, Op op, uint64_t first)
{
    Crowd c = {.node = node, .op = op, .first = first};
    unsigned long before = taken;

    loop_team_run(team, DEPTH, requester, &c);
    unsigned long after = taken;
    ck_assert_uint_eq(c.failed, 0);
    return after - before;
}

/* A team's start takes something of its own, so that two rounds may not differ by as much as a block a request. */
static void expect_none(LoopTeam *team, BlockNode *node, const char *what, Op op, uint64_t first)
{
    count(team, node, op, first); /* warm up: tables, caches of coroutines and buffers */
    unsigned long n = count(team, node, op, op == OP_READ ? first : first + ROUND);

    ck_assert_msg(n < ROUND / 20, "%s: %lu heap blocks in %d requests", what, n, ROUND);
}

static void try_image(const char *options, const char *more)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = g_build_filename(dir, "image.qcow2", NULL);
    LoopTeam *team = loop_team_new(1);

    create_image(path, options);
    BlockNode *node = open_image(path, more, BLOCK_OPEN_RDWR);
    expect_none(team, node, "allocating write", OP_WRITE, 0);
    expect_none(team, node, "overwrite", OP_WRITE, 0);
    expect_none(team, node, "read", OP_READ, 0);
    expect_none(team, node, "read of nothing", OP_READ, 4 * ROUND);
    close_image(node);
    loop_team_free(team);
}

START_CO_TEST(plain_requests_take_nothing_from_the_heap)
{
    try_image("size=64M", NULL);
    try_image("size=64M,cluster_size=4k", NULL);
}

START_CO_TEST(encrypted_requests_take_nothing_from_the_heap)
{
    try_image("size=64M,encrypt.format=luks,encrypt.key-secret=allocs,encrypt.iter-time=10",
              "encrypt.key-secret=allocs");
}

int main(void)
{
    Suite *s = suite_create("request-allocs");
    TCase *tc = tcase_create("all");
    GError *err = NULL;

    if (!crypto_init(&err) || !secret_add_object("secret,id=allocs,data=very secret", &err)) {
        fprintf(stderr, "%s\n", err->message);
        return 1;
    }
    tcase_add_test(tc, plain_requests_take_nothing_from_the_heap);
    tcase_add_test(tc, encrypted_requests_take_nothing_from_the_heap);
    suite_add_tcase(s, tc);
    return run_suite(s);
}

#endif
