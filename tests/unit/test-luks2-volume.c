/* SPDX-License-Identifier: MIT */
/* LUKS2 volumes as CryptoBlocks: create, open, payload, key slots, key derivation, what is said when it does not work.
 */
#include "crypto/formats/block-open.h"
#include "crypto/luks/luks2-disk.h"
#include "crypto/luks/luks2-int.h"
#include "crypto/luks/luks2-keyslot.h"
#include "tests/unit/luks2-fixture.h"
#include "util/base/error.h"
#include "util/thread/thread-pool.h"

START_TEST(created_volume_opens_with_its_password)
{
    static const struct {
        const char *options;
        size_t sector;
    } rows[] = {
        {"", 512},
        {"sector-size=4096", 4096},
        {"sector-size=2k,cipher-alg=aes-128,cipher-mode=cbc,ivgen-alg=essiv", 2048},
        {"sector-size=1024,cipher-alg=serpent-256,hash-alg=sha512", 1024},
        {"cipher-alg=twofish-192,ivgen-alg=plain,hash-alg=ripemd160", 512},
        {"cipher-mode=ecb,hash-alg=sha1", 512},
        {"cipher-alg=aes-192,cipher-mode=cbc", 512}, /* key material of 187.5 sectors */
        {"hash-alg=sha224", 512},
        {"iter-time=0", 512},
    };
    MemVolume m = {0};
    GError *err = NULL;
    g_autoptr(CryptoBlock) b = luks2_make_pbkdf2(&m, rows[_i].options, &err);
    g_autoptr(CryptoBlock) again = NULL;

    ck_assert_msg(!err, "%s", err ? err->message : "");
    ck_assert_int_eq(crypto_block_format(b), CRYPTO_FORMAT_LUKS2);
    ck_assert_uint_eq(m.reserved, 16 << 20);
    ck_assert_uint_eq(crypto_block_payload_offset(b), 16 << 20);
    ck_assert_uint_eq(crypto_block_payload_bytes(b), 0);
    ck_assert_uint_eq(crypto_block_sector_bytes(b), rows[_i].sector);
    again = luks2_open_with(&m, "pw", 0, &err);
    ck_assert_ptr_null(err);
    luks_check_payload(b, again);
    ck_assert_ptr_null(luks2_open_with(&m, "other", 0, &err));
    ck_assert(g_error_matches(err, QB_ERROR, QB_ERROR_PASSPHRASE));
    assert_error(err, "Invalid password, cannot unlock any keyslot");
    g_free(m.data);
}
END_TEST

START_TEST(argon2_slots_open_or_are_named)
{
    static const char *const options[] = {"pbkdf=argon2id", "pbkdf=argon2i", ""};
    MemVolume m = {0};
    GError *err = NULL;
    g_autoptr(CryptoBlock) b = luks2_make(&m, options[_i], &err);

    if (!HAVE_ARGON2) {
        ck_assert_ptr_null(b);
        ck_assert(g_str_has_suffix(err->message, "which has no libargon2; 'pbkdf=pbkdf2' works without"));
        g_clear_error(&err);
        return;
    }
    ck_assert_ptr_null(err);
    g_autoptr(CryptoBlock) again = luks2_open_with(&m, "pw", 0, &err);
    ck_assert_ptr_null(err);
    luks_check_payload(b, again);
    ck_assert_ptr_null(luks2_open_with(&m, "other", 0, &err));
    ck_assert(g_error_matches(err, QB_ERROR, QB_ERROR_PASSPHRASE));
    g_clear_error(&err);
    g_free(m.data);
}
END_TEST

/* Answers of the argon2 reference library's own test suite, version 0x13: password "password", salt "somesalt", 2
 * passes over 64 MiB, one lane. */
