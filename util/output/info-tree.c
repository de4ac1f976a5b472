/* SPDX-License-Identifier: MIT */
#include "util/output/info-tree.h"

#include <inttypes.h>
#include <string.h>

#include "util/output/info-int.h"

static void member_clear(gpointer p)
{
    InfoMember *m = p;

    g_free(m->key);
    info_free(m->value);
}

static InfoTree *container_new(InfoKind kind)
{
    InfoTree *t = g_new0(InfoTree, 1);

    t->kind = kind;
    t->members = g_array_new(FALSE, FALSE, sizeof(InfoMember));
    g_array_set_clear_func(t->members, member_clear);
    return t;
}

/* Takes @text. */
static InfoTree *scalar_new(InfoKind kind, char *text)
{
    InfoTree *t = g_new0(InfoTree, 1);

    t->kind = kind;
    t->text = text;
    return t;
}

InfoTree *info_object_new(void)
{
    return container_new(INFO_OBJECT);
}

InfoTree *info_array_new(void)
{
    return container_new(INFO_ARRAY);
}

InfoTree *info_str_new(const char *value)
{
    return scalar_new(INFO_STRING, g_strdup(value));
}

InfoTree *info_uint_new(uint64_t value)
{
    return scalar_new(INFO_LITERAL, g_strdup_printf("%" PRIu64, value));
}

InfoTree *info_bool_new(bool value)
{
    return scalar_new(INFO_LITERAL, g_strdup(value ? "true" : "false"));
}

InfoTree *info_null_new(void)
{
    return scalar_new(INFO_LITERAL, g_strdup("null"));
}

InfoTree *info_number_new(const char *text)
{
    return scalar_new(INFO_LITERAL, g_strdup(text));
}

void info_free(InfoTree *t)
{
    if (!t) {
        return;
    }
    if (t->members) {
        g_array_free(t->members, TRUE);
    }
    g_free(t->text);
    g_free(t);
}

static InfoMember *find_member(const InfoTree *obj, const char *key)
{
    g_assert(obj->kind == INFO_OBJECT);
    for (size_t i = 0; i < obj->members->len; i++) {
        InfoMember *m = info_member(obj, i);
        if (strcmp(m->key, key) == 0) {
            return m;
        }
    }
    return NULL;
}

void info_set(InfoTree *obj, const char *key, InfoTree *child)
{
    if (!child) {
        return;
    }
    InfoMember *old = find_member(obj, key);
    if (old) {
        info_free(old->value);
        old->value = child;
        return;
    }
    InfoMember m = {.key = g_strdup(key), .value = child};
    g_array_append_val(obj->members, m);
}

void info_append(InfoTree *array, InfoTree *child)
{
    InfoMember m = {.value = child};

    g_assert(array->kind == INFO_ARRAY);
    g_array_append_val(array->members, m);
}

void info_set_str(InfoTree *obj, const char *key, const char *value)
{
    if (value) {
        info_set(obj, key, info_str_new(value));
    }
}

void info_set_uint(InfoTree *obj, const char *key, uint64_t value)
{
    info_set(obj, key, info_uint_new(value));
}

void info_set_int(InfoTree *obj, const char *key, int64_t value)
{
    info_set(obj, key, scalar_new(INFO_LITERAL, g_strdup_printf("%" PRId64, value)));
}

void info_set_bool(InfoTree *obj, const char *key, bool value)
{
    info_set(obj, key, info_bool_new(value));
}

const InfoTree *info_get(const InfoTree *obj, const char *key)
{
    InfoMember *m = find_member(obj, key);

    return m ? m->value : NULL;
}

const char *info_str(const InfoTree *t)
{
    return t->kind == INFO_STRING ? t->text : NULL;
}

bool info_is_container(const InfoTree *t)
{
    return t->members != NULL;
}

size_t info_size(const InfoTree *t)
{
    return t->members ? t->members->len : 0;
}

/* Where the tools' hash table keeps a key (command-line sheet, "info"): scripts compare whole outputs, so its order is
 * part of the format. */
static unsigned key_bucket(const char *key)
{
    size_t len = strlen(key);
    uint32_t h = UINT32_C(0x238F13AF) * (uint32_t)len;

    for (size_t i = 0; i < len; i++) {
        h += (uint32_t)(uint8_t)key[i] << ((i * 5) % 24);
    }
    return (UINT32_C(1103515243) * h + 12345) % 512;
}

static gint compare_buckets(gconstpointer a, gconstpointer b)
{
    unsigned x = key_bucket(((const InfoMember *)a)->key);
    unsigned y = key_bucket(((const InfoMember *)b)->key);

    return (x > y) - (x < y);
}

static void reverse_members(GArray *members)
{
    for (size_t i = 0, j = members->len; i + 1 < j; i++) {
        j--;
        InfoMember m = g_array_index(members, InfoMember, i);
        g_array_index(members, InfoMember, i) = g_array_index(members, InfoMember, j);
        g_array_index(members, InfoMember, j) = m;
    }
}

void info_sort_hash_order(InfoTree *t)
{
    if (!t->members) {
        return;
    }
    if (t->kind == INFO_OBJECT) {
        reverse_members(t->members); /* the sort is stable: of two in a bucket the later insertion comes first */
        g_array_sort(t->members, compare_buckets);
    }
    for (size_t i = 0; i < t->members->len; i++) {
        info_sort_hash_order(info_member(t, i)->value);
    }
}
