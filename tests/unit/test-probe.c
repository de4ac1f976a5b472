/* SPDX-License-Identifier: MIT */
#include "block/core/probe.h"

#include "tests/unit/block-fixture.h"

static const char *probe(const void *data, size_t len)
{
    uint8_t buf[BLOCK_PROBE_BYTES] = {0};

    memcpy(buf, data, len);
    return block_driver_name(block_probe_buffer(buf, len, NULL));
}

START_TEST(anything_unknown_is_raw)
{
    ck_assert_str_eq(probe("", 0), "raw");
    ck_assert_str_eq(probe("x", 1), "raw");
    ck_assert_str_eq(probe("LUKS", 4), "raw");
}
END_TEST

START_TEST(luks_header_is_known_by_magic_and_version)
{
    ck_assert_str_eq(probe("LUKS\xba\xbe\0\1", 8), "luks");
    ck_assert_str_eq(probe("LUKS\xba\xbf\0\1", 8), "raw");
}
END_TEST

START_TEST(header_cut_short_is_not_read_past_its_end)
{
    g_autofree uint8_t *exact = g_memdup2("LUKS\xba\xbe", 6);

    /* The buffer ends here: a sanitizer would tell. */
    ck_assert_ptr_nonnull(block_probe_buffer(exact, 6, NULL));
}
END_TEST

START_CO_TEST(file_without_a_format_given_is_probed)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = scratch_file(dir, "img", "just bytes", 10);
    BlockNode *node = block_co_open(path, NULL, NULL, 0, NULL);

    ck_assert_str_eq(block_node_format(node), "raw");
    ck_assert(block_node_probed_raw(node));
    g_autofree char *warning = block_probed_raw_warning(node);
    g_autofree char *first =
        g_strdup_printf("WARNING: Image format was not specified for '%s' and probing guessed raw.\n", path);
    ck_assert(g_str_has_prefix(warning, first));
    block_co_close(node);
}

START_CO_TEST(format_given_is_not_called_probed)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = scratch_file(dir, "img", "just bytes", 10);
    BlockNode *node = block_co_open(path, "raw", NULL, 0, NULL);

    ck_assert(!block_node_probed_raw(node));
    block_co_close(node);
}

static Suite *suite(void)
{
    Suite *s = suite_create("probe");
    TCase *tc = tcase_create("probe");

    tcase_add_test(tc, anything_unknown_is_raw);
    tcase_add_test(tc, luks_header_is_known_by_magic_and_version);
    tcase_add_test(tc, header_cut_short_is_not_read_past_its_end);
    tcase_add_test(tc, file_without_a_format_given_is_probed);
    tcase_add_test(tc, format_given_is_not_called_probed);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
