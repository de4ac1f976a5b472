/* SPDX-License-Identifier: MIT */
/* Error texts and json: names were taken from runs of the reference tools (10.0.2). */
#include "util/options/optdict.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/suite.h"
#include "util/json/json-lex.h"

/* text, keys and values as "key=value|" */
static const char *const good[][2] = {
    {"{}", ""},
    {" {\"a\" : 1 } \n", "a=1|"},
    {"{'driver':'qcow2','file':{'driver':'file','filename':'t'}}", "driver=qcow2|file.driver=file|file.filename=t|"},
    {"{\"file.filename\":\"t\",\"file\":{\"driver\":\"file\"}}", "file.filename=t|file.driver=file|"},
    {"{'a':'x\\'y\"z'}", "a=x'y\"z|"},
    {"{'a':\"it's\"}", "a=it's|"},
    {"{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}", "a=\"\\/\b\f\n\r\t|"},
    {"{\"a\":\"\\u00e9\\ud83d\\ude00\"}", "a=\xc3\xa9\xf0\x9f\x98\x80|"},
    {"{\"a\":\"\xc3\xa9\"}", "a=\xc3\xa9|"},
    {"{\"a\":true,\"b\":false,\"c\":null}", "a=on|b=off|c=|"},
    {"{\"a\":18446744073709551615}", "a=18446744073709551615|"},
    {"{\"a\":99999999999999999999}", "a=99999999999999999999|"},
    {"{\"a\":-0,\"b\":-5,\"c\":0}", "a=-0|b=-5|c=0|"},
    {"{\"a\":5e2,\"b\":512.0,\"c\":0.5,\"d\":1E+2}", "a=500|b=512|c=0.5|d=100|"},
    {"{\"a\":1e400}", "a=1e400|"},
    {"{\"x\":[1,\"a\",{\"b\":2},[3]]}", "x.0=1|x.1=a|x.2.b=2|x.3.0=3|"},
    {"{\"x\":{},\"y\":[]}", "x=|y=|"},
    {"{\"\":1}", "=1|"},
    {"{\"\":{\"\":{\"a\":1}}}", "..a=1|"},
    {"{\"a\":{\"b\":1},\"a.b\":2}", "a.b=2|"},
    {"{\"sa\":\"i5\",\"i5\":\"n\"}", "sa=i5|i5=n|"}, /* looks like our own tags */
};

START_TEST(json_is_flattened_to_dotted_keys)
{
    g_autoptr(GError) err = NULL;
    g_autoptr(OptDict) d = optdict_parse_json(good[_i][0], &err);
    g_autoptr(GString) got = g_string_new(NULL);

    ck_assert_msg(d != NULL, "%s: %s", good[_i][0], err ? err->message : "no error");
    for (size_t i = 0; i < optdict_size(d); i++) {
        g_string_append_printf(got, "%s=%s|", optdict_key_at(d, i), optdict_value_at(d, i));
    }
    ck_assert_str_eq(got->str, good[_i][1]);
}
END_TEST

