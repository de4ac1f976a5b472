/* SPDX-License-Identifier: MIT */
/* Opening: what is refused and by which words, what opening for writing changes, runtime options. */
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

static void assert_refused(const char *options, unsigned flags, const char *message)
{
    g_autofree char *text =
        g_strdup_printf("driver=qcow2,file.filename=%s%s%s", image, options ? "," : "", options ? options : "");

    ck_assert_open_error(NULL, NULL, text, flags, message);
}

static void make_filled(void)
{
    create_image(image, "size=4M");
    BlockNode *node = open_image(image, NULL, BLOCK_OPEN_RDWR);
    fill(node, 0, MIB, 0x11);
    close_image(node);
}

START_CO_TEST(a_corrupt_image_opens_read_only_or_for_check)
{
    make_filled();
    poke_u64(image, 72, QCOW2_INCOMPAT_CORRUPT);
    assert_refused(NULL, BLOCK_OPEN_RDWR, "qcow2: Image is corrupt; cannot be opened read/write");
    BlockNode *node = open_image(image, NULL, 0);
    assert_filled(node, 0, MIB, 0x11);
    close_image(node);
    node = open_image(image, NULL, BLOCK_OPEN_RDWR | BLOCK_OPEN_CHECK);
    BlockCheckResult res = {0};
    ck_assert_int_eq(block_co_check(node, &res, BLOCK_FIX_ERRORS), 0);
    close_image(node);
    ck_assert_uint_eq(file_u64(image, 72), 0);
}

START_CO_TEST(a_dirty_image_is_repaired_before_writing)
{
    make_filled();
    poke_u64(image, 72, QCOW2_INCOMPAT_DIRTY);
    poke_u16(image, 2 * CLUSTER + 2 * 7, 0); /* lost with the crash */
    BlockNode *node = open_image(image, NULL, 0);
    assert_filled(node, 0, MIB, 0x11);
    close_image(node);
    ck_assert_uint_eq(file_u64(image, 72), QCOW2_INCOMPAT_DIRTY);

    node = open_image(image, NULL, BLOCK_OPEN_RDWR);
    ck_assert_uint_eq(file_u64(image, 72), 0);
    fill(node, 2 * MIB, MIB, 0x22);
    assert_filled(node, 0, MIB, 0x11);
    close_image(node);
    ck_assert_int_eq(count_problems(image), 0);
}

START_CO_TEST(lazy_refcounts_set_the_dirty_bit_while_open)
{
    create_image(image, "size=4M,lazy_refcounts=on");
    BlockNode *node = open_image(image, NULL, BLOCK_OPEN_RDWR);
    ck_assert_uint_eq(file_u64(image, 72), 0);
    fill(node, 0, MIB, 0x33);
    ck_assert_uint_eq(file_u64(image, 72), QCOW2_INCOMPAT_DIRTY);
    close_image(node);
    ck_assert_uint_eq(file_u64(image, 72), 0);
    ck_assert_int_eq(count_problems(image), 0);
}

START_CO_TEST(unknown_autoclear_bits_are_cleared_by_writers_only)
{
    make_filled();
    poke_u64(image, 88, UINT64_C(1) << 40);
    close_image(open_image(image, NULL, 0));
    ck_assert_uint_eq(file_u64(image, 88), UINT64_C(1) << 40);
    close_image(open_image(image, NULL, BLOCK_OPEN_RDWR));
    ck_assert_uint_eq(file_u64(image, 88), 0);
}

START_CO_TEST(unknown_compatible_bits_are_kept)
{
    make_filled();
    poke_u64(image, 80, UINT64_C(1) << 40);
    poke_u64(image, 88, 4); /* makes the writer store the header */
    close_image(open_image(image, NULL, BLOCK_OPEN_RDWR));
    ck_assert_uint_eq(file_u64(image, 80), UINT64_C(1) << 40);
    ck_assert_uint_eq(file_u64(image, 88), 0);
}

START_CO_TEST(features_of_later_versions_are_refused_by_name)
{
    make_filled();
    poke_u64(image, 72, QCOW2_INCOMPAT_EXTL2);
    assert_refused(NULL, 0, "Extended L2 entries (extended_l2=on) are not supported yet by this build");
    close_image(open_image(image, NULL, BLOCK_OPEN_NO_IO));
    poke_u64(image, 72, QCOW2_INCOMPAT_DATA_FILE);
    assert_refused(NULL, 0, "External data files are not supported yet by this build");
    close_image(open_image(image, NULL, BLOCK_OPEN_NO_IO));
    poke_u64(image, 72, 0);

    poke_u64(image, 56, (UINT64_C(1) << 32) | 1); /* one reftable cluster, one snapshot */
    assert_refused(
        NULL, BLOCK_OPEN_RDWR,
        "Writing to an image with internal snapshots is not supported yet by this build (open it read-only)");
    BlockNode *node = open_image(image, NULL, 0);
    assert_filled(node, 0, MIB, 0x11);
    close_image(node);
}

