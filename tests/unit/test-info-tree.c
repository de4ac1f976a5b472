/* SPDX-License-Identifier: MIT */
/* Expected texts are outputs of the reference's "info" (10.0.2). */
#include "util/output/info-tree.h"

#include <check.h>
#include <json-glib/json-glib.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/suite.h"

static InfoTree *names_list(const char *const *names)
{
    InfoTree *a = info_array_new();

    for (; *names; names++) {
        info_append(a, info_str_new(*names));
    }
    return a;
}

/* What qemu-img reports of a new qcow2 image with one bitmap, in a plain order. */
static InfoTree *qcow2_specific(void)
{
    static const char *const flags[] = {"auto", NULL};
    InfoTree *spec = info_object_new(), *data = info_object_new();
    InfoTree *bitmaps = info_array_new(), *bitmap = info_object_new();

    info_set_str(bitmap, "name", "b0");
    info_set_uint(bitmap, "granularity", 65536);
    info_set(bitmap, "flags", names_list(flags));
    info_append(bitmaps, bitmap);
    info_set_str(data, "compat", "1.1");
    info_set_bool(data, "lazy-refcounts", false);
    info_set_uint(data, "refcount-bits", 16);
    info_set_bool(data, "corrupt", false);
    info_set_bool(data, "extended-l2", false);
    info_set_str(data, "compression-type", "zlib");
    info_set(data, "bitmaps", bitmaps);
    info_set_str(spec, "type", "qcow2");
    info_set(spec, "data", data);
    return spec;
}

START_TEST(json_of_a_qcow2_image_equals_the_reference)
{
    g_autoptr(InfoTree) spec = qcow2_specific();

    info_sort_hash_order(spec);
    g_autofree char *text = info_to_json(spec, false);
    ck_assert_str_eq(text, "{\n"
                           "    \"type\": \"qcow2\",\n"
                           "    \"data\": {\n"
                           "        \"compat\": \"1.1\",\n"
                           "        \"compression-type\": \"zlib\",\n"
                           "        \"lazy-refcounts\": false,\n"
                           "        \"bitmaps\": [\n"
                           "            {\n"
                           "                \"flags\": [\n"
                           "                    \"auto\"\n"
                           "                ],\n"
                           "                \"name\": \"b0\",\n"
                           "                \"granularity\": 65536\n"
                           "            }\n"
                           "        ],\n"
                           "        \"refcount-bits\": 16,\n"
                           "        \"corrupt\": false,\n"
                           "        \"extended-l2\": false\n"
                           "    }\n"
                           "}");
}
END_TEST

START_TEST(human_text_of_a_qcow2_image_equals_the_reference)
{
    g_autoptr(InfoTree) spec = qcow2_specific();
    g_autoptr(GString) out = g_string_new(NULL);

    info_sort_hash_order(spec);
    info_to_human(info_get(spec, "data"), 4, out);
    ck_assert_str_eq(out->str, "    compat: 1.1\n"
                               "    compression type: zlib\n"
                               "    lazy refcounts: false\n"
                               "    bitmaps:\n"
                               "        [0]:\n"
                               "            flags:\n"
                               "                [0]: auto\n"
                               "            name: b0\n"
                               "            granularity: 65536\n"
                               "    refcount bits: 16\n"
                               "    corrupt: false\n"
                               "    extended l2: false\n");
}
END_TEST

START_TEST(empty_containers_print_as_the_reference_does)
{
    g_autoptr(InfoTree) t = info_object_new();
    g_autoptr(GString) human = g_string_new(NULL);

    info_set(t, "children", info_array_new());
    info_set(t, "data", info_object_new());
    g_autofree char *pretty = info_to_json(t, false);
    g_autofree char *compact = info_to_json(t, true);
    info_to_human(t, 0, human);
    ck_assert_str_eq(pretty, "{\n    \"children\": [\n    ],\n    \"data\": {\n    }\n}");
    ck_assert_str_eq(compact, "{\"children\": [], \"data\": {}}");
    ck_assert_str_eq(human->str, "children:\ndata:\n");
}
END_TEST

/* The orders that the command-line sheet lists, one object a line; each starts in reverse. */
static const char *const orders[] = {
    "children backing-filename-format snapshots virtual-size filename cluster-size format actual-size format-specific "
    "full-backing-filename encrypted backing-filename dirty-flag",
    "compat compression-type lazy-refcounts bitmaps refcount-bits data-file encrypt data-file-raw corrupt extended-l2",
    "ivgen-alg detached-header hash-alg cipher-alg uuid ivgen-hash-alg format cipher-mode slots payload-offset "
    "master-key-iters",
    "active iters key-offset stripes",
    "flags name granularity",
    "icount vm-clock-nsec name date-sec date-nsec vm-clock-sec id vm-state-size",
    "type data",
    "name info",
    "image-end-offset compressed-clusters total-clusters corruptions corruptions-fixed check-errors leaks leaks-fixed "
    "allocated-clusters filename format fragmented-clusters",
    "bitmaps required fully-allocated",
};

START_TEST(hash_order_is_the_order_of_the_sheet)
{
    g_autoptr(InfoTree) t = info_object_new();
    g_autoptr(GString) want = g_string_new("{");
    g_auto(GStrv) keys = g_strsplit(orders[_i], " ", -1);
    guint count = g_strv_length(keys);

    for (guint i = count; i-- > 0;) {
        info_set_uint(t, keys[i], i);
    }
    for (guint i = 0; i < count; i++) {
        g_string_append_printf(want, "%s\"%s\": %u", i ? ", " : "", keys[i], i);
    }
    g_string_append_c(want, '}');
    info_sort_hash_order(t);
    g_autofree char *got = info_to_json(t, true);
    ck_assert_str_eq(got, want->str);
}
END_TEST

