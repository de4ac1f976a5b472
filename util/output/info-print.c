/* SPDX-License-Identifier: MIT */
#include "util/output/info-tree.h"

#include <string.h>

#include "util/output/info-int.h"
#include "util/json/json-string.h"

enum { INDENT = 4 };

static void append_spaces(GString *out, int count)
{
    g_string_append_printf(out, "%*s", count, "");
}

/* Where the next element goes: a line of its own, or behind ", ". */
static void json_separate(GString *out, size_t i, int indent, bool compact)
{
    if (i > 0) {
        g_string_append_c(out, ',');
    }
    if (!compact) {
        g_string_append_c(out, '\n');
        append_spaces(out, indent);
    } else if (i > 0) {
        g_string_append_c(out, ' ');
    }
}

static void append_json(GString *out, const InfoTree *t, int indent, bool compact)
{
    if (!t->members) {
        if (t->kind == INFO_STRING) {
            json_string_append(out, t->text);
        } else {
            g_string_append(out, t->text);
        }
        return;
    }
    bool is_object = t->kind == INFO_OBJECT;
    g_string_append_c(out, is_object ? '{' : '[');
    for (size_t i = 0; i < t->members->len; i++) {
        const InfoMember *m = info_member(t, i);
        json_separate(out, i, indent + INDENT, compact);
        if (is_object) {
            json_string_append(out, m->key);
            g_string_append(out, ": ");
        }
        append_json(out, m->value, indent + INDENT, compact);
    }
    json_separate(out, 0, indent, compact);
    g_string_append_c(out, is_object ? '}' : ']');
}

char *info_to_json(const InfoTree *t, bool compact)
{
    GString *out = g_string_new(NULL);

    append_json(out, t, 0, compact);
    return g_string_free(out, FALSE);
}

static void append_human_label(GString *out, const InfoMember *m, size_t i)
{
    if (!m->key) {
        g_string_append_printf(out, "[%zu]:", i);
        return;
    }
    for (const char *p = m->key; *p; p++) {
        g_string_append_c(out, *p == '-' ? ' ' : *p);
    }
    g_string_append_c(out, ':');
}

void info_to_human(const InfoTree *t, int indent, GString *out)
{
    g_assert(t->members);
    for (size_t i = 0; i < t->members->len; i++) {
        const InfoMember *m = info_member(t, i);
        append_spaces(out, indent);
        append_human_label(out, m, i);
        if (m->value->members) {
            g_string_append_c(out, '\n');
            info_to_human(m->value, indent + INDENT, out);
        } else {
            g_string_append_printf(out, " %s\n", m->value->text);
        }
    }
}
