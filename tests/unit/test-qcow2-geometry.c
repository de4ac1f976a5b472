/* SPDX-License-Identifier: MIT */
/* Vectors: qcow2 sheet sections 5, 7, 15, 19 and 24. */
#include "block/qcow2/format/qcow2-geometry.h"

#include <check.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "block/qcow2/format/qcow2-format.h"
#include "tests/unit/suite.h"

static Qcow2Geometry geometry(unsigned cluster_bits, unsigned order)
{
    Qcow2Geometry g;

    qcow2_geometry_init(&g, 3, cluster_bits, order, false);
    return g;
}

START_TEST(tables_are_sized_by_the_cluster)
{
    Qcow2Geometry g = geometry(16, 4);

    ck_assert_uint_eq(g.cluster_bytes, 65536);
    ck_assert_uint_eq(g.l2_bits, 13);
    ck_assert_uint_eq(g.refblock_bits, 15);
    ck_assert_uint_eq(g.refcount_max, 65535);
    qcow2_geometry_init(&g, 3, 16, 0, true);
    ck_assert_uint_eq(g.l2_bits, 12);
    ck_assert_uint_eq(g.refblock_bits, 19);
    ck_assert_uint_eq(g.refcount_max, 1);
    qcow2_geometry_init(&g, 3, 9, 6, false);
    ck_assert_uint_eq(g.refblock_bits, 6);
    ck_assert_uint_eq(g.refcount_max, UINT64_MAX);
}
END_TEST

START_TEST(l1_entries_cover_the_disk)
{
    Qcow2Geometry g9 = geometry(9, 4), g12 = geometry(12, 4), g16 = geometry(16, 4);

    ck_assert_uint_eq(qcow2_l1_entries_for(&g9, 1 * MIB), 0x20);
    ck_assert_uint_eq(qcow2_l1_entries_for(&g12, 64 * MIB), 0x20);
    ck_assert_uint_eq(qcow2_l1_entries_for(&g16, 0), 0);
    ck_assert_uint_eq(qcow2_l1_entries_for(&g16, 512 * MIB), 1);
    ck_assert_uint_eq(qcow2_l1_entries_for(&g16, 512 * MIB + 1), 2);
    ck_assert_uint_eq(qcow2_l1_entries_for(&g16, UINT64_MAX), UINT64_C(1) << 35);
}
END_TEST

START_TEST(indices_split_a_guest_offset)
{
    Qcow2Geometry g = geometry(16, 4);
    uint64_t off = 3 * 512 * MIB + 5 * 65536 + 7;

    ck_assert_uint_eq(qcow2_l1_idx(&g, off), 3);
    ck_assert_uint_eq(qcow2_l2_idx(&g, off), 5);
    ck_assert_uint_eq(qcow2_in_cluster(&g, off), 7);
    ck_assert_uint_eq(qcow2_cluster_start(&g, off), off - 7);
    ck_assert_uint_eq(qcow2_cluster_end(&g, off), off - 7 + 65536);
    ck_assert_uint_eq(qcow2_clusters(&g, UINT64_MAX), UINT64_C(1) << 48);
}
END_TEST

START_TEST(compressed_vectors_decode_and_encode)
{
    static const struct {
        uint64_t entry, off, span, used;
    } v[] = {
        {UINT64_C(0x4000000000050000), 0x50000, 512, 79},
        {UINT64_C(0x404000000005004f), 0x5004f, 945, 579},
        {UINT64_C(0x4000000000050292), 0x50292, 366, 79},
    };
    Qcow2Geometry g = geometry(16, 4);

    for (unsigned i = 0; i < G_N_ELEMENTS(v); i++) {
        Qcow2CompressedExtent e = qcow2_compressed_decode(&g, v[i].entry);

        ck_assert_uint_eq(e.host_off, v[i].off);
        ck_assert_uint_eq(e.bytes, v[i].span);
        ck_assert_uint_eq(qcow2_compressed_encode(&g, v[i].off, v[i].used), v[i].entry);
    }
}
END_TEST

START_TEST(compressed_extents_round_trip_at_every_cluster_size)
{
    for (unsigned bits = 9; bits <= 21; bits++) {
        Qcow2Geometry g = geometry(bits, 4);

        for (uint64_t off = 0x10000; off < 0x10000 + 1024; off += 37) {
            for (uint64_t bytes = 1; bytes < g.cluster_bytes; bytes = bytes * 2 + 1) {
                Qcow2CompressedExtent e = qcow2_compressed_decode(&g, qcow2_compressed_encode(&g, off, bytes));

                ck_assert_uint_eq(e.host_off, off);
                ck_assert_uint_ge(e.bytes, bytes);
                ck_assert_uint_lt(e.bytes, bytes + 512);
            }
        }
    }
}
END_TEST

START_TEST(compressed_offsets_are_limited)
{
    Qcow2Geometry g9 = geometry(9, 4), g16 = geometry(16, 4), g21 = geometry(21, 4);

    ck_assert_uint_eq(qcow2_compressed_max_off(&g9), UINT64_C(1) << 56);
    ck_assert_uint_eq(qcow2_compressed_max_off(&g16), UINT64_C(1) << 54);
    ck_assert_uint_eq(qcow2_compressed_max_off(&g21), UINT64_C(1) << 49);
}
END_TEST

START_TEST(refcounts_of_each_width_keep_their_neighbours)
{
    uint8_t block[512];

    for (unsigned order = 0; order <= 6; order++) {
        Qcow2Geometry g = geometry(9, order);
        uint64_t n = UINT64_C(1) << g.refblock_bits;

        memset(block, 0, sizeof(block));
        for (uint64_t i = 0; i < n; i++) {
            qcow2_refcount_set(block, order, i, g.refcount_max);
            ck_assert_uint_eq(qcow2_refcount_get(block, order, i), g.refcount_max);
            ck_assert_uint_eq(i + 1 < n ? qcow2_refcount_get(block, order, i + 1) : 0, 0);
        }
        for (uint64_t i = 0; i < n; i++) {
            qcow2_refcount_set(block, order, i, i & g.refcount_max);
        }
        for (uint64_t i = 0; i < n; i++) {
            ck_assert_uint_eq(qcow2_refcount_get(block, order, i), i & g.refcount_max);
        }
    }
}
END_TEST

START_TEST(refcounts_below_a_byte_fill_low_bits_first)
{
    uint8_t block[512] = {0};

    qcow2_refcount_set(block, 0, 0, 1);
    ck_assert_uint_eq(block[0], 0x01);
    qcow2_refcount_set(block, 2, 1, 0xa);
    ck_assert_uint_eq(block[0], 0xa1);
    qcow2_refcount_set(block, 1, 9, 2);
    ck_assert_uint_eq(block[2], 0x08);
    qcow2_refcount_set(block, 4, 2, 0x1234);
    ck_assert_uint_eq(block[4], 0x12);
    ck_assert_uint_eq(block[5], 0x34);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("qcow2-geometry");
    TCase *tc = tcase_create("all");

    tcase_add_test(tc, tables_are_sized_by_the_cluster);
    tcase_add_test(tc, l1_entries_cover_the_disk);
    tcase_add_test(tc, indices_split_a_guest_offset);
    tcase_add_test(tc, compressed_vectors_decode_and_encode);
    tcase_add_test(tc, compressed_extents_round_trip_at_every_cluster_size);
    tcase_add_test(tc, compressed_offsets_are_limited);
    tcase_add_test(tc, refcounts_of_each_width_keep_their_neighbours);
    tcase_add_test(tc, refcounts_below_a_byte_fill_low_bits_first);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
