/* SPDX-License-Identifier: MIT */
#include "crypto/cipher/cipher-measure.h"

#include <errno.h>
#include <time.h>

#include "tests/unit/crypto-fixture.h"

/* Rows that do nothing, in a time of their own. */
static int take_us(int64_t us)
{
    gint64 until = g_get_monotonic_time() + us;

    while (g_get_monotonic_time() < until) {
    }
    return 0;
}

static void *fake_new(CipherAlg alg, CipherMode mode, const uint8_t *key, size_t key_len, GError **errp)
{
    ck_assert_uint_eq(key_len, cipher_key_bytes(alg, mode));
    return g_malloc(1);
}

static void *refused_new(CipherAlg alg, CipherMode mode, const uint8_t *key, size_t key_len, GError **errp)
{
    return NULL;
}

/* 200 us for 4096 bytes, 3200 us for 65536. */
static int by_the_byte(void *ctx, uint8_t *ivs, size_t sector_bytes, size_t count, const uint8_t *in, uint8_t *out)
{
    return take_us((int64_t)(sector_bytes * count) * 200 / 4096);
}

static int by_the_call(void *ctx, uint8_t *ivs, size_t sector_bytes, size_t count, const uint8_t *in, uint8_t *out)
{
    return take_us(400);
}

static int at_once(void *ctx, uint8_t *ivs, size_t sector_bytes, size_t count, const uint8_t *in, uint8_t *out)
{
    return 0;
}

static int broken(void *ctx, uint8_t *ivs, size_t sector_bytes, size_t count, const uint8_t *in, uint8_t *out)
{
    return -EIO;
}

#define FAKE(enc, dec)                                                                                                 \
    {                                                                                                                  \
        .name = #enc, .ctx_new = fake_new, .ctx_free = g_free, .encrypt = enc, .decrypt = dec                          \
    }
static const CipherDriver cheap_start = FAKE(by_the_byte, by_the_byte), dear_start = FAKE(by_the_call, by_the_call);
static const CipherDriver fails = FAKE(broken, at_once), instant = FAKE(at_once, at_once);
static const CipherDriver refuses = {.name = "refuses", .ctx_new = refused_new, .ctx_free = g_free};

static size_t crossover(const CipherDriver *mine, const CipherDriver *theirs, bool encrypt)
{
    return cipher_measure_crossover(mine, theirs, CIPHER_AES_256, CIPHER_XTS, encrypt);
}

START_TEST(a_row_with_dear_requests_is_for_large_ones)
{
    ck_assert_uint_eq(crossover(&cheap_start, &dear_start, true), 16384);
    ck_assert_uint_eq(crossover(&cheap_start, &dear_start, false), 16384);
}
END_TEST

START_TEST(a_row_that_wins_everywhere_is_for_all_but_the_smallest)
{
    ck_assert_uint_eq(crossover(&dear_start, &instant, true), 4096);
}
END_TEST

START_TEST(a_row_that_loses_the_largest_request_is_for_none)
{
    ck_assert_uint_eq(crossover(&dear_start, &cheap_start, true), CIPHER_NEVER);
    ck_assert_uint_eq(crossover(&dear_start, &dear_start, true), CIPHER_NEVER);
}
END_TEST

START_TEST(a_row_that_fails_is_never_faster)
{
    ck_assert_uint_eq(crossover(&cheap_start, &fails, true), CIPHER_NEVER);
    ck_assert_uint_eq(crossover(&cheap_start, &fails, false), 4096);
    ck_assert_uint_eq(crossover(&cheap_start, &refuses, true), CIPHER_NEVER);
    ck_assert_uint_eq(crossover(&refuses, &cheap_start, true), CIPHER_NEVER);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cipher-measure");
    TCase *t = tcase_create("cipher-measure");

    tcase_add_test(t, a_row_with_dear_requests_is_for_large_ones);
    tcase_add_test(t, a_row_that_wins_everywhere_is_for_all_but_the_smallest);
    tcase_add_test(t, a_row_that_loses_the_largest_request_is_for_none);
    tcase_add_test(t, a_row_that_fails_is_never_faster);
    suite_add_tcase(s, t);
    return run_suite(s);
}
