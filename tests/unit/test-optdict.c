/* SPDX-License-Identifier: MIT */
/* What odd key=value texts mean was taken from runs of the reference tools (10.0.2). */
#include "util/options/optdict.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/suite.h"

/* "key=value|key=value|" in order, for comparing. Caller frees. */
static char *dump(const OptDict *d)
{
    GString *out = g_string_new(NULL);

    for (size_t i = 0; i < optdict_size(d); i++) {
        g_string_append_printf(out, "%s=%s|", optdict_key_at(d, i), optdict_value_at(d, i));
    }
    return g_string_free(out, FALSE);
}

static void check_dump(const OptDict *d, const char *want)
{
    g_autofree char *got = dump(d);

    ck_assert_str_eq(got, want);
}

static void check_error(const GError *err, const char *want)
{
    ck_assert_ptr_nonnull(err);
    ck_assert_str_eq(err->message, want);
}

START_TEST(keys_keep_the_order_they_were_first_set_in)
{
    g_autoptr(OptDict) d = optdict_new();

    optdict_set(d, "b", "1");
    optdict_set_int(d, "a", -2);
    optdict_set_bool(d, "c", true);
    optdict_set(d, "b", "3");
    check_dump(d, "b=3|a=-2|c=on|");
    ck_assert_int_eq(optdict_get_kind(d, "a"), OPT_INT);
    ck_assert_int_eq(optdict_get_kind(d, "c"), OPT_BOOL);
    ck_assert_int_eq(optdict_get_kind(d, "b"), OPT_STRING);
    ck_assert_int_eq(optdict_get_kind(d, "zz"), OPT_NULL);
    optdict_set(d, "a", optdict_get(d, "a")); /* its own value */
    ck_assert_str_eq(optdict_get(d, "a"), "-2");
    ck_assert(optdict_remove(d, "a"));
    ck_assert(!optdict_remove(d, "a"));
    ck_assert_ptr_null(optdict_get(d, "a"));
    check_dump(d, "b=3|c=on|");
}
END_TEST

START_TEST(take_prefix_moves_a_group_and_keeps_both_orders)
{
    g_autoptr(OptDict) d = optdict_parse_keyval("a=1,file.x=2,b=3,file.y.z=4,filename=5", NULL, NULL);

    ck_assert(optdict_has_prefix(d, "file."));
    g_autoptr(OptDict) group = optdict_take_prefix(d, "file.");
    check_dump(group, "x=2|y.z=4|");
    check_dump(d, "a=1|b=3|filename=5|");
    ck_assert(!optdict_has_prefix(d, "file."));
    ck_assert(!optdict_has(d, "file.x"));
    g_autoptr(OptDict) none = optdict_take_prefix(d, "file.");
    ck_assert_uint_eq(optdict_size(none), 0);
}
END_TEST

START_TEST(merge_keeps_or_replaces)
{
    g_autoptr(OptDict) src = optdict_parse_keyval("x=1,y=2", NULL, NULL);
    g_autoptr(OptDict) keep = optdict_parse_keyval("file.x=9", NULL, NULL);
    g_autoptr(OptDict) replace = optdict_copy(keep);

    optdict_merge(keep, "file.", src, true);
    check_dump(keep, "file.x=9|file.y=2|");
    optdict_merge(replace, "file.", src, false);
    check_dump(replace, "file.x=1|file.y=2|");
}
END_TEST

