/* SPDX-License-Identifier: MIT */
/* Who says that it reads as zeros, and from what it knows that. */
#include "tests/unit/qcow2-fixture.h"

static char *dir, *image;

static void setup(void)
{
    dir = scratch_dir();
    image = g_build_filename(dir, "image", NULL);
}

static void teardown(void)
{
    g_clear_pointer(&image, g_free);
    g_clear_pointer(&dir, scratch_free);
}

/* A sparse file of 1 MiB with a page of data at 256 KiB. */
static void make_sparse(void)
{
    int fd = open(image, O_RDWR | O_CREAT | O_CLOEXEC, 0644);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, MIB), 0);
    ck_assert_int_eq(pwrite(fd, "x", 1, 256 * KIB), 1);
    close(fd);
}

static BlockNode *open_over_image(const char *format, unsigned flags)
{
    g_autofree char *text = g_strdup_printf(format, image);

    return open_opts(text, flags);
}

START_CO_TEST(a_file_says_so_of_its_holes_alone)
{
    make_sparse();
    BlockNode *node = open_over_image("driver=file,filename=%s", BLOCK_OPEN_RDWR);

    ck_assert(block_co_reads_zero(node, 0, 256 * KIB));
    ck_assert(!block_co_reads_zero(node, 0, 256 * KIB + 1));
    ck_assert(!block_co_reads_zero(node, 256 * KIB, 1));
    ck_assert(block_co_reads_zero(node, 512 * KIB, 512 * KIB));
    ck_assert(block_co_reads_zero(node, 512 * KIB, INT64_MAX - MIB)); /* past the end */
    ck_assert(block_co_reads_zero(node, 256 * KIB, 0));
    block_co_close(node);
}

START_CO_TEST(a_new_file_that_is_written_says_so_no_more)
{
    g_autoptr(OptDict) opts = optdict_parse_keyval("size=1M", NULL, NULL);
    ck_assert(block_co_create("raw", image, opts, NULL));
    BlockNode *node = open_over_image("driver=raw,file.filename=%s", BLOCK_OPEN_RDWR);

    ck_assert(block_co_reads_zero(node, 0, MIB));
    fill(node, 512 * KIB, 512, 0x11);
    ck_assert(!block_co_reads_zero(node, 0, MIB));
    block_co_close(node);
}

START_CO_TEST(zeros_that_were_written_are_not_known_to_be_zeros)
{
    g_autoptr(OptDict) opts = optdict_parse_keyval("size=1M,preallocation=full", NULL, NULL);
    ck_assert(block_co_create("raw", image, opts, NULL));
    BlockNode *node = open_over_image("driver=raw,file.filename=%s", 0);

    ck_assert(!block_co_reads_zero(node, 0, MIB));
    block_co_close(node);
}

START_CO_TEST(raw_asks_for_its_window)
{
    make_sparse();
    BlockNode *node = open_over_image("driver=raw,offset=512k,size=512k,file.filename=%s", 0);
    ck_assert(block_co_reads_zero(node, 0, 512 * KIB));
    block_co_close(node);

    node = open_over_image("driver=raw,offset=128k,size=256k,file.filename=%s", 0);
    ck_assert(block_co_reads_zero(node, 0, 128 * KIB));
    ck_assert(!block_co_reads_zero(node, 0, 256 * KIB));
    block_co_close(node);
}

START_CO_TEST(filters_pass_the_question_on)
{
    g_autofree char *record = g_strdup_printf("driver=record,log=%s/log,file.filename=%%s", dir);
    const char *const formats[] = {"driver=fault,file.filename=%s", record};

    make_sparse();
    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++) {
        BlockNode *node = open_over_image(formats[i], BLOCK_OPEN_RDWR);
        ck_assert(block_co_reads_zero(node, 0, 256 * KIB));
        ck_assert(!block_co_reads_zero(node, 0, MIB));
        block_co_close(node);
    }
}

START_CO_TEST(null_says_so_when_it_reads_zeros)
{
    BlockNode *node = open_opts("driver=null-co,size=1M,read-zeroes=on", 0);
    ck_assert(block_co_reads_zero(node, 0, MIB));
    block_co_close(node);

    node = open_opts("driver=null-co,size=1M", 0);
    ck_assert(!block_co_reads_zero(node, 0, MIB));
    block_co_close(node);
}

START_CO_TEST(a_device_never_says_so)
{
    g_assert(g_file_set_contents(image, "", 0, NULL));
    ck_assert_int_eq(truncate(image, MIB), 0); /* all of it a hole */
    BlockNode *node = open_over_image("driver=raw,file.driver=testdev,file.file.filename=%s", BLOCK_OPEN_RDWR);

    ck_assert(!block_co_reads_zero(node, 0, MIB));
    ck_assert_int_eq(block_co_pwrite_zeroes(node, 0, MIB, 0), 0);
    ck_assert(!block_co_reads_zero(node, 0, MIB));
    ck_assert(block_node_on_device(node));
    block_co_close(node);
}

START_CO_TEST(a_driver_without_an_answer_does_not_know)
{
    BlockNode *node = mem_node_new(0, NULL);

    ck_assert(!block_co_reads_zero(node, 0, 512));
    block_co_close(node);
}

