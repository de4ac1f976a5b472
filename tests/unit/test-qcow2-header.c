/* SPDX-License-Identifier: MIT */
/* Layouts: qcow2 sheet sections 2-4 and 19; messages: section 23. */
#include "block/qcow2/format/qcow2-header.h"

#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "block/qcow2/format/qcow2-ext.h"
#include "block/qcow2/format/qcow2-format.h"
#include "tests/unit/suite.h"
#include "util/base/endian.h"
#include "util/base/error.h"

enum { CLUSTER = 65536 };

/* A header as a fresh 1 MiB image has it. */
static Qcow2Header fresh_header(unsigned version, unsigned cluster_bits)
{
    return (Qcow2Header){
        .version = version,
        .cluster_bits = cluster_bits,
        .size = 1 * MIB,
        .l1_size = MAX(1, (1 * MIB) >> (2 * cluster_bits - 3)),
        .l1_off = UINT64_C(3) << cluster_bits,
        .reftable_off = UINT64_C(1) << cluster_bits,
        .reftable_clusters = 1,
        .refcount_order = 4,
    };
}

static uint8_t *fresh_cluster(unsigned version)
{
    Qcow2Header h = fresh_header(version, 16);
    uint8_t *cluster = g_malloc(CLUSTER);

    ck_assert_int_eq(qcow2_header_encode(&h, cluster), 0);
    return cluster;
}

static bool decode_all(Qcow2Header *h, const uint8_t *cluster, GError **errp)
{
    return qcow2_header_decode(h, cluster, CLUSTER, false, errp) && qcow2_header_decode_exts(h, cluster, errp);
}

static void assert_refused(const uint8_t *cluster, const char *message)
{
    g_autoptr(GError) err = NULL;
    Qcow2Header h;

    ck_assert_msg(!decode_all(&h, cluster, &err), "accepted; expected: %s", message);
    ck_assert_str_eq(err->message, message);
}

static void store(uint8_t *cluster, unsigned at, unsigned bytes, uint64_t value)
{
    switch (bytes) {
    case 1:
        cluster[at] = value;
        break;
    case 4:
        store_be32(cluster + at, value);
        break;
    default:
        store_be64(cluster + at, value);
    }
}

static const struct {
    unsigned at, bytes;
    uint64_t value;
    const char *message;
} bad_fields[] = {
    {0, 4, 0x514649fa, "Image is not in qcow2 format"},
    {4, 4, 1, "Unsupported qcow2 version 1"},
    {4, 4, 4, "Unsupported qcow2 version 4"},
    {8, 8, CLUSTER + 1, "Invalid backing file offset"},
    {8, 8, UINT64_MAX, "Invalid backing file offset"},
    {20, 4, 8, "Unsupported cluster size: 2^8"},
    {20, 4, 22, "Unsupported cluster size: 2^22"},
    {20, 4, 63, "Unsupported cluster size: 2^63"},
    {24, 8, UINT64_C(1) << 63, "Image is too big"},
    {24, 8, UINT64_C(1) << 55, "L1 table is too small"},
    {32, 4, 3, "Unsupported encryption method 3"},
    {32, 4, 2, "Missing CRYPTO header for crypt method 2"},
    {36, 4, 0, "L1 table is too small"},
    {36, 4, INT32_MAX, "Active L1 table too large"},
    {36, 4, UINT32_MAX, "Active L1 table too large"},
    {40, 8, 0x30200, "Active L1 table offset invalid"},
    {40, 8, 0, "Active L1 table offset invalid"},
    {40, 8, UINT64_C(1) << 56, "Active L1 table offset invalid"},
    {40, 8, UINT64_C(1) << 63, "Active L1 table offset invalid"},
    {48, 8, 0x10200, "Reference count table offset invalid"},
    {48, 8, (UINT64_C(1) << 63) - CLUSTER, "Reference count table offset invalid"},
    {56, 4, 0, "Image does not contain a reference count table"},
    {56, 4, 129, "Reference count table too large"},
    {56, 4, INT32_MAX, "Reference count table too large"},
    {60, 4, UINT32_MAX, "Snapshot table too large"},
    {64, 8, 512, "Snapshot table offset invalid"},
    {72, 8, 8, "qcow2: Compression type incompatible feature bit must not be set"},
    {72, 8, UINT64_C(1) << 63, "Unsupported qcow2 feature(s): Unknown incompatible feature: 8000000000000000"},
    {96, 4, 7, "Reference count entry width too large; may not exceed 64 bits"},
    {96, 4, UINT32_MAX, "Reference count entry width too large; may not exceed 64 bits"},
    {100, 4, 0, "qcow2 header too short"},
    {100, 4, 103, "qcow2 header too short"},
    {100, 4, 110, "qcow2 header length 110 is not a multiple of 8"},
    {100, 4, 131072, "qcow2 header exceeds cluster size"},
    {104, 1, 7, "qcow2: unknown compression type: 7"},
    {104, 1, 1, "qcow2: Compression type incompatible feature bit must be set"},
};

