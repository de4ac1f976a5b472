/* SPDX-License-Identifier: MIT */
#include "tests/unit/block-fixture.h"
#include "crypto/secret.h"
#include "util/units.h"

#define HEADER_BYTES 2068480 /* LUKS sheet section 2: 64 key bytes */

static uint8_t buf[MIB], back[MIB];

static void add_secret(const char *text)
{
    g_autoptr(OptDict) opts = optdict_parse_keyval(text, NULL, NULL);

    ck_assert(secret_add(opts, NULL));
}

static bool create(const char *path, const char *options, GError **errp)
{
    g_autoptr(OptDict) opts = optdict_parse_keyval(options, NULL, NULL);

    secret_forget_all();
    add_secret("id=s0,data=pw123");
    add_secret("id=bad,data=wrong");
    return block_co_create("luks", path, opts, errp);
}

static char *new_image(const char *dir, const char *options)
{
    char *path = g_build_filename(dir, "img", NULL);
    g_autofree char *all = g_strdup_printf("key-secret=s0,iter-time=10,%s", options);
    GError *err = NULL;

    ck_assert_msg(create(path, all, &err), "%s", err ? err->message : "?");
    return path;
}

static BlockNode *open_image(const char *path, const char *more, unsigned flags)
{
    g_autofree char *opts = g_strdup_printf("driver=luks,file.filename=%s,key-secret=s0%s", path, more);

    return open_opts(opts, flags);
}

START_CO_TEST(file_is_header_plus_size)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = new_image(dir, "size=1000001");
    BlockNode *node = open_image(path, "", 0);

    ck_assert_int_eq(block_getlength(node), 1000448);
    ck_assert_int_eq(block_getlength(block_node_file(node)), HEADER_BYTES + 1000448);
    ck_assert(block_node_encrypted(node));
    block_co_close(node);
}

START_CO_TEST(what_is_written_is_read_back_and_not_on_the_disk)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = new_image(dir, "size=1M");
    const char *modes[] = {"", ",encrypt-in-parallel=on", ",encrypt-in-parallel=off"};
    static const char text[] = "a secret that must not be on the disk";

    for (size_t i = 0; i < G_N_ELEMENTS(modes); i++) {
        BlockNode *node = open_image(path, modes[i], BLOCK_OPEN_RDWR);
        memset(buf, i + 1, sizeof(buf));
        memcpy(buf + 1000, text, sizeof(text));
        ck_assert_int_eq(block_co_pwrite(node, 0, buf, MIB, 0), 0);
        ck_assert_int_eq(block_co_pwrite(node, 777, buf + 777, 5000, 0), 0);
        ck_assert_int_eq(block_co_close(node), 0);

        node = open_image(path, modes[i], 0);
        ck_assert_int_eq(block_co_pread(node, 0, back, MIB, 0), 0);
        ck_assert(memcmp(buf, back, MIB) == 0);
        ck_assert_int_eq(block_co_pread(block_node_file(node), HEADER_BYTES, back, MIB, 0), 0);
        ck_assert_ptr_null(memmem(back, MIB, text, sizeof(text)));
        block_co_close(node);
    }
}

START_CO_TEST(zeros_are_encrypted_and_holes_never_made)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = new_image(dir, "size=1M");
    BlockNode *node = open_image(path, "", BLOCK_OPEN_RDWR | BLOCK_OPEN_UNMAP);

    ck_assert_int_eq(block_co_pwrite_zeroes(node, 0, MIB, BLOCK_REQ_MAY_UNMAP), 0);
    ck_assert_int_eq(block_co_pwrite_zeroes(node, 0, MIB, BLOCK_REQ_NO_FALLBACK), -ENOTSUP);
    ck_assert_int_eq(block_co_pdiscard(node, 0, MIB), 0);
    ck_assert_int_eq(block_co_pread(node, 0, back, MIB, 0), 0);
    ck_assert(buffer_is_zero(back, MIB));
    ck_assert_int_eq(block_co_pread(block_node_file(node), HEADER_BYTES, back, MIB, 0), 0);
    ck_assert(!buffer_is_zero(back, 512));
    block_co_close(node);
}

START_CO_TEST(status_is_data_without_a_place)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = new_image(dir, "size=1M");
    BlockNode *node = open_image(path, "", 0);
    BlockStatus st;

    ck_assert_int_eq(block_co_status(node, 0, MIB, &st), 0);
    ck_assert_int_eq(st.flags, BLOCK_STATUS_DATA | BLOCK_STATUS_ALLOCATED | BLOCK_STATUS_EOF);
    ck_assert_int_eq(st.bytes, MIB);
    block_co_close(node);
}