START_CO_TEST(luks_never_says_so)
{
    g_autoptr(OptDict) opts = optdict_parse_keyval("size=1M,key-secret=s0,iter-time=10", NULL, NULL);
    ck_assert(block_co_create("luks", image, opts, NULL));
    BlockNode *node = open_over_image("driver=luks,key-secret=s0,file.filename=%s", BLOCK_OPEN_RDWR);
    ck_assert(!block_co_reads_zero(node, 0, MIB));
    block_co_close(node);

    node = open_over_image("driver=raw,file.driver=luks,file.key-secret=s0,file.file.filename=%s", 0);
    ck_assert(!block_co_reads_zero(node, 0, 512));
    block_co_close(node);
}

/* ---- qcow2 ----------------------------------------------------------------------------------------------------- */

START_CO_TEST(qcow2_answers_from_its_tables)
{
    create_image(image, "size=10G");
    BlockNode *node = open_image(image, NULL, BLOCK_OPEN_RDWR | BLOCK_OPEN_UNMAP);

    ck_assert(block_co_reads_zero(node, 0, 10 * GIB));
    fill(node, 9 * GIB, 512, 0x11);
    ck_assert(!block_co_reads_zero(node, 0, 10 * GIB));
    ck_assert(block_co_reads_zero(node, 0, 9 * GIB));
    ck_assert_int_eq(block_co_pwrite_zeroes(node, 9 * GIB, CLUSTER, 0), 0);
    ck_assert(block_co_reads_zero(node, 0, 10 * GIB));
    close_image(node);
}

START_CO_TEST(qcow2_asks_its_file_about_clusters_that_were_preallocated)
{
    create_image(image, "size=1M,preallocation=metadata");
    BlockNode *node = open_image(image, NULL, 0);
    ck_assert(block_co_reads_zero(node, 0, MIB));
    close_image(node);

    create_image(image, "size=1M,preallocation=full");
    node = open_image(image, NULL, 0);
    ck_assert(!block_co_reads_zero(node, 0, MIB));
    close_image(node);
}

START_CO_TEST(qcow2_with_a_backing_file_knows_of_zero_clusters_only)
{
    g_autofree char *base = scratch_file(dir, "base", "x", 1);
    g_autofree char *options = g_strdup_printf("size=1M,backing_file=%s,backing_fmt=raw", base);

    create_image(image, options);
    BlockNode *node = open_image(image, NULL, BLOCK_OPEN_RDWR);
    ck_assert(!block_co_reads_zero(node, 0, MIB));
    ck_assert_int_eq(block_co_pwrite_zeroes(node, 0, MIB, 0), 0);
    ck_assert(block_co_reads_zero(node, 0, MIB));
    close_image(node);

    create_image(image, options);
    node = open_image(image, NULL, BLOCK_OPEN_NO_BACKING);
    ck_assert(!block_co_reads_zero(node, 0, MIB)); /* it is not there to be asked */
    close_image(node);
}

START_CO_TEST(qcow2_takes_no_file_s_word_for_clusters_that_are_encrypted)
{
    create_image(image, "size=1M,encrypt.format=luks,encrypt.key-secret=s0,encrypt.iter-time=10,compat=0.10,"
                        "preallocation=metadata"); /* maps holes of the file, which decrypt to noise */
    BlockNode *node = open_image(image, "encrypt.key-secret=s0", 0);

    ck_assert(!block_co_reads_zero(node, 0, MIB));
    close_image(node);
}

START_CO_TEST(an_image_opened_for_facts_does_not_know)
{
    create_image(image, "size=1M");
    BlockNode *node = open_image(image, NULL, BLOCK_OPEN_NO_IO);

    ck_assert(!block_co_reads_zero(node, 0, MIB));
    close_image(node);
}

static Suite *suite(void)
{
    Suite *s = suite_create("reads-zero");
    TCase *tc = tcase_create("reads-zero");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, a_file_says_so_of_its_holes_alone);
    tcase_add_test(tc, a_new_file_that_is_written_says_so_no_more);
    tcase_add_test(tc, zeros_that_were_written_are_not_known_to_be_zeros);
    tcase_add_test(tc, raw_asks_for_its_window);
    tcase_add_test(tc, filters_pass_the_question_on);
    tcase_add_test(tc, null_says_so_when_it_reads_zeros);
    tcase_add_test(tc, a_device_never_says_so);
    tcase_add_test(tc, a_driver_without_an_answer_does_not_know);
    tcase_add_test(tc, luks_never_says_so);
    tcase_add_test(tc, qcow2_answers_from_its_tables);
    tcase_add_test(tc, qcow2_asks_its_file_about_clusters_that_were_preallocated);
    tcase_add_test(tc, qcow2_with_a_backing_file_knows_of_zero_clusters_only);
    tcase_add_test(tc, qcow2_takes_no_file_s_word_for_clusters_that_are_encrypted);
    tcase_add_test(tc, an_image_opened_for_facts_does_not_know);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    g_autoptr(OptDict) secret = optdict_parse_keyval("id=s0,data=pw", NULL, NULL);

    if (!crypto_init(NULL) || !secret_add(secret, NULL)) {
        return EXIT_FAILURE;
    }
    return run_suite(suite());
}
