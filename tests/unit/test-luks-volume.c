/* SPDX-License-Identifier: MIT */
/* LUKS1 and legacy volumes as CryptoBlocks: create, open, payload, errors, lending of ciphers to threads. */
#include <pthread.h>

#include "crypto/formats/block-open.h"
#include "crypto/luks/luks-header.h"
#include "tests/unit/luks-fixture.h"
#include "util/base/endian.h"
#include "util/base/error.h"
#include "util/thread/thread-pool.h"

START_TEST(created_volume_opens_with_its_password)
{
    static const char *const options[] = {
        "",
        "cipher-alg=aes-128,cipher-mode=cbc,ivgen-alg=essiv",
        "cipher-alg=aes-192,cipher-mode=cbc",
        "cipher-alg=aes-192",
        "cipher-alg=serpent-256,hash-alg=sha512",
        "cipher-alg=twofish-192,ivgen-alg=plain,hash-alg=ripemd160",
        "cipher-alg=cast5-128,cipher-mode=ctr,hash-alg=sha224",
        "cipher-mode=ecb,hash-alg=sha1",
        "ivgen-hash-alg=sha1",
        "iter-time=0",
    };
    MemVolume m = {0};
    GError *err = NULL;
    g_autoptr(CryptoBlock) b = luks_make(&m, options[_i], &err);
    g_autoptr(CryptoBlock) again = NULL;

    ck_assert_ptr_null(err);
    ck_assert_uint_eq(crypto_block_payload_offset(b), m.reserved);
    ck_assert_uint_eq(crypto_block_sector_bytes(b), 512);
    again = luks_open_with(&m, "pw", 0, &err);
    ck_assert_ptr_null(err);
    ck_assert(crypto_block_has_key(again));
    luks_check_payload(b, again);
    ck_assert_ptr_null(luks_open_with(&m, "other", 0, &err));
    ck_assert(g_error_matches(err, QB_ERROR, QB_ERROR_PASSPHRASE));
    assert_error(err, "Invalid password, cannot unlock any keyslot");
    g_free(m.data);
}
END_TEST

START_TEST(create_takes_its_options_and_leaves_the_rest)
{
    MemVolume m = {0};
    g_autoptr(OptDict) o = luks_options("cipher-alg=aes-128,cipher-mode=xts,ivgen-alg=plain64,ivgen-hash-alg=sha1,"
                                        "hash-alg=sha1,iter-time=1,foo=bar");
    CryptoIo io = mem_io(&m);
    g_autoptr(CryptoBlock) b = crypto_block_create(CRYPTO_FORMAT_LUKS, o, "", &io, NULL);

    ck_assert_ptr_nonnull(b);
    ck_assert_uint_eq(optdict_size(o), 1);
    ck_assert_str_eq(optdict_key_at(o, 0), "foo");
    g_free(m.data);
}
END_TEST

typedef struct BadOption {
    const char *options, *prefix, *message;
} BadOption;

/* Texts of the reference, asked by running it; but it makes volumes with md5. */
static const BadOption bad_options[] = {
    {"hash-alg=whirlpool", "", "Parameter 'hash-alg' does not accept value 'whirlpool'"},
    {"hash-alg=md5", "", "Parameter 'hash-alg' does not accept value 'md5', which is only for opening old volumes"},
    {"ivgen-hash-alg=md5", "",
     "Parameter 'ivgen-hash-alg' does not accept value 'md5', which is only for opening old volumes"},
    {"cipher-alg=foo", "", "Parameter 'cipher-alg' does not accept value 'foo'"},
    {"cipher-alg=AES-256", "encrypt.", "Parameter 'cipher-alg' does not accept value 'AES-256'"},
    {"cipher-mode=foo", "", "Parameter 'cipher-mode' does not accept value 'foo'"},
    {"ivgen-alg=foo", "", "Parameter 'ivgen-alg' does not accept value 'foo'"},
    {"ivgen-hash-alg=foo", "", "Parameter 'ivgen-hash-alg' does not accept value 'foo'"},
    {"cipher-alg=3des", "", "Algorithm '3des' not supported"},
    {"cipher-alg=cast5-128", "", "Unsupported cipher mode xts"},
    {"cipher-mode=cbc,ivgen-alg=essiv,ivgen-hash-alg=sha1", "", "No AES cipher with key size 20 available"},
    {"cipher-alg=cast5-128,cipher-mode=cbc,ivgen-alg=essiv", "", "Cipher cast5-128 not supported with essiv"},
    {"key-secret=zz", "", "No secret with id 'zz'"},
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

    ck_assert_ptr_null(crypto_block_create(CRYPTO_FORMAT_LUKS, o, bad->prefix, &io, &err));
    assert_error(err, bad->message);
    ck_assert_int_eq(m.writes, 0);
    ck_assert_uint_eq(m.reserved, 0);
    ck_assert(!crypto_block_measure(CRYPTO_FORMAT_LUKS, copy, bad->prefix, &bytes, &err));
    assert_error(err, bad->message);
}
END_TEST