/* text, implied key, result */
static const char *const keyvals[][3] = {
    {"", NULL, ""},
    {"", "file", ""},
    {"driver=qcow2,file.filename=t", NULL, "driver=qcow2|file.filename=t|"},
    {"driver=qcow2,", NULL, "driver=qcow2|"},
    {"driver=qcow2,,file.filename=t", NULL, "driver=qcow2,file.filename=t|"},
    {"file.filename=a,,,b", NULL, "file.filename=a,|b=on|"},
    {"a=b,,", NULL, "a=b,|"},
    {"a=,b=", NULL, "a=|b=|"},
    {"=x", NULL, "=x|"},
    {"a=1,=x", NULL, "a=1|=x|"},
    {"a==x=y", NULL, "a==x=y|"},
    {"t.qcow2", NULL, "t.qcow2=on|"},
    {"t.qcow2", "file", "file=t.qcow2|"},
    {"t,,x,driver=raw", "file", "file=t,x|driver=raw|"},
    {",driver=raw", "file", "file=|driver=raw|"},
    {"driver=raw,ro", "file", "driver=raw|ro=on|"},
    {"foo,bar", NULL, "foo=on|bar=on|"},
    {"a=1,b=2,a=3", NULL, "a=3|b=2|"},
    {"a b=c d", NULL, "a b=c d|"},
    {",,,", NULL, "=on|"},
};

START_TEST(keyval_texts_mean_what_they_mean_to_the_reference)
{
    g_autoptr(GError) err = NULL;
    g_autoptr(OptDict) d = optdict_parse_keyval(keyvals[_i][0], keyvals[_i][1], &err);

    ck_assert_ptr_nonnull(d);
    ck_assert_ptr_null(err);
    check_dump(d, keyvals[_i][2]);
}
END_TEST

/* text, result or NULL, error or NULL; the implied key is "qom-type" */
static const char *const stricts[][3] = {
    {"secret,id=s,data=a,,b", "qom-type=secret|id=s|data=a,b|", NULL},
    {"secret,id=s,data=b,", "qom-type=secret|id=s|data=b|", NULL},
    {"id=s,data=b,data=c", "id=s|data=c|", NULL},
    {"secret,id=s,foo", NULL, "Expected '=' after parameter 'foo'"},
    {"secret,id=s,=b", NULL, "Invalid parameter ''"},
    {"secret,data.", NULL, "Invalid parameter 'data.'"},
    {"secret,.data=1", NULL, "Invalid parameter '.data'"},
    {"secret,a..b=1", NULL, "Invalid parameter 'a..b'"},
    {"secret,a b=1", NULL, "Invalid parameter 'a b'"},
    {"secret,a.b=1,a=2", NULL, "Parameters 'a.*' used inconsistently"},
    {"secret,a=2,a.b.c=1", NULL, "Parameters 'a.*' used inconsistently"},
};

START_TEST(strict_keyval_refuses_what_the_reference_refuses)
{
    g_autoptr(GError) err = NULL;
    g_autoptr(OptDict) d = optdict_parse_keyval_strict(stricts[_i][0], "qom-type", &err);

    if (stricts[_i][1]) {
        ck_assert_ptr_nonnull(d);
        check_dump(d, stricts[_i][1]);
    } else {
        ck_assert_ptr_null(d);
        check_error(err, stricts[_i][2]);
    }
}
END_TEST

START_TEST(escaping_a_value_is_undone_by_parsing)
{
    static const char *const values[] = {"", "plain", "a,b", ",", ",,", "a,,b,", "=,="};

    for (size_t i = 0; i < G_N_ELEMENTS(values); i++) {
        g_autofree char *escaped = optdict_escape_value(values[i]);
        g_autofree char *text = g_strconcat("k=", escaped, ",z=1", NULL);
        g_autoptr(OptDict) d = optdict_parse_keyval(text, NULL, NULL);
        ck_assert_str_eq(optdict_get(d, "k"), values[i]);
        ck_assert_str_eq(optdict_get(d, "z"), "1");
    }
}
END_TEST

START_TEST(taking_a_bool_knows_eight_words)
{
    static const char *const words[] = {"on", "yes", "true", "y", "off", "no", "false", "n"};

    for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
        g_autoptr(OptDict) d = optdict_new();
        bool v = i >= 4;
        optdict_set(d, "k", words[i]);
        ck_assert(optdict_take_bool(d, "k", &v, NULL));
        ck_assert_int_eq(v, i < 4);
        ck_assert_uint_eq(optdict_size(d), 0);
        ck_assert(optdict_take_bool(d, "k", &v, NULL)); /* absent: unchanged */
        ck_assert_int_eq(v, i < 4);
    }
}
END_TEST

