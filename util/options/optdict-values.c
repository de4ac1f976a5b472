/* SPDX-License-Identifier: MIT */
#include "util/options/optdict-values.h"

#include <string.h>

#include "util/base/error.h"
#include "util/base/number.h"
#include "util/options/optdict.h"

bool optvalue_parse_bool(const char *key, const char *value, bool *out, GError **errp)
{
    static const struct {
        const char *word;
        bool value;
    } words[] = {{"on", true},   {"off", false},   {"yes", true}, {"no", false},
                 {"true", true}, {"false", false}, {"y", true},   {"n", false}};

    for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
        if (strcmp(value, words[i].word) == 0) {
            *out = words[i].value;
            return true;
        }
    }
    error_set(errp, "Parameter '%s' expects 'on' or 'off'", key);
    return false;
}

bool optvalue_parse_size(const char *key, const char *value, uint64_t *out, GError **errp)
{
    switch (number_parse_size(value, out)) {
    case NUMBER_OK:
        return true;
    case NUMBER_RANGE:
        error_set(errp, "Value '%s' is out of range for parameter '%s'", value, key);
        return false;
    default:
        error_set(errp,
                  "Parameter '%s' expects a non-negative number below 2^64\n"
                  "Optional suffix k, M, G, T, P or E means kilo-, mega-, giga-, tera-, peta-\n"
                  "and exabytes, respectively.",
                  key);
        return false;
    }
}

bool optvalue_parse_uint(const char *key, const char *value, uint64_t max, uint64_t *out, GError **errp)
{
    switch (number_parse_uint(value, max, out)) {
    case NUMBER_OK:
        return true;
    case NUMBER_RANGE:
        error_set(errp, "Value '%s' is %s for parameter '%s'", value, strchr(value, '-') ? "out of range" : "too large",
                  key);
        return false;
    default:
        error_set(errp, "Parameter '%s' expects a number", key);
        return false;
    }
}

bool optdict_take_bool(OptDict *d, const char *key, bool *out, GError **errp)
{
    g_autofree char *value = optdict_take(d, key);

    return !value || optvalue_parse_bool(key, value, out, errp);
}

bool optdict_take_size(OptDict *d, const char *key, uint64_t *out, GError **errp)
{
    g_autofree char *value = optdict_take(d, key);

    return !value || optvalue_parse_size(key, value, out, errp);
}

bool optdict_take_uint(OptDict *d, const char *key, uint64_t max, uint64_t *out, GError **errp)
{
    g_autofree char *value = optdict_take(d, key);

    return !value || optvalue_parse_uint(key, value, max, out, errp);
}