START_TEST(a_missing_secret_is_named_with_its_prefix)
{
    static const CryptoFormat formats[] = {CRYPTO_FORMAT_LUKS, CRYPTO_FORMAT_QCOW};
    MemVolume m = {0};
    CryptoIo io = mem_io(&m);

    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++) {
        g_autoptr(OptDict) o = optdict_new();
        uint64_t bytes;
        GError *err = NULL;

        ck_assert_ptr_null(crypto_block_create(formats[i], o, "encrypt.", &io, &err));
        assert_error(err, "Parameter 'encrypt.key-secret' is required for cipher");
        ck_assert_ptr_null(crypto_block_open(formats[i], o, "", &io, 0, 0, &err));
        assert_error(err, "Parameter 'key-secret' is required for cipher");
        ck_assert(!crypto_block_measure(formats[i], o, "encrypt.", &bytes, &err));
        assert_error(err, "Parameter 'encrypt.key-secret' is required for cipher");
    }
}
END_TEST

START_TEST(measure_is_what_create_reserves)
{
    static const char *const options[] = {"", "cipher-alg=aes-128", "cipher-alg=aes-192,cipher-mode=cbc"};
    static const uint64_t bytes[] = {2068480, 1052672, 790528};
    MemVolume m = {0};
    g_autoptr(OptDict) o = luks_options(options[_i]);
    g_autoptr(CryptoBlock) b G_GNUC_UNUSED = luks_make(&m, options[_i], NULL);
    uint64_t measured;

    ck_assert(crypto_block_measure(CRYPTO_FORMAT_LUKS, o, "", &measured, NULL));
    ck_assert_uint_eq(measured, bytes[_i]);
    ck_assert_uint_eq(m.reserved, bytes[_i]);
    ck_assert(optdict_has(o, "key-secret")); /* untouched */
    g_free(m.data);
}
END_TEST

START_TEST(a_failed_write_is_reported_and_leaves_no_header)
{
    MemVolume m = {.fail_write = _i};
    GError *err = NULL;
    unsigned version;

    ck_assert_ptr_null(luks_make(&m, "", &err));
    assert_error(err, _i == 1 ? "Unable to write the key material of keyslot 0: No space left on device"
                              : "Unable to write LUKS header: No space left on device");
    ck_assert(!crypto_luks_probe(m.data, m.size, &version));
    g_free(m.data);
}
END_TEST

START_TEST(key_material_is_written_before_the_header_and_flushed)
{
    MemVolume m = {0};
    g_autoptr(CryptoBlock) b G_GNUC_UNUSED = luks_make(&m, "", NULL);

    ck_assert_int_eq(m.writes, 2); /* the first was the material: see the test above */
    ck_assert_int_eq(m.flushes, 1);
    for (size_t i = LUKS_HEADER_BYTES; i < LUKS_HEADER_AREA_BYTES; i++) {
        ck_assert_int_eq(m.data[i], 0);
    }
    g_free(m.data);
}
END_TEST

START_TEST(open_without_key_gives_the_facts_only)
{
    MemVolume m = {0};
    g_autoptr(CryptoBlock) made G_GNUC_UNUSED = luks_make(&m, "", NULL);
    GError *err = NULL;
    g_autoptr(CryptoBlock) b = NULL;
    g_autoptr(InfoTree) info = NULL;
    g_autofree char *json = NULL;

    m.reads = 0;
    b = luks_open_with(&m, NULL, CRYPTO_OPEN_NO_IO, &err);
    ck_assert_ptr_null(err);
    ck_assert(!crypto_block_has_key(b));
    ck_assert_uint_eq(crypto_block_payload_offset(b), 2068480);
    ck_assert_int_eq(m.reads, 1);
    info = crypto_block_info(b);
    json = info_to_json(info, true);
    ck_assert(strstr(json, "\"cipher-alg\": \"aes-256\""));
    ck_assert(strstr(json, "\"payload-offset\": 2068480"));
    ck_assert(strstr(json, "\"detached-header\": false"));
    ck_assert(strstr(json, "\"key-offset\": 4096"));
    ck_assert(!strstr(json, "ivgen-hash-alg"));
    g_free(m.data);
}
END_TEST

