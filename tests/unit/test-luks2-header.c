/* SPDX-License-Identifier: MIT */
/* The binary LUKS2 header, its two copies on disk, and a malformed one for each rule. */
#include "crypto/luks/luks2-header.h"

#include "crypto/luks/luks2-disk.h"
#include "tests/unit/luks-fixture.h"
#include "util/base/endian.h"
#include "util/base/error.h"

#define TEXT "{\"some\":\"text\"}"
enum { COPY = LUKS2_MIN_COPY_BYTES };

static Luks2Header good_header(void)
{
    return (Luks2Header){.copy_bytes = COPY, .seqid = 7, .checksum = HASH_SHA256, .label = "my disk", .uuid = "uu-id"};
}

static void make_copy(const Luks2Header *h, unsigned copy, uint8_t *area)
{
    uint8_t salt[LUKS2_HEADER_SALT_BYTES];

    memset(salt, 0x55 + copy, sizeof(salt));
    ck_assert(luks2_header_encode(h, copy, salt, TEXT, area, NULL));
}

START_TEST(header_fields_are_where_the_format_has_them)
{
    Luks2Header h = good_header();
    g_autofree uint8_t *area = g_malloc(COPY);

    make_copy(&h, 1, area);
    assert_hex(area, "534b554cbabe0002000000000000400000000000000000076d79206469736b00");
    ck_assert_str_eq((char *)area + 72, "sha256");
    assert_hex(area + 104, "56565656");
    ck_assert_str_eq((char *)area + 168, "uu-id");
    assert_hex(area + 256, "0000000000004000");
    ck_assert_str_eq((char *)area + 4096, TEXT);
    make_copy(&h, 0, area);
    assert_hex(area, "4c554b53babe0002");
    assert_hex(area + 256, "0000000000000000");
}
END_TEST

START_TEST(header_round_trips)
{
    Luks2Header h = good_header(), again;
    g_autofree uint8_t *area = g_malloc(COPY), *saved = NULL;

    for (unsigned copy = 0; copy < LUKS2_COPIES; copy++) {
        make_copy(&h, copy, area);
        g_free(saved);
        saved = g_memdup2(area, COPY);
        ck_assert(luks2_header_decode(area, copy, copy * COPY, &again, NULL));
        ck_assert(luks2_header_verify(area, &again, NULL));
        ck_assert_mem_eq(area, saved, COPY);
        ck_assert_mem_eq(&h, &again, sizeof(h));
    }
}
END_TEST

typedef struct Edit {
    size_t off;
    const char *bytes, *message;
    int code;
} Edit;

static const Edit edits[] = {
    {0, "4c554b53babf", "LUKS2 header copy 0 has no LUKS magic", QB_ERROR_CORRUPT},
    {0, "534b554cbabe", "LUKS2 header copy 0 has no LUKS magic", QB_ERROR_CORRUPT},
    {6, "0001", "LUKS version 1 is not supported", QB_ERROR_UNSUPPORTED},
    {6, "0003", "LUKS version 3 is not supported", QB_ERROR_UNSUPPORTED},
    {8, "0000000000000000", "LUKS2 header copy 0 size 0 is none of 16 KiB to 4 MiB", QB_ERROR_CORRUPT},
    {8, "0000000000002000", "LUKS2 header copy 0 size 8192 is none of 16 KiB to 4 MiB", QB_ERROR_CORRUPT},
    {8, "0000000000006000", "LUKS2 header copy 0 size 24576 is none of 16 KiB to 4 MiB", QB_ERROR_CORRUPT},
    {8, "0000000000800000", "LUKS2 header copy 0 size 8388608 is none of 16 KiB to 4 MiB", QB_ERROR_CORRUPT},
    {8, "ffffffffffffffff", "LUKS2 header copy 0 size 18446744073709551615 is none of 16 KiB to 4 MiB",
     QB_ERROR_CORRUPT},
    {256, "0000000000004000", "LUKS2 header copy 0 offset 16384 is not its place at byte 0", QB_ERROR_CORRUPT},
    {72, "726f743133001b", "LUKS2 header checksum algorithm 'rot13' not supported", QB_ERROR_UNSUPPORTED},
    {72, "1b5b324a00", "LUKS2 header checksum algorithm '\\033[2J' not supported", QB_ERROR_UNSUPPORTED},
};

START_TEST(header_rejects_what_breaks_a_rule)
{
    const Edit *e = &edits[_i];
    Luks2Header h = good_header();
    g_autofree uint8_t *area = g_malloc(COPY);
    GError *err = NULL;

    make_copy(&h, 0, area);
    unhex(e->bytes, area + e->off);
    ck_assert(!luks2_header_decode(area, 0, 0, &h, &err));
    ck_assert(g_error_matches(err, QB_ERROR, e->code));
    assert_error(err, e->message);
}
END_TEST

