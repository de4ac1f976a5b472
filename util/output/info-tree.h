/* SPDX-License-Identifier: MIT */
/* InfoTree: an ordered tree of named values that prints as JSON and as indented text.
 *
 * What info, check, map and measure report is built as one of these; the printers are the only places that know how
 * output looks. A container owns its children; setting a key again replaces its value and keeps its place. Printing
 * recurses as deep as the tree: whoever builds one from foreign data bounds its depth. Not shared between threads. */
#ifndef QBLOCK_UTIL_INFO_TREE_H
#define QBLOCK_UTIL_INFO_TREE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct InfoTree InfoTree;

InfoTree *info_object_new(void);
InfoTree *info_array_new(void);
void info_free(InfoTree *t);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(InfoTree, info_free)

void info_set_str(InfoTree *obj, const char *key, const char *value); /* NULL value: nothing is set */
void info_set_uint(InfoTree *obj, const char *key, uint64_t value);
void info_set_int(InfoTree *obj, const char *key, int64_t value);
void info_set_bool(InfoTree *obj, const char *key, bool value);
void info_set(InfoTree *obj, const char *key, InfoTree *child); /* takes @child; NULL: nothing is set */
void info_append(InfoTree *array, InfoTree *child);            /* takes @child */

/* Scalars that are not members yet: for lists, and for values kept as text. Caller frees. */
InfoTree *info_str_new(const char *value);
InfoTree *info_uint_new(uint64_t value);
InfoTree *info_bool_new(bool value);
InfoTree *info_null_new(void);
InfoTree *info_number_new(const char *text); /* @text is a JSON number and printed as it is */

const InfoTree *info_get(const InfoTree *obj, const char *key); /* borrowed or NULL */
const char *info_str(const InfoTree *t);  /* NULL if not a string */
size_t info_size(const InfoTree *t);      /* members or items; 0 for a scalar */
bool info_is_container(const InfoTree *t);

/* Reorder the keys of @obj and everything below into the fixed order of the tools' JSON output (the hash rule of the
 * command-line sheet, "info": 512 buckets, later insertion first within a bucket). Arrays keep theirs. */
void info_sort_hash_order(InfoTree *t);

/* Pretty JSON: 4 spaces a level, "key": value, an empty container is "[", newline, indent, "]". With @compact one line
 * with ", " and ": ". Text beyond ASCII is escaped (\u00E9), invalid UTF-8 becomes \uFFFD. No final newline. Caller
 * frees. */
char *info_to_json(const InfoTree *t, bool compact);

/* Human form: "key: value" lines at @indent columns; dashes in keys become spaces; nested containers indent 4 more,
 * list items are "[0]:"; bools are true/false. Appends to @out. */
void info_to_human(const InfoTree *t, int indent, GString *out);

#endif
