/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <errno.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "block/qcow2/data/qcow2-deflate.h"
#include "block/qcow2/data/qcow2-zstd.h"
#include "tests/unit/suite.h"

enum { CLUSTER = 65536 };

typedef struct Codec {
    ssize_t (*compress)(const void *in, size_t bytes, void *out, size_t out_bytes);
    int (*decompress)(const void *in, size_t bytes, void *out, size_t out_bytes);
} Codec;

static const Codec codecs[] = {{qcow2_deflate, qcow2_inflate}, {qcow2_zstd_compress, qcow2_zstd_decompress}};

static uint8_t plain[CLUSTER], packed[CLUSTER], again[CLUSTER];

static void fill_counting(void)
{
    for (size_t i = 0; i < CLUSTER; i++) {
        plain[i] = i & 0xff;
    }
}

static void fill_random(guint32 seed)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(seed);

    for (size_t i = 0; i < CLUSTER; i++) {
        plain[i] = g_rand_int(rand);
    }
}

/* Vectors: qcow2 sheet section 24, read from images made by the reference. */
START_TEST(deflate_output_is_that_of_other_writers)
{
    static const uint8_t head[] = {0xed, 0xc1, 0x81, 0x00, 0x00, 0x00, 0x00, 0x80, 0x20, 0x86};

    memset(plain, 0x11, CLUSTER);
    ck_assert_int_eq(qcow2_deflate(plain, CLUSTER, packed, CLUSTER - 1), 79);
    ck_assert_mem_eq(packed, head, sizeof(head));
    fill_counting();
    ck_assert_int_eq(qcow2_deflate(plain, CLUSTER, packed, CLUSTER - 1), 579);
    /* the context was used before: output must not depend on that */
    memset(plain, 0x11, CLUSTER);
    ck_assert_int_eq(qcow2_deflate(plain, CLUSTER, packed, CLUSTER - 1), 79);
    ck_assert_mem_eq(packed, head, sizeof(head));
}
END_TEST

START_TEST(zstd_output_is_that_of_other_writers)
{
    static const uint8_t frame[20] = {0x28, 0xb5, 0x2f, 0xfd, 0x60, 0x00, 0xff, 0x55, 0x00, 0x00,
                                      0x10, 0x11, 0x11, 0x01, 0x00, 0xfb, 0x7f, 0x1d, 0x60, 0x01};

    memset(plain, 0x11, CLUSTER);
    ck_assert_int_eq(qcow2_zstd_compress(plain, CLUSTER, packed, CLUSTER - 1), sizeof(frame));
    ck_assert_mem_eq(packed, frame, sizeof(frame));
    fill_counting();
    ck_assert_int_eq(qcow2_zstd_compress(plain, CLUSTER, packed, CLUSTER - 1), 277);
}
END_TEST

START_TEST(streams_followed_by_garbage_come_back_whole)
{
    const Codec *c = &codecs[_i];

    fill_counting();
    memset(packed, 0xee, CLUSTER);
    ssize_t n = c->compress(plain, CLUSTER, packed, CLUSTER - 1);
    ck_assert_int_gt(n, 0);
    ck_assert_int_eq(c->decompress(packed, n + 500, again, CLUSTER), 0);
    ck_assert_mem_eq(again, plain, CLUSTER);
}
END_TEST

START_TEST(data_that_does_not_shrink_is_reported_as_such)
{
    fill_random(1);
    ck_assert_int_eq(codecs[_i].compress(plain, CLUSTER, packed, CLUSTER - 1), -ENOMEM);
    /* and the context works afterwards */
    memset(plain, 0, CLUSTER);
    ck_assert_int_gt(codecs[_i].compress(plain, CLUSTER, packed, CLUSTER - 1), 0);
}
END_TEST

START_TEST(a_stream_cut_anywhere_is_an_error)
{
    const Codec *c = &codecs[_i];

    fill_random(2);
    memset(plain + 3000, 7, CLUSTER - 3000);
    ssize_t n = c->compress(plain, CLUSTER, packed, CLUSTER - 1);
    ck_assert_int_gt(n, 1000);
    for (ssize_t cut = 0; cut < n - 8; cut += 97) {
        ck_assert_int_eq(c->decompress(packed, cut, again, CLUSTER), -EIO);
    }
    ck_assert_int_eq(c->decompress(packed, n, again, CLUSTER), 0);
    ck_assert_mem_eq(again, plain, CLUSTER);
}
END_TEST

START_TEST(noise_never_passes_nor_writes_beyond_the_cluster)
{
    const Codec *c = &codecs[_i];
    g_autofree uint8_t *out = g_malloc(CLUSTER + 64);

    memset(out, 0xa5, CLUSTER + 64);
    for (guint32 seed = 0; seed < 200; seed++) {
        fill_random(seed);
        int ret = c->decompress(plain, 2000, out, CLUSTER);
        ck_assert(ret == 0 || ret == -EIO);
    }
    for (size_t i = CLUSTER; i < CLUSTER + 64; i++) {
        ck_assert_int_eq(out[i], 0xa5);
    }
}
END_TEST

START_TEST(a_stream_of_a_smaller_cluster_is_short)
{
    const Codec *c = &codecs[_i];

    fill_counting();
    ssize_t n = c->compress(plain, CLUSTER / 2, packed, CLUSTER - 1);
    ck_assert_int_eq(c->decompress(packed, n, again, CLUSTER), -EIO);
    ck_assert_int_eq(c->decompress(packed, n, again, CLUSTER / 2), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("qcow2-codecs");
    TCase *tc = tcase_create("codecs");

    tcase_add_test(tc, deflate_output_is_that_of_other_writers);
    tcase_add_test(tc, zstd_output_is_that_of_other_writers);
    tcase_add_loop_test(tc, streams_followed_by_garbage_come_back_whole, 0, 2);
    tcase_add_loop_test(tc, data_that_does_not_shrink_is_reported_as_such, 0, 2);
    tcase_add_loop_test(tc, a_stream_cut_anywhere_is_an_error, 0, 2);
    tcase_add_loop_test(tc, noise_never_passes_nor_writes_beyond_the_cluster, 0, 2);
    tcase_add_loop_test(tc, a_stream_of_a_smaller_cluster_is_short, 0, 2);
    suite_add_tcase(suite, tc);

    return run_suite(suite);
}
