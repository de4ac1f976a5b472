/* SPDX-License-Identifier: MIT */
#include "util/options/options.h"

#include <string.h>

#include "util/base/error.h"
#include "util/options/optdict-values.h"

/* What "-o help" calls a type. */
static const char *type_name(OptType type)
{
    switch (type) {
    case OPT_TYPE_SIZE:
        return "size";
    case OPT_TYPE_NUM:
        return "num";
    case OPT_TYPE_BOOL:
        return "bool (on/off)";
    case OPT_TYPE_STR:
        break;
    }
    return "str";
}

static bool is_group(const OptDesc *desc)
{
    return g_str_has_suffix(desc->name, ".");
}

const OptDesc *options_find(const OptDesc *table, const char *name)
{
    for (const OptDesc *desc = table; desc->name; desc++) {
        if (strcmp(desc->name, name) == 0) {
            return desc;
        }
    }
    return NULL;
}

/* The row for @key: its own, or that of a group it is in. */
static const OptDesc *find_row(const OptDesc *table, const char *key)
{
    const OptDesc *own = options_find(table, key);

    for (const OptDesc *desc = table; !own && desc->name; desc++) {
        if (is_group(desc) && g_str_has_prefix(key, desc->name)) {
            return desc;
        }
    }
    return own;
}

static bool check_value(const OptDesc *desc, const char *key, const char *value, GError **errp)
{
    bool flag;
    uint64_t number;

    switch (desc->type) {
    case OPT_TYPE_BOOL:
        return optvalue_parse_bool(key, value, &flag, errp);
    case OPT_TYPE_SIZE:
        return optvalue_parse_size(key, value, &number, errp);
    case OPT_TYPE_NUM:
        return optvalue_parse_uint(key, value, UINT64_MAX, &number, errp);
    case OPT_TYPE_STR:
        break;
    }
    return true;
}

bool options_check(const OptDict *d, const OptDesc *table, GError **errp)
{
    for (size_t i = 0; i < optdict_size(d); i++) {
        const char *key = optdict_key_at(d, i);
        const OptDesc *desc = find_row(table, key);
        if (!desc) {
            error_set(errp, "Invalid parameter '%s'", key);
            return false;
        }
        if (!check_value(desc, key, optdict_value_at(d, i), errp)) {
            return false;
        }
    }
    return true;
}

void options_set_defaults(OptDict *d, const OptDesc *table)
{
    for (const OptDesc *desc = table; desc->name; desc++) {
        if (desc->def && !optdict_has(d, desc->name)) {
            optdict_set(d, desc->name, desc->def);
        }
    }
}

static gint compare_names(gconstpointer a, gconstpointer b)
{
    const OptDesc *x = *(const OptDesc *const *)a, *y = *(const OptDesc *const *)b;

    return strcmp(x->name, y->name);
}

char *options_help(const OptDesc *table)
{
    g_autoptr(GPtrArray) rows = g_ptr_array_new();
    GString *out = g_string_new(NULL);

    for (const OptDesc *desc = table; desc->name; desc++) {
        if (!is_group(desc)) {
            g_ptr_array_add(rows, (gpointer)desc);
        }
    }
    g_ptr_array_sort(rows, compare_names);
    for (guint i = 0; i < rows->len; i++) {
        const OptDesc *desc = g_ptr_array_index(rows, i);
        g_autofree char *name = g_strdup_printf("%s=<%s>", desc->name, type_name(desc->type));
        g_string_append_printf(out, "  %-22s - %s\n", name, desc->help ? desc->help : "");
    }
    return g_string_free(out, FALSE);
}
