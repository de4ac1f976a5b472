/* SPDX-License-Identifier: MIT */
/* Typed readings of option values, with the one error text of each type. Context: any; pure. */
#ifndef QBLOCK_UTIL_OPTDICT_VALUES_H
#define QBLOCK_UTIL_OPTDICT_VALUES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* on, yes, true, y or off, no, false, n. Error: "Parameter '<key>' expects 'on' or 'off'". */
bool optvalue_parse_bool(const char *key, const char *value, bool *out, GError **errp);

/* A size as number_parse_size() has it. Errors: "Parameter '<key>' expects a non-negative number below 2^64" with two
 * lines about suffixes, "Value '<value>' is out of range for parameter '<key>'". */
bool optvalue_parse_size(const char *key, const char *value, uint64_t *out, GError **errp);

/* A plain number up to @max. Errors: "Parameter '<key>' expects a number",
 * "Value '<value>' is too large for parameter '<key>'". */
bool optvalue_parse_uint(const char *key, const char *value, uint64_t max, uint64_t *out, GError **errp);

#endif