START_TEST(argon2_gives_the_known_answers)
{
    static const struct {
        Luks2KdfAlg alg;
        const char *hex;
    } rows[] = {
        {LUKS2_KDF_ARGON2I, "c1628832147d9720c5bd1cfd61367078729f6dfb6f8fea9ff98158e0d7816ed0"},
        {LUKS2_KDF_ARGON2ID, "09316115d5cf24ed5a15a31a3ba326e5cf32edc24702987c02b6566f61913cf7"},
    };
    g_autoptr(SecBuf) password = secbuf_new_copy("password", 8);

    for (size_t i = 0; HAVE_ARGON2 && i < G_N_ELEMENTS(rows); i++) {
        Luks2Kdf kdf = {
            .alg = rows[i].alg, .salt = "somesalt", .salt_bytes = 8, .passes = 2, .memory_kib = 65536, .lanes = 1};
        uint8_t out[32];

        ck_assert(luks2_kdf_derive(&kdf, password, out, sizeof(out), NULL));
        assert_hex(out, rows[i].hex);
    }
}
END_TEST

START_TEST(more_memory_than_the_machine_has_is_refused)
{
    Luks2Kdf kdf = {.alg = LUKS2_KDF_ARGON2ID, .passes = 4, .memory_kib = UINT32_MAX, .lanes = 4};
    g_autoptr(SecBuf) password = secbuf_new_copy("password", 8);
    GError *err = NULL;
    uint8_t out[32];

    ck_assert(!luks2_kdf_derive(&kdf, password, out, sizeof(out), &err));
    ck_assert(g_error_matches(err, QB_ERROR, QB_ERROR_UNSUPPORTED));
    if (HAVE_ARGON2) {
        ck_assert(g_str_has_prefix(err->message, "Key derivation 'argon2id' needs 4294967295 KiB of memory, this "));
    }
    g_clear_error(&err);
}
END_TEST

START_TEST(calibration_keeps_its_bounds)
{
    static const struct {
        uint64_t ms;
        uint32_t min_kib, max_kib;
    } rows[] = {{0, 1024, 1024}, {10, 1024, 65536}, {250, 65536, 1 << 20}};

    for (size_t i = 0; HAVE_ARGON2 && i < G_N_ELEMENTS(rows); i++) {
        Luks2Kdf kdf = {.alg = LUKS2_KDF_ARGON2ID};

        ck_assert(luks2_kdf_calibrate(&kdf, rows[i].ms, 64, NULL));
        ck_assert(kdf.passes >= 4 && kdf.lanes >= 1 && kdf.lanes <= 4 && kdf.salt_bytes == 32);
        ck_assert(kdf.memory_kib >= rows[i].min_kib && kdf.memory_kib <= rows[i].max_kib);
    }
}
END_TEST

START_TEST(calibration_refuses_what_would_never_end)
{
    Luks2Kdf kdf = {.alg = LUKS2_KDF_ARGON2ID};
    GError *err = NULL;

    ck_assert(!luks2_kdf_calibrate(&kdf, UINT64_MAX, 64, &err));
    if (HAVE_ARGON2) {
        assert_error(err, "Key derivation 'argon2id' cannot be made to last 18446744073709551615 milliseconds");
    }
    g_clear_error(&err);
}
END_TEST

typedef struct BadOption {
    const char *options, *message;
} BadOption;

static const BadOption bad_options[] = {
    {"luks-version=0", "Parameter 'luks-version' does not accept value '0': 1 or 2"},
    {"luks-version=3", "Parameter 'luks-version' does not accept value '3': 1 or 2"},
    {"luks-version=x", "Parameter 'luks-version' expects a number"},
    {"sector-size=4096", "Parameter 'sector-size' needs luks-version=2"},
    {"pbkdf=pbkdf2", "Parameter 'pbkdf' needs luks-version=2"},
    {"luks-version=1,pbkdf=argon2id", "Parameter 'pbkdf' needs luks-version=2"},
    {"luks-version=2,pbkdf=scrypt", "Parameter 'pbkdf' does not accept value 'scrypt'"},
    {"luks-version=2,pbkdf=pbkdf2,sector-size=768",
     "Parameter 'sector-size' does not accept value '768': 512, 1024, 2048 or 4096"},
    {"luks-version=2,pbkdf=pbkdf2,sector-size=8k",
     "Parameter 'sector-size' does not accept value '8192': 512, 1024, 2048 or 4096"},
    {"luks-version=2,pbkdf=pbkdf2,sector-size=0",
     "Parameter 'sector-size' does not accept value '0': 512, 1024, 2048 or 4096"},
    {"luks-version=2,pbkdf=pbkdf2,cipher-alg=foo", "Parameter 'cipher-alg' does not accept value 'foo'"},
    {"luks-version=2,pbkdf=pbkdf2,cipher-alg=cast5-128", "Unsupported cipher mode xts"},
    {"luks-version=2,pbkdf=pbkdf2,key-secret=zz", "No secret with id 'zz'"},
};

