/* SPDX-License-Identifier: MIT */
/* OptDict: an ordered, flat dictionary of options with dotted keys ("file.filename", "encrypt.key-secret").
 *
 * Every spelling of options (key=value text, JSON nested or dotted, --object) is turned into one. Values keep the kind
 * they were written with, so that json: names print back as typed. A consumer takes what it knows; what is left over at
 * the end is an unknown option. Not shared between threads. */
#ifndef QBLOCK_UTIL_OPTDICT_H
#define QBLOCK_UTIL_OPTDICT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum OptKind { OPT_STRING, OPT_INT, OPT_BOOL, OPT_NULL } OptKind;

typedef struct OptDict OptDict;

OptDict *optdict_new(void);
OptDict *optdict_copy(const OptDict *d);
void optdict_free(OptDict *d);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OptDict, optdict_free)

/* Setting an existing key replaces its value and keeps its place. Strings are copied. */
void optdict_set(OptDict *d, const char *key, const char *value);
void optdict_set_kind(OptDict *d, const char *key, const char *value, OptKind kind);
void optdict_set_int(OptDict *d, const char *key, int64_t value);
void optdict_set_bool(OptDict *d, const char *key, bool value);

const char *optdict_get(const OptDict *d, const char *key); /* borrowed text form, or NULL if absent */
OptKind optdict_get_kind(const OptDict *d, const char *key); /* OPT_NULL if absent */
bool optdict_has(const OptDict *d, const char *key);
bool optdict_has_prefix(const OptDict *d, const char *prefix); /* "file." */
size_t optdict_size(const OptDict *d);
const char *optdict_key_at(const OptDict *d, size_t i);   /* in order; borrowed */
const char *optdict_value_at(const OptDict *d, size_t i);
bool optdict_remove(OptDict *d, const char *key);

/* Take: remove and return. NULL / unchanged *out and true when absent; false with errp on a malformed value:
 * "Parameter 'k' expects 'on' or 'off'" (on/yes/true/y, off/no/false/n are taken), "Parameter 'k' expects a
 * non-negative number below 2^64" + two suffix lines, "Parameter 'k' expects a number", "Value 'v' is out of range for
 * parameter 'k'", "Value 'v' is too large for parameter 'k'". */
char *optdict_take(OptDict *d, const char *key); /* caller frees */
bool optdict_take_bool(OptDict *d, const char *key, bool *out, GError **errp);
bool optdict_take_size(OptDict *d, const char *key, uint64_t *out, GError **errp);
bool optdict_take_uint(OptDict *d, const char *key, uint64_t max, uint64_t *out, GError **errp);

/* Move every key that starts with @prefix into a new dictionary, without the prefix. Caller frees; may be empty. */
OptDict *optdict_take_prefix(OptDict *d, const char *prefix);
/* Copy every key of @src into @d under @prefix (may be ""). Existing keys of @d win when @keep, else are replaced. */
void optdict_merge(OptDict *d, const char *prefix, const OptDict *src, bool keep);

/* key=value,key=value; ",," is a comma in a value. A first element without '=' becomes @implied_key's value when given.
 * A later element "key" alone means key=on, "nokey" is no special case. "key=" is an empty string, "=v" has the empty
 * key, a trailing comma adds nothing (tools refuse it for -o). The last of equal keys wins. Every text is valid, so the
 * result is never NULL. */
OptDict *optdict_parse_keyval(const char *text, const char *implied_key, GError **errp);

/* The same in the stricter grammar of --object: keys are dotted words, each element but an implied one has its '='.
 * NULL: "Invalid parameter 'k'", "Expected '=' after parameter 'k'", "Parameters 'k.*' used inconsistently". */
OptDict *optdict_parse_keyval_strict(const char *text, const char *implied_key, GError **errp);

/* One JSON object, nested or dotted keys, arrays become "key.0", "key.1"; an empty container is an empty string.
 * Accepts strings in single quotes, as scripts write them in json: names. Whole numbers keep their text, null is an
 * empty OPT_NULL, booleans are "on" and "off". Depth <= 64, text <= 1 MiB, 4096 values, keys <= 512 bytes. NULL: "JSON
 * parse error, <what>", "Expecting a JSON value", "Expecting at most one JSON value", "Invalid JSON object given" (not
 * an object), "JSON nesting depth limit exceeded". */
OptDict *optdict_parse_json(const char *text, GError **errp);

/* Back to one JSON object text, nested, in the key order of info_sort_hash_order(); "k.0", "k.1" become a list:
 * {"driver": "qcow2", "file": {"driver": "file"}}. Caller frees. */
char *optdict_to_json(const OptDict *d);

/* Doubles the commas of @value, as Formatting lines and -o texts need. Caller frees. */
char *optdict_escape_value(const char *value);

#endif
