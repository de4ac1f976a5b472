/* SPDX-License-Identifier: MIT */
/* The LUKS1 header: layout, geometry, and a malformed header for each rule of LUKS sheet section 5. */
#include "crypto/luks/luks-header.h"

#include "crypto/cipher/init.h"
#include "crypto/luks/luks-names.h"
#include "tests/unit/crypto-fixture.h"
#include "util/base/endian.h"
#include "util/base/error.h"

enum { AREA = 2068480 }; /* of 64-byte keys */

static void make_good(uint8_t *buf)
{
    LuksHeader h;

    luks_header_init(&h, 64);
    strcpy(h.cipher_name, "aes");
    strcpy(h.cipher_mode, "xts-plain64");
    strcpy(h.hash_spec, "sha256");
    strcpy(h.uuid, "00000000-0000-4000-8000-000000000000");
    h.digest_iterations = 1000;
    h.slots[0].active = true;
    h.slots[0].iterations = 1000;
    luks_header_encode(&h, buf);
}

START_TEST(geometry_is_that_of_the_reference)
{
    static const struct {
        uint32_t key_bytes, spacing, payload;
    } rows[] = {{16, 128, 1032}, {24, 192, 1544}, {32, 256, 2056}, {48, 376, 3016}, {64, 504, 4040}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        ck_assert_uint_eq(luks_slot_spacing(rows[i].key_bytes), rows[i].spacing);
        ck_assert_uint_eq(luks_payload_sector(rows[i].key_bytes), rows[i].payload);
    }
    ck_assert_uint_eq(luks_material_bytes(64), 256000);
    ck_assert_uint_eq(luks_material_bytes(24), 188 * 512); /* 187.5 sectors of stripes */
}
END_TEST

START_TEST(header_round_trips)
{
    uint8_t buf[LUKS_HEADER_BYTES], again[LUKS_HEADER_BYTES];
    LuksHeader h;

    make_good(buf);
    ck_assert(luks_header_decode(buf, AREA, &h, NULL));
    ck_assert_str_eq(h.cipher_name, "aes");
    ck_assert_uint_eq(h.payload_sector, 4040);
    ck_assert_uint_eq(h.slots[1].material_sector, 512);
    ck_assert(h.slots[0].active && !h.slots[7].active);
    luks_header_encode(&h, again);
    ck_assert_mem_eq(buf, again, sizeof(buf));
}
END_TEST

START_TEST(header_fields_are_where_the_format_has_them)
{
    uint8_t buf[LUKS_HEADER_BYTES];

    make_good(buf);
    assert_hex(buf, "4c554b53babe0001616573000000");
    ck_assert_str_eq((char *)buf + 40, "xts-plain64");
    ck_assert_str_eq((char *)buf + 72, "sha256");
    assert_hex(buf + 104, "00000fc800000040");
    assert_hex(buf + 164, "000003e8");
    assert_hex(buf + 208, "00ac71f3000003e8");
    assert_hex(buf + 208 + 40, "0000000800000fa0");
    assert_hex(buf + 208 + 48, "0000dead00000000");
}
END_TEST

/* @bytes hex are written at @off of a good header; decoding must say @message. */
typedef struct Edit {
    size_t off;
    const char *bytes, *message;
    uint64_t area; /* 0 = AREA */
} Edit;

#define FULL_NAME "78787878787878787878787878787878787878787878787878787878787878787878787878787878" /* 40 x 'x' */

