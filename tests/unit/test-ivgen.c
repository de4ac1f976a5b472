/* SPDX-License-Identifier: MIT */
#include "crypto/cipher/ivgen.h"

#include "crypto/cipher/sector-cipher.h"
#include "tests/unit/crypto-fixture.h"

START_TEST(plain64_is_the_sector_number_in_little_endian)
{
    g_autoptr(IvGen) g = ivgen_new(IVGEN_PLAIN64, CIPHER_AES_256, HASH_SHA256, NULL, 0, NULL);
    uint8_t ivs[3 * CIPHER_IV_BYTES];

    ck_assert_int_eq(ivgen_fill(g, 0x0102030405060708, 1, 3, ivs), 0);
    assert_hex(ivs, "08070605040302010000000000000000"
                    "09070605040302010000000000000000"
                    "0a070605040302010000000000000000");
}
END_TEST

START_TEST(plain_keeps_32_bits)
{
    g_autoptr(IvGen) g = ivgen_new(IVGEN_PLAIN, CIPHER_AES_256, HASH_SHA256, NULL, 0, NULL);
    uint8_t ivs[2 * CIPHER_IV_BYTES];

    ck_assert_int_eq(ivgen_fill(g, 0xffffffff, 1, 2, ivs), 0);
    assert_hex(ivs, "ffffffff000000000000000000000000"
                    "00000000000000000000000000000000");
}
END_TEST

START_TEST(a_step_skips_numbers)
{
    g_autoptr(IvGen) g = ivgen_new(IVGEN_PLAIN64, CIPHER_AES_256, HASH_SHA256, NULL, 0, NULL);
    uint8_t ivs[2 * CIPHER_IV_BYTES];

    ck_assert_int_eq(ivgen_fill(g, 8, 8, 2, ivs), 0);
    assert_hex(ivs, "08000000000000000000000000000000"
                    "10000000000000000000000000000000");
}
END_TEST

/* LUKS sheet section 9. */
START_TEST(essiv_gives_the_known_iv)
{
    uint8_t key[32], ivs[8 * CIPHER_IV_BYTES];
    g_autoptr(IvGen) g = NULL;

    fill_sequence(key, sizeof(key));
    g = ivgen_new(IVGEN_ESSIV, CIPHER_AES_256, HASH_SHA256, key, sizeof(key), NULL);
    ck_assert_ptr_nonnull(g);
    ck_assert_int_eq(ivgen_fill(g, 0, 1, 8, ivs), 0);
    assert_hex(ivs + 5 * CIPHER_IV_BYTES, "1d3cc413699a46f844afd0adc387f14e");
}
END_TEST

START_TEST(essiv_needs_a_digest_that_is_a_key_size)
{
    static const struct {
        CipherAlg cipher;
        HashAlg hash;
        const char *message;
    } bad[] = {
        {CIPHER_AES_256, HASH_SHA1, "No AES cipher with key size 20 available"},
        {CIPHER_AES_256, HASH_SHA512, "No AES cipher with key size 64 available"},
        {CIPHER_SERPENT_128, HASH_SHA224, "No Serpent cipher with key size 28 available"},
        {CIPHER_TWOFISH_128, HASH_SHA384, "No Twofish cipher with key size 48 available"},
        {CIPHER_CAST5_128, HASH_SHA256, "Cipher cast5-128 not supported with essiv"},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        GError *err = NULL;

        ck_assert(!ivgen_check(IVGEN_ESSIV, bad[i].cipher, bad[i].hash, &err));
        assert_error(err, bad[i].message);
    }
    ck_assert(ivgen_check(IVGEN_ESSIV, CIPHER_AES_128, HASH_MD5, NULL));
    ck_assert(ivgen_check(IVGEN_ESSIV, CIPHER_SERPENT_192, HASH_SHA256, NULL));
}
END_TEST

typedef struct SectorVector {
    SectorCipherSpec spec;
    size_t key_bytes;
    const char *first16;
} SectorVector;

/* LUKS sheet section 9: 512 zero bytes, sector 5. */
static const SectorVector sector_vectors[] = {
    {{CIPHER_AES_256, CIPHER_CBC, IVGEN_ESSIV, HASH_SHA256, 512}, 32, "23ea97de2d3ccc80488df151f75e9834"},
    {{CIPHER_AES_256, CIPHER_XTS, IVGEN_PLAIN64, HASH_SHA256, 512}, 64, "41047df5c636cd4fcb4cae528f91daa1"},
};

