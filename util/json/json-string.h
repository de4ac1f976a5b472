/* SPDX-License-Identifier: MIT */
/* Strings as JSON spells them. Context: any; pure. */
#ifndef QBLOCK_UTIL_JSON_STRING_H
#define QBLOCK_UTIL_JSON_STRING_H

#include <glib.h>

/* Append @text in double quotes, all ASCII: what is beyond it is escaped as UTF-16 (\u00E9, \uD83D\uDE00). Each
 * malformed, overlong or surrogate sequence and each non-character becomes one \uFFFD; the two-byte form of NUL is
 * \u0000. */
void json_string_append(GString *out, const char *text);

#endif
