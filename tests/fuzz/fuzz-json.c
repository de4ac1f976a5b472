/* SPDX-License-Identifier: MIT */
/* optdict_parse_json(): any text is options or one line of error; what was read prints as JSON that reads back and
 * prints the same. */
#include <glib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "util/options/optdict.h"

/* Not the order: of two keys in one bucket of the output order, each printing puts the later first. */
static void check_same(const OptDict *a, const OptDict *b)
{
    g_assert_cmpuint(optdict_size(a), ==, optdict_size(b));
    for (size_t i = 0; i < optdict_size(a); i++) {
        const char *key = optdict_key_at(a, i);
        g_assert_cmpstr(optdict_value_at(a, i), ==, optdict_get(b, key));
        g_assert(optdict_get_kind(a, key) == optdict_get_kind(b, key));
    }
}

/* What @d prints as, read again; NULL if it cannot be. */
static OptDict *printed_and_read(const OptDict *d)
{
    g_autofree char *text = optdict_to_json(d);
    g_autoptr(GError) err = NULL;
    OptDict *again = optdict_parse_json(text, &err);

    g_assert(g_utf8_validate(text, -1, NULL) && !strchr(text, '\n'));
    if (!again) {
        /* Keys that differ only in characters which no JSON text can show become equal. */
        g_assert_cmpstr(err->message, ==, "JSON parse error, duplicate key");
    }
    return again;
}

static void check_print(const OptDict *d)
{
    /* Once for what printing loses (a key that is a value and a group, characters that become U+FFFD), then exactly. */
    g_autoptr(OptDict) once = printed_and_read(d);
    g_autoptr(OptDict) twice = once ? printed_and_read(once) : NULL;

    if (twice) {
        check_same(once, twice);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = fuzz_text(data, size);
    g_autoptr(GError) err = NULL;
    g_autoptr(OptDict) d = optdict_parse_json(text, &err);

    if (d) {
        g_assert(!err);
        check_print(d);
    } else {
        g_assert(err && err->message[0] && !strpbrk(err->message, "\r\n"));
    }
    return 0;
}