START_CO_TEST(an_image_with_bitmaps_is_not_written)
{
    uint8_t ext[32] = {0x23, 0x85, 0x28, 0x75, 0, 0, 0, 24, 0, 0, 0, 1};

    make_filled();
    store_be64(ext + 16, 64);
    store_be64(ext + 24, 5 * CLUSTER);
    poke(image, 112, ext, sizeof(ext));
    poke_u64(image, 144, 0);
    poke_u64(image, 88, QCOW2_AUTOCLEAR_BITMAPS);
    assert_refused(NULL, BLOCK_OPEN_RDWR,
                   "Writing to an image with persistent bitmaps is not supported yet by this build (open it read-only, "
                   "or remove them with 'qemu-img bitmap --remove')");
    close_image(open_image(image, NULL, 0));
    ck_assert_uint_eq(file_u64(image, 88), QCOW2_AUTOCLEAR_BITMAPS);
}

START_CO_TEST(a_file_cut_off_before_the_l1_table_reads_as_zeros)
{
    make_filled();
    ck_assert_int_eq(truncate(image, 3 * CLUSTER), 0);
    BlockNode *node = open_image(image, NULL, 0);
    assert_filled(node, 0, 4 * MIB, 0);
    close_image(node);
}

/* --- encryption --- */

START_CO_TEST(the_key_is_needed_for_data_only)
{
    create_image(image, "size=1M,encrypt.format=luks,encrypt.key-secret=s,encrypt.iter-time=1");
    assert_refused(NULL, 0, "Parameter 'encrypt.key-secret' is required for cipher");
    assert_refused("encrypt.key-secret=bad", 0, "Invalid password, cannot unlock any keyslot");
    assert_refused("encrypt.key-secret=nope", 0, "No secret with id 'nope'");
    assert_refused("encrypt.format=aes,encrypt.key-secret=s", 0,
                   "Header reported 'luks' encryption format but options specify 'aes'");
    assert_refused("encrypt.key-secret=s,encrypt.cipher-alg=aes-256", 0, "Parameter 'cipher-alg' is unexpected");

    BlockNode *node = open_image(image, NULL, BLOCK_OPEN_NO_IO);
    ck_assert(block_node_encrypted(node));
    close_image(node);
    close_image(open_image(image, "encrypt.format=luks,encrypt.key-secret=s", BLOCK_OPEN_RDWR));
}

START_CO_TEST(encryption_options_need_an_encrypted_image)
{
    create_image(image, "size=1M");
    assert_refused("encrypt.format=luks", 0, "No encryption in image header, but options specified format 'luks'");
    close_image(open_image(image, "encrypt.key-secret=s", 0));
}

START_CO_TEST(legacy_aes_matches_the_known_ciphertext)
{
    /* Section 24: password "abc123", guest sectors 0 and 1 of zeros. */
    create_image(image, "size=1M,encrypt.format=aes,encrypt.key-secret=vector");
    BlockNode *node = open_image(image, "encrypt.key-secret=vector", BLOCK_OPEN_RDWR);
    fill(node, 0, 1024, 0);
    close_image(node);
    ck_assert_uint_eq(file_u64(image, 5 * CLUSTER), UINT64_C(0xc7c169a571a7e1e0));
    ck_assert_uint_eq(file_u64(image, 5 * CLUSTER + 512), UINT64_C(0x650de4dd2b35dce3));
}

/* --- runtime options --- */