#define SIZE_LINES                                                                                                     \
    "Parameter 'k' expects a non-negative number below 2^64\n"                                                         \
    "Optional suffix k, M, G, T, P or E means kilo-, mega-, giga-, tera-, peta-\n"                                     \
    "and exabytes, respectively."

/* kind of taking, value, error */
static const struct {
    char kind;
    const char *value, *error;
} bad_values[] = {
    {'b', "maybe", "Parameter 'k' expects 'on' or 'off'"},
    {'b', "ON", "Parameter 'k' expects 'on' or 'off'"},
    {'b', "1", "Parameter 'k' expects 'on' or 'off'"},
    {'b', "", "Parameter 'k' expects 'on' or 'off'"},
    {'s', "abc", SIZE_LINES},
    {'s', "", SIZE_LINES},
    {'s', "1.5", SIZE_LINES},
    {'s', "20E", "Value '20E' is out of range for parameter 'k'"},
    {'s', "-1", "Value '-1' is out of range for parameter 'k'"},
    {'u', "abc", "Parameter 'k' expects a number"},
    {'u', "16k", "Parameter 'k' expects a number"},
    {'u', "", "Parameter 'k' expects a number"},
    {'u', "101", "Value '101' is too large for parameter 'k'"},
    {'u', "99999999999999999999999", "Value '99999999999999999999999' is too large for parameter 'k'"},
    {'u', "-1", "Value '-1' is out of range for parameter 'k'"},
};

START_TEST(a_bad_value_is_refused_with_the_text_of_its_type)
{
    g_autoptr(OptDict) d = optdict_new();
    g_autoptr(GError) err = NULL;
    uint64_t number;
    bool flag, ok;

    optdict_set(d, "k", bad_values[_i].value);
    if (bad_values[_i].kind == 'b') {
        ok = optdict_take_bool(d, "k", &flag, &err);
    } else if (bad_values[_i].kind == 's') {
        ok = optdict_take_size(d, "k", &number, &err);
    } else {
        ok = optdict_take_uint(d, "k", 100, &number, &err);
    }
    ck_assert(!ok);
    check_error(err, bad_values[_i].error);
    ck_assert_uint_eq(optdict_size(d), 0);
}
END_TEST

START_TEST(good_values_are_taken_out)
{
    g_autoptr(OptDict) d = optdict_parse_keyval("s=1.5k,u=0x10,t=text", NULL, NULL);
    uint64_t size = 0, number = 0;

    ck_assert(optdict_take_size(d, "s", &size, NULL));
    ck_assert(optdict_take_uint(d, "u", 16, &number, NULL));
    ck_assert_uint_eq(size, 1536);
    ck_assert_uint_eq(number, 16);
    g_autofree char *text = optdict_take(d, "t");
    ck_assert_str_eq(text, "text");
    ck_assert_ptr_null(optdict_take(d, "t"));
    ck_assert_uint_eq(optdict_size(d), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("optdict");
    TCase *tc = tcase_create("all");

    tcase_add_test(tc, keys_keep_the_order_they_were_first_set_in);
    tcase_add_test(tc, take_prefix_moves_a_group_and_keeps_both_orders);
    tcase_add_test(tc, merge_keeps_or_replaces);
    tcase_add_loop_test(tc, keyval_texts_mean_what_they_mean_to_the_reference, 0, G_N_ELEMENTS(keyvals));
    tcase_add_loop_test(tc, strict_keyval_refuses_what_the_reference_refuses, 0, G_N_ELEMENTS(stricts));
    tcase_add_test(tc, escaping_a_value_is_undone_by_parsing);
    tcase_add_test(tc, taking_a_bool_knows_eight_words);
    tcase_add_loop_test(tc, a_bad_value_is_refused_with_the_text_of_its_type, 0, G_N_ELEMENTS(bad_values));
    tcase_add_test(tc, good_values_are_taken_out);
    suite_add_tcase(s, tc);

    return run_suite(s);
}
