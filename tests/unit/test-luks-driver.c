/* SPDX-License-Identifier: MIT */
#include "tests/unit/block-fixture.h"
#include "crypto/secret/secret.h"
#include "util/base/units.h"

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
        {",key-secret=s0,header.driver=file,header.filename=x", "Could not open 'x': No such file or directory"},
        {",key-secret=s0,header=x", "Cannot find device='x' nor node-name='x'"},
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
         "Parameter 'header.filename' is required for a detached header (detached-header=on)"},
        {"size=1M,key-secret=s0,header.filename=x", "Parameter 'header.filename' needs detached-header=on"},
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

/* ---- the header in another file ------------------------------------------------------------------------------- */

START_CO_TEST(detached_header_leaves_the_whole_file_to_the_data)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *header = g_build_filename(dir, "hdr", NULL);
    g_autofree char *options = g_strdup_printf("size=1M,detached-header=on,header.filename=%s", header);
    g_autofree char *path = new_image(dir, options);
    g_autofree char *more = g_strdup_printf(",header.filename=%s", header);
    const char *name;
    BlockNode *node = open_image(path, more, BLOCK_OPEN_RDWR);

    ck_assert_int_eq(block_getlength(node), MIB);
    ck_assert_int_eq(block_getlength(block_node_file(node)), MIB);
    ck_assert_int_eq(block_getlength(block_node_aux(node, &name)), HEADER_BYTES);
    ck_assert_str_eq(name, "header");
    memset(buf, 0x42, MIB);
    ck_assert_int_eq(block_co_pwrite(node, 0, buf, MIB, 0), 0);
    ck_assert_int_eq(block_co_close(node), 0);

    node = open_image(path, more, 0);
    ck_assert_int_eq(block_co_pread(node, 0, back, MIB, 0), 0);
    ck_assert(memcmp(buf, back, MIB) == 0);
    ck_assert_int_eq(block_co_pread(block_node_file(node), 0, back, MIB, 0), 0);
    ck_assert(memcmp(buf, back, 512) != 0);
    g_autoptr(InfoTree) info = block_co_specific_info(node, NULL);
    g_autofree char *text = info_to_json(info_get(info_get(info, "data"), "detached-header"), true);
    ck_assert_str_eq(text, "true");
    block_co_close(node);
}

START_CO_TEST(detached_header_is_not_taken_for_an_image)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *header = g_build_filename(dir, "hdr", NULL);
    g_autofree char *options = g_strdup_printf("size=1M,detached-header=on,header.filename=%s", header);
    g_autofree char *path = new_image(dir, options);
    g_autofree char *message = open_error(header, NULL, "key-secret=s0", BLOCK_OPEN_RDWR);

    /* Its payload would begin at its own first byte. */
    ck_assert_ptr_nonnull(message);
    ck_assert(g_str_has_prefix(message, "LUKS payload is overlapping with the header\n"));
    g_free(message);
    message = open_error(path, "luks", "key-secret=s0", 0);
    ck_assert_str_eq(message, "Volume is not in LUKS format");
}

START_CO_TEST(detached_header_cannot_be_made_in_the_image_itself)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = g_build_filename(dir, "img", NULL);
    g_autofree char *same = g_build_filename(dir, ".", "img", NULL);
    g_autofree char *options =
        g_strdup_printf("size=1M,key-secret=s0,iter-time=1,detached-header=on,header.filename=%s", same);
    g_autoptr(GError) err = NULL;

    ck_assert(!create(path, options, &err));
    ck_assert(g_str_has_prefix(err->message, "A detached LUKS header cannot be in the file of the image"));
    ck_assert_int_eq(access(path, F_OK), -1);
}

/* ---- key slots ------------------------------------------------------------------------------------------------- */

static bool amend(BlockNode *node, const char *text, GError **errp)
{
    g_autoptr(OptDict) opts = optdict_parse_keyval(text, NULL, NULL);

    return block_co_amend(node, opts, false, errp);
}

START_CO_TEST(amend_changes_the_header_where_it_is)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *header = g_build_filename(dir, "hdr", NULL);
    g_autofree char *detached = g_strdup_printf("detached-header=on,header.filename=%s", header);
    g_autofree char *more = g_strdup_printf(",header.filename=%s", header);

    for (int i = 0; i < 2; i++) {
        g_autofree char *options = g_strdup_printf("size=64k%s%s", i ? "," : "", i ? detached : "");
        g_autofree char *path = new_image(dir, options);
        g_autofree char *new_key = g_strdup_printf(",key-secret=bad%s", i ? more : "");
        BlockNode *node = open_image(path, i ? more : "", BLOCK_OPEN_RDWR);

        memset(buf, 0x42, 65536);
        ck_assert_int_eq(block_co_pwrite(node, 0, buf, 65536, 0), 0);
        ck_assert(amend(node, "state=active,new-secret=bad,iter-time=1", NULL));
        ck_assert(amend(node, "state=inactive,keyslot=0", NULL));
        ck_assert_int_eq(block_co_close(node), 0);
        node = open_image(path, new_key, 0);
        ck_assert_int_eq(block_co_pread(node, 0, back, 65536, 0), 0);
        ck_assert(memcmp(buf, back, 65536) == 0);
        block_co_close(node);
    }
}

START_CO_TEST(amend_names_what_it_does_not_take)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = new_image(dir, "size=64k");
    BlockNode *node = open_image(path, "", BLOCK_OPEN_RDWR);
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"nope=1", "Invalid parameter 'nope'"},
        {"cipher-alg=aes-128", "Invalid parameter 'cipher-alg'\nThis option is only supported for image creation"},
        {"keyslot=x", "Parameter 'keyslot' expects a number"},
        {"keyslot=1", "Parameter 'state' is missing"},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) err = NULL;
        ck_assert(!amend(node, cases[i].text, &err));
        ck_assert_str_eq(err->message, cases[i].error);
    }
    block_co_close(node);

    g_autofree char *raw = scratch_file(dir, "raw", buf, 4096);
    g_autoptr(GError) err = NULL;
    node = block_co_open(raw, "raw", NULL, BLOCK_OPEN_RDWR, NULL);
    ck_assert(!amend(node, "size=1", &err));
    ck_assert_str_eq(err->message, "Format driver 'raw' does not support option amendment");
    block_co_close(node);
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
    tcase_add_test(tc, detached_header_leaves_the_whole_file_to_the_data);
    tcase_add_test(tc, detached_header_is_not_taken_for_an_image);
    tcase_add_test(tc, detached_header_cannot_be_made_in_the_image_itself);
    tcase_add_test(tc, amend_changes_the_header_where_it_is);
    tcase_add_test(tc, amend_names_what_it_does_not_take);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