START_TEST(create_names_a_bad_option_and_writes_nothing)
{
    const BadOption *bad = &bad_options[_i];
    MemVolume m = {0};
    g_autoptr(OptDict) o = luks_options(bad->options);
    g_autoptr(OptDict) copy = optdict_copy(o);
    CryptoIo io = mem_io(&m);
    uint64_t bytes;
    GError *err = NULL;

    ck_assert_ptr_null(crypto_block_create(CRYPTO_FORMAT_LUKS_ANY, o, "", &io, &err));
    assert_error(err, bad->message);
    ck_assert_int_eq(m.writes, 0);
    ck_assert_uint_eq(m.reserved, 0);
    ck_assert(!crypto_block_measure(CRYPTO_FORMAT_LUKS_ANY, copy, "", &bytes, &err));
    assert_error(err, bad->message);
}
END_TEST

/* A qcow2 holds version 1 only. */
START_TEST(version_1_alone_refuses_a_version_2_volume)
{
    MemVolume m = {0};
    g_autoptr(CryptoBlock) b G_GNUC_UNUSED = luks2_make_pbkdf2(&m, "", NULL);
    GError *err = NULL;

    ck_assert_ptr_null(luks_open_with(&m, "pw", 0, &err));
    assert_error(err, "LUKS version 2 is not supported");
    g_free(m.data);
}
END_TEST

START_TEST(version_1_is_still_the_default)
{
    MemVolume m = {0};
    g_autoptr(OptDict) o = luks_options("");
    CryptoIo io = mem_io(&m);
    g_autoptr(CryptoBlock) b = crypto_block_create(CRYPTO_FORMAT_LUKS_ANY, o, "", &io, NULL);
    g_autoptr(CryptoBlock) again = luks2_open_with(&m, "pw", 0, NULL);

    ck_assert_int_eq(crypto_block_format(b), CRYPTO_FORMAT_LUKS);
    ck_assert_int_eq(crypto_block_format(again), CRYPTO_FORMAT_LUKS);
    luks_check_payload(b, again);
    g_free(m.data);
}
END_TEST

START_TEST(a_failed_write_is_reported_and_leaves_no_header)
{
    MemVolume m = {.fail_write = _i};
    GError *err = NULL;
    g_autoptr(CryptoBlock) b = NULL;

    ck_assert_ptr_null(luks2_make_pbkdf2(&m, "", &err));
    assert_error(err, _i == 1   ? "Unable to write the key material of keyslot 0: No space left on device"
                      : _i <= 4 ? "Unable to write LUKS2 header copy 0: No space left on device"
                                : "Unable to write LUKS2 header copy 1: No space left on device");
    m.fail_write = 0;
    b = luks2_open_with(&m, "pw", 0, NULL);
    ck_assert(!b == (_i <= 4)); /* the first copy alone is a header */
    g_free(m.data);
}
END_TEST

/* Edit the metadata of a volume in memory. */
static void edit_meta(MemVolume *m, const char *find, const char *replace)
{
    CryptoIo io = mem_io(m);
    Luks2Header h;
    g_autofree char *json = NULL, *text = NULL;
    int damaged;

    ck_assert(luks2_disk_load(&io, m->size, &h, &json, &damaged, NULL));
    g_autofree char *f = luks2_edit_text(find, NULL, NULL), *r = luks2_edit_text(replace, NULL, NULL);
    text = luks2_edit_text(json, f, r);
    ck_assert(luks2_disk_store(&io, &h, text, NULL));
}

