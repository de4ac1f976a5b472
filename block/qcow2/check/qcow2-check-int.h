/* SPDX-License-Identifier: MIT */
/* State of one check, shared by qcow2-check*.c and qcow2-repair.c. */
#ifndef QBLOCK_BLOCK_QCOW2_CHECK_INT_H
#define QBLOCK_BLOCK_QCOW2_CHECK_INT_H

#include "block/qcow2/check/qcow2-check.h"

/* References found, by cluster index: 16 bits each where the image's refcounts have no more, else 32. */
typedef struct Qcow2Counts {
    void *values;
    uint64_t len;  /* entries allocated; those behind are 0 */
    bool wide;
    uint32_t max;  /* a count stops here */
} Qcow2Counts;

/* The refcounts on disk: the whole table, one block at a time. */
typedef struct Qcow2DiskRefs {
    uint64_t *table; /* host byte order */
    uint64_t entries;
    uint8_t *block;      /* contents of block_idx */
    uint64_t block_idx;  /* UINT64_MAX: none */
    uint64_t block_off;  /* 0: the table has no usable block there; all its refcounts are 0 */
    bool block_dirty;
} Qcow2DiskRefs;

typedef struct Qcow2Check {
    Qcow2State *s;
    BlockNode *file;
    const Qcow2Geometry *g;
    Qcow2Header *h;
    BlockCheckResult *res;
    unsigned fix;
    uint64_t file_bytes, clusters; /* of the file, rounded up */
    uint64_t rebuild_limit;        /* host bytes: new tables stay below */
    uint64_t lost_from, lost_end;  /* host bytes below the limit that references leaving the file mean; empty: none */
    Qcow2Counts counts;
    Qcow2DiskRefs disk;
    bool need_rebuild;
} Qcow2Check;

/* A finding, one line on stderr. */
void qcow2_check_report(const char *fmt, ...) G_GNUC_PRINTF(1, 2);
/* The same, counted as a corruption. */
void qcow2_check_corruption(Qcow2Check *c, const char *fmt, ...) G_GNUC_PRINTF(2, 3);

/* Read @bytes of the file at any @host_off; what is behind its end reads as zeros. Context: coroutine. */
int coroutine_fn qcow2_check_read(Qcow2Check *c, uint64_t host_off, void *buf, uint64_t bytes);
/* Read a table of big-endian 64-bit entries into host byte order. *@table: freed by the caller with g_free(). */
int coroutine_fn qcow2_check_read_table(Qcow2Check *c, uint64_t host_off, uint64_t entries, uint64_t **table);

/* --- qcow2-check-counts: references found --- */
int qcow2_counts_init(Qcow2Check *c);
void qcow2_counts_free(Qcow2Counts *k);
uint32_t qcow2_counts_get(const Qcow2Counts *k, uint64_t cluster);
/* 0 or -ENOMEM. */
int qcow2_counts_set(Qcow2Counts *k, uint64_t cluster, uint32_t value);
/* No references in [@first, @first + @n)? */
bool qcow2_counts_none(const Qcow2Counts *k, uint64_t first, uint64_t n);
/* Count one reference to each cluster that the range touches; a range that leaves the file is a corruption, and noted
 * in lost_from and lost_end. */
int qcow2_count_range(Qcow2Check *c, uint64_t host_off, uint64_t bytes);

/* --- qcow2-check-refs: refcounts on disk --- */
int coroutine_fn qcow2_disk_refs_load(Qcow2Check *c);
void qcow2_disk_refs_free(Qcow2DiskRefs *d);
/* Count the table and its blocks. */
int coroutine_fn qcow2_count_refcounts(Qcow2Check *c);
/* 0 and *@value; errno of the read. */
int coroutine_fn qcow2_disk_ref_get(Qcow2Check *c, uint64_t cluster, uint64_t *value);
int coroutine_fn qcow2_disk_ref_set(Qcow2Check *c, uint64_t cluster, uint64_t value);
int coroutine_fn qcow2_disk_refs_flush(Qcow2Check *c);

/* --- qcow2-check-walk: count header, mappings and the rest; statistics --- */
int coroutine_fn qcow2_count_all(Qcow2Check *c);
/* --- qcow2-check-extra: count snapshots and bitmaps --- */
int coroutine_fn qcow2_count_snapshots(Qcow2Check *c);
int coroutine_fn qcow2_count_bitmaps(Qcow2Check *c);
/* Count an L1 table and everything below; @active: its statistics count and its entries may be repaired. */
int coroutine_fn qcow2_count_l1(Qcow2Check *c, uint64_t l1_off, uint64_t entries, bool active);

/* --- qcow2-check-copied --- */
/* COPIED flags of the active tables against the refcounts on disk. */
int coroutine_fn qcow2_check_copied(Qcow2Check *c);

/* --- qcow2-repair --- */
/* Write new refcount blocks and a new table from c->counts into free clusters and switch the header to them. */
int coroutine_fn qcow2_rebuild_refcounts(Qcow2Check *c);

#endif