static const struct {
    const char *options, *message;
} bad_options[] = {
    {"cache-size=1M,l2-cache-size=1M,refcount-cache-size=1M",
     "cache-size, l2-cache-size and refcount-cache-size may not be set at the same time"},
    {"cache-size=1M,l2-cache-size=2M", "l2-cache-size may not exceed cache-size"},
    {"cache-size=1M,refcount-cache-size=2M", "refcount-cache-size may not exceed cache-size"},
    {"l2-cache-entry-size=513", "L2 cache entry size must be a power of two between 512 and the cluster size (65536)"},
    {"l2-cache-entry-size=128k", "L2 cache entry size must be a power of two between 512 and the cluster size (65536)"},
    {"overlap-check=foo", "Unsupported value 'foo' for qcow2 option 'overlap-check'. Allowed are any of the following: "
                          "none, constant, cached, all"},
    {"overlap-check=all,overlap-check.template=none",
     "Conflicting values for qcow2 options 'overlap-check' ('all') and 'overlap-check.template' ('none')"},
    {"cache-clean-interval=5000000000", "Cache clean interval too big"},
    {"lazy-refcounts=maybe", "Parameter 'lazy-refcounts' expects 'on' or 'off'"},
    {"encrypt-in-parallel=perhaps",
     "Parameter 'encrypt-in-parallel' does not accept value 'perhaps' (on, off or auto)"},
    {"data-file=x", "'data-file' can only be set for images with an external data file"},
    {"foo=bar", "Block format 'qcow2' does not support the option 'foo'"},
    {"overlap-check.foo=on", "Block format 'qcow2' does not support the option 'overlap-check.foo'"},
};

START_CO_TEST(bad_runtime_options_are_refused)
{
    create_image(image, "size=1M");
    for (size_t i = 0; i < G_N_ELEMENTS(bad_options); i++) {
        assert_refused(bad_options[i].options, 0, bad_options[i].message);
    }
    create_image(image, "size=1M,compat=0.10");
    assert_refused("lazy-refcounts=on", 0,
                   "Lazy refcounts require a qcow2 image with at least qemu 1.1 compatibility level");
}

START_CO_TEST(good_runtime_options_arrive_in_the_state)
{
    create_image(image, "size=100G");
    BlockNode *node = open_image(image,
                                 "cache-size=3M,l2-cache-size=1M,l2-cache-entry-size=4k,overlap-check.template=all,"
                                 "overlap-check.inactive-l2=off,pass-discard-other=on,cache-clean-interval=0,"
                                 "lazy-refcounts=on,encrypt-in-parallel=on",
                                 BLOCK_OPEN_RDWR);
    Qcow2State *s = qcow2_state(node);
    ck_assert_uint_eq(s->l2_cache_bytes, MIB);
    ck_assert_uint_eq(s->refcount_cache_bytes, 2 * MIB);
    ck_assert_uint_eq(s->overlap_check, 0x17f);
    ck_assert(s->discard_passes[3] && !s->discard_passes[1] && s->discard_passes[2]);
    ck_assert(s->lazy_refcounts);
    ck_assert_int_eq(s->crypt.mode, OFFLOAD_ON);
    close_image(node);
}

START_CO_TEST(the_l2_cache_covers_small_disks_and_is_bounded_for_large_ones)
{
    create_image(image, "size=1G");
    BlockNode *node = open_image(image, NULL, 0);
    ck_assert_uint_eq(qcow2_state(node)->l2_cache_bytes, 2 * CLUSTER);
    close_image(node);
    create_image(image, "size=10T");
    node = open_image(image, NULL, 0);
    ck_assert_uint_eq(qcow2_state(node)->l2_cache_bytes, 32 * MIB);
    close_image(node);
}

int main(void)
{
    Suite *s = suite_create("qcow2-open");
    TCase *tc = tcase_create("all");
    static const char *const secrets[] = {"id=s,data=abc", "id=bad,data=x", "id=vector,data=abc123"};

    for (size_t i = 0; i < G_N_ELEMENTS(secrets); i++) {
        g_autoptr(OptDict) secret = optdict_parse_keyval(secrets[i], NULL, NULL);

        if (!crypto_init(NULL) || !secret_add(secret, NULL)) {
            return EXIT_FAILURE;
        }
    }
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, a_corrupt_image_opens_read_only_or_for_check);
    tcase_add_test(tc, a_dirty_image_is_repaired_before_writing);
    tcase_add_test(tc, lazy_refcounts_set_the_dirty_bit_while_open);
    tcase_add_test(tc, unknown_autoclear_bits_are_cleared_by_writers_only);
    tcase_add_test(tc, unknown_compatible_bits_are_kept);
    tcase_add_test(tc, features_of_later_versions_are_refused_by_name);
    tcase_add_test(tc, an_image_with_bitmaps_is_not_written);
    tcase_add_test(tc, a_file_cut_off_before_the_l1_table_reads_as_zeros);
    tcase_add_test(tc, the_key_is_needed_for_data_only);
    tcase_add_test(tc, encryption_options_need_an_encrypted_image);
    tcase_add_test(tc, legacy_aes_matches_the_known_ciphertext);
    tcase_add_test(tc, bad_runtime_options_are_refused);
    tcase_add_test(tc, good_runtime_options_arrive_in_the_state);
    tcase_add_test(tc, the_l2_cache_covers_small_disks_and_is_bounded_for_large_ones);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