/* Whichever slot holds it. */
START_TEST(open_finds_the_key_in_a_later_slot)
{
    MemVolume m = {0};
    g_autoptr(CryptoBlock) made = luks_make(&m, "", NULL);
    g_autoptr(CryptoBlock) b = NULL;
    uint8_t slot[LUKS_SLOT_BYTES], *slots = m.data + LUKS_OFF_SLOTS, *last = slots + 7 * LUKS_SLOT_BYTES;
    GError *err = NULL;

    memcpy(slot, slots, sizeof(slot));
    memcpy(slots, last, sizeof(slot));
    memcpy(last, slot, sizeof(slot));
    b = luks_open_with(&m, "pw", 0, &err);
    ck_assert_ptr_null(err);
    luks_check_payload(made, b);
    g_free(m.data);
}
END_TEST

START_TEST(open_with_all_slots_disabled_is_a_password_error)
{
    MemVolume m = {0};
    g_autoptr(CryptoBlock) made G_GNUC_UNUSED = luks_make(&m, "", NULL);
    GError *err = NULL;

    store_be32(m.data + LUKS_OFF_SLOTS, LUKS_SLOT_DISABLED);
    ck_assert_ptr_null(luks_open_with(&m, "pw", 0, &err));
    ck_assert(g_error_matches(err, QB_ERROR, QB_ERROR_PASSPHRASE));
    g_clear_error(&err);
    g_free(m.data);
}
END_TEST

START_TEST(a_damaged_key_material_is_a_password_error)
{
    MemVolume m = {0};
    g_autoptr(CryptoBlock) made G_GNUC_UNUSED = luks_make(&m, "", NULL);
    GError *err = NULL;

    m.data[4096 + 1234] ^= 1;
    ck_assert_ptr_null(luks_open_with(&m, "pw", 0, &err));
    ck_assert(g_error_matches(err, QB_ERROR, QB_ERROR_PASSPHRASE));
    g_clear_error(&err);
    g_free(m.data);
}
END_TEST

START_TEST(a_short_file_is_refused)
{
    MemVolume m = {0};
    g_autoptr(CryptoBlock) made G_GNUC_UNUSED = luks_make(&m, "", NULL);
    GError *err = NULL;

    m.size = 591;
    ck_assert_ptr_null(luks_open_with(&m, "pw", 0, &err));
    assert_error(err, "Volume is not in LUKS format");
    m.size = 100000;
    ck_assert_ptr_null(luks_open_with(&m, "pw", 0, &err));
    assert_error(err, "Keyslot 0 ends at byte 260096, beyond the 100000 bytes of the LUKS header area");
    g_free(m.data);
}
END_TEST

START_TEST(a_read_error_is_not_a_password_error)
{
    MemVolume m = {0};
    g_autoptr(CryptoBlock) made G_GNUC_UNUSED = luks_make(&m, "", NULL);
    g_autoptr(OptDict) o = luks_options("");
    CryptoIo io = mem_io(&m);
    size_t size = m.size;
    GError *err = NULL;

    m.size = 5000; /* what the file really has, unlike what it claims */
    ck_assert_ptr_null(crypto_block_open(CRYPTO_FORMAT_LUKS, o, "", &io, size, 0, &err));
    assert_error(err, "Unable to read the key material of keyslot 0: Input/output error");
    g_free(m.data);
}
END_TEST

START_TEST(default_iterations_follow_the_time_asked_for)
{
    MemVolume m = {0};
    g_autoptr(CryptoBlock) b G_GNUC_UNUSED = luks_make(&m, "iter-time=100", NULL);
    double digest = load_be32(m.data + LUKS_OFF_DIGEST_ITERATIONS);
    double slot = load_be32(m.data + LUKS_OFF_SLOTS + LUKS_SLOT_OFF_ITERATIONS);

    ck_assert(digest > 1000 && slot > 1000);
    ck_assert(slot / digest > 3.9 && slot / digest < 4.1); /* two blocks of sha256 in a 64-byte key, and an eighth */
    g_free(m.data);
}
END_TEST

/* qcow2 sheet section 24. */
START_TEST(legacy_format_gives_the_known_ciphertext)
{
    g_autoptr(OptDict) o = optdict_new();
    uint8_t zero[1024] = {0}, out[1024];
    g_autoptr(CryptoBlock) b = NULL;

    define_secret("legacy", "abc123");
    optdict_set(o, "key-secret", "legacy");
    b = crypto_block_open(CRYPTO_FORMAT_QCOW, o, "encrypt.", NULL, 0, 0, NULL);
    ck_assert_ptr_nonnull(b);
    ck_assert_uint_eq(optdict_size(o), 0);
    ck_assert_int_eq(crypto_block_encrypt(b, 0, zero, out, sizeof(out)), 0);
    assert_hex(out, "c7c169a571a7e1e0bed678e1bc5ba90ee147484b8234c04bc9540a87b09ee4e2");
    assert_hex(out + 512, "650de4dd2b35dce335883b69ebce0106");
    ck_assert_int_eq(crypto_block_decrypt(b, 512, out + 512, out + 512, 512), 0);
    ck_assert_mem_eq(out + 512, zero, 512);
    ck_assert_uint_eq(crypto_block_payload_offset(b), 0);
}
END_TEST