static const Edit edits[] = {
    {0, "4c554b53babf", "Volume is not in LUKS format"},
    {6, "0002", "LUKS version 2 is not supported"},
    {6, "0000", "LUKS version 0 is not supported"},
    {8, FULL_NAME, "LUKS header cipher name is not NUL terminated"},
    {40, FULL_NAME, "LUKS header cipher mode is not NUL terminated"},
    {72, "7878787878787878787878787878787878787878787878787878787878787878",
     "LUKS header hash spec is not NUL terminated"},
    {104, "00000007", "LUKS payload is overlapping with the header"},
    {104, "00000001", "LUKS payload is overlapping with the header"},
    {104, "00000008", "Keyslot 0 is overlapping with the encrypted payload"},
    {104, "ffffffff", "LUKS payload offset 2199023255040 is beyond the 2068480 bytes of the LUKS header area"},
    {108, "00000000", "Algorithm 'aes' with key size 0 bytes not supported"},
    {108, "7fffffff", "Algorithm 'aes' with key size 2147483647 bytes not supported"},
    {108, "ffffffff", "Algorithm 'aes' with key size 4294967295 bytes not supported"},
    {108, "00000401", "Algorithm 'aes' with key size 1025 bytes not supported"},
    {108, "00000041", "Keyslots 0 and 1 are overlapping in the header"},
    {164, "00000000", "LUKS key iteration count is zero"},
    {208, "00ac71f2", "Keyslot 0 state (active/disable) is corrupted"},
    {208 + 48 * 7, "00000000", "Keyslot 7 state (active/disable) is corrupted"},
    {208 + 4, "00000000", "Keyslot 0 iteration count is zero"},
    {208 + 44, "00000f9f", "Keyslot 0 is corrupted (stripes 3999 != 4000)"},
    {208 + 48 * 5 + 44, "ffffffff", "Keyslot 5 is corrupted (stripes 4294967295 != 4000)"},
    {208 + 40, "00000000", "Keyslot 0 is overlapping with the LUKS header"},
    {208 + 48 * 3 + 40, "00000003", "Keyslots 0 and 3 are overlapping in the header"},
    {208 + 48 * 3 + 40, "00000001", "Keyslots 0 and 3 are overlapping in the header"},
    {208 + 48 * 7 + 40, "00000fc8", "Keyslot 7 is overlapping with the encrypted payload"},
    {208 + 48 * 7 + 40, "ffffffff", "Keyslot 7 is overlapping with the encrypted payload"},
    {208 + 48 + 40, "00000008", "Keyslots 0 and 1 are overlapping in the header"},
    {208 + 48 * 6 + 40, "00000009", "Keyslots 0 and 6 are overlapping in the header"},
    {208 + 48 + 40, "000001fb", "Keyslots 0 and 1 are overlapping in the header"},
    {104, "00000000", "Keyslot 7 ends at byte 2066432, beyond the 2066431 bytes of the LUKS header area", 2066431},
    {104, "00000fc8", "Keyslot 0 ends at byte 260096, beyond the 592 bytes of the LUKS header area", 592},
};

START_TEST(header_rejects_what_breaks_a_rule)
{
    const Edit *e = &edits[_i];
    uint8_t buf[LUKS_HEADER_BYTES];
    LuksHeader h;
    GError *err = NULL;

    make_good(buf);
    unhex(e->bytes, buf + e->off);
    ck_assert(!luks_header_decode(buf, e->area ? e->area : AREA, &h, &err));
    assert_error(err, e->message);
}
END_TEST

START_TEST(header_errors_are_of_the_right_kind)
{
    uint8_t buf[LUKS_HEADER_BYTES];
    LuksHeader h;
    GError *err = NULL;

    make_good(buf);
    buf[7] = 2;
    ck_assert(!luks_header_decode(buf, AREA, &h, &err));
    ck_assert(g_error_matches(err, QB_ERROR, QB_ERROR_UNSUPPORTED));
    g_clear_error(&err);
    buf[0] = 0;
    ck_assert(!luks_header_decode(buf, AREA, &h, &err));
    ck_assert(g_error_matches(err, QB_ERROR, QB_ERROR_CORRUPT));
    g_clear_error(&err);
}
END_TEST

/* Payload 0 is a detached header: slots may lie anywhere inside the file. */
START_TEST(header_accepts_a_detached_payload)
{
    uint8_t buf[LUKS_HEADER_BYTES];
    LuksHeader h;

    make_good(buf);
    store_be32(buf + LUKS_OFF_PAYLOAD, 0);
    ck_assert(luks_header_decode(buf, AREA, &h, NULL));
    ck_assert_uint_eq(h.payload_sector, 0);
}
END_TEST

