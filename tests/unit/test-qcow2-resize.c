/* SPDX-License-Identifier: MIT */
/* Growing and shrinking: what is seen after, what is checked, what is refused. */
#include "tests/unit/qcow2-fixture.h"

static char *dir, *image, *base;

static void setup(void)
{
    dir = scratch_dir();
    image = g_build_filename(dir, "image.qcow2", NULL);
    base = g_build_filename(dir, "base.qcow2", NULL);
}

static void teardown(void)
{
    g_clear_pointer(&image, g_free);
    g_clear_pointer(&base, g_free);
    g_clear_pointer(&dir, scratch_free);
}

static void resize(BlockNode *node, int64_t bytes, BlockPrealloc prealloc)
{
    g_autoptr(GError) err = NULL;

    ck_assert_msg(block_co_truncate(node, bytes, prealloc, &err), "%s", err ? err->message : "?");
    ck_assert_int_eq(block_getlength(node), bytes);
}

static void assert_resize_refused(BlockNode *node, int64_t bytes, BlockPrealloc prealloc, const char *message)
{
    g_autoptr(GError) err = NULL;
    int64_t before = block_getlength(node);

    ck_assert(!block_co_truncate(node, bytes, prealloc, &err));
    ck_assert_str_eq(err->message, message);
    ck_assert_int_eq(block_getlength(node), before);
}

START_CO_TEST(growing_keeps_data_and_adds_zeros)
{
    create_image(image, "size=1M,cluster_size=4k");
    BlockNode *node = open_image(image, NULL, BLOCK_OPEN_RDWR | BLOCK_OPEN_RESIZE);
    fill(node, 0, MIB, 0x11);
    resize(node, 50 * MIB + 512, BLOCK_PREALLOC_OFF);
    assert_filled(node, 0, MIB, 0x11);
    assert_filled(node, MIB, MIB, 0);
    fill(node, 50 * MIB, 512, 0x22);
    close_image(node);
    ck_assert_uint_eq(file_u64(image, 24), 50 * MIB + 512);
    ck_assert_uint_eq(count_problems(image), 0);
    node = open_image(image, NULL, 0);
    assert_filled(node, 50 * MIB, 512, 0x22);
    close_image(node);
}

START_CO_TEST(growing_hides_a_longer_backing_file)
{
    static const char *const compats[] = {"0.10", "1.1"};

    for (size_t i = 0; i < G_N_ELEMENTS(compats); i++) {
        g_autofree char *options =
            g_strdup_printf("size=100k,backing_file=%s,backing_fmt=qcow2,compat=%s", base, compats[i]);

        create_image(base, "size=2M");
        BlockNode *node = open_image(base, NULL, BLOCK_OPEN_RDWR);
        fill(node, 0, 2 * MIB, 0xbb);
        close_image(node);
        create_image(image, options);
        node = open_image(image, NULL, BLOCK_OPEN_RDWR | BLOCK_OPEN_RESIZE);
        resize(node, 3 * MIB, BLOCK_PREALLOC_OFF);
        assert_filled(node, 0, 100 * KIB, 0xbb);
        assert_filled(node, 100 * KIB, 3 * MIB - 100 * KIB, 0);
        close_image(node);
        ck_assert_uint_eq(count_problems(image), 0);
    }
}

START_CO_TEST(shrinking_drops_clusters_and_cuts_the_file)
{
    create_image(image, "size=8M");
    BlockNode *node = open_image(image, NULL, BLOCK_OPEN_RDWR | BLOCK_OPEN_RESIZE);
    fill(node, 0, 8 * MIB, 0x33);
    close_image(node);
    int64_t before = file_bytes(image);
    node = open_image(image, NULL, BLOCK_OPEN_RDWR | BLOCK_OPEN_RESIZE);
    resize(node, MIB + 1024, BLOCK_PREALLOC_OFF);
    assert_filled(node, 0, MIB + 1024, 0x33);
    close_image(node);
    ck_assert_int_le(file_bytes(image), before - 6 * MIB);
    ck_assert_uint_eq(count_problems(image), 0);
}