/* text, error */
static const char *const bad[][2] = {
    {"", "Expecting a JSON value"},
    {"  ", "Expecting a JSON value"},
    {"{bad}", "JSON parse error, invalid keyword 'bad'"},
    {"{\"a\":nul}", "JSON parse error, invalid keyword 'nul'"},
    {"{\"a\":True}", "JSON parse error, stray 'T'"},
    {"{\"a\":@}", "JSON parse error, stray '@'"},
    {"{\"a\":/*c*/1}", "JSON parse error, stray '/'"},
    {"{\"a\":%d}", "JSON parse error, stray '%'"},
    {"{\"a\":+1}", "JSON parse error, stray '+'"},
    {"{\"a\":.5}", "JSON parse error, stray '.'"},
    {"{\"a\":01}", "JSON parse error, stray '01}'"},
    {"{\"a\":1.}", "JSON parse error, stray '1.}'"},
    {"{\"a\":-}", "JSON parse error, stray '-}'"},
    {"{\"a\":1e}", "JSON parse error, stray '1e}'"},
    {"{\"a\":\"unterminated", "JSON parse error, stray '\"unterminated'"},
    {"{\"a\":\"b\\", "JSON parse error, stray '\"b\\'"},
    {"{\"a\":\"x\ty\"}", "JSON parse error, stray '\"x'"},
    {"{\"a\":\"\\x\"}", "JSON parse error, invalid escape sequence in string"},
    {"{\"a\":\"\\ud83d\"}", "JSON parse error, \\ud83d is not a valid Unicode character"},
    {"{\"a\":\"\\ude00\"}", "JSON parse error, \\ude00 is not a valid Unicode character"},
    {"{\"a\":\"\\ud83d\\u0041\"}", "JSON parse error, \\ud83d is not a valid Unicode character"},
    {"{\"a\":\"\\u0000\"}", "JSON parse error, \\u0000 is not a valid Unicode character"},
    {"{\"a\":\"\\u12\"}", "JSON parse error, \\u12\"} is not a valid Unicode character"},
    {"{\"a\":\"\\ud\r\n", "JSON parse error, \\ud?? is not a valid Unicode character"},
    {"{\"a\":1.\n", "JSON parse error, stray '1.?'"},
    {"{\"a\":\"\xff\"}", "JSON parse error, byte 6 is not valid UTF-8"},
    {"{\"a\":1", "JSON parse error, premature EOI"},
    {"{", "JSON parse error, premature EOI"},
    {"}", "JSON parse error, expecting value"},
    {"{\"a\":1,}", "JSON parse error, expecting value"},
    {"{\"a\":}", "JSON parse error, expecting value"},
    {"{,}", "JSON parse error, expecting value"},
    {"{\"a\" \"b\"}", "JSON parse error, missing : in object pair"},
    {"{\"a\"}", "JSON parse error, missing : in object pair"},
    {"{\"a\":1 \"b\":2}", "JSON parse error, expected separator"},
    {"{1:2}", "JSON parse error, key is not a string in object"},
    {"{null:1}", "JSON parse error, key is not a string in object"},
    {"{\"a\":1,\"a\":2}", "JSON parse error, duplicate key"},
    {"{\"x\":{\"a\":1,\"b\":2,\"a\":3}}", "JSON parse error, duplicate key"},
    {"{} x", "Expecting at most one JSON value"},
    {"{}{}", "Expecting at most one JSON value"},
    {"{\"a\":1}}", "Expecting at most one JSON value"},
    {"[]", "Invalid JSON object given"},
    {"1", "Invalid JSON object given"},
    {"\"text\"", "Invalid JSON object given"},
    {"null", "Invalid JSON object given"},
};

START_TEST(bad_json_is_one_clear_line)
{
    g_autoptr(GError) err = NULL;

    ck_assert_ptr_null(optdict_parse_json(bad[_i][0], &err));
    ck_assert_ptr_nonnull(err);
    ck_assert_str_eq(err->message, bad[_i][1]);
}
END_TEST

/* @open and @close repeated @depth times around a 1, as the value of a key. Caller frees. */
static char *nested(const char *open, const char *close, int depth)
{
    GString *s = g_string_new("{\"a\":");

    for (int i = 0; i < depth; i++) {
        g_string_append(s, open);
    }
    g_string_append_c(s, '1');
    for (int i = 0; i < depth; i++) {
        g_string_append(s, close);
    }
    g_string_append_c(s, '}');
    return g_string_free(s, FALSE);
}

START_TEST(nesting_is_taken_to_its_limit_and_no_further)
{
    g_autoptr(GError) err = NULL;
    g_autofree char *fits = nested("[", "]", JSON_MAX_DEPTH - 1);
    g_autofree char *deep = nested("[", "]", JSON_MAX_DEPTH);
    g_autofree char *deeper = nested("{\"a\":", "}", 100000);
    g_autoptr(OptDict) d = optdict_parse_json(fits, NULL);

    ck_assert_ptr_nonnull(d);
    ck_assert_uint_eq(optdict_size(d), 1);
    ck_assert_ptr_null(optdict_parse_json(deep, &err));
    ck_assert_str_eq(err->message, "JSON nesting depth limit exceeded");
    ck_assert_ptr_null(optdict_parse_json(deeper, NULL));
}
END_TEST

START_TEST(text_of_more_than_a_mebibyte_is_refused)
{
    g_autoptr(GError) err = NULL;
    g_autofree char *text = g_malloc(JSON_MAX_BYTES + 2);

    memset(text, ' ', JSON_MAX_BYTES + 1);
    text[JSON_MAX_BYTES + 1] = '\0';
    memcpy(text, "{}", 2);
    ck_assert_ptr_null(optdict_parse_json(text, &err));
    ck_assert_str_eq(err->message, "JSON parse error, text is longer than 1048576 bytes");
    text[JSON_MAX_BYTES] = '\0';
    g_autoptr(OptDict) d = optdict_parse_json(text, NULL);
    ck_assert_ptr_nonnull(d);
}
END_TEST