START_TEST(header_accepts_slots_in_any_order)
{
    uint8_t buf[LUKS_HEADER_BYTES];
    LuksHeader h;

    make_good(buf);
    store_be32(buf + LUKS_OFF_SLOTS + LUKS_SLOT_OFF_MATERIAL, 8 + 7 * 504);
    store_be32(buf + LUKS_OFF_SLOTS + 7 * LUKS_SLOT_BYTES + LUKS_SLOT_OFF_MATERIAL, 8);
    ck_assert(luks_header_decode(buf, AREA, &h, NULL));
}
END_TEST

/* Any bytes are decoded or refused, never more. */
START_TEST(header_survives_random_edits)
{
    g_autoptr(GRand) r = g_rand_new_with_seed(42);
    int accepted = 0;

    for (int round = 0; round < 20000; round++) {
        uint8_t buf[LUKS_HEADER_BYTES];
        LuksHeader h;
        LuksAlgs algs;
        g_autoptr(GError) err = NULL;

        make_good(buf);
        for (int n = g_rand_int_range(r, 1, 4); n > 0; n--) {
            buf[g_rand_int_range(r, 0, sizeof(buf))] = g_rand_int(r);
        }
        if (luks_header_decode(buf, AREA, &h, &err) && luks_names_parse(&h, &algs, &err)) {
            accepted++;
            ck_assert_ptr_null(err);
        } else {
            ck_assert_ptr_nonnull(err);
            ck_assert(!strchr(err->message, '\n'));
        }
    }
    ck_assert_int_gt(accepted, 0);
}
END_TEST

START_TEST(probe_wants_magic_and_length)
{
    uint8_t buf[LUKS_HEADER_BYTES];
    unsigned version;

    make_good(buf);
    ck_assert(luks_header_probe(buf, sizeof(buf), &version));
    ck_assert_uint_eq(version, 1);
    ck_assert(!luks_header_probe(buf, 7, &version));
    buf[5] ^= 1;
    ck_assert(!luks_header_probe(buf, sizeof(buf), &version));
}
END_TEST

static bool parse_names(const char *cipher, const char *mode, const char *hash, uint32_t key_bytes, LuksAlgs *algs,
                        GError **errp)
{
    LuksHeader h;

    ck_assert(crypto_init(NULL));
    luks_header_init(&h, key_bytes);
    strcpy(h.cipher_name, cipher);
    strcpy(h.cipher_mode, mode);
    strcpy(h.hash_spec, hash);
    return luks_names_parse(&h, algs, errp);
}

START_TEST(names_mean_the_right_rows)
{
    LuksAlgs a;

    ck_assert(parse_names("aes", "xts-plain64", "sha256", 64, &a, NULL));
    ck_assert(a.sector.cipher == CIPHER_AES_256 && a.sector.mode == CIPHER_XTS && a.sector.ivgen == IVGEN_PLAIN64);
    ck_assert(parse_names("aes", "xts-plain", "sha1", 48, &a, NULL));
    ck_assert(a.sector.cipher == CIPHER_AES_192 && a.sector.ivgen == IVGEN_PLAIN && a.hash == HASH_SHA1);
    ck_assert(parse_names("serpent", "cbc-essiv:sha256", "sha512", 16, &a, NULL));
    ck_assert(a.sector.cipher == CIPHER_SERPENT_128 && a.sector.ivgen == IVGEN_ESSIV &&
              a.sector.ivgen_hash == HASH_SHA256 && a.has_ivgen_hash);
    ck_assert(parse_names("aes", "xts-plain64:sha1", "sha256", 64, &a, NULL));
    ck_assert(a.has_ivgen_hash);
    ck_assert(parse_names("aes", "ecb", "sha256", 32, &a, NULL));
    ck_assert(a.sector.mode == CIPHER_ECB);
    ck_assert(parse_names("aes", "ecb-plain64", "sha256", 32, &a, NULL));
    ck_assert(parse_names("cast5", "cbc-plain64", "ripemd160", 16, &a, NULL));
}
END_TEST

typedef struct BadNames {
    const char *cipher, *mode, *hash;
    uint32_t key_bytes;
    const char *message;
} BadNames;

