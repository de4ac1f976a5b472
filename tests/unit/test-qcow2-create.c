/* SPDX-License-Identifier: MIT */
/* New images: layouts of qcow2 sheet sections 19 and 20, refusals, nothing left behind. */
#include "tests/unit/qcow2-fixture.h"

static char *dir, *image;

static void setup(void)
{
    dir = scratch_dir();
    image = g_build_filename(dir, "image.qcow2", NULL);
}

static void teardown(void)
{
    g_clear_pointer(&image, g_free);
    g_clear_pointer(&dir, scratch_free);
}

START_CO_TEST(a_fresh_image_has_the_layout_of_the_sheet)
{
    create_image(image, "size=64M");
    ck_assert_int_eq(file_bytes(image), 3 * CLUSTER + 8);
    ck_assert_uint_eq(file_u64(image, 24), 64 * MIB);
    ck_assert_uint_eq(file_u64(image, 40), 3 * CLUSTER);
    ck_assert_uint_eq(file_u64(image, 48), CLUSTER);
    ck_assert_uint_eq(file_u64(image, CLUSTER), 2 * CLUSTER);
    ck_assert_uint_eq(file_u64(image, 2 * CLUSTER), UINT64_C(0x0001000100010001));
    ck_assert_uint_eq(file_u64(image, 2 * CLUSTER + 8), 0);
    ck_assert_uint_eq(count_problems(image), 0);
}

START_CO_TEST(a_disk_of_no_bytes_has_no_l1_table)
{
    create_image(image, "size=0");
    ck_assert_int_eq(file_bytes(image), 3 * CLUSTER);
    ck_assert_uint_eq(file_u64(image, 40), 0);
    ck_assert_uint_eq(count_problems(image), 0);
}

START_CO_TEST(the_first_write_goes_behind_the_l1_table)
{
    create_image(image, "size=64M");
    BlockNode *node = open_image(image, NULL, BLOCK_OPEN_RDWR);
    fill(node, 0, CLUSTER, 0x11);
    close_image(node);
    ck_assert_uint_eq(file_u64(image, 3 * CLUSTER), UINT64_C(0x8000000000040000));
    ck_assert_uint_eq(file_u64(image, 4 * CLUSTER), UINT64_C(0x8000000000050000));
    ck_assert_uint_eq(count_problems(image), 0);
}

START_CO_TEST(sizes_are_rounded_up_to_sectors)
{
    create_image(image, "size=1000");
    ck_assert_uint_eq(file_u64(image, 24), 1024);
}

START_CO_TEST(every_cluster_size_and_refcount_width_makes_a_clean_image)
{
    for (unsigned bits = 9; bits <= 21; bits++) {
        for (unsigned width = 1; width <= 64; width *= 2) {
            g_autofree char *options = g_strdup_printf("size=40M,cluster_size=%u,refcount_bits=%u", 1u << bits, width);

            create_image(image, options);
            ck_assert_msg(count_problems(image) == 0, "%s", options);
        }
    }
}

/* The L1 table of 32 MiB needs a refcount table that grows for it; growing must not push it further and further back.
 */
START_CO_TEST(a_table_longer_than_the_refcounts_reach_wastes_no_room)
{
    create_image(image, "size=128G,cluster_size=512");
    ck_assert_int_lt(file_bytes(image), 33 * MIB);
    ck_assert_uint_eq(count_problems(image), 0);
    BlockNode *node = open_image(image, NULL, BLOCK_OPEN_RDWR);
    fill(node, 0, MIB, 0x11);
    close_image(node);
    ck_assert_int_lt(file_bytes(image), 34 * MIB + MIB / 8);
    ck_assert_uint_eq(count_problems(image), 0);
}