START_CO_TEST(shrinking_frees_l2_tables)
{
    create_image(image, "size=4M,cluster_size=512"); /* one table maps 32 KiB */
    BlockNode *node = open_image(image, NULL, BLOCK_OPEN_RDWR | BLOCK_OPEN_RESIZE);
    fill(node, 0, 4 * MIB, 0x44);
    resize(node, 512, BLOCK_PREALLOC_OFF);
    resize(node, 4 * MIB, BLOCK_PREALLOC_OFF);
    assert_filled(node, 0, 512, 0x44);
    assert_filled(node, 512, 4 * MIB - 512, 0);
    close_image(node);
    ck_assert_uint_eq(count_problems(image), 0);
}

START_CO_TEST(what_was_cut_off_does_not_come_back)
{
    create_image(image, "size=1M");
    BlockNode *node = open_image(image, NULL, BLOCK_OPEN_RDWR | BLOCK_OPEN_RESIZE);
    fill(node, 0, MIB, 0x55);
    resize(node, 100 * KIB, BLOCK_PREALLOC_OFF);
    resize(node, MIB, BLOCK_PREALLOC_OFF);
    assert_filled(node, 0, 100 * KIB, 0x55);
    assert_filled(node, 100 * KIB, MIB - 100 * KIB, 0);
    close_image(node);
    ck_assert_uint_eq(count_problems(image), 0);
}

START_CO_TEST(growing_with_preallocation_reads_zeros_even_from_reused_clusters)
{
    for (BlockPrealloc mode = BLOCK_PREALLOC_METADATA; mode <= BLOCK_PREALLOC_FULL; mode++) {
        create_image(image, "size=4M");
        BlockNode *node = open_image(image, NULL, BLOCK_OPEN_RDWR | BLOCK_OPEN_RESIZE);
        fill(node, 0, 4 * MIB, 0x66);
        fill(node, 3 * MIB, MIB, 0x77);
        ck_assert_int_eq(block_co_pdiscard(node, 0, 3 * MIB), 0);
        resize(node, 12 * MIB, mode);
        assert_filled(node, 3 * MIB, MIB, 0x77);
        assert_filled(node, 4 * MIB, 8 * MIB, 0);
        close_image(node);
        ck_assert_uint_eq(count_problems(image), 0);
    }
}

START_CO_TEST(bad_sizes_are_refused)
{
    create_image(image, "size=1M,cluster_size=512");
    BlockNode *node = open_image(image, NULL, BLOCK_OPEN_RDWR | BLOCK_OPEN_RESIZE);
    assert_resize_refused(node, 1000, BLOCK_PREALLOC_OFF, "The new size must be a multiple of 512");
    assert_resize_refused(node, 200 * GIB, BLOCK_PREALLOC_OFF, "Failed to grow the L1 table: File too large");
    assert_resize_refused(node, 512, BLOCK_PREALLOC_FULL, "Preallocation can't be used for shrinking an image");
    close_image(node);
    ck_assert_uint_eq(count_problems(image), 0);
}

START_CO_TEST(encrypted_images_resize)
{
    create_image(image, "size=1M,encrypt.format=luks,encrypt.key-secret=s,encrypt.iter-time=1");
    BlockNode *node = open_image(image, "encrypt.key-secret=s", BLOCK_OPEN_RDWR | BLOCK_OPEN_RESIZE);
    fill(node, 0, MIB, 0x88);
    resize(node, 100 * KIB, BLOCK_PREALLOC_OFF);
    resize(node, 2 * MIB, BLOCK_PREALLOC_FALLOC);
    assert_filled(node, 0, 100 * KIB, 0x88);
    assert_filled(node, 100 * KIB, MIB, 0);
    close_image(node);
}

int main(void)
{
    Suite *s = suite_create("qcow2-resize");
    TCase *tc = tcase_create("all");
    g_autoptr(OptDict) secret = optdict_parse_keyval("id=s,data=abc", NULL, NULL);

    if (!crypto_init(NULL) || !secret_add(secret, NULL)) {
        return EXIT_FAILURE;
    }
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, growing_keeps_data_and_adds_zeros);
    tcase_add_test(tc, growing_hides_a_longer_backing_file);
    tcase_add_test(tc, shrinking_drops_clusters_and_cuts_the_file);
    tcase_add_test(tc, shrinking_frees_l2_tables);
    tcase_add_test(tc, what_was_cut_off_does_not_come_back);
    tcase_add_test(tc, growing_with_preallocation_reads_zeros_even_from_reused_clusters);
    tcase_add_test(tc, bad_sizes_are_refused);
    tcase_add_test(tc, encrypted_images_resize);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
