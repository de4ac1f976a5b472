/* SPDX-License-Identifier: MIT */
/* The inside of an InfoTree; for util/info-*.c. */
#ifndef QBLOCK_UTIL_INFO_INT_H
#define QBLOCK_UTIL_INFO_INT_H

#include "util/output/info-tree.h"

typedef enum InfoKind { INFO_OBJECT, INFO_ARRAY, INFO_STRING, INFO_LITERAL } InfoKind;

typedef struct InfoMember {
    char *key; /* NULL in arrays */
    InfoTree *value;
} InfoMember;

struct InfoTree {
    InfoKind kind;
    GArray *members; /* of InfoMember; containers only */
    char *text;      /* scalars: a string's bytes, or a literal (number, true, false, null) as JSON spells it */
};

static inline InfoMember *info_member(const InfoTree *t, size_t i) { return &g_array_index(t->members, InfoMember, i); }

#endif