static const BadNames bad_names[] = {
    {"aes", "xtsplain64", "sha256", 64, "Unexpected cipher mode string format 'xtsplain64'"},
    {"aes", "", "sha256", 64, "Unexpected cipher mode string format ''"},
    {"aes", "gcm-plain64", "sha256", 32, "Cipher mode 'gcm' not supported"},
    {"aes", "XTS-plain64", "sha256", 64, "Cipher mode 'XTS' not supported"},
    {"aes", "xts-foo64", "sha256", 64, "IV generator 'foo64' not supported"},
    {"aes", "cbc-benbi", "sha256", 32, "IV generator 'benbi' not supported"},
    {"aes", "cbc-essiv", "sha256", 32, "Missing IV generator hash specification"},
    {"aes", "cbc-essiv:", "sha256", 32, "Hash algorithm '' not supported"},
    {"aes", "cbc-essiv:foo", "sha256", 32, "Hash algorithm 'foo' not supported"},
    {"aes", "cbc-essiv:sha1", "sha256", 32, "No AES cipher with key size 20 available"},
    {"aes", "xts-plain64", "whirlpool", 64, "Hash algorithm 'whirlpool' not supported"},
    {"aes", "xts-plain64", "SHA256", 64, "Hash algorithm 'SHA256' not supported"},
    {"aes", "xts-plain64", "sha256", 16, "Algorithm 'aes' with key size 16 bytes not supported"},
    {"aes", "xts-plain64", "sha256", 65, "Algorithm 'aes' with key size 65 bytes not supported"},
    {"camellia", "xts-plain64", "sha256", 64, "Algorithm 'camellia' with key size 64 bytes not supported"},
    {"", "xts-plain64", "sha256", 64, "Algorithm '' with key size 64 bytes not supported"},
    {"cast5", "xts-plain64", "sha256", 32, "Unsupported cipher mode xts"},
    {"cast5", "cbc-essiv:sha256", "sha256", 16, "Cipher cast5-128 not supported with essiv"},
    {"3des", "cbc-plain64", "sha256", 24, "Algorithm '3des' not supported"},
};

START_TEST(names_that_are_not_known_are_named)
{
    const BadNames *b = &bad_names[_i];
    LuksAlgs a;
    GError *err = NULL;

    ck_assert(!parse_names(b->cipher, b->mode, b->hash, b->key_bytes, &a, &err));
    assert_error(err, b->message);
}
END_TEST

/* A name from a hostile header must not reach the terminal raw. */
START_TEST(names_are_printable_in_errors)
{
    LuksAlgs a;
    GError *err = NULL;

    ck_assert(!parse_names("a\x1b[2Jes\n", "xts-plain64", "sha256", 64, &a, &err));
    ck_assert(!strchr(err->message, '\x1b') && !strchr(err->message, '\n'));
    g_clear_error(&err);
}
END_TEST

START_TEST(names_round_trip_through_a_header)
{
    LuksAlgs a, b;
    LuksHeader h;

    ck_assert(parse_names("twofish", "cbc-essiv:sha256", "ripemd160", 24, &a, NULL));
    luks_header_init(&h, 24);
    ck_assert(luks_names_store(&a, &h, NULL));
    ck_assert_str_eq(h.cipher_mode, "cbc-essiv:sha256");
    ck_assert(luks_names_parse(&h, &b, NULL));
    ck_assert_mem_eq(&a, &b, sizeof(a));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("luks-header");
    TCase *t = tcase_create("luks-header");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, geometry_is_that_of_the_reference);
    tcase_add_test(t, header_round_trips);
    tcase_add_test(t, header_fields_are_where_the_format_has_them);
    tcase_add_loop_test(t, header_rejects_what_breaks_a_rule, 0, G_N_ELEMENTS(edits));
    tcase_add_test(t, header_errors_are_of_the_right_kind);
    tcase_add_test(t, header_accepts_a_detached_payload);
    tcase_add_test(t, header_accepts_slots_in_any_order);
    tcase_add_test(t, header_survives_random_edits);
    tcase_add_test(t, probe_wants_magic_and_length);
    tcase_add_test(t, names_mean_the_right_rows);
    tcase_add_loop_test(t, names_that_are_not_known_are_named, 0, G_N_ELEMENTS(bad_names));
    tcase_add_test(t, names_are_printable_in_errors);
    tcase_add_test(t, names_round_trip_through_a_header);
    suite_add_tcase(s, t);
    return run_suite(s);
}
