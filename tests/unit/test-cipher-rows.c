/* SPDX-License-Identifier: MIT */
/* All rows of the cipher table agree: over lengths, counts, offsets and IVs, in place and apart. */
#include "crypto/cipher/cipher.h"

#include "crypto/cipher/init.h"
#include "tests/unit/crypto-fixture.h"

enum { MAX_SECTORS = 150, MAX_BYTES = 80 * 1024, SLACK = 64, ROUNDS = 150 };

typedef struct Run {
    CipherAlg alg;
    CipherMode mode;
    uint8_t key[CIPHER_MAX_KEY_BYTES];
    uint8_t ivs[MAX_SECTORS * CIPHER_IV_BYTES];
    size_t sector_bytes, count;
    size_t in_skew, out_skew;
} Run;

static void fill_random(GRand *r, uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        p[i] = g_rand_int(r) >> 13;
    }
}

static Run random_run(GRand *r, CipherAlg alg, CipherMode mode)
{
    static const size_t sizes[] = {16, 32, 48, 64, 80, 112, 128, 240, 256, 496, 512, 528, 1024, 1040, 2048, 4096};
    Run run = {.alg = alg, .mode = mode};

    fill_random(r, run.key, sizeof(run.key));
    fill_random(r, run.ivs, sizeof(run.ivs));
    run.sector_bytes = sizes[g_rand_int_range(r, 0, G_N_ELEMENTS(sizes))];
    if (g_rand_boolean(r)) {
        run.sector_bytes = 16 * g_rand_int_range(r, 1, 4096 / 16 + 1);
    }
    run.count = 1 + g_rand_int_range(r, 0, MIN(MAX_SECTORS, MAX_BYTES / run.sector_bytes));
    if (g_rand_boolean(r)) {
        run.count = 1 + run.count % 9; /* short runs matter as much */
    }
    run.in_skew = g_rand_int_range(r, 0, SLACK);
    run.out_skew = g_rand_int_range(r, 0, SLACK);
    return run;
}

/* Encrypt (or decrypt) by one row. The bytes around the output stay as they are. */
static void apply(const char *row, const Run *run, bool encrypt, const uint8_t *in, uint8_t *out, bool in_place)
{
    size_t bytes = run->sector_bytes * run->count;
    g_autofree uint8_t *src = g_malloc(bytes + 2 * SLACK), *dst = g_malloc(bytes + 2 * SLACK);
    uint8_t *from = src + run->in_skew, *to = in_place ? from : dst + run->out_skew;
    uint8_t *outer = in_place ? src : dst;
    size_t skew = in_place ? run->in_skew : run->out_skew;
    uint8_t ivs[sizeof(run->ivs)];
    g_autoptr(Cipher) c =
        cipher_new_from_row(row, run->alg, run->mode, run->key, cipher_key_bytes(run->alg, run->mode), NULL);

    ck_assert_ptr_nonnull(c);
    memset(src, 0xa5, bytes + 2 * SLACK);
    memset(dst, 0xa5, bytes + 2 * SLACK);
    memcpy(from, in, bytes);
    memcpy(ivs, run->ivs, sizeof(ivs));
    ck_assert_int_eq(
        (encrypt ? cipher_encrypt_sectors : cipher_decrypt_sectors)(c, ivs, run->sector_bytes, run->count, from, to),
        0);
    memcpy(out, to, bytes);
    for (size_t i = 0; i < bytes + 2 * SLACK; i++) {
        if (i < skew || i >= skew + bytes) {
            ck_assert_int_eq(outer[i], 0xa5);
        }
    }
    if (!in_place) {
        ck_assert_mem_eq(from, in, bytes);
    }
}

static bool row_does(const char *row, CipherAlg alg, CipherMode mode)
{
    uint8_t key[CIPHER_MAX_KEY_BYTES];
    g_autoptr(Cipher) c = NULL;

    fill_sequence(key, sizeof(key));
    c = cipher_new_from_row(row, alg, mode, key, cipher_key_bytes(alg, mode), NULL);
    return c;
}

static void check_row_against_nettle(const char *row, CipherAlg alg, CipherMode mode, int rounds)
{
    g_autoptr(GRand) r = g_rand_new_with_seed(alg * 16 + mode + 1);
    g_autofree uint8_t *in = g_malloc(MAX_BYTES), *want = g_malloc(MAX_BYTES), *got = g_malloc(MAX_BYTES);

    for (int i = 0; i < rounds; i++) {
        Run run = random_run(r, alg, mode);
        size_t bytes = run.sector_bytes * run.count;
        bool encrypt = i % 2;

        fill_random(r, in, bytes);
        apply("nettle", &run, encrypt, in, want, false);
        apply(row, &run, encrypt, in, got, false);
        ck_assert_mem_eq(got, want, bytes);
        apply(row, &run, encrypt, in, got, true);
        ck_assert_mem_eq(got, want, bytes);
    }
}

START_TEST(every_row_agrees_with_the_portable_one)
{
    CipherMode mode = _i;
    const char *row;

    ck_assert(crypto_init(NULL));
    for (size_t k = 0; (row = cipher_row_name_at(k)); k++) {
        for (int alg = CIPHER_AES_128; alg <= CIPHER_AES_256; alg++) {
            if (strcmp(row, "nettle") && row_does(row, alg, mode)) {
                check_row_against_nettle(row, alg, mode, ROUNDS);
            }
        }
    }
}
END_TEST

/* What is encrypted by sectors one at a time is what a run gives. */
START_TEST(split_runs_equal_whole_runs)
{
    g_autoptr(GRand) r = g_rand_new_with_seed(7);
    g_autofree uint8_t *in = g_malloc(MAX_BYTES), *whole = g_malloc(MAX_BYTES), *parts = g_malloc(MAX_BYTES);
    CipherMode mode = _i;

    ck_assert(crypto_init(NULL));
    for (int round = 0; round < 100; round++) {
        Run run = random_run(r, CIPHER_AES_256, mode), part = run;
        size_t bytes = run.sector_bytes * run.count;
        g_autoptr(Cipher) c = cipher_new(run.alg, mode, run.key, cipher_key_bytes(run.alg, mode), NULL);

        fill_random(r, in, bytes);
        ck_assert_int_eq(cipher_encrypt_sectors(c, run.ivs, run.sector_bytes, run.count, in, whole), 0);
        for (size_t i = 0; i < run.count; i++) {
            ck_assert_int_eq(cipher_encrypt_sectors(c, part.ivs + i * CIPHER_IV_BYTES, run.sector_bytes, 1,
                                                    in + i * run.sector_bytes, parts + i * run.sector_bytes),
                             0);
        }
        ck_assert_mem_eq(whole, parts, bytes);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cipher-rows");
    TCase *t = tcase_create("cipher-rows");

    tcase_set_timeout(t, 240);
    tcase_add_loop_test(t, every_row_agrees_with_the_portable_one, 0, CIPHER_MODE_COUNT);
    tcase_add_loop_test(t, split_runs_equal_whole_runs, 0, CIPHER_MODE_COUNT);
    suite_add_tcase(s, t);
    return run_suite(s);
}
