/* SPDX-License-Identifier: MIT */
/* key=value,key=value texts, both grammars: the loose one of -o and --image-opts, the strict one of --object. */
#include "util/options/optdict.h"

#include <string.h>

#include "util/base/error.h"
#include "util/base/secbuf.h"

/* The value at *@p up to a single comma, ",," standing for one; *@p moves to that comma or the end. Caller frees. */
static char *scan_value(const char **p)
{
    GString *value = g_string_sized_new(strlen(*p)); /* does not move: a secret would stay behind */

    for (; **p && !((*p)[0] == ',' && (*p)[1] != ','); (*p)++) {
        *p += **p == ',';
        g_string_append_c(value, **p);
    }
    return g_string_free(value, FALSE);
}

/* The key at *@p up to '=' or ','; *@p moves there. Caller frees. */
static char *scan_key(const char **p)
{
    size_t bytes = strcspn(*p, "=,");
    char *key = g_strndup(*p, bytes);

    *p += bytes;
    return key;
}

OptDict *optdict_parse_keyval(const char *text, const char *implied_key, GError **errp)
{
    g_autoptr(OptDict) d = optdict_new();
    const char *p = text;

    while (*p) {
        const char *start = p;
        g_autofree char *key = scan_key(&p);
        g_autofree char *value = NULL;
        if (*p == '=') {
            p++;
            value = scan_value(&p);
        } else if (implied_key && start == text) {
            p = start;
            value = scan_value(&p);
            g_free(key);
            key = g_strdup(implied_key);
        } else {
            value = g_strdup("on");
        }
        optdict_set(d, key, value);
        mem_wipe(value, strlen(value)); /* perhaps a secret */
        p += *p == ',';
    }
    return g_steal_pointer(&d);
}

/* Words of letters, digits, '-' and '_', joined by dots. */
static bool is_strict_key(const char *key)
{
    bool in_word = false;

    for (; *key; key++) {
        bool is_word = g_ascii_isalnum(*key) || *key == '-' || *key == '_';
        if (!is_word && !(*key == '.' && in_word)) {
            return false;
        }
        in_word = is_word;
    }
    return in_word;
}

static bool scan_strict_element(const char **p, const char *implied_key, OptDict *d, GError **errp)
{
    const char *start = *p;
    g_autofree char *key = scan_key(p);
    bool is_implied = implied_key && **p != '=';

    if (is_implied) {
        *p = start;
    } else if (!is_strict_key(key)) {
        error_set(errp, "Invalid parameter '%s'", key);
        return false;
    } else if (**p != '=') {
        error_set(errp, "Expected '=' after parameter '%s'", key);
        return false;
    } else {
        (*p)++;
    }
    char *value = scan_value(p);
    optdict_set(d, is_implied ? implied_key : key, value);
    mem_wipe(value, strlen(value));
    g_free(value);
    return true;
}

/* A key may not be a value and a group at once (a=1,a.b=2). */
static bool check_groups(const OptDict *d, GError **errp)
{
    for (size_t i = 0; i < optdict_size(d); i++) {
        g_autofree char *group = g_strdup(optdict_key_at(d, i));
        for (char *dot = strrchr(group, '.'); dot; dot = strrchr(group, '.')) {
            *dot = '\0';
            if (optdict_has(d, group)) {
                error_set(errp, "Parameters '%s.*' used inconsistently", group);
                return false;
            }
        }
    }
    return true;
}

OptDict *optdict_parse_keyval_strict(const char *text, const char *implied_key, GError **errp)
{
    g_autoptr(OptDict) d = optdict_new();
    const char *p = text;

    while (*p) {
        if (!scan_strict_element(&p, p == text ? implied_key : NULL, d, errp)) {
            return NULL;
        }
        p += *p == ',';
    }
    return check_groups(d, errp) ? g_steal_pointer(&d) : NULL;
}

char *optdict_escape_value(const char *value)
{
    GString *out = g_string_new(NULL);

    for (; *value; value++) {
        if (*value == ',') {
            g_string_append_c(out, ',');
        }
        g_string_append_c(out, *value);
    }
    return g_string_free(out, FALSE);
}
