/* SPDX-License-Identifier: MIT */
/* An OptDict back to JSON text, as json: names show it. */
#include "util/options/optdict.h"

#include <string.h>

#include "util/output/info-tree.h"
#include "util/json/json-lex.h"

/* Keys with more dots keep the rest of them literally: what is printed must be fit for reading. */
enum { MAX_NESTING = JSON_MAX_DEPTH - 1 };

static InfoTree *scalar_tree(const OptDict *d, const char *key)
{
    const char *value = optdict_get(d, key);

    switch (optdict_get_kind(d, key)) {
    case OPT_INT:
        return info_number_new(value);
    case OPT_BOOL:
        return info_bool_new(strcmp(value, "on") == 0);
    case OPT_NULL:
        return info_null_new();
    default:
        return info_str_new(value);
    }
}

/* The distinct first parts of the keys, in order. */
static GPtrArray *key_heads(const OptDict *d, int depth, GHashTable *seen)
{
    GPtrArray *heads = g_ptr_array_new_with_free_func(g_free);

    for (size_t i = 0; i < optdict_size(d); i++) {
        const char *key = optdict_key_at(d, i);
        size_t bytes = depth < MAX_NESTING ? strcspn(key, ".") : strlen(key);
        g_autofree char *head = g_strndup(key, bytes);
        if (!g_hash_table_contains(seen, head)) {
            g_hash_table_add(seen, head);
            g_ptr_array_add(heads, g_steal_pointer(&head));
        }
    }
    return heads;
}

/* Are the @heads exactly "0" .. "n-1"? Then it was a list, and they are put in the order of their numbers. */
static bool sort_list(GPtrArray *heads, GHashTable *seen)
{
    g_autoptr(GPtrArray) numbers = g_ptr_array_new_with_free_func(g_free);

    for (guint i = 0; i < heads->len; i++) {
        char *number = g_strdup_printf("%u", i);
        g_ptr_array_add(numbers, number);
        if (!g_hash_table_contains(seen, number)) {
            return false;
        }
    }
    for (guint i = 0; i < heads->len; i++) {
        char *number = g_ptr_array_index(numbers, i);
        g_ptr_array_index(numbers, i) = g_ptr_array_index(heads, i);
        g_ptr_array_index(heads, i) = number;
    }
    return heads->len > 0;
}

static InfoTree *dict_tree(OptDict *d, int depth)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GPtrArray) heads = key_heads(d, depth, seen);
    bool as_list = depth > 0 && sort_list(heads, seen);
    InfoTree *t = as_list ? info_array_new() : info_object_new();

    for (guint i = 0; i < heads->len; i++) {
        const char *head = g_ptr_array_index(heads, i);
        g_autofree char *prefix = g_strconcat(head, ".", NULL);
        g_autoptr(OptDict) group = depth < MAX_NESTING ? optdict_take_prefix(d, prefix) : optdict_new();
        /* A key that is a value and a group at once (refused by every consumer) shows as the group. */
        InfoTree *child = optdict_size(group) > 0 ? dict_tree(group, depth + 1) : scalar_tree(d, head);
        if (as_list) {
            info_append(t, child);
        } else {
            info_set(t, head, child);
        }
    }
    return t;
}

char *optdict_to_json(const OptDict *d)
{
    g_autoptr(OptDict) work = optdict_copy(d);
    g_autoptr(InfoTree) t = dict_tree(work, 0);

    info_sort_hash_order(t);
    return info_to_json(t, true);
}