START_CO_TEST(preallocated_images_are_mapped_clean_and_zero)
{
    static const char *const modes[] = {"metadata", "falloc", "full"};

    for (size_t i = 0; i < G_N_ELEMENTS(modes); i++) {
        g_autofree char *options = g_strdup_printf("size=1M,preallocation=%s", modes[i]);

        create_image(image, options);
        ck_assert_int_eq(file_bytes(image), 1376256);
        ck_assert_uint_eq(file_u64(image, 4 * CLUSTER), UINT64_C(0x8000000000050000));
        ck_assert_uint_eq(file_u64(image, 4 * CLUSTER + 15 * 8), UINT64_C(0x8000000000140000));
        ck_assert_uint_eq(count_problems(image), 0);
        BlockNode *node = open_image(image, NULL, 0);
        assert_filled(node, 0, MIB, 0);
        close_image(node);
    }
}

START_CO_TEST(encrypted_preallocation_reads_as_zeros)
{
    create_image(image, "size=1M,preallocation=metadata,encrypt.format=luks,encrypt.key-secret=s,encrypt.iter-time=1");
    BlockNode *node = open_image(image, "encrypt.key-secret=s", BLOCK_OPEN_RDWR);
    assert_filled(node, 0, MIB, 0);
    fill(node, 70000, 3000, 0x55);
    assert_filled(node, CLUSTER, 70000 - CLUSTER, 0);
    assert_filled(node, 70000, 3000, 0x55);
    assert_filled(node, 73000, CLUSTER, 0);
    close_image(node);
}

START_CO_TEST(the_luks_area_lies_behind_the_l1_table)
{
    create_image(image, "size=64M,encrypt.format=luks,encrypt.key-secret=s,encrypt.iter-time=1");
    ck_assert_int_eq(file_bytes(image), 36 * CLUSTER);
    ck_assert_uint_eq(file_u64(image, 112), UINT64_C(0x0537be7700000010));
    ck_assert_uint_eq(file_u64(image, 120), 4 * CLUSTER);
    ck_assert_uint_eq(file_u64(image, 128), 0x1f9000);
    ck_assert_uint_eq(file_u64(image, 4 * CLUSTER), UINT64_C(0x4c554b53babe0001));
}

START_CO_TEST(the_backing_file_is_recorded)
{
    create_image(image, "size=1M,backing_file=base.img,backing_fmt=raw");
    BlockNode *node = open_image(image, NULL, BLOCK_OPEN_NO_BACKING);
    ck_assert_str_eq(block_node_backing_name(node), "base.img");
    ck_assert_str_eq(block_node_backing_format(node), "raw");
    close_image(node);
}

static const struct {
    const char *options, *message;
} refused[] = {
    {"size=1M,cluster_size=1000", "Cluster size must be a power of two between 512 and 2048k"},
    {"size=1M,cluster_size=4M", "Cluster size must be a power of two between 512 and 2048k"},
    {"size=1M,refcount_bits=3", "Refcount width must be a power of two and may not exceed 64 bits"},
    {"size=1M,refcount_bits=0", "Refcount width must be a power of two and may not exceed 64 bits"},
    {"size=1M,compat=0.10,refcount_bits=8", "Different refcount widths than 16 bits require compatibility level 1.1 or "
                                            "above (use version=v3 or greater)"},
    {"size=1M,compat=0.10,lazy_refcounts=on",
     "Lazy refcounts only supported with compatibility level 1.1 and above (use version=v3 or greater)"},
    {"size=1M,compat=0.10,compression_type=zstd",
     "Non-zlib compression type is only supported with compatibility level 1.1 and above (use version=v3 or greater)"},
    {"size=1M,compat=2", "Parameter 'version' does not accept value '2'"},
    {"size=1M,compression_type=lz4", "Parameter 'compression-type' does not accept value 'lz4'"},
    {"size=1M,preallocation=foo", "Parameter 'preallocation' does not accept value 'foo'"},
    {"size=1M,backing_fmt=raw", "Backing format cannot be used without backing file"},
    {"size=1M,backing_file=b,backing_fmt=nope", "Parameter 'backing-fmt' does not accept value 'nope'"},
    {"size=1M,backing_file=b,backing_fmt=raw,preallocation=full",
     "Backing file and preallocation can only be used at the same time if extended_l2 is on"},
    {"size=1M,extended_l2=on,cluster_size=8k",
     "Extended L2 entries are only supported with cluster sizes of at least 16384 bytes"},
    {"size=1M,extended_l2=on", "extended_l2=on is not supported yet by this build"},
    {"size=1M,data_file=x", "data_file is not supported yet by this build"},
    {"size=1M,data_file_raw=on", "data-file-raw requires data-file"},
    {"size=129G,cluster_size=512",
     "The image size is too large for file format 'qcow2' (try using a larger cluster size)"},
    {"size=9223372036854775807", "Could not resize image: Image size cannot be negative"},
    {"size=1M,encrypt.key-secret=s", "Parameter 'encrypt.format' is missing"},
    {"size=1M,encrypt.format=foo,encrypt.key-secret=s", "Parameter 'format' does not accept value 'foo'"},
    {"size=1M,encrypt.format=luks", "Parameter 'encrypt.key-secret' is required for cipher"},
    {"size=1M,encrypt.format=aes", "Parameter 'encrypt.key-secret' is required for cipher"},
    {"size=1M,encrypt.format=luks,encrypt.key-secret=zz", "No secret with id 'zz'"},
    {"size=1M,encryption=on,encrypt.format=aes,encrypt.key-secret=s",
     "'encrypt.format' and its alias 'encryption' can't be used at the same time"},
    {"size=1M,encrypt.format=aes,encrypt.cipher-alg=aes-256,encrypt.key-secret=s",
     "Parameter 'encrypt.cipher-alg' is unexpected"},
};