START_TEST(each_bad_field_is_refused_by_name)
{
    g_autofree uint8_t *cluster = fresh_cluster(3);

    store(cluster, bad_fields[_i].at, bad_fields[_i].bytes, bad_fields[_i].value);
    assert_refused(cluster, bad_fields[_i].message);
}
END_TEST

START_TEST(extended_l2_needs_clusters_of_16k)
{
    Qcow2Header h = fresh_header(3, 13), back;
    g_autofree uint8_t *cluster = g_malloc(1 << 13);
    g_autoptr(GError) err = NULL;

    h.incompatible = QCOW2_INCOMPAT_EXTL2;
    ck_assert_int_eq(qcow2_header_encode(&h, cluster), 0);
    ck_assert(!qcow2_header_decode(&back, cluster, 1 << 13, false, &err));
    ck_assert_str_eq(err->message, "Unsupported subcluster size: 256");
}
END_TEST

START_TEST(a_short_file_is_no_image)
{
    g_autofree uint8_t *cluster = fresh_cluster(3);

    for (size_t len = 0; len < 104; len++) {
        g_autoptr(GError) err = NULL;
        g_autofree uint8_t *exact = g_memdup2(cluster, MAX(len, 1));
        Qcow2Header h;

        ck_assert(!qcow2_header_decode(&h, exact, len, false, &err));
    }
}
END_TEST

START_TEST(check_mode_takes_an_image_without_refcount_table)
{
    g_autofree uint8_t *cluster = fresh_cluster(3);
    Qcow2Header h;

    store_be32(cluster + 56, 0);
    ck_assert(qcow2_header_decode(&h, cluster, CLUSTER, true, NULL));
}
END_TEST

START_TEST(size_is_cut_to_whole_sectors)
{
    g_autofree uint8_t *cluster = fresh_cluster(3);
    Qcow2Header h;

    store_be64(cluster + 24, 1023);
    ck_assert(decode_all(&h, cluster, NULL));
    ck_assert_uint_eq(h.size, 512);
    qcow2_header_clear(&h);
}
END_TEST

START_TEST(version_2_has_no_feature_fields)
{
    g_autofree uint8_t *cluster = fresh_cluster(2);
    Qcow2Header h;

    memset(cluster + 80, 0xff, 40); /* behind the end record */
    ck_assert(decode_all(&h, cluster, NULL));
    ck_assert_uint_eq(h.incompatible, 0);
    ck_assert_uint_eq(h.refcount_order, 4);
    ck_assert_uint_eq(h.header_length, 72);
    ck_assert_uint_eq(h.compression_type, 0);
    qcow2_header_clear(&h);
}
END_TEST

/* --- extensions --- */

static size_t put(uint8_t *cluster, size_t at, uint32_t type, const void *data, size_t bytes)
{
    store_be32(cluster + at, type);
    store_be32(cluster + at + 4, bytes);
    memcpy(cluster + at + 8, data, bytes);
    return at + 8 + round_up(bytes, 8);
}

static uint8_t *bare_cluster(void)
{
    uint8_t *cluster = fresh_cluster(3);

    memset(cluster + QCOW2_HEADER_BYTES, 0, CLUSTER - QCOW2_HEADER_BYTES);
    return cluster;
}

START_TEST(unknown_features_are_named_from_the_table)
{
    g_autofree uint8_t *cluster = bare_cluster();
    uint8_t table[3 * 48] = {0};

    table[1] = 5, memcpy(table + 2, "foo", 3);
    table[48] = 1, table[49] = 6, memcpy(table + 50, "compatible six", 14); /* another set */
    table[96 + 1] = 63, memset(table + 98, 'b', 46);                        /* unterminated */
    put(cluster, 112, QCOW2_EXT_FEATURE_NAMES, table, sizeof(table));
    store_be64(cluster + 72, (UINT64_C(1) << 63) | (1 << 5) | (1 << 6));
    assert_refused(cluster, "Unsupported qcow2 feature(s): foo, bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb, "
                            "Unknown incompatible feature: 40");
}
END_TEST

