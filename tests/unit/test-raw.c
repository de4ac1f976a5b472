/* SPDX-License-Identifier: MIT */
#include "tests/unit/block-fixture.h"
#include "util/base/units.h"

static uint8_t buf[65536], back[65536];

static BlockNode *open_window(const char *path, const char *window, unsigned flags)
{
    g_autofree char *opts = g_strdup_printf("driver=raw,file.filename=%s%s", path, window);

    return open_opts(opts, flags);
}

START_CO_TEST(window_moves_every_request)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = scratch_file(dir, "img", buf, 65536);
    BlockNode *node = open_window(path, ",offset=4096,size=8k", BLOCK_OPEN_RDWR | BLOCK_OPEN_UNMAP);
    g_autofree char *data = NULL;
    BlockStatus st;

    ck_assert_int_eq(block_getlength(node), 8192);
    memset(buf, 0x77, 8192);
    ck_assert_int_eq(block_co_pwrite(node, 0, buf, 8192, 0), 0);
    ck_assert_int_eq(block_co_pwrite(node, 8000, buf, 193, 0), -EIO);
    ck_assert_int_eq(block_co_pwrite_zeroes(node, 100, 50, 0), 0);
    ck_assert_int_eq(block_co_pread(node, 99, back, 52, 0), 0);
    ck_assert(back[0] == 0x77 && buffer_is_zero(back + 1, 50) && back[51] == 0x77);
    ck_assert_int_eq(block_co_status(node, 0, 4096, &st), 0);
    ck_assert_int_eq(st.host_off, 4096);
    ck_assert_int_eq(block_co_close(node), 0);

    ck_assert(g_file_get_contents(path, &data, NULL, NULL));
    ck_assert(data[4095] == 0 && data[4096] == 0x77 && data[12287] == 0x77 && data[12288] == 0);
    memset(buf, 0, 8192);
}

START_CO_TEST(window_outside_the_file_is_refused_with_the_numbers)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = scratch_file(dir, "img", buf, 65536);
    struct {
        const char *window, *error;
    } cases[] = {
        {"offset=100000", "Offset (100000) cannot be greater than size of the containing file (65536)"},
        {"size=65537", "The sum of offset (0) and size (65537) has to be smaller or equal to the  actual size of the "
                       "containing file (65536)"},
        {"offset=512,size=65536", "The sum of offset (512) and size (65536) has to be smaller or equal to the  actual "
                                  "size of the containing file (65536)"},
        {"offset=1,size=0xffffffffffffffff",
         "The sum of offset (1) and size (18446744073709551615) has to be smaller or equal to the  actual size of the "
         "containing file (65536)"},
        {"size=1000", "Specified size is not multiple of 512"},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *opts = g_strdup_printf("driver=raw,file.filename=%s,%s", path, cases[i].window);
        ck_assert_open_error(NULL, NULL, opts, 0, cases[i].error);
    }
}

START_CO_TEST(window_of_a_given_size_cannot_be_resized)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = scratch_file(dir, "img", buf, 65536);
    BlockNode *node = open_window(path, ",size=4096", BLOCK_OPEN_RDWR);
    g_autoptr(GError) err = NULL;

    ck_assert(!block_co_truncate(node, 8192, BLOCK_PREALLOC_OFF, &err));
    ck_assert_str_eq(err->message, "Cannot resize fixed-size raw disks");
    block_co_close(node);
    node = open_window(path, ",offset=4096", BLOCK_OPEN_RDWR | BLOCK_OPEN_RESIZE);
    ck_assert(block_co_truncate(node, 8192, BLOCK_PREALLOC_OFF, NULL));
    ck_assert_int_eq(block_getlength(node), 8192);
    ck_assert_int_eq(block_getlength(block_node_file(node)), 12288);
    block_co_close(node);
}

START_CO_TEST(resize_is_exact_but_the_length_counts_sectors)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = scratch_file(dir, "img", buf, 65536);
    BlockNode *node = open_window(path, "", BLOCK_OPEN_RDWR | BLOCK_OPEN_RESIZE);
    struct stat st;

    ck_assert(block_co_truncate(node, 1000, BLOCK_PREALLOC_OFF, NULL));
    ck_assert_int_eq(block_getlength(node), 1024);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_size, 1000);
    block_co_close(node);
}

