/* SPDX-License-Identifier: MIT */
/* Random requests from 16 coroutines on 4 loops against one image, with a shadow of what must be read back.
 *
 * The disk is cut into zones whose borders lie inside clusters. A zone is worked on by one coroutine at a time, so its
 * content is known exactly, while clusters are shared by neighbours: their allocations, copies and discards meet. */
#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "block/block.h"
#include "crypto/cipher/init.h"
#include "crypto/secret/secret.h"
#include "tests/unit/loop-fixture.h"
#include "util/loop/loop-team.h"

enum { LOOPS = 4, WORKERS = 16, SECTOR = 512, MAX_OP = 600 * 1024 };

typedef struct Setup {
    const char *name;
    uint64_t disk_bytes, cluster_bytes;
    const char *create_options, *open_options;
    bool encrypted, backing, compressed, copy_on_read;
    double seconds;
} Setup;

static const Setup setups[] = {
    {"plain 64k", 24 << 20, 65536, "cluster_size=64k", NULL, .seconds = 0.6},
    {"plain 4k over backing", 12 << 20, 4096, "cluster_size=4k", NULL, .backing = true, .seconds = 0.5},
    {"compressed 64k over backing", 24 << 20, 65536, "cluster_size=64k", NULL, .backing = true, .compressed = true,
     .seconds = 0.6},
    {"512 byte clusters, 1 bit refcounts", 2 << 20, 512, "cluster_size=512,refcount_bits=1", NULL, .seconds = 0.5},
    {"luks 64k over backing", 24 << 20, 65536, "cluster_size=64k", "encrypt-in-parallel=on", .encrypted = true,
     .backing = true, .seconds = 0.6},
    {"luks 4k", 8 << 20, 4096, "cluster_size=4k", NULL, .encrypted = true, .seconds = 0.5},
    {"lazy refcounts", 24 << 20, 65536, "cluster_size=64k,lazy_refcounts=on", NULL, .seconds = 0.4},
    {"version 2", 24 << 20, 65536, "compat=0.10", NULL, .seconds = 0.4},
    {"copy on read, 64k over backing", 24 << 20, 65536, "cluster_size=64k", NULL, .backing = true, .copy_on_read = true,
     .seconds = 0.5},
    {"copy on read, luks 4k over backing", 12 << 20, 4096, "cluster_size=4k", NULL, .encrypted = true, .backing = true,
     .copy_on_read = true, .seconds = 0.5},
    {"small caches", 8 << 20, 1024, "cluster_size=1k", "l2-cache-size=2048,refcount-cache-size=2048", .seconds = 0.5},
};

/* Several sectors past a multiple of the cluster, so that each border is inside one. */
static uint64_t zone_bytes(const Setup *t)
{
    return MAX(t->cluster_bytes, 8192) * 3 + 5 * SECTOR;
}

typedef struct Stress {
    const Setup *setup;
    char *dir, *path, *backing_path;
    BlockNode *node;
    uint8_t *shadow;
    uint64_t zones;
    _Atomic bool *busy;
    int64_t end_ns;
    _Atomic uint64_t ops;
} Stress;

static OptDict *parse(const char *text)
{
    GError *err = NULL;
    OptDict *d = text ? optdict_parse_keyval(text, NULL, &err) : optdict_new();

    ck_assert_msg(d != NULL, "%s", err ? err->message : "");
    return d;
}

static void fill(GRand *rand, uint8_t *buf, size_t bytes)
{
    /* Compresses to about half: some clusters of such data shrink, some do not. */
    for (size_t i = 0; i < bytes; i += 2) {
        buf[i] = g_rand_int(rand);
        buf[i + 1] = 0x5a;
    }
}

static void coroutine_fn create_image(const Stress *t, const char *path, const char *backing)
{
    g_autoptr(OptDict) options = parse(t->setup->create_options);
    GError *err = NULL;

    optdict_set_int(options, "size", t->setup->disk_bytes);
    if (backing) {
        optdict_set(options, "backing_file", backing);
        optdict_set(options, "backing_fmt", "raw");
    }
    if (t->setup->encrypted) {
        optdict_set(options, "encrypt.format", "luks");
        optdict_set(options, "encrypt.key-secret", "stress");
        optdict_set(options, "encrypt.iter-time", "10");
    }
    ck_assert_msg(block_co_create("qcow2", path, options, &err), "%s", err ? err->message : "");
}