START_TEST(feature_names_cannot_talk_to_the_terminal)
{
    g_autofree uint8_t *cluster = bare_cluster();
    uint8_t table[48] = {0, 5, 'a', 0x1b, '[', '\n', 0xff, 'z'};

    put(cluster, 112, QCOW2_EXT_FEATURE_NAMES, table, sizeof(table));
    store_be64(cluster + 72, 1 << 5);
    assert_refused(cluster, "Unsupported qcow2 feature(s): a?[??z");
}
END_TEST

START_TEST(extension_may_end_with_the_cluster_but_not_behind)
{
    g_autofree uint8_t *cluster = bare_cluster();
    Qcow2Header h;

    store_be32(cluster + 112, 0x12345678);
    store_be32(cluster + 116, CLUSTER - 120);
    ck_assert(decode_all(&h, cluster, NULL));
    qcow2_header_clear(&h);
    store_be32(cluster + 116, CLUSTER - 119);
    assert_refused(cluster, "Header extension too large");
    store_be32(cluster + 116, UINT32_MAX);
    assert_refused(cluster, "Header extension too large");
}
END_TEST

START_TEST(extension_area_ends_at_the_backing_name)
{
    g_autofree uint8_t *cluster = bare_cluster();

    put(cluster, 112, 0x12345678, "0123456789abcdef", 16);
    store_be64(cluster + 8, 128);
    store_be32(cluster + 16, 4);
    assert_refused(cluster, "Header extension too large");
}
END_TEST

START_TEST(backing_format_is_limited_to_15_bytes)
{
    g_autofree uint8_t *cluster = bare_cluster();
    Qcow2Header h;

    put(cluster, 112, QCOW2_EXT_BACKING_FORMAT, "0123456789abcde", 15);
    ck_assert(decode_all(&h, cluster, NULL));
    ck_assert_str_eq(h.backing_format, "0123456789abcde");
    qcow2_header_clear(&h);
    put(cluster, 112, QCOW2_EXT_BACKING_FORMAT, "0123456789abcdef", 16);
    assert_refused(cluster, "ERROR: ext_backing_format: len=16 too large (>=16)");
}
END_TEST

START_TEST(backing_name_stays_in_its_limits)
{
    g_autofree uint8_t *cluster = bare_cluster();

    store_be64(cluster + 8, 0x400);
    store_be32(cluster + 16, 1024);
    assert_refused(cluster, "Backing file name too long");
    store_be64(cluster + 8, CLUSTER);
    store_be32(cluster + 16, 1);
    assert_refused(cluster, "Backing file name too long");
}
END_TEST

START_TEST(crypto_pointer_is_checked)
{
    g_autofree uint8_t *cluster = bare_cluster();
    uint8_t data[16];

    store_be64(data, 0x50000), store_be64(data + 8, 4096);
    put(cluster, 112, QCOW2_EXT_CRYPTO, data, 16);
    assert_refused(cluster, "CRYPTO header extension only expected with LUKS encryption method");
    store_be32(cluster + 32, QCOW2_CRYPT_LUKS);
    store_be32(cluster + 116, 15);
    assert_refused(cluster, "CRYPTO header extension size 15, but expected size 16");
    store_be64(data, 0x50200);
    put(cluster, 112, QCOW2_EXT_CRYPTO, data, 16);
    assert_refused(cluster, "Encryption header offset '328192' is not a multiple of cluster size '65536'");
    store_be64(data, 0x50000), store_be64(data + 8, UINT64_MAX);
    put(cluster, 112, QCOW2_EXT_CRYPTO, data, 16);
    assert_refused(cluster, "Encryption header length 18446744073709551615 at offset 327680 is invalid");
}
END_TEST

static const struct {
    uint32_t nb, reserved;
    uint64_t bytes, off;
    const char *message;
} bad_bitmaps[] = {
    {0, 0, 64, 0x50000, "found bitmaps extension with zero bitmaps"},
    {1, 1, 64, 0x50000, "bitmaps_ext: Reserved field is not zero"},
    {65536, 0, 64, 0x50000, "bitmaps_ext: Image has 65536 bitmaps, exceeding the QEMU supported maximum of 65535"},
    {1, 0, 64, 0x50200, "bitmaps_ext: invalid bitmap directory offset"},
    {1, 0, 64, 0, "bitmaps_ext: invalid bitmap directory offset"},
    {1, 0, 67107841, 0x50000,
     "bitmaps_ext: bitmap directory size (67107841) exceeds the maximum supported size (67107840)"},
    {1, 0, 0, 0x50000, "Requested bitmap directory size is zero"},
};