/* LUKS sheet section 10: IV number = offset / 512 + iv_tweak, in steps of 8 with 4096-byte sectors. */
START_TEST(iv_numbers_count_512_bytes_from_the_tweak)
{
    MemVolume m = {0};
    g_autoptr(CryptoBlock) plain = luks2_make_pbkdf2(&m, "sector-size=4096", NULL);
    g_autoptr(CryptoBlock) tweaked = NULL;
    uint8_t zero[4096] = {0}, a[4096], b[4096];

    edit_meta(&m, "'iv_tweak':'0'", "'iv_tweak':'16'");
    tweaked = luks2_open_with(&m, "pw", 0, NULL);
    ck_assert_ptr_nonnull(tweaked);
    crypto_block_encrypt(plain, 3 * 4096, zero, a, sizeof(a));
    crypto_block_encrypt(tweaked, 4096, zero, b, sizeof(b));
    ck_assert_mem_eq(a, b, sizeof(a));
    g_free(m.data);
}
END_TEST

START_TEST(a_segment_may_have_a_fixed_size)
{
    MemVolume m = {0};
    g_autoptr(CryptoBlock) made G_GNUC_UNUSED = luks2_make_pbkdf2(&m, "", NULL);
    g_autoptr(CryptoBlock) b = NULL;

    edit_meta(&m, "'dynamic'", "'1048576'");
    b = luks2_open_with(&m, "pw", 0, NULL);
    ck_assert_uint_eq(crypto_block_payload_bytes(b), 1048576);
    g_free(m.data);
}
END_TEST

START_TEST(a_damaged_copy_is_mended_only_when_that_is_allowed)
{
    MemVolume m = {0};
    g_autoptr(CryptoBlock) made G_GNUC_UNUSED = luks2_make_pbkdf2(&m, "", NULL);
    size_t at = _i * LUKS2_MIN_COPY_BYTES;
    uint8_t good[LUKS2_BINARY_BYTES];

    memcpy(good, m.data + at, sizeof(good));
    memset(m.data + at, 0, sizeof(good));
    m.writes = 0;
    for (int repair = 0; repair < 2; repair++) {
        g_autoptr(CryptoBlock) b = luks2_open_with(&m, "pw", repair ? CRYPTO_OPEN_REPAIR : 0, NULL);

        ck_assert_ptr_nonnull(b);
        luks_check_payload(made, b);
        ck_assert_int_eq(m.writes, repair ? 3 : 0);
    }
    /* Equal but for the salt and the checksum over it. */
    ck_assert_mem_eq(m.data + at, good, LUKS2_OFF_SALT);
    ck_assert_mem_eq(m.data + at + LUKS2_OFF_UUID, good + LUKS2_OFF_UUID, LUKS2_OFF_CHECKSUM - LUKS2_OFF_UUID);
    g_free(m.data);
}
END_TEST

/* The repair is a favour: that it fails is no reason not to open. */
START_TEST(a_repair_that_fails_does_not_keep_the_volume_closed)
{
    MemVolume m = {0};
    g_autoptr(CryptoBlock) made G_GNUC_UNUSED = luks2_make_pbkdf2(&m, "", NULL);
    g_autoptr(CryptoBlock) b = NULL;

    m.data[100] ^= 1;
    m.fail_write = m.writes + 1;
    b = luks2_open_with(&m, "pw", CRYPTO_OPEN_REPAIR, NULL);
    ck_assert_ptr_nonnull(b);
    g_free(m.data);
}
END_TEST

/* ---- key slots -------------------------------------------------------------------------------------------------- */

/* Add a slot with @secret to the volume, of @priority. */
static void add_slot(MemVolume *m, const char *secret, Luks2Priority priority)
{
    CryptoIo io = mem_io(m);
    g_autoptr(CryptoBlock) b = luks2_open_with(m, "pw", 0, NULL);
    Luks2State *s = b->state;
    g_autoptr(SecBuf) pw = secret_lookup("pw", NULL), password = secret_lookup(secret, NULL), key = NULL;
    Luks2Keyslot slot = {
        .priority = priority, .af_hash = HASH_SHA256, .kdf = {.alg = LUKS2_KDF_PBKDF2, .hash = HASH_SHA512}};
    g_autofree char *text = NULL;

    key = luks2_keyslot_find(s->meta, &s->volume, pw, &io, NULL, NULL);
    ck_assert(luks2_keyslot_free_id(s->meta, &slot.id, NULL));
    ck_assert(luks2_keyslot_place(s->meta, &s->header, 64, &slot, NULL));
    slot.area.key_bytes = 32;
    ck_assert(luks2_cipher_parse("aes-cbc-essiv:sha256", 32, 512, &slot.area.cipher, NULL));
    ck_assert(luks2_kdf_calibrate(&slot.kdf, 0, 32, NULL));
    ck_assert(luks2_keyslot_seal(&slot, password, key, &io, NULL));
    luks2_meta_put_keyslot(s->meta, &slot, s->volume.digest->id);
    text = luks2_meta_text(s->meta);
    ck_assert(luks2_disk_store(&io, &s->header, text, NULL));
}

