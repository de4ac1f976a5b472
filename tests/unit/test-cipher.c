/* SPDX-License-Identifier: MIT */
#include "crypto/cipher/cipher.h"

#include "config.h"
#if HAVE_AFALG
#include <linux/if_alg.h>
#include <sys/socket.h>
#include <unistd.h>
#endif

#include "crypto/cipher/init.h"
#include "tests/unit/crypto-fixture.h"

typedef struct Vector {
    CipherAlg alg;
    CipherMode mode;
    const char *key, *iv, *plain, *cipher; /* hex */
} Vector;

#define SP_PLAIN   "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
#define SP_KEY_128 "2b7e151628aed2a6abf7158809cf4f3c"
#define SP_KEY_192 "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b"
#define SP_KEY_256 "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"
#define SP_IV      "000102030405060708090a0b0c0d0e0f"
#define SP_COUNTER "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"
#define ZERO_16    "00000000000000000000000000000000"
#define ONES_16    "11111111111111111111111111111111"
#define TWOS_16    "22222222222222222222222222222222"
#define FOURS_16   "44444444444444444444444444444444"

static const Vector vectors[] = {
    /* NIST SP 800-38A, appendix F */
    {CIPHER_AES_128, CIPHER_ECB, SP_KEY_128, ZERO_16, SP_PLAIN,
     "3ad77bb40d7a3660a89ecaf32466ef97f5d3d58503b9699de785895a96fdbaaf"},
    {CIPHER_AES_192, CIPHER_ECB, SP_KEY_192, ZERO_16, SP_PLAIN,
     "bd334f1d6e45f25ff712a214571fa5cc974104846d0ad3ad7734ecb3ecee4eef"},
    {CIPHER_AES_256, CIPHER_ECB, SP_KEY_256, ZERO_16, SP_PLAIN,
     "f3eed1bdb5d2a03c064b5a7e3db181f8591ccb10d410ed26dc5ba74a31362870"},
    {CIPHER_AES_128, CIPHER_CBC, SP_KEY_128, SP_IV, SP_PLAIN,
     "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2"},
    {CIPHER_AES_192, CIPHER_CBC, SP_KEY_192, SP_IV, SP_PLAIN,
     "4f021db243bc633d7178183a9fa071e8b4d9ada9ad7dedf4e5e738763f69145a"},
    {CIPHER_AES_256, CIPHER_CBC, SP_KEY_256, SP_IV, SP_PLAIN,
     "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d"},
    {CIPHER_AES_128, CIPHER_CTR, SP_KEY_128, SP_COUNTER, SP_PLAIN,
     "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff"},
    {CIPHER_AES_256, CIPHER_CTR, SP_KEY_256, SP_COUNTER, SP_PLAIN,
     "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5"},
    /* IEEE 1619-2007, vectors 1 and 2 */
    {CIPHER_AES_128, CIPHER_XTS, ZERO_16 ZERO_16, ZERO_16, ZERO_16 ZERO_16,
     "917cf69ebd68b2ec9b9fe9a3eadda692cd43d2f59598ed858c02c2652fbf922e"},
    {CIPHER_AES_128, CIPHER_XTS, ONES_16 TWOS_16, "33333333330000000000000000000000", FOURS_16 FOURS_16,
     "c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0"},
    /* the Twofish paper, "ecb_ival" keys */
    {CIPHER_TWOFISH_128, CIPHER_ECB, ZERO_16, ZERO_16, ZERO_16, "9f589f5cf6122c32b6bfec2f2ae8c35a"},
    {CIPHER_TWOFISH_192, CIPHER_ECB, "0123456789abcdeffedcba98765432100011223344556677", ZERO_16, ZERO_16,
     "cfd1d2e5a9be9cdf501f13b892bd2248"},
    {CIPHER_TWOFISH_256, CIPHER_ECB, "0123456789abcdeffedcba987654321000112233445566778899aabbccddeeff", ZERO_16,
     ZERO_16, "37527be0052334b89f0cfccae87cfa20"},
    /* NESSIE, Serpent set 1 vector 0 */
    {CIPHER_SERPENT_128, CIPHER_ECB, "80000000000000000000000000000000", ZERO_16, ZERO_16,
     "264e5481eff42a4606abda06c0bfda3d"},
    {CIPHER_SERPENT_256, CIPHER_ECB, "8000000000000000000000000000000000000000000000000000000000000000", ZERO_16,
     ZERO_16, "a223aa1288463c0e2be38ebd825616c0"},
    /* RFC 2144, appendix B.1 */
    {CIPHER_CAST5_128, CIPHER_ECB, "0123456712345678234567893456789a", ZERO_16, "0123456789abcdef", "238b4fe5847e44b2"},
};