/* ---- block 0 of a probed image --------------------------------------------------------------------------------- */

START_CO_TEST(probed_image_never_comes_to_look_like_another_format)
{
    static const uint8_t luks[8] = "LUKS\xba\xbe\0\1";
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = scratch_file(dir, "img", buf, 65536);
    BlockNode *node = block_co_open(path, NULL, NULL, BLOCK_OPEN_RDWR, NULL);

    memset(buf, 0, sizeof(buf));
    memcpy(buf, luks, sizeof(luks));
    ck_assert_int_eq(block_co_pwrite(node, 0, buf, 512, 0), -EPERM);
    ck_assert_int_eq(block_co_pwrite(node, 0, buf, 65536, 0), -EPERM);
    ck_assert_int_eq(block_co_pwrite(node, 0, buf, 8, 0), -EPERM);
    /* Piece by piece: the last one would complete the header. */
    ck_assert_int_eq(block_co_pwrite(node, 4, luks + 4, 4, 0), 0);
    ck_assert_int_eq(block_co_pwrite(node, 1, luks + 1, 3, 0), 0);
    ck_assert_int_eq(block_co_pwrite(node, 0, luks, 1, 0), -EPERM);
    ck_assert_int_eq(block_co_pwrite(node, 512, luks, 8, 0), 0);
    ck_assert_int_eq(block_co_pwrite(node, 0, "x", 1, 0), 0);
    block_co_close(node);

    node = block_co_open(path, "raw", NULL, BLOCK_OPEN_RDWR, NULL);
    ck_assert_int_eq(block_co_pwrite(node, 0, luks, 8, 0), 0); /* the format was given: the user knows */
    block_co_close(node);
    memset(buf, 0, 8);
}

/* ---- create, measure ------------------------------------------------------------------------------------------- */

static bool create(const char *path, const char *options, GError **errp)
{
    g_autoptr(OptDict) opts = optdict_parse_keyval(options, NULL, NULL);

    return block_co_create("raw", path, opts, errp);
}

START_CO_TEST(size_is_rounded_up_to_sectors)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = g_build_filename(dir, "img", NULL);
    struct stat st;

    ck_assert(create(path, "size=1049111", NULL));
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_size, 1049600);
}

START_CO_TEST(failed_create_leaves_no_new_file_and_keeps_an_old_one)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *fresh = g_build_filename(dir, "fresh", NULL);
    g_autofree char *old = scratch_file(dir, "old", buf, 100);
    g_autoptr(GError) err = NULL, err2 = NULL;

    ck_assert(!create(fresh, "size=1M,preallocation=metadata", &err));
    ck_assert_str_eq(err->message, "Unsupported preallocation mode: metadata");
    ck_assert_int_eq(access(fresh, F_OK), -1);
    ck_assert(!create(old, "size=1M,preallocation=metadata", NULL));
    ck_assert_int_eq(access(old, F_OK), 0);
    ck_assert(!create(fresh, "size=1M,preallocation=foo", &err2));
    ck_assert_str_eq(err2->message, "invalid parameter value: foo");
}

START_CO_TEST(measure_is_the_size)
{
    g_autoptr(OptDict) opts = optdict_parse_keyval("size=1000", NULL, NULL);
    BlockMeasure m;

    ck_assert(block_co_measure(&block_driver_raw, opts, NULL, &m, NULL));
    ck_assert_uint_eq(m.required, 1024);
    ck_assert_uint_eq(m.fully_allocated, 1024);
}

static Suite *suite(void)
{
    Suite *s = suite_create("raw");
    TCase *tc = tcase_create("raw");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, window_moves_every_request);
    tcase_add_test(tc, window_outside_the_file_is_refused_with_the_numbers);
    tcase_add_test(tc, window_of_a_given_size_cannot_be_resized);
    tcase_add_test(tc, resize_is_exact_but_the_length_counts_sectors);
    tcase_add_test(tc, probed_image_never_comes_to_look_like_another_format);
    tcase_add_test(tc, size_is_rounded_up_to_sectors);
    tcase_add_test(tc, failed_create_leaves_no_new_file_and_keeps_an_old_one);
    tcase_add_test(tc, measure_is_the_size);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