static BlockNode *coroutine_fn open_image(const Stress *t, unsigned flags)
{
    g_autoptr(OptDict) options = parse(t->setup->open_options);
    GError *err = NULL;

    if (t->setup->encrypted) {
        optdict_set(options, "encrypt.key-secret", "stress");
    }
    BlockNode *node = block_co_open(t->path, "qcow2", options, flags, &err);
    ck_assert_msg(node != NULL, "%s: %s", t->setup->name, err ? err->message : "");
    return node;
}

/* The backing file is shorter than the disk and ends inside a cluster. */
static void make_backing(Stress *t)
{
    uint64_t bytes = t->setup->disk_bytes * 3 / 4 - 3 * SECTOR;
    g_autoptr(GRand) rand = g_rand_new_with_seed(99);
    GError *err = NULL;

    fill(rand, t->shadow, bytes);
    memset(t->shadow + bytes / 3, 0, bytes / 3);
    t->backing_path = g_build_filename(t->dir, "backing.raw", NULL);
    ck_assert_msg(g_file_set_contents(t->backing_path, (char *)t->shadow, bytes, &err), "%s", err ? err->message : "");
}

static void coroutine_fn write_compressed(Stress *t)
{
    uint64_t cs = t->setup->cluster_bytes;
    g_autoptr(GRand) rand = g_rand_new_with_seed(7);

    for (uint64_t off = 0; off + 5 * cs <= t->setup->disk_bytes; off += 9 * cs) {
        fill(rand, t->shadow + off, 5 * cs);
        memset(t->shadow + off + cs, 0x77, cs);
        ck_assert_int_eq(block_co_pwrite(t->node, off, t->shadow + off, 5 * cs, BLOCK_REQ_COMPRESSED), 0);
    }
}

/* Sectors of a request inside the zone. */
static void pick_range(GRand *rand, const Stress *t, uint64_t zone, uint64_t *off, uint64_t *bytes)
{
    uint64_t zone_off = zone * zone_bytes(t->setup);
    uint64_t sectors = (MIN(zone_off + zone_bytes(t->setup), t->setup->disk_bytes) - zone_off) / SECTOR;
    uint64_t first = g_rand_int_range(rand, 0, sectors), n = g_rand_int_range(rand, 1, sectors - first + 1);

    if (g_rand_int_range(rand, 0, 3) == 0) {
        first = 0;
        n = sectors;
    } else if (g_rand_boolean(rand)) {
        n = MIN(n, 8);
    }
    *off = zone_off + first * SECTOR;
    *bytes = n * SECTOR;
}

/* What a discard must leave: zeros where whole clusters are given up, all else as it was. */
static void shadow_discard(Stress *t, uint64_t off, uint64_t bytes)
{
    uint64_t cs = t->setup->cluster_bytes, start = (off + cs - 1) / cs * cs, end = off + bytes;

    if (end < t->setup->disk_bytes) {
        end = end / cs * cs;
    }
    if (start < end) {
        memset(t->shadow + start, 0, end - start);
    }
}

static void coroutine_fn verify(Stress *t, uint64_t off, uint64_t bytes, uint8_t *buf)
{
    /* Check writes to a pipe for each assertion, so none is made where all is well. */
    int ret = block_co_pread(t->node, off, buf, bytes, 0);
    if (ret < 0) {
        ck_abort_msg("%s: read at 0x%" PRIx64 ": %s", t->setup->name, off, strerror(-ret));
    }
    if (memcmp(buf, t->shadow + off, bytes) != 0) {
        uint64_t at = 0;
        while (buf[at] == t->shadow[off + at]) {
            at++;
        }
        ck_abort_msg("%s: differs at 0x%" PRIx64 ": 0x%02x, not 0x%02x", t->setup->name, off + at, buf[at],
                     t->shadow[off + at]);
    }
}

static void coroutine_fn random_op(Stress *t, GRand *rand, uint64_t zone, uint8_t *buf)
{
    uint64_t off, bytes;
    int ret = 0, op = g_rand_int_range(rand, 0, 20);

    pick_range(rand, t, zone, &off, &bytes);
    if (op < 8) {
        fill(rand, buf, bytes);
        memcpy(t->shadow + off, buf, bytes);
        ret = block_co_pwrite(t->node, off, buf, bytes, op < 3 ? BLOCK_REQ_OWN_BUFFER : 0);
    } else if (op < 13) {
        verify(t, off, bytes, buf);
    } else if (op < 16) {
        memset(t->shadow + off, 0, bytes);
        ret = block_co_pwrite_zeroes(t->node, off, bytes, op & 1 ? BLOCK_REQ_MAY_UNMAP : 0);
    } else if (op < 18) {
        BlockStatus st;
        ret = block_co_status_above(t->node, NULL, off, bytes, &st);
        ret = st.bytes > 0 ? ret : -ERANGE;
        if ((st.flags & BLOCK_STATUS_ZERO) && !buffer_is_zero(t->shadow + off, st.bytes)) {
            ck_abort_msg("%s: data at 0x%" PRIx64 " said to be zeros", t->setup->name, off);
        }
    } else if (op < 19 && strcmp(t->setup->name, "version 2") != 0) {
        shadow_discard(t, off, bytes);
        ret = block_co_pdiscard(t->node, off, bytes);
    } else if (g_rand_int_range(rand, 0, 8) == 0) {
        ret = block_co_flush(t->node);
    }
    if (ret >= 0) {
        t->ops++;
        return;
    }
    ck_abort_msg("%s: op %d at 0x%" PRIx64 "+%" PRIu64 ": %s", t->setup->name, op, off, bytes, strerror(-ret));
}

