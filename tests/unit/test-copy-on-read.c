/* SPDX-License-Identifier: MIT */
/* Overlays of 64 KiB clusters over a raw file of three and a half: a letter for each cluster, but zeros in
 * the second. */
#include "block/core/copy-on-read.h"

#include "block/filter/fault.h"
#include "tests/unit/qcow2-fixture.h"

enum {
    DISK = 6 * CLUSTER,
    BASE_BYTES = 4 * CLUSTER - CLUSTER / 2,
    COPYING = BLOCK_OPEN_RDWR | BLOCK_OPEN_COPY_ON_READ
};

static char *dir, *base, *image;
static uint8_t base_data[DISK]; /* zeros behind the end of the base */

static void make_files(void)
{
    static const uint8_t letters[] = {'a', 0, 'c', 'd'};

    dir = scratch_dir();
    for (size_t i = 0; i < BASE_BYTES; i++) {
        base_data[i] = letters[i / CLUSTER];
    }
    base = scratch_file(dir, "base.raw", base_data, BASE_BYTES);
    image = g_build_filename(dir, "overlay.qcow2", NULL);
    ck_assert(crypto_init(NULL) && secret_add_object("secret,id=s,data=x", NULL));
}

static void remove_files(void)
{
    secret_forget_all();
    g_clear_pointer(&image, g_free);
    g_clear_pointer(&base, g_free);
    scratch_free(dir);
}

static void create_overlay(const char *more)
{
    g_autofree char *opts = g_strdup_printf("size=%d,backing_file=%s,backing_fmt=raw%s", DISK, base, more);

    create_image(image, opts);
}

/* What the overlay holds itself, a letter for each cluster: D data, Z zeros, - nothing. */
static char *own_clusters(BlockNode *node)
{
    char *map = g_new0(char, DISK / CLUSTER + 1);
    BlockStatus st;

    for (int i = 0; i < DISK / CLUSTER; i++) {
        ck_assert_int_eq(block_co_status(node, i * CLUSTER, CLUSTER, &st), 0);
        ck_assert_int_eq(st.bytes, CLUSTER);
        map[i] = !(st.flags & BLOCK_STATUS_ALLOCATED) ? '-' : st.flags & BLOCK_STATUS_ZERO ? 'Z' : 'D';
    }
    return map;
}

#define ck_assert_own_clusters(node, expected)                                                                         \
    do {                                                                                                               \
        g_autofree char *map_ = own_clusters(node);                                                                    \
        ck_assert_str_eq(map_, expected);                                                                              \
    } while (0)

static void assert_reads_as_base(BlockNode *node, uint64_t offset, uint64_t bytes)
{
    g_autofree uint8_t *buf = g_malloc(bytes);

    ck_assert_int_eq(block_co_pread(node, offset, buf, bytes, 0), 0);
    ck_assert(memcmp(buf, base_data + offset, bytes) == 0);
}

/* ---- what is copied -------------------------------------------------------------------------------------------- */

START_CO_TEST(a_read_leaves_its_whole_clusters_in_the_overlay)
{
    create_overlay("");
    BlockNode *node = open_image(image, NULL, COPYING);

    assert_reads_as_base(node, 100, 10);
    ck_assert_own_clusters(node, "D-----");
    assert_reads_as_base(node, 3 * CLUSTER - 1, 2); /* two clusters, the second ends behind the base */
    ck_assert_own_clusters(node, "D-DD--");
    close_image(node);
    ck_assert_int_eq(count_problems(image), 0);
    ck_assert(g_file_set_contents(base, "", 0, NULL));
    node = open_image(image, NULL, 0);
    assert_reads_as_base(node, 0, CLUSTER);
    assert_reads_as_base(node, 2 * CLUSTER, 2 * CLUSTER);
    close_image(node);
}

START_CO_TEST(clusters_of_zeros_are_copied_as_zeros)
{
    create_overlay("");
    BlockNode *node = open_image(image, NULL, COPYING);

    assert_reads_as_base(node, 0, DISK);
    ck_assert_own_clusters(node, "DZDDZZ");
    close_image(node);
}

START_CO_TEST(an_encrypted_overlay_is_filled_too)
{
    create_overlay(",encrypt.format=luks,encrypt.key-secret=s,encrypt.iter-time=1");
    BlockNode *node = open_image(image, "encrypt.key-secret=s", COPYING);

    assert_reads_as_base(node, 7, DISK - 7);
    ck_assert_own_clusters(node, "DZDDZZ");
    assert_reads_as_base(node, 0, DISK);
    close_image(node);
}

START_CO_TEST(what_the_overlay_has_is_not_copied_again)
{
    create_overlay("");
    BlockNode *node = open_image(image, NULL, COPYING);

    fill(node, 100, 1000, 'x');
    assert_filled(node, 100, 1000, 'x');
    uint64_t gen = node->write_gen;
    assert_filled(node, 1100, 100, 'a');
    ck_assert_uint_eq(node->write_gen, gen);
    close_image(node);
}

