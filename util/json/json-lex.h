/* SPDX-License-Identifier: MIT */
/* The lexical front of the JSON reader: checks tokens, bounds size and depth, and spells every scalar as a string with
 * its kind in front.
 *
 * It is there for what a JSON library does not do: strings in single quotes, numbers that keep their text (2^64-1 fits
 * no double), a depth that is bounded before anything recurses, and error texts that name the offending token. Grammar
 * and tree stay the library's. Context: any; pure. */
#ifndef QBLOCK_UTIL_JSON_LEX_H
#define QBLOCK_UTIL_JSON_LEX_H

#include <glib.h>
#include <stdbool.h>

#define JSON_MAX_BYTES (1u << 20)
#define JSON_MAX_DEPTH 64

/* The first byte of each rewritten scalar. */
enum {
    JSON_TAG_STRING = 's',
    JSON_TAG_NUMBER = 'i', /* the number's text follows */
    JSON_TAG_TRUE = 't',
    JSON_TAG_FALSE = 'f',
    JSON_TAG_NULL = 'n',
};

/* Append to @out the JSON text @text in which every scalar (keys too) is a tagged string: {"a": 5} becomes {"sa":"i5"}.
 * False with errp: "JSON parse error, <what>", "Expecting a JSON value", "Expecting at most one JSON value",
 * "JSON nesting depth limit exceeded". */
bool json_lex_tag(const char *text, GString *out, GError **errp);

#endif