START_TEST(a_second_slot_opens_the_same_volume)
{
    MemVolume m = {0};
    g_autoptr(CryptoBlock) made G_GNUC_UNUSED = luks2_make_pbkdf2(&m, "", NULL);
    g_autoptr(CryptoBlock) b = NULL;
    const Luks2State *s;

    add_slot(&m, "other", LUKS2_PRIORITY_NORMAL);
    b = luks2_open_with(&m, "other", 0, NULL);
    ck_assert_ptr_nonnull(b);
    luks_check_payload(made, b);
    s = b->state;
    ck_assert_uint_eq(s->meta->keyslots[1].id, 1);
    ck_assert_uint_eq(s->meta->keyslots[1].area.offset, 32768 + 258048);
    ck_assert_uint_eq(s->header.seqid, 2);
    g_free(m.data);
}
END_TEST

START_TEST(slots_are_tried_by_priority)
{
    MemVolume m = {0};
    g_autoptr(CryptoBlock) made G_GNUC_UNUSED = luks2_make_pbkdf2(&m, "", NULL);
    CryptoIo io = mem_io(&m);
    GError *err = NULL;

    add_slot(&m, "pw", LUKS2_PRIORITY_HIGH);
    add_slot(&m, "other", LUKS2_PRIORITY_IGNORE);
    g_autoptr(CryptoBlock) b = luks2_open_with(&m, "pw", 0, NULL);
    const Luks2State *s = b->state;
    const Luks2Keyslot *slot;
    g_autoptr(SecBuf) pw = secret_lookup("pw", NULL), key = NULL;

    key = luks2_keyslot_find(s->meta, &s->volume, pw, &io, &slot, NULL);
    ck_assert_uint_eq(slot->id, 1);
    ck_assert_ptr_null(luks2_open_with(&m, "other", 0, &err));
    assert_error(err, "Invalid password, cannot unlock any keyslot");
    g_free(m.data);
}
END_TEST

START_TEST(a_slot_that_cannot_be_tried_is_named)
{
    MemVolume m = {0};
    g_autoptr(CryptoBlock) made G_GNUC_UNUSED = luks2_make_pbkdf2(&m, "", NULL);
    GError *err = NULL;

    add_slot(&m, "other", LUKS2_PRIORITY_NORMAL);
    edit_meta(&m, "'salt':", "'x':");
    ck_assert_ptr_null(luks2_open_with(&m, "pw", 0, &err));
    assert_error(err, "LUKS2 metadata: keyslots.0.kdf.salt is missing");
    edit_meta(&m, "'x':", "'salt':");
    edit_meta(&m, "'hash':'sha256'}", "'hash':'whirlpool'}");
    ck_assert_ptr_null(luks2_open_with(&m, "pw", 0, &err));
    ck_assert(g_error_matches(err, QB_ERROR, QB_ERROR_PASSPHRASE));
    assert_error(err, "Invalid password, cannot unlock any keyslot (keyslot 0 could not be tried: Hash algorithm "
                      "'whirlpool' not supported)");
    g_autoptr(CryptoBlock) b = luks2_open_with(&m, "other", 0, NULL);
    ck_assert_ptr_nonnull(b);
    edit_meta(&m, "'hash':'sha256'}", "'hash':'whirlpool'}");
    ck_assert_ptr_null(luks2_open_with(&m, "other", 0, &err));
    ck_assert(g_error_matches(err, QB_ERROR, QB_ERROR_UNSUPPORTED));
    assert_error(err, "Keyslot 1 cannot be tried: Hash algorithm 'whirlpool' not supported");
    g_free(m.data);
}
END_TEST