START_TEST(legacy_format_cuts_a_long_password_to_16_bytes)
{
    uint8_t buf[2][512] = {{0}};

    define_secret("p16", "0123456789abcdef");
    define_secret("p20", "0123456789abcdefghij");
    for (int i = 0; i < 2; i++) {
        g_autoptr(OptDict) o = optdict_new();
        g_autoptr(CryptoBlock) b = NULL;

        optdict_set(o, "key-secret", i ? "p20" : "p16");
        b = crypto_block_create(CRYPTO_FORMAT_QCOW, o, "encrypt.", NULL, NULL);
        ck_assert_int_eq(crypto_block_encrypt(b, 0, buf[i], buf[i], 512), 0);
    }
    ck_assert_mem_eq(buf[0], buf[1], 512);
}
END_TEST

typedef struct Worker {
    CryptoBlock *b;
    pthread_t thread;
    unsigned seed;
    int bad;
} Worker;

static void *worker_main(void *opaque)
{
    Worker *w = opaque;
    uint8_t plain[4096], buf[4096];

    for (int round = 0; round < 300; round++) {
        uint64_t offset = (uint64_t)(w->seed * 1000 + round) * 512;
        size_t bytes = 512 * (1 + round % 8);

        memset(plain, round, sizeof(plain));
        w->bad |= crypto_block_encrypt(w->b, offset, plain, buf, bytes);
        w->bad |= crypto_block_decrypt(w->b, offset, buf, buf, bytes);
        w->bad |= memcmp(buf, plain, bytes) != 0;
    }
    return NULL;
}

START_TEST(many_threads_use_one_block)
{
    MemVolume m = {0};
    g_autoptr(CryptoBlock) b = luks_make(&m, "cipher-alg=aes-128,cipher-mode=cbc,ivgen-alg=essiv", NULL);
    Worker w[40]; /* more than there are shelves */

    for (size_t i = 0; i < G_N_ELEMENTS(w); i++) {
        w[i] = (Worker){.b = b, .seed = i};
        ck_assert_int_eq(pthread_create(&w[i].thread, NULL, worker_main, &w[i]), 0);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(w); i++) {
        pthread_join(w[i].thread, NULL);
        ck_assert_int_eq(w[i].bad, 0);
    }
    g_free(m.data);
}
END_TEST

START_TEST(cost_of_a_sector_is_measured_once)
{
    MemVolume m = {0};
    g_autoptr(CryptoBlock) b = luks_make(&m, "", NULL);
    uint64_t ps = crypto_block_ps_per_sector(b, true);

    ck_assert_uint_gt(ps, 1000);               /* nothing does 512 bytes in a nanosecond */
    ck_assert_uint_lt(ps, 1000 * 1000 * 1000); /* or needs a millisecond */
    ck_assert_uint_eq(crypto_block_ps_per_sector(b, true), ps);
    g_free(m.data);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("luks-volume");
    TCase *t = tcase_create("luks-volume");
    int ret;

    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, luks_define_passwords, NULL);
    tcase_add_loop_test(t, created_volume_opens_with_its_password, 0, 10);
    tcase_add_test(t, create_takes_its_options_and_leaves_the_rest);
    tcase_add_loop_test(t, create_names_a_bad_option_and_writes_nothing, 0, G_N_ELEMENTS(bad_options));
    tcase_add_test(t, a_missing_secret_is_named_with_its_prefix);
    tcase_add_loop_test(t, measure_is_what_create_reserves, 0, 3);
    tcase_add_loop_test(t, a_failed_write_is_reported_and_leaves_no_header, 1, 3);
    tcase_add_test(t, key_material_is_written_before_the_header_and_flushed);
    tcase_add_test(t, open_without_key_gives_the_facts_only);
    tcase_add_test(t, open_finds_the_key_in_a_later_slot);
    tcase_add_test(t, open_with_all_slots_disabled_is_a_password_error);
    tcase_add_test(t, a_damaged_key_material_is_a_password_error);
    tcase_add_test(t, a_short_file_is_refused);
    tcase_add_test(t, a_read_error_is_not_a_password_error);
    tcase_add_test(t, default_iterations_follow_the_time_asked_for);
    tcase_add_test(t, legacy_format_gives_the_known_ciphertext);
    tcase_add_test(t, legacy_format_cuts_a_long_password_to_16_bytes);
    tcase_add_test(t, many_threads_use_one_block);
    tcase_add_test(t, cost_of_a_sector_is_measured_once);
    suite_add_tcase(s, t);
    ret = run_suite(s);
    thread_pool_shutdown();
    secret_forget_all();
    return ret;
}
