/* SPDX-License-Identifier: MIT */
/* Option texts and numbers: any text is read, escaping what was read gives a text that means the same, and a size that
 * was read prints as digits that read back. */
#include <glib.h>
#include <inttypes.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "util/base/number.h"
#include "util/options/optdict.h"
#include "util/options/options.h"

static const OptDesc table[] = {
    {.name = "size", .type = OPT_TYPE_SIZE},
    {.name = "bits", .type = OPT_TYPE_NUM, .def = "16"},
    {.name = "lazy", .type = OPT_TYPE_BOOL, .def = "off"},
    {.name = "compat", .type = OPT_TYPE_STR},
    {.name = "encrypt.", .type = OPT_TYPE_STR},
    {NULL},
};

static void check_same(const OptDict *a, const OptDict *b)
{
    g_assert_cmpuint(optdict_size(a), ==, optdict_size(b));
    for (size_t i = 0; i < optdict_size(a); i++) {
        g_assert_cmpstr(optdict_key_at(a, i), ==, optdict_key_at(b, i));
        g_assert_cmpstr(optdict_value_at(a, i), ==, optdict_value_at(b, i));
    }
}

static void check_escaping(const OptDict *d)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (size_t i = 0; i < optdict_size(d); i++) {
        g_autofree char *value = optdict_escape_value(optdict_value_at(d, i));
        g_string_append_printf(text, "%s=%s,", optdict_key_at(d, i), value);
    }
    g_autoptr(OptDict) again = optdict_parse_keyval(text->str, NULL, NULL);
    check_same(d, again);
}

static void check_numbers(const char *text)
{
    uint64_t size, number;
    int64_t signed_number;

    if (number_parse_size(text, &size) == NUMBER_OK) {
        g_autofree char *digits = g_strdup_printf("%" PRIu64, size);
        g_assert(number_parse_size(digits, &number) == NUMBER_OK && number == size);
        g_autofree char *human = number_format_size(size);
        g_autofree char *io = number_format_io_size((double)size);
        g_assert(strlen(human) < 16 && strlen(io) < 24);
    }
    if (number_parse_uint(text, 1000, &number) == NUMBER_OK) {
        g_assert(number <= 1000);
    }
    if (number_parse_int(text, -5, 5, &signed_number) == NUMBER_OK) {
        g_assert(signed_number >= -5 && signed_number <= 5);
    }
}

static void check_takes(OptDict *d)
{
    g_autoptr(OptDict) group = optdict_take_prefix(d, "encrypt.");
    g_autoptr(GError) err = NULL;
    uint64_t size = 4711;
    bool lazy;

    options_set_defaults(d, table);
    g_assert(optdict_has(d, "bits") && !optdict_has_prefix(d, "encrypt."));
    bool ok = optdict_take_size(d, "size", &size, &err);
    g_assert(ok == !err && !optdict_has(d, "size"));
    g_clear_error(&err);
    ok = optdict_take_bool(d, "lazy", &lazy, &err);
    g_assert(ok == !err);
    optdict_merge(d, "encrypt.", group, true);
    g_autofree char *json = optdict_to_json(d);
    g_assert(json[0] == '{' || json[0] == '[');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = fuzz_text(data, size);
    g_autoptr(OptDict) plain = optdict_parse_keyval(text, NULL, NULL);
    g_autoptr(OptDict) implied = optdict_parse_keyval(text, "file", NULL);
    g_autoptr(GError) strict_err = NULL, table_err = NULL;
    g_autoptr(OptDict) strict = optdict_parse_keyval_strict(text, "qom-type", &strict_err);

    g_assert((strict == NULL) == (strict_err != NULL));
    check_escaping(plain);
    check_escaping(implied);
    bool ok = options_check(plain, table, &table_err);
    g_assert(ok == !table_err);
    check_numbers(text);
    check_takes(plain);
    return 0;
}