START_TEST(every_row_gives_the_published_ciphertext)
{
    const Vector *v = &vectors[_i];
    uint8_t key[64], plain[64], buf[64], iv[CIPHER_IV_BYTES];
    size_t key_len = unhex(v->key, key), len = unhex(v->plain, plain);
    const char *row;
    int tried = 0;

    for (size_t i = 0; (row = cipher_row_name_at(i)); i++) {
        g_autoptr(Cipher) c = cipher_new_from_row(row, v->alg, v->mode, key, key_len, NULL);

        if (!c) {
            continue;
        }
        unhex(v->iv, iv);
        ck_assert_int_eq(cipher_encrypt_sectors(c, iv, len, 1, plain, buf), 0);
        assert_hex(buf, v->cipher);
        unhex(v->iv, iv);
        ck_assert_int_eq(cipher_decrypt_sectors(c, iv, len, 1, buf, buf), 0);
        ck_assert_mem_eq(buf, plain, len);
        tried++;
    }
    ck_assert_int_gt(tried, 0);
}
END_TEST

/* The counter is one big number across its whole block (LUKS sheet section 3). */
START_TEST(ctr_carries_through_the_whole_block)
{
    uint8_t key[32] = {9}, iv[CIPHER_IV_BYTES], zero[32] = {0}, run[32], second[16];
    g_autoptr(Cipher) c = cipher_new(CIPHER_AES_256, CIPHER_CTR, key, sizeof(key), NULL);

    memset(iv, 0xff, sizeof(iv));
    ck_assert_int_eq(cipher_encrypt_sectors(c, iv, 32, 1, zero, run), 0);
    memset(iv, 0, sizeof(iv));
    ck_assert_int_eq(cipher_encrypt_sectors(c, iv, 16, 1, zero, second), 0);
    ck_assert_mem_eq(run + 16, second, 16);
}
END_TEST

START_TEST(start_of_the_layer_passes_its_self_test)
{
    GError *err = NULL;

    ck_assert(crypto_init(&err));
    ck_assert_ptr_null(err);
    for (int alg = CIPHER_AES_128; alg <= CIPHER_CAST5_128; alg++) {
        ck_assert(cipher_supported(alg, CIPHER_ECB));
        ck_assert(cipher_supported(alg, CIPHER_CBC));
        ck_assert(cipher_supported(alg, CIPHER_CTR));
        ck_assert_int_eq(cipher_supported(alg, CIPHER_XTS), alg != CIPHER_CAST5_128);
    }
}
END_TEST

START_TEST(what_no_row_does_is_refused_by_name)
{
    uint8_t key[64] = {0};
    GError *err = NULL;

    ck_assert_ptr_null(cipher_new(CIPHER_3DES, CIPHER_CBC, key, 24, &err));
    assert_error(err, "Algorithm '3des' not supported");
    ck_assert_ptr_null(cipher_new(CIPHER_CAST5_128, CIPHER_XTS, key, 32, &err));
    assert_error(err, "Unsupported cipher mode xts");
    ck_assert_ptr_null(cipher_new(CIPHER_AES_256, CIPHER_XTS, key, 32, &err));
    assert_error(err, "Algorithm 'aes-256' with key size 32 bytes not supported");
    ck_assert_ptr_null(cipher_new_from_row("nope", CIPHER_AES_256, CIPHER_XTS, key, 64, &err));
    assert_error(err, "No cipher row 'nope' for aes-256-xts");
}
END_TEST