START_TEST(bitmaps_extension_is_checked)
{
    g_autofree uint8_t *cluster = bare_cluster();
    uint8_t data[24];

    store_be32(data, bad_bitmaps[_i].nb), store_be32(data + 4, bad_bitmaps[_i].reserved);
    store_be64(data + 8, bad_bitmaps[_i].bytes), store_be64(data + 16, bad_bitmaps[_i].off);
    put(cluster, 112, QCOW2_EXT_BITMAPS, data, 24);
    store_be64(cluster + 88, QCOW2_AUTOCLEAR_BITMAPS);
    assert_refused(cluster, bad_bitmaps[_i].message);
}
END_TEST

START_TEST(bitmaps_without_the_autoclear_bit_are_dropped)
{
    g_autofree uint8_t *cluster = bare_cluster(), *again = g_malloc(CLUSTER);
    Qcow2Header h;
    uint8_t data[24] = {0};

    store_be32(data, 1), store_be64(data + 8, 64), store_be64(data + 16, 0x50000);
    put(cluster, 112, QCOW2_EXT_BITMAPS, data, 24);
    ck_assert(decode_all(&h, cluster, NULL));
    ck_assert(h.bitmaps_stale && !h.bitmaps.present);
    ck_assert_int_eq(qcow2_header_encode(&h, again), 0);
    qcow2_header_clear(&h);
    ck_assert(decode_all(&h, again, NULL));
    ck_assert(!h.bitmaps_stale && !h.bitmaps.present);
    qcow2_header_clear(&h);
}
END_TEST

/* --- encode --- */

START_TEST(fresh_v3_layout_is_that_of_the_sheet)
{
    g_autofree uint8_t *cluster = fresh_cluster(3);

    ck_assert_uint_eq(load_be32(cluster + 100), 112);
    ck_assert_uint_eq(load_be32(cluster + 0x70), QCOW2_EXT_FEATURE_NAMES);
    ck_assert_uint_eq(load_be32(cluster + 0x74), 0x180);
    ck_assert_str_eq((char *)cluster + 0x7a, "dirty bit");
    ck_assert_uint_eq(load_be64(cluster + 0x1f8), 0);
    ck_assert_str_eq((char *)cluster + 0x1f8 - 46, "raw external data");
}
END_TEST

START_TEST(backing_name_follows_the_end_record)
{
    Qcow2Header h = fresh_header(3, 16);
    g_autofree uint8_t *cluster = g_malloc(CLUSTER);

    h.backing_name = (char *)"base", h.backing_format = (char *)"qcow2";
    ck_assert_int_eq(qcow2_header_encode(&h, cluster), 0);
    ck_assert_uint_eq(load_be32(cluster + 0x70), QCOW2_EXT_BACKING_FORMAT);
    ck_assert_uint_eq(load_be32(cluster + 0x80), QCOW2_EXT_FEATURE_NAMES);
    ck_assert_uint_eq(load_be64(cluster + 8), 0x210);
    ck_assert_uint_eq(load_be32(cluster + 16), 4);
    ck_assert_mem_eq(cluster + 0x210, "base", 4);

    h.version = 2;
    ck_assert_int_eq(qcow2_header_encode(&h, cluster), 0);
    ck_assert_uint_eq(load_be32(cluster + 0x48), QCOW2_EXT_BACKING_FORMAT);
    ck_assert_uint_eq(load_be64(cluster + 8), 0x60);
}
END_TEST

START_TEST(small_clusters_have_no_feature_names)
{
    for (unsigned bits = 9; bits <= 13; bits++) {
        Qcow2Header h = fresh_header(3, bits);
        g_autofree uint8_t *cluster = g_malloc(1 << bits);

        ck_assert_int_eq(qcow2_header_encode(&h, cluster), 0);
        ck_assert_uint_eq(load_be32(cluster + 112), bits > 12 ? QCOW2_EXT_FEATURE_NAMES : 0);
    }
}
END_TEST

START_TEST(what_does_not_fit_is_enospc)
{
    Qcow2Header h = fresh_header(3, 9);
    g_autofree uint8_t *cluster = g_malloc(512);
    g_autofree char *name = g_strnfill(512 - 120, 'n');

    h.backing_name = name;
    ck_assert_int_eq(qcow2_header_encode(&h, cluster), 0);
    h.backing_format = (char *)"raw";
    ck_assert_int_eq(qcow2_header_encode(&h, cluster), -ENOSPC);
}
END_TEST