START_TEST(later_insertion_comes_first_in_a_bucket)
{
    g_autoptr(InfoTree) t = info_object_new();

    info_set_uint(t, "children", 1); /* both are in bucket 206 */
    info_set_uint(t, "backing-filename-format", 2);
    info_sort_hash_order(t);
    g_autofree char *text = info_to_json(t, true);
    ck_assert_str_eq(text, "{\"backing-filename-format\": 2, \"children\": 1}");
}
END_TEST

START_TEST(arrays_keep_their_order_when_objects_are_sorted)
{
    static const char *const names[] = {"z", "a", "m", NULL};
    g_autoptr(InfoTree) t = names_list(names);

    info_sort_hash_order(t);
    g_autofree char *text = info_to_json(t, true);
    ck_assert_str_eq(text, "[\"z\", \"a\", \"m\"]");
    ck_assert_uint_eq(info_size(t), 3);
}
END_TEST

/* Left: a file name; right: its JSON text in the reference's info. */
static const char *const strings[][2] = {
    {"\xc3\xa9\xf0\x9f\x98\x80", "\"\\u00E9\\uD83D\\uDE00\""},
    {"a\"b\\c", "\"a\\\"b\\\\c\""},
    {"t\tn\nb\b f\f\r", "\"t\\tn\\nb\\b f\\f\\r\""},
    {"d\x7f"
     "e\x01",
     "\"d\\u007Fe\\u0001\""},
    {"inv\xff\xfe.x", "\"inv\\uFFFD\\uFFFD.x\""},
    {"\xc0\x80", "\"\\u0000\""},
    {"a/b<>&'", "\"a/b<>&'\""},
    {"\xed\xa0\x80", "\"\\uFFFD\""},
    {"\xef\xbf\xbe", "\"\\uFFFD\""},
    {"\xef\xb7\x90", "\"\\uFFFD\""},
    {"\xe2\x80\xa8", "\"\\u2028\""},
    {"\xf4\x90\x80\x80", "\"\\uFFFD\""},
    {"\xe2\x82", "\"\\uFFFD\""},
    {"\x80\xe2\x82"
     "A",
     "\"\\uFFFD\\uFFFDA\""},
    {"", "\"\""},
};

START_TEST(strings_are_escaped_as_the_reference_escapes_them)
{
    g_autoptr(InfoTree) t = info_str_new(strings[_i][0]);
    g_autofree char *text = info_to_json(t, true);

    ck_assert_str_eq(text, strings[_i][1]);
}
END_TEST

START_TEST(another_json_reader_reads_back_what_was_printed)
{
    g_autoptr(InfoTree) spec = qcow2_specific();

    info_set_int(spec, "least", INT64_MIN);
    info_set_str(spec, "text", "\xc3\xa9 \xf0\x9f\x98\x80 \x01 \"quoted\"");
    for (int compact = 0; compact <= 1; compact++) {
        g_autoptr(JsonParser) parser = json_parser_new();
        g_autofree char *text = info_to_json(spec, compact);

        ck_assert(json_parser_load_from_data(parser, text, -1, NULL));
        JsonObject *top = json_node_get_object(json_parser_get_root(parser));
        ck_assert(json_object_get_int_member(top, "least") == INT64_MIN);
        ck_assert_str_eq(json_object_get_string_member(top, "text"), "\xc3\xa9 \xf0\x9f\x98\x80 \x01 \"quoted\"");
        ck_assert_int_eq(json_object_get_int_member(json_object_get_object_member(top, "data"), "refcount-bits"), 16);
    }
}
END_TEST

START_TEST(setting_a_key_again_replaces_its_value_in_place)
{
    g_autoptr(InfoTree) t = info_object_new();

    info_set_uint(t, "a", 1);
    info_set_uint(t, "b", UINT64_MAX);
    info_set(t, "a", info_null_new());
    info_set_str(t, "c", NULL);
    info_set(t, "d", NULL);
    g_autofree char *text = info_to_json(t, true);
    ck_assert_str_eq(text, "{\"a\": null, \"b\": 18446744073709551615}");
    ck_assert_ptr_null(info_get(t, "c"));
    ck_assert_ptr_null(info_str(info_get(t, "b")));
    ck_assert(info_is_container(t));
    ck_assert(!info_is_container(info_get(t, "b")));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("info-tree");
    TCase *tc = tcase_create("all");

    tcase_add_test(tc, json_of_a_qcow2_image_equals_the_reference);
    tcase_add_test(tc, human_text_of_a_qcow2_image_equals_the_reference);
    tcase_add_test(tc, empty_containers_print_as_the_reference_does);
    tcase_add_loop_test(tc, hash_order_is_the_order_of_the_sheet, 0, G_N_ELEMENTS(orders));
    tcase_add_test(tc, later_insertion_comes_first_in_a_bucket);
    tcase_add_test(tc, arrays_keep_their_order_when_objects_are_sorted);
    tcase_add_loop_test(tc, strings_are_escaped_as_the_reference_escapes_them, 0, G_N_ELEMENTS(strings));
    tcase_add_test(tc, another_json_reader_reads_back_what_was_printed);
    tcase_add_test(tc, setting_a_key_again_replaces_its_value_in_place);
    suite_add_tcase(s, tc);

    return run_suite(s);
}
