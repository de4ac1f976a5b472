/* SPDX-License-Identifier: MIT */
/* Where guest ranges live: lookups, and changes of the L1 and L2 tables. Source: qcow2 sheet section 6. */
#ifndef QBLOCK_BLOCK_QCOW2_MAP_H
#define QBLOCK_BLOCK_QCOW2_MAP_H

#include "block/qcow2/state/qcow2-int.h"
#include "block/qcow2/state/qcow2-reader.h"

typedef enum Qcow2Kind {
    QCOW2_KIND_UNALLOCATED, /* backing chain, else zeros */
    QCOW2_KIND_ZERO_PLAIN,
    QCOW2_KIND_ZERO_ALLOC,  /* reads zero, host cluster kept */
    QCOW2_KIND_NORMAL,
    QCOW2_KIND_COMPRESSED,  /* always one cluster a run */
} Qcow2Kind;

typedef struct Qcow2Map {
    Qcow2Kind kind;
    bool copied;       /* every cluster of the run may be written in place */
    uint64_t host_off; /* host byte of the first guest byte asked for (NORMAL, ZERO_ALLOC); blob start (COMPRESSED) */
    uint64_t host_bytes; /* COMPRESSED: span */
} Qcow2Map;

/* Find where a guest range lives.
 * @guest_off, @bytes: guest bytes, any alignment; *@bytes is cut to the run found (same kind, contiguous, same copied).
 * @reader: when not NULL and the run is compressed or not copied, registered atomically with the lookup (else its bytes
 *          are 0); the caller ends it by qcow2_reader_end(), which is a no-op for bytes 0.
 * Returns:  0; -EIO if a table is corrupt (the image is marked so); -ENOMEDIUM on a corrupt image; errno of a table
 *           read.
 * Context:  coroutine, no lock held (meta_lock may be held when @reader is NULL); yields on a cache miss. */
int coroutine_fn qcow2_lookup(Qcow2State *s, uint64_t guest_off, uint64_t *bytes, Qcow2Map *map, Qcow2Reader *reader);

/* --- L1 --- */
bool coroutine_fn qcow2_l1_load(Qcow2State *s, GError **errp);
void qcow2_l1_free(Qcow2State *s);
/* At least @entries; switches the header (I5). Context: coroutine, meta_lock held. */
int coroutine_fn qcow2_l1_grow_locked(Qcow2State *s, uint64_t entries);
int coroutine_fn qcow2_l1_write_dirty_locked(Qcow2State *s);
/* Change an entry, in memory. Context: meta_lock held, l2 guard not. */
void qcow2_l1_set_entry_locked(Qcow2State *s, uint64_t idx, uint64_t entry);

/* --- L2 --- */
/* Kind of an L2 entry (the zero flag exists since version 3). */
Qcow2Kind qcow2_entry_kind(const Qcow2State *s, uint64_t entry);
/* Note that what @entry maps is unmapped now: its host clusters are freed by the rules of qcow2-clusters.
 * @kind: Qcow2FreeKind. Context: coroutine, meta_lock held, l2 guard not. */
void coroutine_fn qcow2_entry_free_locked(Qcow2State *s, uint64_t entry, int kind);

/* Pin the L2 table that maps @guest_off for writing: allocates it, or copies a shared one. -errno.
 * Context: coroutine, meta_lock held. */
int coroutine_fn qcow2_l2_get_writable_locked(Qcow2State *s, uint64_t guest_off, void **table);

/* Load/store of entry @idx of an L2 table (@table from the cache). Context: l2 guard held. */
uint64_t qcow2_l2_entry(const Qcow2State *s, const void *table, unsigned idx);
void qcow2_l2_set_entry(const Qcow2State *s, void *table, unsigned idx, uint64_t entry);

#endif