START_TEST(second_copy_is_known_by_its_place)
{
    Luks2Header h = good_header();
    g_autofree uint8_t *area = g_malloc(COPY);
    GError *err = NULL;

    make_copy(&h, 1, area);
    ck_assert(!luks2_header_decode(area, 1, 2 * COPY, &h, &err));
    assert_error(err, "LUKS2 header copy 1 offset 16384 is not its place at byte 32768");
    ck_assert(!luks2_header_decode(area, 0, COPY, &h, &err));
    assert_error(err, "LUKS2 header copy 0 has no LUKS magic");
}
END_TEST

/* Any byte of either part is covered. */
START_TEST(checksum_covers_the_whole_copy)
{
    static const size_t places[] = {8, 16, 24, 104, 168, 208, 263, 447, 448, 479, 512, 4095, 4096, 4110, COPY - 1};
    Luks2Header h = good_header();
    g_autofree uint8_t *area = g_malloc(COPY);
    GError *err = NULL;

    for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
        make_copy(&h, 0, area);
        area[places[i]] ^= 1;
        ck_assert(!luks2_header_verify(area, &h, &err));
        assert_error(err, "LUKS2 header checksum does not match");
    }
}
END_TEST

static void fix_checksum(uint8_t *area)
{
    memset(area + LUKS2_OFF_CHECKSUM, 0, LUKS2_CHECKSUM_BYTES);
    hash_compute(HASH_SHA256, area, COPY, area + LUKS2_OFF_CHECKSUM);
}

START_TEST(json_area_ends_in_zeros)
{
    Luks2Header h = good_header();
    g_autofree uint8_t *area = g_malloc(COPY);
    GError *err = NULL;

    make_copy(&h, 0, area);
    area[4096 + strlen(TEXT) + 100] = 'x';
    fix_checksum(area);
    ck_assert(!luks2_header_verify(area, &h, &err));
    assert_error(err, "LUKS2 metadata has data behind its end, at byte 115 of its area");
    memset(area + 4096, ' ', COPY - 4096);
    fix_checksum(area);
    ck_assert(!luks2_header_verify(area, &h, &err));
    assert_error(err, "LUKS2 metadata has no NUL in its area of 12288 bytes");
}
END_TEST

START_TEST(text_that_does_not_fit_is_refused)
{
    Luks2Header h = good_header();
    g_autofree uint8_t *area = g_malloc(COPY);
    g_autofree char *text = g_strnfill(COPY - 4096 - 1, ' ');
    g_autofree char *longer = g_strnfill(COPY - 4096, ' ');
    const uint8_t salt[LUKS2_HEADER_SALT_BYTES] = {0};
    GError *err = NULL;

    ck_assert(luks2_header_encode(&h, 0, salt, text, area, NULL));
    ck_assert(luks2_header_verify(area, &h, NULL));
    ck_assert(!luks2_header_encode(&h, 0, salt, longer, area, &err));
    assert_error(err, "LUKS2 metadata of 12289 bytes does not fit its area of 12288 bytes");
}
END_TEST

/* ---- both copies on a disk ------------------------------------------------------------------------------------- */

static MemVolume two_copies(uint64_t copy_bytes)
{
    Luks2Header h = good_header();
    MemVolume m = {.data = g_malloc0(2 * copy_bytes), .size = 2 * copy_bytes};

    h.copy_bytes = copy_bytes;
    make_copy(&h, 0, m.data);
    make_copy(&h, 1, m.data + copy_bytes);
    return m;
}

static bool load(MemVolume *m, Luks2Header *h, int *damaged, GError **errp)
{
    CryptoIo io = mem_io(m);
    g_autofree char *json = NULL;
    bool ok = luks2_disk_load(&io, m->size, h, &json, damaged, errp);

    ck_assert(!ok || g_str_equal(json, TEXT));
    return ok;
}

START_TEST(load_takes_the_good_copy_and_tells_the_bad_one)
{
    Luks2Header h;
    int damaged;

    for (int bad = -1; bad < LUKS2_COPIES; bad++) {
        MemVolume m = two_copies(COPY);

        if (bad >= 0) {
            m.data[bad * COPY + 300] ^= 1;
        }
        ck_assert(load(&m, &h, &damaged, NULL));
        ck_assert_int_eq(damaged, bad);
        g_free(m.data);
    }
}
END_TEST

