/* SPDX-License-Identifier: MIT */
#include "util/options/options.h"

#include <check.h>
#include <stdlib.h>

#include "tests/unit/suite.h"

static const OptDesc table[] = {
    {.name = "size", .type = OPT_TYPE_SIZE, .help = "Virtual disk size"},
    {.name = "lazy_refcounts", .type = OPT_TYPE_BOOL, .help = "Postpone refcount updates", .def = "off"},
    {.name = "refcount_bits", .type = OPT_TYPE_NUM, .help = "Width of a reference count entry in bits", .def = "16"},
    {.name = "compat", .type = OPT_TYPE_STR, .help = "Compatibility level (v2 [0.10] or v3 [1.1])"},
    {.name = "encrypt.", .type = OPT_TYPE_STR},
    {.name = "encrypt.iter-time", .type = OPT_TYPE_NUM, .help = "Time to spend in PBKDF in milliseconds"},
    {NULL},
};

/* key=value text, error or NULL */
static const char *const checks[][2] = {
    {"", NULL},
    {"size=1.5G,lazy_refcounts=on,refcount_bits=16,compat=anything", NULL},
    {"encrypt.anything=goes", NULL},
    {"encrypt.iter-time=soon", "Parameter 'encrypt.iter-time' expects a number"},
    {"foo=1", "Invalid parameter 'foo'"},
    {"encrypt=1", "Invalid parameter 'encrypt'"},
    {"size", "Parameter 'size' expects a non-negative number below 2^64\n"
             "Optional suffix k, M, G, T, P or E means kilo-, mega-, giga-, tera-, peta-\nand exabytes, respectively."},
    {"lazy_refcounts=maybe", "Parameter 'lazy_refcounts' expects 'on' or 'off'"},
    {"refcount_bits=16k", "Parameter 'refcount_bits' expects a number"},
    {"size=20E", "Value '20E' is out of range for parameter 'size'"},
};

START_TEST(options_are_checked_by_the_table)
{
    g_autoptr(OptDict) d = optdict_parse_keyval(checks[_i][0], NULL, NULL);
    g_autoptr(GError) err = NULL;
    bool ok = options_check(d, table, &err);

    ck_assert_int_eq(ok, checks[_i][1] == NULL);
    if (checks[_i][1]) {
        ck_assert_str_eq(err->message, checks[_i][1]);
    }
}
END_TEST

START_TEST(defaults_fill_only_gaps)
{
    g_autoptr(OptDict) d = optdict_parse_keyval("refcount_bits=1", NULL, NULL);

    options_set_defaults(d, table);
    ck_assert_str_eq(optdict_get(d, "refcount_bits"), "1");
    ck_assert_str_eq(optdict_get(d, "lazy_refcounts"), "off");
    ck_assert_uint_eq(optdict_size(d), 2);
}
END_TEST

START_TEST(help_is_sorted_and_padded_as_the_reference_does)
{
    g_autofree char *text = options_help(table);

    ck_assert_str_eq(text, "  compat=<str>           - Compatibility level (v2 [0.10] or v3 [1.1])\n"
                           "  encrypt.iter-time=<num> - Time to spend in PBKDF in milliseconds\n"
                           "  lazy_refcounts=<bool (on/off)> - Postpone refcount updates\n"
                           "  refcount_bits=<num>    - Width of a reference count entry in bits\n"
                           "  size=<size>            - Virtual disk size\n");
}
END_TEST

START_TEST(rows_are_found_by_exact_name)
{
    ck_assert_ptr_eq(options_find(table, "size"), &table[0]);
    ck_assert_ptr_null(options_find(table, "siz"));
    ck_assert_ptr_null(options_find(table, "encrypt.anything"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("options");
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, options_are_checked_by_the_table, 0, G_N_ELEMENTS(checks));
    tcase_add_test(tc, defaults_fill_only_gaps);
    tcase_add_test(tc, help_is_sorted_and_padded_as_the_reference_does);
    tcase_add_test(tc, rows_are_found_by_exact_name);
    suite_add_tcase(s, tc);

    return run_suite(s);
}