START_CO_TEST(resize_keeps_the_header_and_the_data)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = new_image(dir, "size=64k");
    BlockNode *node = open_image(path, "", BLOCK_OPEN_RDWR | BLOCK_OPEN_RESIZE);

    memset(buf, 0x42, 65536);
    ck_assert_int_eq(block_co_pwrite(node, 0, buf, 65536, 0), 0);
    ck_assert(block_co_truncate(node, 128 * KIB, BLOCK_PREALLOC_OFF, NULL));
    ck_assert_int_eq(block_getlength(node), 128 * KIB);
    ck_assert(block_co_truncate(node, 32 * KIB, BLOCK_PREALLOC_OFF, NULL));
    ck_assert_int_eq(block_co_close(node), 0);
    node = open_image(path, "", 0);
    ck_assert_int_eq(block_getlength(node), 32 * KIB);
    ck_assert_int_eq(block_co_pread(node, 0, back, 32 * KIB, 0), 0);
    ck_assert(memcmp(buf, back, 32 * KIB) == 0);
    block_co_close(node);
}

START_CO_TEST(open_says_what_is_wrong_with_the_key)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = new_image(dir, "size=64k");
    struct {
        const char *opts, *error;
    } cases[] = {
        {"", "Parameter 'key-secret' is required for cipher"},
        {",key-secret=zz", "No secret with id 'zz'"},
        {",key-secret=bad", "Invalid password, cannot unlock any keyslot"},
        {",key-secret=s0,encrypt-in-parallel=maybe", "Parameter 'encrypt-in-parallel' does not accept value 'maybe'"},
        {",key-secret=s0,header.driver=file,header.filename=x",
         "Detached LUKS headers (option 'header') are not supported by this build yet"},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *opts = g_strdup_printf("driver=luks,file.filename=%s%s", path, cases[i].opts);
        ck_assert_open_error(NULL, NULL, opts, 0, cases[i].error);
    }
    BlockNode *node = block_co_open(path, NULL, NULL, BLOCK_OPEN_NO_IO, NULL);
    ck_assert_ptr_nonnull(node); /* facts need no key */
    ck_assert_str_eq(block_node_format(node), "luks");
    ck_assert_int_eq(block_co_pread(node, 0, back, 512, 0), -EPERM);
    g_autoptr(InfoTree) info = block_co_specific_info(node, NULL);
    ck_assert_str_eq(info_str(info_get(info, "type")), "luks");
    block_co_close(node);
}

START_CO_TEST(bad_files_are_refused)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = new_image(dir, "size=64k");
    g_autofree char *not_luks = scratch_file(dir, "raw", buf, 4096);

    ck_assert_open_error(not_luks, "luks", NULL, BLOCK_OPEN_NO_IO, "Volume is not in LUKS format");
    ck_assert_int_eq(truncate(path, HEADER_BYTES - 512), 0);
    g_autofree char *message = open_error(path, "luks", NULL, BLOCK_OPEN_NO_IO);
    ck_assert_ptr_nonnull(message);
}

START_CO_TEST(create_with_bad_options_makes_no_file)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = g_build_filename(dir, "img", NULL);
    struct {
        const char *opts, *error;
    } cases[] = {
        {"size=1M", "Parameter 'key-secret' is required for cipher"},
        {"size=1M,key-secret=zz", "No secret with id 'zz'"},
        {"size=1M,key-secret=s0,preallocation=foo", "invalid parameter value: foo"},
        {"size=1M,key-secret=s0,detached-header=on",
         "Detached LUKS headers (option 'detached-header') are not supported by this build yet"},
        {"size=8E,key-secret=s0", "The image size is too large for file format 'luks'"},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) err = NULL;
        ck_assert(!create(path, cases[i].opts, &err));
        ck_assert_str_eq(err->message, cases[i].error);
        ck_assert_int_eq(access(path, F_OK), -1);
    }
}

START_CO_TEST(measure_counts_the_header)
{
    g_autoptr(OptDict) opts = optdict_parse_keyval("size=1G,key-secret=s0", NULL, NULL);
    BlockMeasure m;

    secret_forget_all();
    add_secret("id=s0,data=pw123");
    ck_assert(block_co_measure(&block_driver_luks, opts, NULL, &m, NULL));
    ck_assert_uint_eq(m.required, 1075810304); /* field case F40 */
    ck_assert_uint_eq(m.fully_allocated, 1075810304);
}

static Suite *suite(void)
{
    Suite *s = suite_create("luks-driver");
    TCase *tc = tcase_create("luks-driver");

    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, file_is_header_plus_size);
    tcase_add_test(tc, what_is_written_is_read_back_and_not_on_the_disk);
    tcase_add_test(tc, zeros_are_encrypted_and_holes_never_made);
    tcase_add_test(tc, status_is_data_without_a_place);
    tcase_add_test(tc, resize_keeps_the_header_and_the_data);
    tcase_add_test(tc, open_says_what_is_wrong_with_the_key);
    tcase_add_test(tc, bad_files_are_refused);
    tcase_add_test(tc, create_with_bad_options_makes_no_file);
    tcase_add_test(tc, measure_counts_the_header);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
