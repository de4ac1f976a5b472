/* SPDX-License-Identifier: MIT */
/* What the numbers mean was taken from runs of the reference tools (10.0.2), not from their documentation. */
#include "util/base/number.h"

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>

#include "tests/unit/suite.h"

typedef struct SizeCase {
    const char *text;
    NumberResult result;
    uint64_t value;
} SizeCase;

static const SizeCase size_cases[] = {
    {"0", NUMBER_OK, 0},
    {"00", NUMBER_OK, 0},
    {"010", NUMBER_OK, 10},
    {"+5", NUMBER_OK, 5},
    {" 5", NUMBER_OK, 5},
    {"\t5", NUMBER_OK, 5},
    {"1b", NUMBER_OK, 1},
    {"1B", NUMBER_OK, 1},
    {"1k", NUMBER_OK, 1024},
    {"1K", NUMBER_OK, 1024},
    {"1m", NUMBER_OK, 1048576},
    {"1.5G", NUMBER_OK, 1610612736},
    {"1T", NUMBER_OK, UINT64_C(1) << 40},
    {"1p", NUMBER_OK, UINT64_C(1) << 50},
    {"1e", NUMBER_OK, UINT64_C(1) << 60},
    {"15.9e", NUMBER_OK, UINT64_C(18331451923248866944)},
    {".5M", NUMBER_OK, 524288},
    {".0", NUMBER_OK, 0},
    {"1.", NUMBER_OK, 1},
    {"1.k", NUMBER_OK, 1024},
    {"1.0", NUMBER_OK, 1},
    {"1.b", NUMBER_OK, 1},
    {"0.1k", NUMBER_OK, 102},
    {"0.0005k", NUMBER_OK, 1},
    {"0.00048828125k", NUMBER_OK, 1},
    {"0.0004882k", NUMBER_OK, 0},
    {"1.9999999k", NUMBER_OK, 2048},
    {"7.99999E", NUMBER_OK, UINT64_C(9223360507639729792)},
    {"0x10", NUMBER_OK, 16},
    {"0X1f", NUMBER_OK, 31},
    {"+0x10", NUMBER_OK, 16},
    {"0xFFFFFFFFFFFFFFFF", NUMBER_OK, UINT64_MAX},
    {"18446744073709551615", NUMBER_OK, UINT64_MAX},
    {"18446744073709551615.0", NUMBER_OK, UINT64_MAX},
    {"18446744073709551616", NUMBER_RANGE},
    {"0xFFFFFFFFFFFFFFFFF", NUMBER_RANGE},
    {"18446744073709551615.5k", NUMBER_RANGE},
    {"16e", NUMBER_RANGE},
    {"20E", NUMBER_RANGE},
    {"15.99999999999999999e", NUMBER_RANGE},
    {"-1", NUMBER_RANGE},
    {"-0", NUMBER_RANGE},
    {"18446744073709551616k", NUMBER_INVALID},
    {"-5k", NUMBER_INVALID},
    {"-", NUMBER_INVALID},
    {"-0x1", NUMBER_INVALID},
    {"+", NUMBER_INVALID},
    {"++5", NUMBER_INVALID},
    {"+-5", NUMBER_INVALID},
    {"", NUMBER_INVALID},
    {" ", NUMBER_INVALID},
    {"5 ", NUMBER_INVALID},
    {"1 k", NUMBER_INVALID},
    {"abc", NUMBER_INVALID},
    {"k", NUMBER_INVALID},
    {".", NUMBER_INVALID},
    {".k", NUMBER_INVALID},
    {"1..5k", NUMBER_INVALID},
    {"1,5k", NUMBER_INVALID},
    {"1.5", NUMBER_INVALID},
    {".5", NUMBER_INVALID},
    {"1.5b", NUMBER_INVALID},
    {"1e3", NUMBER_INVALID},
    {"1e3k", NUMBER_INVALID},
    {"1kb", NUMBER_INVALID},
    {"1kib", NUMBER_INVALID},
    {"5x", NUMBER_INVALID},
    {"0x", NUMBER_INVALID},
    {"0xg", NUMBER_INVALID},
    {"0x10k", NUMBER_INVALID},
    {"0x1.8k", NUMBER_INVALID},
    {"0b1", NUMBER_INVALID},
    {"nan", NUMBER_INVALID},
    {"inf", NUMBER_INVALID},
};

START_TEST(sizes_are_read_as_the_reference_reads_them)
{
    const SizeCase *c = &size_cases[_i];
    uint64_t v = 4711;

    ck_assert_msg(number_parse_size(c->text, &v) == c->result, "'%s'", c->text);
    ck_assert_msg(v == (c->result == NUMBER_OK ? c->value : 4711), "'%s' gave %" PRIu64, c->text, v);
}
END_TEST

