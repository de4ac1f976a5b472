/* SPDX-License-Identifier: MIT */
/* Runtime options of a qcow2 node: table, checks, defaults. Source: qcow2 sheet section 17. */
#ifndef QBLOCK_BLOCK_QCOW2_OPTIONS_H
#define QBLOCK_BLOCK_QCOW2_OPTIONS_H

#include "block/qcow2/state/qcow2-int.h"

extern const OptDesc qcow2_open_opts[];

/* Take the options of the driver (all but "encrypt.*") out of @options into @s: cache limits, discard rules, overlap
 * checks, lazy refcounts, cipher offload. s->header and s->geo are set. @flags: BLOCK_OPEN_*. Context: any. */
bool qcow2_options_take(Qcow2State *s, OptDict *options, unsigned flags, GError **errp);

#endif