static void worker(void *opaque, unsigned idx)
{
    Stress *t = opaque;
    g_autoptr(GRand) rand = g_rand_new_with_seed(idx);
    g_autofree uint8_t *buf = g_malloc(zone_bytes(t->setup));

    while (clock_monotonic_ns() < t->end_ns) {
        uint64_t zone = g_rand_int_range(rand, 0, t->zones);
        if (!atomic_exchange(&t->busy[zone], true)) {
            random_op(t, rand, zone, buf);
            atomic_store(&t->busy[zone], false);
        } else {
            coroutine_reschedule();
        }
    }
}

static void coroutine_fn verify_all(Stress *t)
{
    g_autofree uint8_t *buf = g_malloc(MAX_OP);

    for (uint64_t off = 0; off < t->setup->disk_bytes; off += MAX_OP) {
        verify(t, off, MIN(MAX_OP, t->setup->disk_bytes - off), buf);
    }
}

static void coroutine_fn check_image(Stress *t)
{
    BlockCheckResult res = {0};
    int ret = block_co_check(t->node, &res, 0);

    ck_assert_msg(ret == 0 || ret == -ENOTSUP, "%s: check: %s", t->setup->name, strerror(-ret));
    ck_assert_msg(res.corruptions == 0 && res.leaks == 0 && res.check_errors == 0,
                  "%s: %" PRIi64 " corruptions, %" PRIi64 " leaks", t->setup->name, res.corruptions, res.leaks);
}

static void coroutine_fn stress_co(void *opaque)
{
    Stress *t = opaque;
    LoopTeam *team = loop_team_new(LOOPS);

    create_image(t, t->path, t->backing_path);
    t->node =
        open_image(t, BLOCK_OPEN_RDWR | BLOCK_OPEN_UNMAP | (t->setup->copy_on_read ? BLOCK_OPEN_COPY_ON_READ : 0));
    if (t->setup->compressed) {
        write_compressed(t);
    }
    t->end_ns = clock_monotonic_ns() + (int64_t)(t->setup->seconds * 1e9);
    loop_team_run(team, WORKERS, worker, t);
    loop_team_free(team);
    verify_all(t);
    ck_assert_int_eq(block_co_close(t->node), 0);

    t->node = open_image(t, 0);
    verify_all(t);
    check_image(t);
    block_co_close(t->node);
}

START_TEST(random_requests_from_four_loops_read_back_right)
{
    Stress t = {.setup = &setups[_i]};

    t.dir = g_dir_make_tmp("qcow2-stress-XXXXXX", NULL);
    t.path = g_build_filename(t.dir, "image.qcow2", NULL);
    t.shadow = g_malloc0(t.setup->disk_bytes);
    t.zones = (t.setup->disk_bytes + zone_bytes(t.setup) - 1) / zone_bytes(t.setup);
    t.busy = g_new0(_Atomic bool, t.zones);
    if (t.setup->backing) {
        make_backing(&t);
    }
    run_on_fresh_loop(stress_co, &t);
    printf("%s: %" PRIu64 " requests\n", t.setup->name, (uint64_t)t.ops);

    unlink(t.path);
    if (t.backing_path) {
        unlink(t.backing_path);
    }
    rmdir(t.dir);
    g_free(t.dir);
    g_free(t.path);
    g_free(t.backing_path);
    g_free(t.shadow);
    g_free(t.busy);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("qcow2-stress");
    TCase *tc = tcase_create("stress");
    GError *err = NULL;

    if (!crypto_init(&err) || !secret_add_object("secret,id=stress,data=very secret", &err)) {
        fprintf(stderr, "%s\n", err->message);
        return 1;
    }
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, random_requests_from_four_loops_read_back_right, 0, G_N_ELEMENTS(setups));
    suite_add_tcase(suite, tc);

    return run_suite(suite);
}