START_TEST(plain_numbers_take_three_bases_and_no_suffix)
{
    static const SizeCase cases[] = {
        {"16", NUMBER_OK, 16},
        {"+16", NUMBER_OK, 16},
        {" 16", NUMBER_OK, 16},
        {"0x10", NUMBER_OK, 16},
        {"020", NUMBER_OK, 16},
        {"0", NUMBER_OK, 0},
        {"-0", NUMBER_OK, 0},
        {"255", NUMBER_OK, 255},
        {"256", NUMBER_RANGE},
        {"-1", NUMBER_RANGE},
        {"16 ", NUMBER_INVALID},
        {"", NUMBER_INVALID},
        {"16.0", NUMBER_INVALID},
        {"08", NUMBER_INVALID},
        {"1k", NUMBER_INVALID},
        {"x", NUMBER_INVALID},
        {"0b1", NUMBER_INVALID},
        {"--1", NUMBER_INVALID},
        {"99999999999999999999", NUMBER_RANGE},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        uint64_t v = 4711;
        ck_assert_msg(number_parse_uint(cases[i].text, 255, &v) == cases[i].result, "'%s'", cases[i].text);
        ck_assert_uint_eq(v, cases[i].result == NUMBER_OK ? cases[i].value : 4711);
    }
}
END_TEST

START_TEST(signed_numbers_reach_both_ends)
{
    int64_t v;

    ck_assert_int_eq(number_parse_int("-9223372036854775808", INT64_MIN, INT64_MAX, &v), NUMBER_OK);
    ck_assert(v == INT64_MIN);
    ck_assert_int_eq(number_parse_int("9223372036854775807", INT64_MIN, INT64_MAX, &v), NUMBER_OK);
    ck_assert(v == INT64_MAX);
    ck_assert_int_eq(number_parse_int("9223372036854775808", INT64_MIN, INT64_MAX, &v), NUMBER_RANGE);
    ck_assert_int_eq(number_parse_int("-9223372036854775809", INT64_MIN, INT64_MAX, &v), NUMBER_RANGE);
    ck_assert_int_eq(number_parse_int("-3", -2, 2, &v), NUMBER_RANGE);
    ck_assert_int_eq(number_parse_int("3", -2, 2, &v), NUMBER_RANGE);
    ck_assert_int_eq(number_parse_int("-2", -2, 2, &v), NUMBER_OK);
    ck_assert_int_eq(v, -2);
    ck_assert_int_eq(number_parse_int("two", -2, 2, &v), NUMBER_INVALID);
}
END_TEST

typedef struct FormatCase {
    uint64_t bytes;
    const char *text, *io_text;
} FormatCase;

static const FormatCase format_cases[] = {
    {0, "0 B", "0 bytes"},
    {1, "1 B", "1 bytes"},
    {512, "512 B", "512 bytes"},
    {999, "999 B", "999 bytes"},
    {1000, "0.977 KiB", "1000 bytes"},
    {1023, "0.999 KiB", "1023 bytes"},
    {1024, "1 KiB", "1 KiB"},
    {1536, "1.5 KiB", "1.500 KiB"},
    {65536, "64 KiB", "64 KiB"},
    {1023488, "1e+03 KiB", "999.500 KiB"},
    {1024000, "0.977 MiB", "1000 KiB"},
    {1047552, "0.999 MiB", "1023 KiB"},
    {1048576, "1 MiB", "1 MiB"},
    {10235904, "9.76 MiB", "9.762 MiB"},
    {102348800, "97.6 MiB", "97.607 MiB"},
    {UINT64_C(5000000000), "4.66 GiB", "4.657 GiB"},
    {UINT64_C(1) << 40, "1 TiB", "1 TiB"},
    {UINT64_C(1) << 50, "1 PiB", "1 PiB"},
    {UINT64_C(1) << 60, "1 EiB", "1 EiB"},
    {UINT64_MAX, "16 EiB", "16 EiB"},
};

START_TEST(human_sizes_equal_the_reference)
{
    const FormatCase *c = &format_cases[_i];
    g_autofree char *text = number_format_size(c->bytes);
    g_autofree char *io_text = number_format_io_size((double)c->bytes);

    ck_assert_str_eq(text, c->text);
    ck_assert_str_eq(io_text, c->io_text);
}
END_TEST

START_TEST(slow_rates_show_their_fraction)
{
    g_autofree char *text = number_format_io_size(197.00408);

    ck_assert_str_eq(text, "197.004080 bytes");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("number");
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, sizes_are_read_as_the_reference_reads_them, 0, G_N_ELEMENTS(size_cases));
    tcase_add_test(tc, plain_numbers_take_three_bases_and_no_suffix);
    tcase_add_test(tc, signed_numbers_reach_both_ends);
    tcase_add_loop_test(tc, human_sizes_equal_the_reference, 0, G_N_ELEMENTS(format_cases));
    tcase_add_test(tc, slow_rates_show_their_fraction);
    suite_add_tcase(s, tc);

    return run_suite(s);
}