START_TEST(a_wiped_slot_opens_no_more)
{
    MemVolume m = {0};
    g_autoptr(CryptoBlock) made G_GNUC_UNUSED = luks2_make_pbkdf2(&m, "", NULL);
    const Luks2State *s = made->state;
    CryptoIo io = mem_io(&m);
    g_autofree uint8_t *before = g_memdup2(m.data, m.size);
    GError *err = NULL;

    ck_assert(luks2_keyslot_wipe(&s->meta->keyslots[0], &io, NULL));
    ck_assert_mem_eq(m.data, before, 32768);
    ck_assert_mem_ne(m.data + 32768, before + 32768, 4096);
    ck_assert_mem_ne(m.data + 32768 + 258048 - 512, before + 32768 + 258048 - 512, 512);
    ck_assert_mem_eq(m.data + 32768 + 258048, before + 32768 + 258048, m.size - 32768 - 258048);
    ck_assert_ptr_null(luks2_open_with(&m, "pw", 0, &err));
    assert_error(err, "Invalid password, cannot unlock any keyslot");
    g_free(m.data);
}
END_TEST

START_TEST(slots_run_out_with_a_clear_error)
{
    MemVolume m = {0};
    g_autoptr(CryptoBlock) made G_GNUC_UNUSED = luks2_make_pbkdf2(&m, "", NULL);
    Luks2State *s = made->state;
    Luks2Keyslot slot;
    GError *err = NULL;

    ck_assert(!luks2_keyslot_place(s->meta, &s->header, 5000, &slot, &err));
    assert_error(err, "Can't add a keyslot - its 20000768 bytes do not fit the key slot area");
    s->meta->keyslot_count = LUKS2_MAX_IDS;
    for (unsigned i = 1; i < LUKS2_MAX_IDS; i++) {
        s->meta->keyslots[i].id = i;
    }
    ck_assert(!luks2_keyslot_free_id(s->meta, &slot.id, &err));
    assert_error(err, "Can't add a keyslot - all keyslots are in use");
    g_free(m.data);
}
END_TEST

START_TEST(a_cut_file_is_not_a_wrong_password)
{
    MemVolume m = {0};
    g_autoptr(CryptoBlock) made G_GNUC_UNUSED = luks2_make_pbkdf2(&m, "", NULL);
    GError *err = NULL;

    m.size = 32768 + 258047;
    ck_assert_ptr_null(luks2_open_with(&m, "pw", 0, &err));
    assert_error(err, "Keyslot 0 ends at byte 290816, beyond the file of 290815 bytes");
    g_free(m.data);
}
END_TEST

/* ---- info ------------------------------------------------------------------------------------------------------- */

static char *info_text(MemVolume *m)
{
    GError *err = NULL;
    g_autoptr(CryptoBlock) b = luks2_open_with(m, NULL, CRYPTO_OPEN_NO_IO, &err);
    g_autoptr(InfoTree) t = NULL;

    ck_assert_msg(!err, "%s", err ? err->message : "");
    ck_assert(!crypto_block_has_key(b));
    t = crypto_block_info(b);
    return info_to_json(t, true);
}

START_TEST(info_tells_the_facts_without_a_key)
{
    MemVolume m = {0};
    g_autoptr(CryptoBlock) made G_GNUC_UNUSED =
        luks2_make_pbkdf2(&m, "sector-size=4096,cipher-mode=cbc,ivgen-alg=essiv", NULL);
    g_autofree char *json = info_text(&m);
    static const char *const wanted[] = {
        "\"luks-version\": 2",
        "\"cipher-alg\": \"aes-256\"",
        "\"cipher-mode\": \"cbc\"",
        "\"ivgen-alg\": \"essiv\"",
        "\"sector-size\": 4096",
        "\"ivgen-hash-alg\": \"sha256\"",
        "\"slot\": 0",
        "\"pbkdf\": \"pbkdf2\"",
        "\"payload-offset\": 16777216",
        "\"key-offset\": 32768",
        "\"detached-header\": false",
        "\"iters\": ",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++) {
        ck_assert_msg(strstr(json, wanted[i]), "no %s in %s", wanted[i], json);
    }
    g_free(m.data);
}
END_TEST

