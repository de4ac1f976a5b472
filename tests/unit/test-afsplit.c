/* SPDX-License-Identifier: MIT */
#include "crypto/kdf/afsplit.h"

#include "crypto/cipher/init.h"
#include "tests/unit/crypto-fixture.h"

typedef struct Vector {
    HashAlg hash;
    const char *diffused, *merged;
} Vector;

/* LUKS sheet section 9. */
static const Vector vectors[] = {
    {HASH_SHA1, "84e066de1e0d3544386085dd64a6451af137c6f0763ce0597e836252b480a8de10feea6c299aadfc",
     "b95b6eb4617a89e58e4b360bcfe0ee144b19d4f9087b98061c9aaaf839c6a0316efb56c277dbfbc7"},
    {HASH_SHA256, "bff51a6d513395979e3a870c8483769a5a70002e6e32c146c53e1d2edc4670029168dfa0b824fbae",
     "8a4eb0cf11f4c942ca2d2b262902ae512df55813bf0c67c538d726ccc0120354385c7de83e4b7498"},
    {HASH_SHA512, "ee3a18c6528a4916f7dda702979e9fbdeb1053a7f7d6fd824b49974367cb13250c0c306813ca2f0e",
     "39b028504cdbc62d20caae184f28ca4a4fc31cd654d8779ede34fc91ff9b1ebd794074e493acc10e"},
};

START_TEST(diffuse_gives_the_known_bytes)
{
    uint8_t block[40];

    fill_sequence(block, sizeof(block));
    afsplit_diffuse(vectors[_i].hash, block, sizeof(block));
    assert_hex(block, vectors[_i].diffused);
}
END_TEST

START_TEST(merge_gives_the_known_key)
{
    uint8_t material[120], key[40];

    for (size_t i = 0; i < sizeof(material); i++) {
        material[i] = 7 * i + 3;
    }
    afsplit_merge(vectors[_i].hash, material, sizeof(key), 3, key);
    assert_hex(key, vectors[_i].merged);
}
END_TEST

START_TEST(split_then_merge_is_the_key_for_every_hash_and_size)
{
    static const size_t sizes[] = {1, 16, 20, 24, 32, 33, 64, 100};
    uint8_t key[100], back[100];

    ck_assert(crypto_init(NULL));
    fill_sequence(key, sizeof(key));
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        uint8_t *material = g_malloc(sizes[i] * 50);

        ck_assert(afsplit_split(_i, key, sizes[i], 50, material, NULL));
        afsplit_merge(_i, material, sizes[i], 50, back);
        ck_assert_mem_eq(back, key, sizes[i]);
        /* One bit anywhere is enough to lose it. */
        material[sizes[i] * 20] ^= 1;
        afsplit_merge(_i, material, sizes[i], 50, back);
        ck_assert(sizes[i] < 16 || memcmp(back, key, sizes[i]));
        g_free(material);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("afsplit");
    TCase *t = tcase_create("afsplit");

    tcase_add_loop_test(t, diffuse_gives_the_known_bytes, 0, G_N_ELEMENTS(vectors));
    tcase_add_loop_test(t, merge_gives_the_known_key, 0, G_N_ELEMENTS(vectors));
    tcase_add_loop_test(t, split_then_merge_is_the_key_for_every_hash_and_size, 0, HASH_SM3);
    suite_add_tcase(s, t);
    return run_suite(s);
}
