/* SPDX-License-Identifier: MIT */
#include "crypto/hash/hash.h"

#include "crypto/hash/hmac.h"
#include "crypto/cipher/init.h"
#include "crypto/base/random.h"
#include "tests/unit/crypto-fixture.h"

START_TEST(hashes_give_the_published_digests_of_abc)
{
    GError *err = NULL;

    ck_assert(hash_self_test(&err));
    ck_assert_ptr_null(err);
}
END_TEST

/* FIPS 180-4 and RFC 1321: the empty message. */
START_TEST(hash_of_nothing_is_the_published_one)
{
    uint8_t out[HASH_MAX_BYTES];

    hash_compute(HASH_SHA256, "", 0, out);
    assert_hex(out, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    hash_compute(HASH_SHA1, "", 0, out);
    assert_hex(out, "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    hash_compute(HASH_MD5, "", 0, out);
    assert_hex(out, "d41d8cd98f00b204e9800998ecf8427e");
}
END_TEST

START_TEST(hash_names_round_trip)
{
    HashAlg alg;

    for (int i = 0; i < HASH_COUNT; i++) {
        if (hash_supported(i)) {
            ck_assert(hash_from_name(hash_name(i), &alg));
            ck_assert_int_eq(alg, i);
        }
    }
}
END_TEST

START_TEST(hash_names_are_case_sensitive_and_exact)
{
    HashAlg alg;

    ck_assert(!hash_from_name("SHA256", &alg));
    ck_assert(!hash_from_name("sha256 ", &alg));
    ck_assert(!hash_from_name("whirlpool", &alg));
    ck_assert(!hash_from_name("", &alg));
}
END_TEST

typedef struct HmacVector {
    HashAlg alg;
    const char *key, *data, *mac; /* hex */
} HmacVector;

/* RFC 4231 test cases 2 ("Jefe") and 6 (a key longer than the block), RFC 2202 case 2. */
#define JEFE_DATA "7768617420646f2079612077616e7420666f72206e6f7468696e673f"
#define AA_131                                                                                                         \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
    "aaaaaaaa"                                                                                                         \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
    "aaaaaaaa"                                                                                                         \
    "aaaaaaaaaaaaaaaaaaaaaa"
#define LONG_KEY_DATA                                                                                                  \
    "54657374205573696e67204c6172676572205468616e20426c6f636b2d53697a65204b6579202d2048617368204b6579204669727374"
static const HmacVector hmac_vectors[] = {
    {HASH_SHA224, "4a656665", JEFE_DATA, "a30e01098bc6dbbf45690f3a7e9e6d0f8bbea2a39e6148008fd05e44"},
    {HASH_SHA256, "4a656665", JEFE_DATA, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
    {HASH_SHA384, "4a656665", JEFE_DATA,
     "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649"},
    {HASH_SHA512, "4a656665", JEFE_DATA,
     "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b6"
     "3"
     "6e070a38bce737"},
    {HASH_SHA256, AA_131, LONG_KEY_DATA, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
    {HASH_SHA1, "4a656665", JEFE_DATA, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"},
    {HASH_MD5, "4a656665", JEFE_DATA, "750c783e6ab0b503eaa86e310a5db738"},
};

START_TEST(hmac_gives_the_published_codes)
{
    const HmacVector *v = &hmac_vectors[_i];
    uint8_t key[256], data[256], out[HASH_MAX_BYTES];
    size_t key_len = unhex(v->key, key), data_len = unhex(v->data, data);
    HmacKey *k = hmac_key_new(v->alg, key, key_len);

    /* However the message is split. */
    for (size_t cut = 0; cut <= data_len; cut++) {
        hmac_key_digest(k, data, cut, data + cut, data_len - cut, out);
        assert_hex(out, v->mac);
    }
    hmac_key_free(k);
}
END_TEST

START_TEST(hmac_chain_equals_single_steps)
{
    uint8_t u[HASH_MAX_BYTES] = {1}, acc[HASH_MAX_BYTES] = {2}, u2[HASH_MAX_BYTES] = {1}, acc2[HASH_MAX_BYTES] = {2};
    size_t len = hash_bytes(_i);
    HmacKey *k = hmac_key_new(_i, "key", 3);

    hmac_key_chain(k, u, acc, 5);
    for (int n = 0; n < 5; n++) {
        hmac_key_digest(k, u2, len, NULL, 0, u2);
        for (size_t b = 0; b < len; b++) {
            acc2[b] ^= u2[b];
        }
    }
    ck_assert_mem_eq(u, u2, len);
    ck_assert_mem_eq(acc, acc2, len);
    hmac_key_free(k);
}
END_TEST

/* The row with CPU help against the portable one: keys of every length, chains of every short length. */
START_TEST(hmac_chain_rows_agree)
{
    g_autoptr(GRand) r = g_rand_new_with_seed(3);

    for (int round = 0; round < 300; round++) {
        uint8_t key[200], u[2][HASH_MAX_BYTES], acc[2][HASH_MAX_BYTES];
        g_autoptr(HmacKey) k = NULL;

        for (size_t i = 0; i < sizeof(key); i++) {
            key[i] = g_rand_int(r);
        }
        for (size_t i = 0; i < HASH_MAX_BYTES; i++) {
            u[0][i] = u[1][i] = g_rand_int(r);
            acc[0][i] = acc[1][i] = g_rand_int(r);
        }
        k = hmac_key_new(_i, key, round % sizeof(key));
        hmac_key_chain(k, u[0], acc[0], round % 7);
        hmac_key_chain_portable(k, u[1], acc[1], round % 7);
        ck_assert_mem_eq(u[0], u[1], HASH_MAX_BYTES);
        ck_assert_mem_eq(acc[0], acc[1], HASH_MAX_BYTES);
    }
}
END_TEST

START_TEST(random_bytes_differ)
{
    uint8_t a[32] = {0}, b[32] = {0}, zero[32] = {0};

    ck_assert(crypto_init(NULL));
    ck_assert(random_bytes(a, sizeof(a), NULL));
    ck_assert(random_bytes(b, sizeof(b), NULL));
    ck_assert_mem_ne(a, b, sizeof(a));
    ck_assert_mem_ne(a, zero, sizeof(a));
}
END_TEST

START_TEST(random_uuid_is_version_4_in_lower_case)
{
    char uuid[UUID_TEXT_BYTES];

    ck_assert(crypto_init(NULL));
    ck_assert(random_uuid(uuid, NULL));
    ck_assert_uint_eq(strlen(uuid), 36);
    ck_assert_int_eq(uuid[14], '4');
    ck_assert(strchr("89ab", uuid[19]));
    ck_assert_uint_eq(strspn(uuid, "0123456789abcdef-"), 36);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("hash");
    TCase *t = tcase_create("hash");

    tcase_add_test(t, hashes_give_the_published_digests_of_abc);
    tcase_add_test(t, hash_of_nothing_is_the_published_one);
    tcase_add_test(t, hash_names_round_trip);
    tcase_add_test(t, hash_names_are_case_sensitive_and_exact);
    tcase_add_loop_test(t, hmac_gives_the_published_codes, 0, G_N_ELEMENTS(hmac_vectors));
    tcase_add_loop_test(t, hmac_chain_equals_single_steps, 0, HASH_SM3);
    tcase_add_loop_test(t, hmac_chain_rows_agree, 0, HASH_SM3);
    tcase_add_test(t, random_bytes_differ);
    tcase_add_test(t, random_uuid_is_version_4_in_lower_case);
    suite_add_tcase(s, t);
    return run_suite(s);
}
