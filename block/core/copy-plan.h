/* SPDX-License-Identifier: MIT */
/* What becomes of a window of data on its way to a target: pure, no I/O.
 *
 * A window is cut into units; each unit is data, zero, or left alone (the target's backing file provides it). The plan
 * turns units into runs: zeros shorter than the sparse size count as data, and data is rounded out over neighbouring
 * zeros to the target's clusters, so that no cluster is written in pieces. */
#ifndef QBLOCK_BLOCK_COPY_PLAN_H
#define QBLOCK_BLOCK_COPY_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum CopyKind { COPY_SKIP, COPY_ZERO, COPY_DATA } CopyKind;

typedef struct CopyRun {
    CopyKind kind;
    size_t start, bytes; /* inside the window */
} CopyRun;

typedef struct CopyPlan {
    size_t unit_bytes;
    size_t sparse_bytes;  /* 0: zeros are data too */
    size_t cluster_bytes; /* of the target; 0 = none. The window starts on a cluster boundary */
    size_t n_units, units_max;
    uint8_t *units;       /* CopyKind per unit */
} CopyPlan;

/* @window_bytes: the largest window; @sparse_bytes a multiple of 512 or 0. */
void copy_plan_init(CopyPlan *p, size_t window_bytes, size_t sparse_bytes, size_t cluster_bytes);
void copy_plan_destroy(CopyPlan *p);

/* Begin a window of @bytes (a last, short unit is allowed): all units are COPY_SKIP. */
void copy_plan_reset(CopyPlan *p, size_t bytes);

/* Mark [@start, @start+@bytes) of the window. A unit that is only partly covered takes the greater of what it has and
 * @kind, so data wins over zero and zero over skip. */
void copy_plan_mark(CopyPlan *p, size_t start, size_t bytes, CopyKind kind);

/* Look at @buf (the window's bytes) and turn units of COPY_DATA in [@start, @start+@bytes) that are all zero into
 * COPY_ZERO. Does nothing with sparse_bytes 0. */
void copy_plan_find_zeros(CopyPlan *p, const uint8_t *buf, size_t start, size_t bytes, size_t window_bytes);

/* Make every unit of a cluster that holds data COPY_DATA: for writers that take only whole clusters. */
void copy_plan_fill_clusters(CopyPlan *p);

/* Apply the sparse rule and the cluster rounding, once all units are marked. */
void copy_plan_settle(CopyPlan *p);

/* The next run at or after @pos (a unit boundary); false at the end of the window of @window_bytes. */
bool copy_plan_next(const CopyPlan *p, size_t pos, size_t window_bytes, CopyRun *run);

#endif