/* Without a limit, half a mebibyte of key times 80000 leaves would be 40 GiB. */
START_TEST(flattening_cannot_blow_up)
{
    g_autoptr(GError) err = NULL;
    g_autoptr(GString) s = g_string_new("{\"");

    for (int i = 0; i < 500; i++) {
        g_string_append(s, "kkkkkkkkkk");
    }
    g_string_append(s, "\":[1,2,3]}");
    ck_assert_ptr_null(optdict_parse_json(s->str, &err));
    ck_assert_str_eq(err->message, "JSON parse error, a key is longer than 512 bytes");
    g_clear_error(&err);

    g_string_assign(s, "{\"a\":[0");
    for (int i = 0; i < 200000; i++) {
        g_string_append(s, ",0");
    }
    g_string_append(s, "]}");
    ck_assert_ptr_null(optdict_parse_json(s->str, &err));
    ck_assert_str_eq(err->message, "JSON parse error, more than 4096 values");
}
END_TEST

/* JSON in, JSON out; the outputs are json: names that the reference shows. */
static const char *const round_trips[][2] = {
    {"{\"driver\":\"raw\",\"offset\":512,\"file.filename\":\"t.qcow2\",\"file\":{\"driver\":\"file\"}}",
     "{\"offset\": 512, \"driver\": \"raw\", \"file\": {\"driver\": \"file\", \"filename\": \"t.qcow2\"}}"},
    {"{\"driver\":\"raw\",\"offset\":\"512\",\"file\":{\"filename\":\"t.qcow2\",\"driver\":\"file\"}}",
     "{\"offset\": \"512\", \"driver\": \"raw\", \"file\": {\"driver\": \"file\", \"filename\": \"t.qcow2\"}}"},
    {"{\"driver\":\"quorum\",\"vote-threshold\":1,\"children\":[{\"driver\":\"raw\",\"file\":{\"driver\":\"null-co\"}},"
     "{\"driver\":\"null-co\"}]}",
     "{\"children\": [{\"driver\": \"raw\", \"file\": {\"driver\": \"null-co\"}}, {\"driver\": \"null-co\"}], "
     "\"driver\": \"quorum\", \"vote-threshold\": 1}"},
    {"{\"a\":true,\"b\":null}", "{\"a\": true, \"b\": null}"},
    {"{}", "{}"},
    {"{\"x\":{\"1\":\"b\",\"0\":\"a\"}}", "{\"x\": [\"a\", \"b\"]}"},
    {"{\"0\":1}", "{\"0\": 1}"},
    {"{\"x\":{\"0\":1,\"2\":3}}", "{\"x\": {\"0\": 1, \"2\": 3}}"},
};

START_TEST(options_print_back_as_the_reference_prints_them)
{
    g_autoptr(OptDict) d = optdict_parse_json(round_trips[_i][0], NULL);

    ck_assert_ptr_nonnull(d);
    g_autofree char *text = optdict_to_json(d);
    ck_assert_str_eq(text, round_trips[_i][1]);
    g_autoptr(OptDict) again = optdict_parse_json(text, NULL);
    ck_assert_ptr_nonnull(again);
    g_autofree char *text_again = optdict_to_json(again);
    ck_assert_str_eq(text_again, text);
}
END_TEST

START_TEST(options_with_a_thousand_dots_still_print)
{
    g_autoptr(OptDict) d = optdict_new();
    g_autofree char *key = g_strnfill(5000, '.');

    optdict_set(d, key, "v");
    optdict_set(d, "a", "1");
    optdict_set(d, "a.b", "2");
    g_autofree char *text = optdict_to_json(d);
    ck_assert_ptr_nonnull(strstr(text, "\"v\""));
    ck_assert_ptr_nonnull(strstr(text, "\"a\": {\"b\": \"2\"}"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("json");
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, json_is_flattened_to_dotted_keys, 0, G_N_ELEMENTS(good));
    tcase_add_loop_test(tc, bad_json_is_one_clear_line, 0, G_N_ELEMENTS(bad));
    tcase_add_test(tc, nesting_is_taken_to_its_limit_and_no_further);
    tcase_add_test(tc, text_of_more_than_a_mebibyte_is_refused);
    tcase_add_test(tc, flattening_cannot_blow_up);
    tcase_add_loop_test(tc, options_print_back_as_the_reference_prints_them, 0, G_N_ELEMENTS(round_trips));
    tcase_add_test(tc, options_with_a_thousand_dots_still_print);
    suite_add_tcase(s, tc);

    return run_suite(s);
}