#if HAVE_AFALG
static bool kernel_has_skcipher(const char *name)
{
    struct sockaddr_alg sa = {.salg_family = AF_ALG, .salg_type = "skcipher"};
    int fd = socket(AF_ALG, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    bool ok;

    g_strlcpy((char *)sa.salg_name, name, sizeof(sa.salg_name));
    ok = fd >= 0 && bind(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return ok;
}

START_TEST(the_row_of_the_kernel_is_there_where_the_kernel_offers_it)
{
    uint8_t key[64];
    g_autoptr(Cipher) c = NULL;
    GError *err = NULL;
    const char *row;
    bool listed = false;

    fill_sequence(key, sizeof(key));
    for (size_t i = 0; (row = cipher_row_name_at(i)); i++) {
        listed = listed || !strcmp(row, "afalg");
    }
    ck_assert_int_eq(listed, kernel_has_skcipher("ecb(aes)"));
    c = cipher_new_from_row("afalg", CIPHER_AES_256, CIPHER_XTS, key, sizeof(key), &err);
    if (listed) {
        ck_assert_str_eq(cipher_row(c), "afalg");
    } else {
        assert_error(err, "No cipher row 'afalg' for aes-256-xts");
    }
}
END_TEST
#endif

START_TEST(names_round_trip)
{
    CipherAlg alg;
    CipherMode mode;

    for (int i = 0; i < CIPHER_COUNT; i++) {
        ck_assert(cipher_alg_from_name(cipher_alg_name(i), &alg));
        ck_assert_int_eq(alg, i);
        ck_assert(cipher_alg_from_family(cipher_alg_family(i), cipher_key_bytes(i, CIPHER_CBC), &alg));
        ck_assert_int_eq(alg, i);
    }
    for (int i = 0; i < CIPHER_MODE_COUNT; i++) {
        ck_assert(cipher_mode_from_name(cipher_mode_name(i), &mode));
        ck_assert_int_eq(mode, i);
    }
    ck_assert(!cipher_alg_from_name("AES-256", &alg));
    ck_assert(!cipher_mode_from_name("gcm", &mode));
}
END_TEST

START_TEST(the_environment_puts_a_row_first)
{
    uint8_t key[64];
    g_autoptr(Cipher) c = NULL;

    fill_sequence(key, sizeof(key));
    g_setenv("QBLOCK_CIPHER", "nettle", TRUE);
    c = cipher_new(CIPHER_AES_256, CIPHER_XTS, key, 64, NULL);
    ck_assert_str_eq(cipher_row(c), "nettle");
    g_clear_pointer(&c, cipher_free);
    g_setenv("QBLOCK_CIPHER", "gnutls", TRUE);
    c = cipher_new(CIPHER_AES_256, CIPHER_XTS, key, 64, NULL);
    ck_assert_str_eq(cipher_row(c), "gnutls");
    g_clear_pointer(&c, cipher_free);
    /* A row that cannot do it does not stand in the way. */
    c = cipher_new(CIPHER_SERPENT_256, CIPHER_XTS, key, 64, NULL);
    ck_assert_str_eq(cipher_row(c), "nettle");
    g_unsetenv("QBLOCK_CIPHER");
}
END_TEST

START_TEST(a_row_that_was_asked_for_and_is_not_there_is_an_error)
{
    static const char *const wrong[] = {"foo", "gnu", "gnutls-", "vector-foo"};

    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) err = NULL;
        g_autofree char *start = g_strdup_printf("QBLOCK_CIPHER=%s is no row of ciphers (there are ", wrong[i]);

        g_setenv("QBLOCK_CIPHER", wrong[i], TRUE);
        ck_assert(!cipher_self_test(&err));
        ck_assert_msg(g_str_has_prefix(err->message, start), "%s", err->message);
        ck_assert_ptr_nonnull(strstr(err->message, "gnutls, nettle"));
    }
    for (size_t i = 0; cipher_row_name_at(i); i++) {
        g_setenv("QBLOCK_CIPHER", cipher_row_name_at(i), TRUE);
        ck_assert(cipher_self_test(NULL));
    }
    g_setenv("QBLOCK_CIPHER", "", TRUE);
    ck_assert(cipher_self_test(NULL));
    g_unsetenv("QBLOCK_CIPHER");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cipher");
    TCase *t = tcase_create("cipher");

    tcase_add_loop_test(t, every_row_gives_the_published_ciphertext, 0, G_N_ELEMENTS(vectors));
    tcase_add_test(t, ctr_carries_through_the_whole_block);
    tcase_add_test(t, start_of_the_layer_passes_its_self_test);
    tcase_add_test(t, what_no_row_does_is_refused_by_name);
#if HAVE_AFALG
    tcase_add_test(t, the_row_of_the_kernel_is_there_where_the_kernel_offers_it);
#endif
    tcase_add_test(t, names_round_trip);
    tcase_add_test(t, the_environment_puts_a_row_first);
    tcase_add_test(t, a_row_that_was_asked_for_and_is_not_there_is_an_error);
    suite_add_tcase(s, t);
    return run_suite(s);
}
