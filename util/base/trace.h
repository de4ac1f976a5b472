/* SPDX-License-Identifier: MIT */
/* Trace events: always compiled, one branch when off. Never a key, passphrase or guest byte.
 *
 *     trace(TRACE_QCOW2, "alloc", "req=%u guest=0x%" PRIx64 " clusters=%u", req, guest_off, n);
 *
 * prints "<seconds> <tid> qcow2:alloc req=1 guest=0x0 clusters=4" on stderr (or the file of --trace file=F).
 * --trace takes [enable=]PATTERN where PATTERN is "group", "group:event", or a glob of either. Context: any. */
#ifndef QBLOCK_UTIL_TRACE_H
#define QBLOCK_UTIL_TRACE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum TraceGroup {
    TRACE_UTIL,
    TRACE_CRYPTO,
    TRACE_BLOCK,
    TRACE_FILE,
    TRACE_QCOW2,
    TRACE_TOOL,
    TRACE_NBD,
    TRACE_GROUPS
} TraceGroup;

extern uint32_t trace_mask; /* bit per group; read only outside trace.c */

#define trace(group, event, ...) \
    do { \
        if (G_UNLIKELY(trace_mask & (1u << (group)))) trace_print(group, event, __VA_ARGS__); \
    } while (0)

void trace_print(TraceGroup group, const char *event, const char *fmt, ...) G_GNUC_PRINTF(3, 4);

/* Parse one --trace argument: "[enable=]PATTERN[,file=F][,events=FILE]". "help" lists groups on stdout and is true. */
bool trace_option(const char *arg, GError **errp);

#endif
