/* SPDX-License-Identifier: MIT */
#include "block/core/copy-plan.h"

#include <glib.h>
#include <string.h>

#include "util/base/iov.h"
#include "util/base/units.h"

void copy_plan_init(CopyPlan *p, size_t window_bytes, size_t sparse_bytes, size_t cluster_bytes)
{
    *p = (CopyPlan){.sparse_bytes = sparse_bytes, .cluster_bytes = cluster_bytes};
    p->unit_bytes = sparse_bytes && sparse_bytes % 4096 ? SECTOR_SIZE : 4096;
    if (cluster_bytes && cluster_bytes < p->unit_bytes) {
        p->unit_bytes = cluster_bytes;
    }
    p->units_max = div_round_up(window_bytes, p->unit_bytes);
    p->units = g_malloc(p->units_max);
}

void copy_plan_destroy(CopyPlan *p)
{
    g_clear_pointer(&p->units, g_free);
}

void copy_plan_reset(CopyPlan *p, size_t bytes)
{
    p->n_units = div_round_up(bytes, p->unit_bytes);
    g_assert(p->n_units <= p->units_max);
    memset(p->units, COPY_SKIP, p->n_units);
}

void copy_plan_mark(CopyPlan *p, size_t start, size_t bytes, CopyKind kind)
{
    size_t end = div_round_up(start + bytes, p->unit_bytes);

    for (size_t i = start / p->unit_bytes; i < end; i++) {
        p->units[i] = MAX(p->units[i], kind);
    }
}

void copy_plan_find_zeros(CopyPlan *p, const uint8_t *buf, size_t start, size_t bytes, size_t window_bytes)
{
    size_t end = div_round_up(start + bytes, p->unit_bytes);

    if (!p->sparse_bytes) {
        return;
    }
    for (size_t i = start / p->unit_bytes; i < end; i++) {
        size_t pos = i * p->unit_bytes;
        if (p->units[i] == COPY_DATA && buffer_is_zero(buf + pos, MIN(p->unit_bytes, window_bytes - pos))) {
            p->units[i] = COPY_ZERO;
        }
    }
}

/* Length in units of the run of equal kind at @i. */
static size_t run_units(const CopyPlan *p, size_t i)
{
    size_t n = 1;

    while (i + n < p->n_units && p->units[i + n] == p->units[i]) {
        n++;
    }
    return n;
}

/* Zeros shorter than the sparse size that touch data are written with it. */
static void apply_sparse_rule(CopyPlan *p)
{
    for (size_t i = 0, n; i < p->n_units; i += n) {
        n = run_units(p, i);
        bool touches_data =
            (i > 0 && p->units[i - 1] == COPY_DATA) || (i + n < p->n_units && p->units[i + n] == COPY_DATA);
        if (p->units[i] == COPY_ZERO && touches_data && n * p->unit_bytes < p->sparse_bytes) {
            memset(p->units + i, COPY_DATA, n);
        }
    }
}

/* Inside a cluster that holds data, units of kind @lowest or above become data. */
static void round_to_clusters(CopyPlan *p, CopyKind lowest)
{
    size_t per_cluster = MAX(p->cluster_bytes / p->unit_bytes, 1);

    for (size_t i = 0; i < p->n_units; i += per_cluster) {
        size_t n = MIN(per_cluster, p->n_units - i);
        if (!memchr(p->units + i, COPY_DATA, n)) {
            continue;
        }
        for (size_t k = i; k < i + n; k++) {
            p->units[k] = p->units[k] >= lowest ? COPY_DATA : p->units[k];
        }
    }
}

void copy_plan_fill_clusters(CopyPlan *p)
{
    round_to_clusters(p, COPY_SKIP);
}

void copy_plan_settle(CopyPlan *p)
{
    if (!p->sparse_bytes) {
        for (size_t i = 0; i < p->n_units; i++) {
            p->units[i] = p->units[i] == COPY_ZERO ? COPY_DATA : p->units[i];
        }
        return;
    }
    if (p->sparse_bytes > p->unit_bytes) {
        apply_sparse_rule(p);
    }
    if (p->cluster_bytes > p->unit_bytes) {
        round_to_clusters(p, COPY_ZERO); /* what the backing file provides stays its own */
    }
}

bool copy_plan_next(const CopyPlan *p, size_t pos, size_t window_bytes, CopyRun *run)
{
    size_t i = pos / p->unit_bytes;

    if (pos >= window_bytes || i >= p->n_units) {
        return false;
    }
    run->kind = p->units[i];
    run->start = i * p->unit_bytes;
    run->bytes = MIN(run_units(p, i) * p->unit_bytes, window_bytes - run->start);
    return true;
}