START_TEST(load_takes_the_copy_of_the_higher_seqid)
{
    Luks2Header h = good_header();
    MemVolume m = two_copies(COPY);
    int damaged;

    h.seqid = 8;
    make_copy(&h, 1, m.data + COPY);
    ck_assert(load(&m, &h, &damaged, NULL));
    ck_assert_uint_eq(h.seqid, 8);
    ck_assert_int_eq(damaged, 0);
    h.seqid = 9;
    make_copy(&h, 0, m.data);
    ck_assert(load(&m, &h, &damaged, NULL));
    ck_assert_uint_eq(h.seqid, 9);
    ck_assert_int_eq(damaged, 1);
    g_free(m.data);
}
END_TEST

/* At each size it can have. */
START_TEST(load_finds_the_second_copy_when_the_first_is_gone)
{
    uint64_t copy_bytes = (uint64_t)COPY << _i;
    MemVolume m = two_copies(copy_bytes);
    CryptoIo io = mem_io(&m);
    Luks2Header h;
    int damaged;

    memset(m.data, 0, 4096);
    ck_assert(luks2_disk_has_second(&io, m.size));
    ck_assert(load(&m, &h, &damaged, NULL));
    ck_assert_uint_eq(h.copy_bytes, copy_bytes);
    ck_assert_int_eq(damaged, 0);
    ck_assert(luks2_disk_restore(&io, &h, TEXT, damaged, NULL));
    ck_assert(load(&m, &h, &damaged, NULL));
    ck_assert_int_eq(damaged, -1);
    g_free(m.data);
}
END_TEST

START_TEST(load_fails_when_both_copies_are_bad)
{
    MemVolume m = two_copies(COPY);
    Luks2Header h;
    int damaged;
    GError *err = NULL;

    m.data[4097] ^= 1;
    m.data[COPY + 4097] ^= 1;
    ck_assert(!load(&m, &h, &damaged, &err));
    assert_error(err, "LUKS2 header checksum does not match");
    m.size = 4095;
    ck_assert(!load(&m, &h, &damaged, &err));
    assert_error(err, "LUKS2 header copy 0 at byte 0 does not fit the file of 4095 bytes");
    g_free(m.data);
}
END_TEST

/* D2 and D3 of luks2-disk.h: whatever the write that fails, a valid copy is left. */
START_TEST(store_leaves_a_valid_copy_at_every_failure)
{
    MemVolume m = two_copies(COPY);
    CryptoIo io = mem_io(&m);
    Luks2Header h = good_header(), again;
    int damaged;
    bool ok;

    m.fail_write = _i;
    ok = luks2_disk_store(&io, &h, TEXT, NULL);
    ck_assert_int_eq(ok, _i > 6);
    m.fail_write = 0;
    ck_assert(load(&m, &again, &damaged, NULL));
    ck_assert_uint_eq(again.seqid, _i > 3 ? 8 : 7);
    ck_assert_int_eq(damaged, _i > 6 ? -1 : _i > 3 ? 1 : _i > 1 ? 0 : -1);
    g_free(m.data);
}
END_TEST

START_TEST(the_salts_of_the_copies_differ)
{
    MemVolume m = two_copies(COPY);
    CryptoIo io = mem_io(&m);
    Luks2Header h = good_header();

    ck_assert(luks2_disk_store(&io, &h, TEXT, NULL));
    ck_assert_mem_ne(m.data + LUKS2_OFF_SALT, m.data + COPY + LUKS2_OFF_SALT, LUKS2_HEADER_SALT_BYTES);
    ck_assert_int_eq(m.flushes, 3); /* key material, first copy, second copy */
    g_free(m.data);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("luks2-header");
    TCase *t = tcase_create("luks2-header");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, header_fields_are_where_the_format_has_them);
    tcase_add_test(t, header_round_trips);
    tcase_add_loop_test(t, header_rejects_what_breaks_a_rule, 0, G_N_ELEMENTS(edits));
    tcase_add_test(t, second_copy_is_known_by_its_place);
    tcase_add_test(t, checksum_covers_the_whole_copy);
    tcase_add_test(t, json_area_ends_in_zeros);
    tcase_add_test(t, text_that_does_not_fit_is_refused);
    tcase_add_test(t, load_takes_the_good_copy_and_tells_the_bad_one);
    tcase_add_test(t, load_takes_the_copy_of_the_higher_seqid);
    tcase_add_loop_test(t, load_finds_the_second_copy_when_the_first_is_gone, 0, LUKS2_COPY_SIZES);
    tcase_add_test(t, load_fails_when_both_copies_are_bad);
    tcase_add_loop_test(t, store_leaves_a_valid_copy_at_every_failure, 1, 8);
    tcase_add_test(t, the_salts_of_the_copies_differ);
    suite_add_tcase(s, t);
    return run_suite(s);
}
