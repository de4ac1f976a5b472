/* SPDX-License-Identifier: MIT */
/* State of an open qcow2 image, grouped by guard. For block/qcow2/ only.
 *
 * Two locks, in this order: meta_lock, then the l2 cache's guard. (The refblock cache has a guard of its own, taken
 * last.)
 *  - meta_lock (CoMutex): allocation, refcounts, linking, metadata write-out. Never held across guest data I/O, a
 *    cipher or a compressor. May be held across metadata I/O.
 *  - l2 guard (plain mutex in the l2 cache, qcow2_cache_lock()): contents of cached L2 tables and of the L1 array, and
 *    the list of readers. Held for microseconds, never across a yield. Lookups of cached tables take only this one, so
 *    they wait for no other request's I/O. L1/L2 contents and the refcount table change only with both held.
 *
 * Write-order invariants, kept by qcow2-flush.c and named in tests:
 *  I1 a refcount is on disk (stable) before any L2, L1 or table entry that relies on it;
 *  I2 guest data and its copy-on-write edges are stable before the L2 entry that maps them;
 *  I3 an L2 table is stable before the L1 entry that points at it; a refcount block before its table entry;
 *  I4 a cluster is reused, and its refcount lowered on disk, only after the entries that mapped it are gone on disk;
 *  I5 the header switches to a new L1 or refcount table only when that is stable; the old one is freed after.
 * So a crash leaves leaks only. */
#ifndef QBLOCK_BLOCK_QCOW2_INT_H
#define QBLOCK_BLOCK_QCOW2_INT_H

#include "block/block-int.h"
#include "block/crypt/crypt-io.h"
#include "block/qcow2/state/qcow2-cache.h"
#include "block/qcow2/format/qcow2-format.h"
#include "block/qcow2/format/qcow2-geometry.h"
#include "block/qcow2/format/qcow2-header.h"
#include "util/coroutine/co-lock.h"
#include "util/base/trace.h"

/* The active L1 table. Guard: read with l2 guard or meta_lock; written with both. */
typedef struct Qcow2L1 {
    uint64_t *table;     /* host byte order; size entries */
    uint32_t size;
    uint64_t host_off;
    unsigned long *dirty; /* bit per 512-byte sector of the table on disk; util/bitmap-like, owned by qcow2-l1 */
    bool any_dirty;
} Qcow2L1;

/* Host bytes whose mapping is gone in memory; kind: Qcow2FreeKind. */
typedef struct Qcow2PendingFree { uint64_t host_off, bytes; int kind; } Qcow2PendingFree;

enum { QCOW2_COMPRESSED_RESTS = 4 };

/* Refcount table and cursor. Guard: meta_lock; table, entries and host_off are switched with the l2 guard held too. */
typedef struct Qcow2Refcounts {
    uint64_t *table;     /* host byte order; entries */
    uint64_t entries, host_off;
    uint64_t used_entries; /* those from here on are 0 */
    bool table_dirty;
    bool blocks_unsynced; /* blocks were written since the last sync */
    uint64_t dirty_first, dirty_last; /* entry range when table_dirty */
    uint64_t free_cursor;  /* cluster index: nothing below is free (except pending frees) */
    uint64_t compressed_cursor; /* host byte offset in a partly filled cluster; 0 = none */
    uint64_t compressed_rests[QCOW2_COMPRESSED_RESTS]; /* the same of clusters left behind, for blobs that fit */
    GArray *pending_frees; /* of Qcow2PendingFree: unmapped in memory, refcount lowered after the next metadata flush */
    uint64_t pending_free_bytes;
    int failed; /* sticky -errno: the header's table pointer on disk is unknown, nothing may be allocated any more */
} Qcow2Refcounts;

struct Qcow2Join;

/* An allocation whose data is in flight, not yet linked. On the writer's stack. Guard: meta_lock. */
typedef struct Qcow2Link {
    uint64_t guest_off;  /* cluster aligned */
    uint64_t clusters;
    uint64_t host_off;   /* of the first; contiguous */
    bool reused;         /* host clusters were ours already (preallocated zero): nothing to free on failure */
    CoQueue waiters;     /* requests that touch these clusters; under the l2 guard */
    bool open;           /* the data of others may join; under the l2 guard */
    struct Qcow2Join *joins, **joins_end; /* the same while open; then the writer's */
    struct Qcow2Link *prev, *next;
} Qcow2Link;

/* A read of host bytes that must not be reused meanwhile (compressed or shared clusters). Guard: l2 guard. */
typedef struct Qcow2Reader { uint64_t host_off, bytes; struct Qcow2Reader *prev, *next; } Qcow2Reader;

typedef struct Qcow2State {
    /* fixed after open */
    BlockNode *node;       /* backpointer */
    BlockNode *data;       /* where guest data lives: node->file (or the data file later) */
    Qcow2Geometry geo;
    CryptIo crypt;         /* crypt.crypto NULL = not encrypted or opened without key */
    uint32_t zero_edge_bytes; /* edges of zeros from this size on are a zero write, smaller ones are data */
    bool crypt_guest_iv;   /* legacy AES: IV from the guest offset, not the host offset */
    bool discard_passes[4]; /* by Qcow2FreeKind: pass frees down as discards */
    unsigned overlap_check; /* bits of QCOW2_OL_* */
    uint64_t l2_cache_bytes, refcount_cache_bytes; /* soft limits */

    /* locks */
    CoMutex meta_lock;

    /* under meta_lock; header.size also atomic in node->total_bytes */
    Qcow2Header header;
    Qcow2Refcounts refs;
    Qcow2Cache *refblocks;
    bool lazy_refcounts;   /* header or option; dirty bit scheme */
    bool dirty_bit_set;

    /* in flight; changed with both meta_lock and the l2 guard held, so that either is enough to look */
    Qcow2Link *links;

    /* l1 and readers: see their types; l2: locked inside */
    Qcow2L1 l1;
    Qcow2Cache *l2;
    Qcow2Reader *readers;

    /* atomic */
    _Atomic bool corrupt;      /* RW image marked corrupt: all I/O -ENOMEDIUM */
    _Atomic bool corrupt_said; /* non-fatal message printed once */
    _Atomic bool data_unsynced; /* guest data was written to newly allocated clusters since the last sync of s->data */
    _Atomic unsigned next_req;  /* request numbers for traces */
    _Atomic int file_sparse;    /* has the file many holes? 0 not looked yet, 1 yes, -1 no; see qcow2-sparse.h */
} Qcow2State;

static inline Qcow2State *qcow2_state(BlockNode *node) { return node->state; }

/* A number for the trace lines of a request; nobody counts while nobody looks, as loops would share the count. */
static inline unsigned qcow2_trace_req(Qcow2State *s) { return trace_mask & (1u << TRACE_QCOW2) ? s->next_req++ : 0; }

/* Mark the image corrupt (header write when read-write and @fatal) and print the reason once (section 17). Returns
 * -EIO. Context: coroutine, l2 guard not held; meta_lock held or not (takes it for the header write when it is not). */
int coroutine_fn qcow2_mark_corrupt(Qcow2State *s, bool fatal, const char *fmt, ...) G_GNUC_PRINTF(3, 4);

/* Write cluster 0 from s->header as one write (no sync). Context: coroutine, meta_lock held. */
int coroutine_fn qcow2_write_header_locked(Qcow2State *s);

#endif