START_TEST(unknown_fields_and_extensions_survive_a_rewrite)
{
    g_autofree uint8_t *cluster = bare_cluster(), *again = g_malloc(CLUSTER);
    Qcow2Header h;
    size_t at = 128;

    store_be32(cluster + 100, 128);
    memcpy(cluster + 112, "future header   ", 16);
    at = put(cluster, at, 0x11111111, "first", 5);
    at = put(cluster, at, 0x22222222, "", 0);
    put(cluster, at, 0x33333333, "thirdext", 8);
    store_be64(cluster + 80, 0xff00); /* unknown compatible */
    ck_assert(decode_all(&h, cluster, NULL));
    ck_assert_int_eq(qcow2_header_encode(&h, again), 0);
    qcow2_header_clear(&h);

    ck_assert_uint_eq(load_be32(again + 100), 128);
    ck_assert_mem_eq(again + 112, "future header   ", 16);
    ck_assert_uint_eq(load_be64(again + 80), 0xff00);
    ck_assert(decode_all(&h, again, NULL));
    ck_assert_uint_eq(h.unknown_exts->len, 3);
    const Qcow2UnknownExt *third = g_ptr_array_index(h.unknown_exts, 2);
    ck_assert_uint_eq(third->type, 0x33333333);
    ck_assert_mem_eq(g_bytes_get_data(third->data, NULL), "thirdext", 8);
    qcow2_header_clear(&h);
}
END_TEST

START_TEST(decode_and_encode_are_inverse)
{
    Qcow2Header h = fresh_header(3, 16), back;
    g_autofree uint8_t *cluster = g_malloc(CLUSTER), *again = g_malloc(CLUSTER);

    h.crypt_method = QCOW2_CRYPT_LUKS, h.crypto_off = 0x40000, h.crypto_bytes = 0x1f9000;
    h.compatible = QCOW2_COMPAT_LAZY_REFCOUNTS, h.incompatible = QCOW2_INCOMPAT_COMPRESSION | QCOW2_INCOMPAT_DIRTY;
    h.compression_type = QCOW2_COMPRESSION_ZSTD, h.refcount_order = 6;
    h.nb_snapshots = 2, h.snapshots_off = 0x90000;
    h.backing_name = (char *)"json:{\"driver\":\"raw\"}", h.backing_format = (char *)"raw";
    ck_assert_int_eq(qcow2_header_encode(&h, cluster), 0);
    ck_assert(decode_all(&back, cluster, NULL));
    ck_assert_uint_eq(back.crypto_bytes, 0x1f9000);
    ck_assert_str_eq(back.backing_name, h.backing_name);
    ck_assert_int_eq(qcow2_header_encode(&back, again), 0);
    ck_assert_mem_eq(cluster, again, CLUSTER);
    qcow2_header_clear(&back);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("qcow2-header");
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, each_bad_field_is_refused_by_name, 0, G_N_ELEMENTS(bad_fields));
    tcase_add_test(tc, extended_l2_needs_clusters_of_16k);
    tcase_add_test(tc, a_short_file_is_no_image);
    tcase_add_test(tc, check_mode_takes_an_image_without_refcount_table);
    tcase_add_test(tc, size_is_cut_to_whole_sectors);
    tcase_add_test(tc, version_2_has_no_feature_fields);
    tcase_add_test(tc, unknown_features_are_named_from_the_table);
    tcase_add_test(tc, feature_names_cannot_talk_to_the_terminal);
    tcase_add_test(tc, extension_may_end_with_the_cluster_but_not_behind);
    tcase_add_test(tc, extension_area_ends_at_the_backing_name);
    tcase_add_test(tc, backing_format_is_limited_to_15_bytes);
    tcase_add_test(tc, backing_name_stays_in_its_limits);
    tcase_add_test(tc, crypto_pointer_is_checked);
    tcase_add_loop_test(tc, bitmaps_extension_is_checked, 0, G_N_ELEMENTS(bad_bitmaps));
    tcase_add_test(tc, bitmaps_without_the_autoclear_bit_are_dropped);
    tcase_add_test(tc, fresh_v3_layout_is_that_of_the_sheet);
    tcase_add_test(tc, backing_name_follows_the_end_record);
    tcase_add_test(tc, small_clusters_have_no_feature_names);
    tcase_add_test(tc, what_does_not_fit_is_enospc);
    tcase_add_test(tc, unknown_fields_and_extensions_survive_a_rewrite);
    tcase_add_test(tc, decode_and_encode_are_inverse);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
