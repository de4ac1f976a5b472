/* SPDX-License-Identifier: MIT */
/* Host clusters: find, take, free; refcounts behind them. All under meta_lock. Source: qcow2 sheet section 5. */
#ifndef QBLOCK_BLOCK_QCOW2_CLUSTERS_H
#define QBLOCK_BLOCK_QCOW2_CLUSTERS_H

#include "block/qcow2/state/qcow2-int.h"

typedef enum Qcow2FreeKind {
    QCOW2_FREE_NEVER,
    QCOW2_FREE_REQUEST,
    QCOW2_FREE_SNAPSHOT,
    QCOW2_FREE_OTHER
} Qcow2FreeKind;

/* Read the refcount table. Context: coroutine (open). */
bool coroutine_fn qcow2_refcounts_load(Qcow2State *s, GError **errp);
void qcow2_refcounts_free(Qcow2State *s);

/* Refcount of the cluster at @host_off. 0 and *@value, or -errno. */
int coroutine_fn qcow2_refcount_read_locked(Qcow2State *s, uint64_t host_off, uint64_t *value);

/* Take @bytes (rounded up to clusters) of contiguous free clusters; refcount 1. Returns the host offset (> 0) or
 * -errno. First fit from the cursor; new refcount blocks and a bigger table are made as needed. */
int64_t coroutine_fn qcow2_clusters_alloc_locked(Qcow2State *s, uint64_t bytes);

/* Take up to *@clusters contiguous free clusters for guest data, at least one: right at @wanted_off when that is free
 * (0 = no wish), else first fit. *@clusters is cut to what was taken. */
int64_t coroutine_fn qcow2_clusters_alloc_data_locked(Qcow2State *s, uint64_t wanted_off, uint64_t *clusters);

/* Take @bytes (< cluster) for a compressed cluster: byte cursor packing of section 7. Adds one reference per host
 * cluster touched. Returns the host byte offset or -errno. */
int64_t coroutine_fn qcow2_clusters_alloc_compressed_locked(Qcow2State *s, uint64_t bytes);

/* Add one reference to each cluster of the range at exactly @host_off (e.g. metadata placed by hand at creation). */
int coroutine_fn qcow2_clusters_ref_locked(Qcow2State *s, uint64_t host_off, uint64_t bytes);

/* Drop one reference of each cluster the range touches. Takes effect after the next metadata flush (invariant I4), when
 * no reader holds the range. Unaligned @host_off (non-compressed) is reported as corruption by the caller. */
void qcow2_clusters_free_locked(Qcow2State *s, uint64_t host_off, uint64_t bytes, Qcow2FreeKind kind);
/* Drop at once: for clusters never linked anywhere (failed writes). */
int coroutine_fn qcow2_clusters_unalloc_locked(Qcow2State *s, uint64_t host_off, uint64_t bytes);
/* Apply the frees whose mappings are gone on disk. For qcow2-flush. */
int coroutine_fn qcow2_clusters_apply_frees_locked(Qcow2State *s);

#endif
