/* SPDX-License-Identifier: MIT */
/* Tables of typed options: each name appears once and feeds parsing, defaults, help and errors. Context: any. */
#ifndef QBLOCK_UTIL_OPTIONS_H
#define QBLOCK_UTIL_OPTIONS_H

#include <glib.h>
#include <stdbool.h>

#include "util/options/optdict.h"

typedef enum OptType { OPT_TYPE_STR, OPT_TYPE_SIZE, OPT_TYPE_NUM, OPT_TYPE_BOOL } OptType;

typedef struct OptDesc {
    const char *name;  /* NULL ends a table */
    OptType type;
    const char *help;
    const char *def;   /* shown and used when the option is not given; NULL = none */
    bool amendable;    /* also valid for amend */
} OptDesc;

/* True when every key of @d is in the table (or the table has an entry "name." that is a prefix of it) and has a value
 * of its type. Errors: "Invalid parameter 'foo'", and those of optdict_take_*(). */
bool options_check(const OptDict *d, const OptDesc *table, GError **errp);

/* Set the defaults of @table that @d lacks. */
void options_set_defaults(OptDict *d, const OptDesc *table);

/* The lines of "-o help": "  name=<type>    - help" sorted by name; "name=type" padded to 22 columns. Caller frees. */
char *options_help(const OptDesc *table);

const OptDesc *options_find(const OptDesc *table, const char *name); /* NULL if absent */

#endif