START_CO_TEST(without_the_flag_a_read_leaves_nothing)
{
    create_overlay("");
    BlockNode *node = open_image(image, NULL, BLOCK_OPEN_RDWR);

    assert_reads_as_base(node, 0, DISK);
    ck_assert_own_clusters(node, "------");
    close_image(node);
}

START_CO_TEST(a_read_only_node_cannot_copy)
{
    g_autofree char *opts = g_strdup_printf("driver=qcow2,file.filename=%s", image);

    create_overlay("");
    ck_assert_open_error(NULL, NULL, opts, BLOCK_OPEN_COPY_ON_READ, "Can't use copy-on-read on read-only device");
}

/* ---- failures -------------------------------------------------------------------------------------------------- */

/* The overlay over a file, and over a base, that can fail or be held. */
static BlockNode *open_faulty(const char *file_faults)
{
    g_autofree char *opts =
        g_strdup_printf("driver=qcow2,file.driver=fault,file.file.filename=%s%s,backing.driver=fault,"
                        "backing.file.filename=%s",
                        image, file_faults, base);

    return open_opts(opts, COPYING | BLOCK_OPEN_NO_FLUSH);
}

START_CO_TEST(a_read_whose_copy_fails_fails_and_maps_nothing)
{
    uint8_t byte;

    create_overlay("");
    BlockNode *node = open_faulty(",file.fail-write=1,file.once=on,file.errno=28");
    ck_assert_int_eq(block_co_pread(node, 5, &byte, 1, 0), -ENOSPC);
    ck_assert_own_clusters(node, "------");
    assert_reads_as_base(node, 5, 1);
    ck_assert_own_clusters(node, "D-----");
    close_image(node);
}

/* ---- beside writes --------------------------------------------------------------------------------------------- */

typedef struct Request {
    BlockNode *node;
    bool is_write, done;
} Request;

/* 100 bytes at 1000: of the base, or 'x'. */
static void request_co(void *opaque)
{
    Request *r = opaque;

    if (r->is_write) {
        fill(r->node, 1000, 100, 'x');
    } else {
        uint8_t buf[100];
        ck_assert_int_eq(block_co_pread(r->node, 1000, buf, sizeof(buf), 0), 0);
        ck_assert(buf[0] == 'a' || buf[0] == 'x');
    }
    r->done = true;
}

static void start(Request *r)
{
    coroutine_enter(coroutine_new(request_co, r));
    for (int i = 0; i < 20; i++) {
        coroutine_reschedule();
    }
}

static void finish(const Request *r)
{
    while (!r->done) {
        coroutine_reschedule();
    }
}

static void assert_the_write_is_there(BlockNode *node)
{
    assert_filled(node, 0, 1000, 'a');
    assert_filled(node, 1000, 100, 'x');
    assert_filled(node, 1100, CLUSTER - 1100, 'a');
    close_image(node);
    ck_assert_int_eq(count_problems(image), 0);
}

START_CO_TEST(a_write_waits_for_the_copy_of_its_cluster)
{
    create_overlay("");
    BlockNode *node = open_faulty("");
    Request read = {.node = node}, write = {.node = node, .is_write = true};

    fault_hold(node->backing, FAULT_READ, true); /* the copy has not even read */
    start(&read);
    ck_assert_uint_eq(fault_held(node->backing, FAULT_READ), 1);
    start(&write);
    ck_assert(!read.done && !write.done);
    fault_hold(node->backing, FAULT_READ, false);
    finish(&read);
    finish(&write);
    assert_the_write_is_there(node);
}

START_CO_TEST(a_copy_waits_for_the_write_in_its_cluster)
{
    create_overlay("");
    BlockNode *node = open_faulty("");
    Request read = {.node = node}, write = {.node = node, .is_write = true};

    fault_hold(node->file, FAULT_WRITE, true); /* the write has its data under way, its cluster is not linked */
    start(&write);
    ck_assert_uint_ge(fault_held(node->file, FAULT_WRITE), 1);
    start(&read);
    ck_assert(!read.done && !write.done);
    fault_hold(node->file, FAULT_WRITE, false);
    finish(&read);
    finish(&write);
    assert_the_write_is_there(node);
}

static Suite *suite(void)
{
    Suite *s = suite_create("copy-on-read");
    TCase *tc = tcase_create("copy-on-read");

    tcase_add_checked_fixture(tc, make_files, remove_files);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, a_read_leaves_its_whole_clusters_in_the_overlay);
    tcase_add_test(tc, clusters_of_zeros_are_copied_as_zeros);
    tcase_add_test(tc, an_encrypted_overlay_is_filled_too);
    tcase_add_test(tc, what_the_overlay_has_is_not_copied_again);
    tcase_add_test(tc, without_the_flag_a_read_leaves_nothing);
    tcase_add_test(tc, a_read_only_node_cannot_copy);
    tcase_add_test(tc, a_read_whose_copy_fails_fails_and_maps_nothing);
    tcase_add_test(tc, a_write_waits_for_the_copy_of_its_cluster);
    tcase_add_test(tc, a_copy_waits_for_the_write_in_its_cluster);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