static void refuse_one(void *opaque)
{
    g_autoptr(GError) err = NULL;
    int i = GPOINTER_TO_INT(opaque);

    ck_assert_msg(!try_create(image, refused[i].options, &err), "%s was made", refused[i].options);
    ck_assert_str_eq(err->message, refused[i].message);
    ck_assert_msg(access(image, F_OK) < 0, "%s left a file", refused[i].options);
}

START_TEST(bad_options_are_refused_by_name_and_leave_no_file)
{
    run_on_fresh_loop(refuse_one, GINT_TO_POINTER(_i));
}
END_TEST

START_CO_TEST(a_refused_create_keeps_the_old_file)
{
    g_autoptr(GError) err = NULL;

    ck_assert(g_file_set_contents(image, "precious", 8, NULL));
    ck_assert(!try_create(image, "size=1M,encrypt.format=luks,encrypt.key-secret=zz", &err));
    ck_assert_int_eq(file_bytes(image), 8);
}

int main(void)
{
    Suite *s = suite_create("qcow2-create");
    TCase *tc = tcase_create("all");
    g_autoptr(OptDict) secret = optdict_parse_keyval("id=s,data=abc", NULL, NULL);

    if (!crypto_init(NULL) || !secret_add(secret, NULL)) {
        return EXIT_FAILURE;
    }
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, a_fresh_image_has_the_layout_of_the_sheet);
    tcase_add_test(tc, a_disk_of_no_bytes_has_no_l1_table);
    tcase_add_test(tc, the_first_write_goes_behind_the_l1_table);
    tcase_add_test(tc, sizes_are_rounded_up_to_sectors);
    tcase_add_test(tc, every_cluster_size_and_refcount_width_makes_a_clean_image);
    tcase_add_test(tc, a_table_longer_than_the_refcounts_reach_wastes_no_room);
    tcase_add_test(tc, preallocated_images_are_mapped_clean_and_zero);
    tcase_add_test(tc, encrypted_preallocation_reads_as_zeros);
    tcase_add_test(tc, the_luks_area_lies_behind_the_l1_table);
    tcase_add_test(tc, the_backing_file_is_recorded);
    tcase_add_loop_test(tc, bad_options_are_refused_by_name_and_leave_no_file, 0, G_N_ELEMENTS(refused));
    tcase_add_test(tc, a_refused_create_keeps_the_old_file);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