START_TEST(sector_cipher_gives_the_known_bytes)
{
    const SectorVector *v = &sector_vectors[_i];
    uint8_t key[64], buf[512] = {0}, zero[512] = {0};
    g_autoptr(SectorCipher) sc = NULL;

    fill_sequence(key, sizeof(key));
    sc = sector_cipher_new(&v->spec, key, v->key_bytes, NULL);
    ck_assert_ptr_nonnull(sc);
    ck_assert_int_eq(sector_cipher_encrypt(sc, 5, buf, buf, sizeof(buf)), 0);
    assert_hex(buf, v->first16);
    ck_assert_int_eq(sector_cipher_decrypt(sc, 5, buf, buf, sizeof(buf)), 0);
    ck_assert_mem_eq(buf, zero, sizeof(buf));
}
END_TEST

/* Longer than any batch: a run gives what its sectors give one by one. */
START_TEST(sector_cipher_run_equals_its_sectors)
{
    enum { SECTORS = 200 };
    const SectorVector *v = &sector_vectors[_i];
    g_autofree uint8_t *in = g_malloc(SECTORS * 512), *run = g_malloc(SECTORS * 512), *one = g_malloc(SECTORS * 512);
    uint8_t key[64];
    g_autoptr(SectorCipher) sc = NULL;

    fill_sequence(key, sizeof(key));
    fill_sequence(in, SECTORS * 512);
    sc = sector_cipher_new(&v->spec, key, v->key_bytes, NULL);
    ck_assert_int_eq(sector_cipher_encrypt(sc, 77, in, run, SECTORS * 512), 0);
    for (int i = 0; i < SECTORS; i++) {
        ck_assert_int_eq(sector_cipher_encrypt(sc, 77 + i, in + i * 512, one + i * 512, 512), 0);
    }
    ck_assert_mem_eq(run, one, SECTORS * 512);
    ck_assert_int_eq(sector_cipher_decrypt(sc, 77, run, run, SECTORS * 512), 0);
    ck_assert_mem_eq(run, in, SECTORS * 512);
}
END_TEST

/* IV numbers count 512 bytes also where sectors are larger. */
START_TEST(sector_cipher_of_4096_counts_ivs_in_512)
{
    SectorCipherSpec spec = {CIPHER_AES_256, CIPHER_XTS, IVGEN_PLAIN64, HASH_SHA256, 4096};
    uint8_t key[64], in[3 * 4096], run[3 * 4096], iv[CIPHER_IV_BYTES] = {16 + 7}, one[4096];
    g_autoptr(SectorCipher) sc = NULL;
    g_autoptr(Cipher) c = NULL;

    fill_sequence(key, sizeof(key));
    fill_sequence(in, sizeof(in));
    sc = sector_cipher_new(&spec, key, sizeof(key), NULL);
    ck_assert_int_eq(sector_cipher_encrypt(sc, 7, in, run, sizeof(in)), 0);
    c = cipher_new(CIPHER_AES_256, CIPHER_XTS, key, sizeof(key), NULL);
    ck_assert_int_eq(cipher_encrypt_sectors(c, iv, 4096, 1, in + 2 * 4096, one), 0);
    ck_assert_mem_eq(run + 2 * 4096, one, 4096);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ivgen");
    TCase *t = tcase_create("ivgen");

    tcase_add_test(t, plain64_is_the_sector_number_in_little_endian);
    tcase_add_test(t, plain_keeps_32_bits);
    tcase_add_test(t, a_step_skips_numbers);
    tcase_add_test(t, essiv_gives_the_known_iv);
    tcase_add_test(t, essiv_needs_a_digest_that_is_a_key_size);
    tcase_add_loop_test(t, sector_cipher_gives_the_known_bytes, 0, G_N_ELEMENTS(sector_vectors));
    tcase_add_loop_test(t, sector_cipher_run_equals_its_sectors, 0, G_N_ELEMENTS(sector_vectors));
    tcase_add_test(t, sector_cipher_of_4096_counts_ivs_in_512);
    suite_add_tcase(s, t);
    return run_suite(s);
}