START_TEST(info_tells_of_volumes_that_cannot_be_opened)
{
    static const struct {
        const char *find, *replace, *wanted, *error;
    } rows[] = {
        {"'config':{", "'config':{'requirements':{'mandatory':['online-reencrypt-v2']},",
         "\"requirements\": [\"online-reencrypt-v2\"]",
         "LUKS2 volume with an unfinished reencryption (requirement 'online-reencrypt-v2') is not supported; finish it "
         "with cryptsetup first"},
        {"'iv_tweak'", "'integrity':{'type':'hmac(sha256)'},'iv_tweak'", "\"sector-size\": 512",
         "LUKS2 segment 0 with integrity protection is not supported"},
        {"'type':'luks2'", "'type':'luks\\u001b'", "\"unusable\": \"Keyslot type 'luks\\\\033' not supported\"",
         "LUKS2 volume has no keyslot of type 'luks2'"},
        {"'tokens':{", "'tokens':{'1':{'type':'systemd-tpm2','keyslots':['0'],'x':[]}",
         "\"tokens\": [{\"token\": 1, \"type\": \"systemd-tpm2\", \"keyslots\": [0]}]", NULL},
    };
    MemVolume m = {0};
    g_autoptr(CryptoBlock) made G_GNUC_UNUSED = luks2_make_pbkdf2(&m, "", NULL);
    g_autofree char *json = NULL;
    GError *err = NULL;

    edit_meta(&m, rows[_i].find, rows[_i].replace);
    json = info_text(&m);
    ck_assert_msg(strstr(json, rows[_i].wanted), "no %s in %s", rows[_i].wanted, json);
    g_autoptr(CryptoBlock) b = luks2_open_with(&m, "pw", 0, &err);
    if (rows[_i].error) {
        ck_assert_ptr_null(b);
        ck_assert(g_error_matches(err, QB_ERROR, QB_ERROR_UNSUPPORTED));
        assert_error(err, rows[_i].error);
    } else {
        ck_assert_ptr_nonnull(b);
    }
    g_free(m.data);
}
END_TEST

static void add_tests(TCase *t)
{
    tcase_add_loop_test(t, created_volume_opens_with_its_password, 0, 9);
    tcase_add_loop_test(t, argon2_slots_open_or_are_named, 0, 3);
    tcase_add_test(t, argon2_gives_the_known_answers);
    tcase_add_test(t, more_memory_than_the_machine_has_is_refused);
    tcase_add_test(t, calibration_keeps_its_bounds);
    tcase_add_test(t, calibration_refuses_what_would_never_end);
    tcase_add_loop_test(t, create_names_a_bad_option_and_writes_nothing, 0, G_N_ELEMENTS(bad_options));
    tcase_add_test(t, version_1_alone_refuses_a_version_2_volume);
    tcase_add_test(t, version_1_is_still_the_default);
    tcase_add_loop_test(t, a_failed_write_is_reported_and_leaves_no_header, 1, 8);
    tcase_add_test(t, iv_numbers_count_512_bytes_from_the_tweak);
    tcase_add_test(t, a_segment_may_have_a_fixed_size);
    tcase_add_loop_test(t, a_damaged_copy_is_mended_only_when_that_is_allowed, 0, LUKS2_COPIES);
    tcase_add_test(t, a_repair_that_fails_does_not_keep_the_volume_closed);
    tcase_add_test(t, a_second_slot_opens_the_same_volume);
    tcase_add_test(t, slots_are_tried_by_priority);
    tcase_add_test(t, a_slot_that_cannot_be_tried_is_named);
    tcase_add_test(t, a_wiped_slot_opens_no_more);
    tcase_add_test(t, slots_run_out_with_a_clear_error);
    tcase_add_test(t, a_cut_file_is_not_a_wrong_password);
    tcase_add_test(t, info_tells_the_facts_without_a_key);
    tcase_add_loop_test(t, info_tells_of_volumes_that_cannot_be_opened, 0, 4);
}

int main(void)
{
    Suite *s = suite_create("luks2-volume");
    TCase *t = tcase_create("luks2-volume");
    int ret;

    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, luks_define_passwords, NULL);
    add_tests(t);
    suite_add_tcase(s, t);
    ret = run_suite(s);
    thread_pool_shutdown();
    secret_forget_all();
    return ret;
}
