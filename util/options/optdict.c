/* SPDX-License-Identifier: MIT */
#include "util/options/optdict.h"

#include <inttypes.h>
#include <string.h>

#include "util/base/secbuf.h"

typedef struct OptEntry {
    char *key, *value;
    OptKind kind;
} OptEntry;

struct OptDict {
    GPtrArray *entries; /* of OptEntry, in order; owns them */
    GHashTable *by_key; /* borrows; keeps hostile JSON with many keys linear */
};

/* Values may be secrets (data=). */
static void value_free(char *value)
{
    if (value) {
        mem_wipe(value, strlen(value));
        g_free(value);
    }
}

static void entry_free(gpointer p)
{
    OptEntry *e = p;

    g_free(e->key);
    value_free(e->value);
    g_free(e);
}

OptDict *optdict_new(void)
{
    OptDict *d = g_new0(OptDict, 1);

    d->entries = g_ptr_array_new_with_free_func(entry_free);
    d->by_key = g_hash_table_new(g_str_hash, g_str_equal);
    return d;
}

OptDict *optdict_copy(const OptDict *d)
{
    OptDict *copy = optdict_new();

    optdict_merge(copy, "", d, false);
    return copy;
}

void optdict_free(OptDict *d)
{
    if (!d) {
        return;
    }
    g_hash_table_destroy(d->by_key);
    g_ptr_array_free(d->entries, TRUE);
    g_free(d);
}

static OptEntry *find(const OptDict *d, const char *key)
{
    return g_hash_table_lookup(d->by_key, key);
}

static OptEntry *entry_at(const OptDict *d, size_t i)
{
    g_assert(i < d->entries->len);
    return g_ptr_array_index(d->entries, i);
}

void optdict_set_kind(OptDict *d, const char *key, const char *value, OptKind kind)
{
    OptEntry *e = find(d, key);
    char *copy = g_strdup(value); /* before the old one is freed: it may be @value */

    if (!e) {
        e = g_new0(OptEntry, 1);
        e->key = g_strdup(key);
        g_ptr_array_add(d->entries, e);
        g_hash_table_insert(d->by_key, e->key, e);
    }
    value_free(e->value);
    e->value = copy;
    e->kind = kind;
}

void optdict_set(OptDict *d, const char *key, const char *value)
{
    optdict_set_kind(d, key, value, OPT_STRING);
}

void optdict_set_int(OptDict *d, const char *key, int64_t value)
{
    char text[32];

    g_snprintf(text, sizeof(text), "%" PRId64, value);
    optdict_set_kind(d, key, text, OPT_INT);
}

void optdict_set_bool(OptDict *d, const char *key, bool value)
{
    optdict_set_kind(d, key, value ? "on" : "off", OPT_BOOL);
}

const char *optdict_get(const OptDict *d, const char *key)
{
    const OptEntry *e = find(d, key);

    return e ? e->value : NULL;
}

OptKind optdict_get_kind(const OptDict *d, const char *key)
{
    const OptEntry *e = find(d, key);

    return e ? e->kind : OPT_NULL;
}

bool optdict_has(const OptDict *d, const char *key)
{
    return find(d, key) != NULL;
}

bool optdict_has_prefix(const OptDict *d, const char *prefix)
{
    for (size_t i = 0; i < d->entries->len; i++) {
        if (g_str_has_prefix(entry_at(d, i)->key, prefix)) {
            return true;
        }
    }
    return false;
}

size_t optdict_size(const OptDict *d)
{
    return d->entries->len;
}

const char *optdict_key_at(const OptDict *d, size_t i)
{
    return entry_at(d, i)->key;
}

const char *optdict_value_at(const OptDict *d, size_t i)
{
    return entry_at(d, i)->value;
}

bool optdict_remove(OptDict *d, const char *key)
{
    OptEntry *e = find(d, key);

    if (!e) {
        return false;
    }
    g_hash_table_remove(d->by_key, e->key);
    g_ptr_array_remove(d->entries, e); /* frees it; keeps the order */
    return true;
}

char *optdict_take(OptDict *d, const char *key)
{
    OptEntry *e = find(d, key);

    if (!e) {
        return NULL;
    }
    char *value = g_steal_pointer(&e->value);
    optdict_remove(d, key);
    return value;
}

OptDict *optdict_take_prefix(OptDict *d, const char *prefix)
{
    OptDict *taken = optdict_new();
    size_t skip = strlen(prefix);
    GPtrArray *all = d->entries;

    d->entries = g_ptr_array_new_with_free_func(entry_free);
    g_ptr_array_set_free_func(all, NULL);
    for (size_t i = 0; i < all->len; i++) {
        OptEntry *e = g_ptr_array_index(all, i);
        if (!g_str_has_prefix(e->key, prefix)) {
            g_ptr_array_add(d->entries, e);
            continue;
        }
        optdict_set_kind(taken, e->key + skip, e->value, e->kind);
        g_hash_table_remove(d->by_key, e->key);
        entry_free(e);
    }
    g_ptr_array_free(all, TRUE);
    return taken;
}

void optdict_merge(OptDict *d, const char *prefix, const OptDict *src, bool keep)
{
    for (size_t i = 0; i < src->entries->len; i++) {
        const OptEntry *e = entry_at(src, i);
        g_autofree char *key = g_strconcat(prefix, e->key, NULL);
        if (!keep || !find(d, key)) {
            optdict_set_kind(d, key, e->value, e->kind);
        }
    }
}
