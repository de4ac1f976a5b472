/* SPDX-License-Identifier: MIT */
#include "tests/unit/block-fixture.h"
#include "util/base/units.h"

enum { DEVICE_BYTES = 1 << 20 };

static char *dir, *path;

/* A device full of 0xdd. */
static void setup(void)
{
    g_autofree uint8_t *old = g_malloc(DEVICE_BYTES);

    memset(old, 0xdd, DEVICE_BYTES);
    dir = scratch_dir();
    path = scratch_file(dir, "device", old, DEVICE_BYTES);
}

static void teardown(void)
{
    g_clear_pointer(&path, g_free);
    g_clear_pointer(&dir, scratch_free);
}

static BlockNode *open_device(const char *more, unsigned flags)
{
    g_autofree char *opts = g_strdup_printf("driver=testdev,file.filename=%s%s", path, more);

    return open_opts(opts, flags | BLOCK_OPEN_RDWR | BLOCK_OPEN_UNMAP);
}

static void assert_bytes(BlockNode *node, int64_t offset, size_t bytes, uint8_t expected)
{
    g_autofree uint8_t *buf = g_malloc(bytes);

    ck_assert_int_eq(block_co_pread(node, offset, buf, bytes, 0), 0);
    for (size_t i = 0; i < bytes; i++) {
        if (buf[i] != expected) {
            ck_abort_msg("byte %zu is %#x, not %#x", i, buf[i], expected);
        }
    }
}

START_CO_TEST(zeros_of_any_alignment_are_zeros)
{
    static const char *const options[] = {",sector=512", ",sector=4096", ",sector=4096,zero=off"};

    for (size_t i = 0; i < G_N_ELEMENTS(options); i++) {
        BlockNode *node = open_device(options[i], 0);
        ck_assert_int_eq(block_co_pwrite_zeroes(node, 1000, 50000, i % 2 ? BLOCK_REQ_MAY_UNMAP : 0), 0);
        assert_bytes(node, 0, 1000, 0xdd);
        assert_bytes(node, 1000, 50000, 0);
        assert_bytes(node, 51000, DEVICE_BYTES - 51000, 0xdd);
        ck_assert_int_eq(block_co_close(node), 0);
        teardown();
        setup();
    }
}

START_CO_TEST(without_data_only_whole_sectors_are_zeroed)
{
    BlockNode *node = open_device(",sector=4096", 0);

    ck_assert_int_eq(block_co_pwrite_zeroes(node, 8192, 4096, BLOCK_REQ_NO_FALLBACK), 0);
    ck_assert_int_eq(block_co_pwrite_zeroes(node, 8192, 512, BLOCK_REQ_NO_FALLBACK), -ENOTSUP);
    block_co_close(node);
    node = open_device(",zero=off", 0);
    ck_assert_int_eq(block_co_pwrite_zeroes(node, 0, 4096, BLOCK_REQ_NO_FALLBACK), -ENOTSUP);
    block_co_close(node);
}

START_CO_TEST(a_discard_leaves_what_was_chosen)
{
    static const struct {
        const char *options;
        uint8_t expected;
    } cases[] = {{"", 0xdd}, {",discard-to=old", 0xdd}, {",discard-to=zero", 0}, {",discard-to=junk", 0xa5}};

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        BlockNode *node = open_device(cases[i].options, 0);
        ck_assert_int_eq(block_co_pdiscard(node, 512, 65536), 0);
        assert_bytes(node, 0, 512, 0xdd);
        assert_bytes(node, 512, 65536, cases[i].expected);
        assert_bytes(node, 66048, 512, 0xdd);
        block_co_close(node);
        teardown();
        setup();
    }
}

START_CO_TEST(its_length_is_fixed)
{
    BlockNode *node = open_device("", BLOCK_OPEN_RESIZE);
    g_autoptr(GError) err = NULL, err2 = NULL;

    ck_assert(!block_co_truncate(node, DEVICE_BYTES + 512, BLOCK_PREALLOC_OFF, &err));
    ck_assert_str_eq(err->message, "Cannot grow device files");
    ck_assert(!block_co_truncate(node, DEVICE_BYTES, BLOCK_PREALLOC_FALLOC, &err2));
    ck_assert_str_eq(err2->message, "Preallocation mode 'falloc' unsupported for this non-regular file");
    ck_assert(block_co_truncate(node, 512, BLOCK_PREALLOC_OFF, NULL));
    ck_assert_int_eq(block_getlength(node), DEVICE_BYTES);
    block_co_close(node);
}

START_CO_TEST(nothing_is_behind_its_end_for_a_format_either)
{
    g_autofree char *opts = g_strdup_printf("driver=raw,file.driver=testdev,file.file.filename=%s", path);
    BlockNode *node = open_opts(opts, BLOCK_OPEN_RDWR);
    uint8_t buf[1024] = {0};

    ck_assert_int_eq(block_co_pwrite(block_node_file(node), DEVICE_BYTES - 512, buf, 1024, 0), -ENOSPC);
    ck_assert_int_eq(block_co_pwrite_zeroes(block_node_file(node), DEVICE_BYTES - 512, 1024, 0), -ENOSPC);
    assert_bytes(node, DEVICE_BYTES - 512, 512, 0xdd);
    block_co_close(node);
}

START_CO_TEST(it_has_no_holes)
{
    BlockNode *node;
    BlockStatus st;

    ck_assert_int_eq(truncate(path, 0), 0);
    ck_assert_int_eq(truncate(path, DEVICE_BYTES), 0);
    node = open_device("", 0);
    ck_assert_int_eq(block_co_status(node, 0, DEVICE_BYTES, &st), 0);
    ck_assert_uint_eq(st.flags, BLOCK_STATUS_DATA | BLOCK_STATUS_ALLOCATED | BLOCK_STATUS_OFFSET | BLOCK_STATUS_EOF);
    ck_assert_int_eq(st.bytes, DEVICE_BYTES);
    block_co_close(node);
}

static Suite *suite(void)
{
    Suite *s = suite_create("testdev");
    TCase *tc = tcase_create("testdev");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, zeros_of_any_alignment_are_zeros);
    tcase_add_test(tc, without_data_only_whole_sectors_are_zeroed);
    tcase_add_test(tc, a_discard_leaves_what_was_chosen);
    tcase_add_test(tc, its_length_is_fixed);
    tcase_add_test(tc, nothing_is_behind_its_end_for_a_format_either);
    tcase_add_test(tc, it_has_no_holes);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
