/* SPDX-License-Identifier: MIT */
#include "block/qcow2/map/qcow2-map.h"
#include "block/qcow2/state/qcow2-reader.h"

#include <errno.h>
#include <inttypes.h>

#include "util/base/endian.h"

uint64_t qcow2_l2_entry(const Qcow2State *s, const void *table, unsigned idx)
{
    return load_be64((const uint8_t *)table + (size_t)idx * s->geo.l2_entry_bytes);
}

void qcow2_l2_set_entry(const Qcow2State *s, void *table, unsigned idx, uint64_t entry)
{
    store_be64((uint8_t *)table + (size_t)idx * s->geo.l2_entry_bytes, entry);
}

Qcow2Kind qcow2_entry_kind(const Qcow2State *s, uint64_t entry)
{
    uint64_t off = entry & QCOW2_L2_OFF_MASK;

    if (entry & QCOW2_OFLAG_COMPRESSED) {
        return QCOW2_KIND_COMPRESSED;
    }
    if (entry & QCOW2_OFLAG_ZERO) {
        return off != 0 ? QCOW2_KIND_ZERO_ALLOC : QCOW2_KIND_ZERO_PLAIN;
    }
    return off != 0 ? QCOW2_KIND_NORMAL : QCOW2_KIND_UNALLOCATED;
}

/* What is wrong with a table or entry; the image is marked once the guard is dropped. */
typedef struct Defect {
    enum { SOUND, L2_UNALIGNED, ENTRY_UNALIGNED, ENTRY_ZERO_IN_V2 } what;
    uint64_t l1_idx, l2_off, l2_idx, host_off;
} Defect;

static int coroutine_fn report_defect(Qcow2State *s, const Defect *d)
{
    switch (d->what) {
    case L2_UNALIGNED:
        return qcow2_mark_corrupt(s, true, "L2 table offset %#" PRIx64 " unaligned (L1 index: %#" PRIx64 ")", d->l2_off,
                                  d->l1_idx);
    case ENTRY_UNALIGNED:
        return qcow2_mark_corrupt(s, true,
                                  "Cluster allocation offset %#" PRIx64 " unaligned (L2 offset: %#" PRIx64
                                  ", L2 index: %#" PRIx64 ")",
                                  d->host_off, d->l2_off, d->l2_idx);
    case ENTRY_ZERO_IN_V2:
        return qcow2_mark_corrupt(
            s, true, "Zero cluster entry found in pre-v3 image (L2 offset: %#" PRIx64 ", L2 index: %#" PRIx64 ")",
            d->l2_off, d->l2_idx);
    case SOUND:
        break;
    }
    g_assert_not_reached();
}

/* The entry that continues a run of @kind whose first entry is @entry, @i clusters on. */
static uint64_t next_entry(const Qcow2State *s, Qcow2Kind kind, uint64_t entry, unsigned i)
{
    bool has_host = kind == QCOW2_KIND_NORMAL || kind == QCOW2_KIND_ZERO_ALLOC;

    return has_host ? entry + ((uint64_t)i << s->geo.cluster_bits) : entry;
}

/* Decode the run that starts at @guest_off. Guard held; false: *@d says why. */
static bool decode_run(const Qcow2State *s, const void *table, uint64_t guest_off, uint64_t *bytes, Qcow2Map *map,
                       Defect *d)
{
    unsigned idx = qcow2_l2_idx(&s->geo, guest_off), n = 1;
    uint64_t entry = qcow2_l2_entry(s, table, idx), in_cluster = qcow2_in_cluster(&s->geo, guest_off);
    uint64_t wanted = qcow2_clusters(&s->geo, in_cluster + *bytes);

    d->l2_idx = idx;
    map->kind = qcow2_entry_kind(s, entry);
    map->copied = entry & QCOW2_OFLAG_COPIED;
    map->host_off = (entry & QCOW2_L2_OFF_MASK) + in_cluster;
    map->host_bytes = 0;
    if (map->kind == QCOW2_KIND_COMPRESSED) {
        Qcow2CompressedExtent e = qcow2_compressed_decode(&s->geo, entry);
        map->copied = false;
        map->host_off = e.host_off;
        map->host_bytes = e.bytes;
    } else {
        if ((entry & QCOW2_OFLAG_ZERO) && s->geo.version < 3) {
            d->what = ENTRY_ZERO_IN_V2;
            return false;
        }
        if (qcow2_in_cluster(&s->geo, entry & QCOW2_L2_OFF_MASK) != 0) {
            d->what = ENTRY_UNALIGNED;
            d->host_off = entry & QCOW2_L2_OFF_MASK;
            return false;
        }
        while (n < wanted && qcow2_l2_entry(s, table, idx + n) == next_entry(s, map->kind, entry, n)) {
            n++;
        }
    }
    *bytes = MIN(*bytes, ((uint64_t)n << s->geo.cluster_bits) - in_cluster);
    return true;
}

/* Bytes from @guest_off to where the L1 entries from its own on stop being empty; guard held. */
static uint64_t empty_l1_span(const Qcow2State *s, uint64_t guest_off, uint64_t bytes)
{
    unsigned shift = s->geo.cluster_bits + s->geo.l2_bits;
    uint64_t idx = guest_off >> shift, last = (guest_off + bytes - 1) >> shift;

    for (idx++; idx <= last && idx < s->l1.size && (s->l1.table[idx] & QCOW2_L1_OFF_MASK) == 0; idx++) {
    }
    return MIN(bytes, (idx << shift) - guest_off);
}

/* One attempt. Guard held on entry and return. @table: the L2 table pinned by the caller, at @table_off, or NULL.
 * Returns 1 when *@l2_off must be loaded first; 0: done, *@d tells how. */
static int try_lookup(Qcow2State *s, uint64_t guest_off, uint64_t *bytes, Qcow2Map *map, uint64_t *l2_off, void *table,
                      Defect *d)
{
    uint64_t idx = qcow2_l1_idx(&s->geo, guest_off);
    uint64_t off = idx < s->l1.size ? s->l1.table[idx] & QCOW2_L1_OFF_MASK : 0;
    uint64_t span = UINT64_C(1) << (s->geo.cluster_bits + s->geo.l2_bits);

    *d = (Defect){.what = SOUND, .l1_idx = idx, .l2_off = off};
    if (off == 0) {
        *map = (Qcow2Map){.kind = QCOW2_KIND_UNALLOCATED};
        *bytes = idx < s->l1.size ? empty_l1_span(s, guest_off, *bytes) : *bytes;
        return 0;
    }
    if (qcow2_in_cluster(&s->geo, off) != 0) {
        d->what = L2_UNALIGNED;
        return 0;
    }
    if (!table || *l2_off != off) {
        table = qcow2_cache_peek_locked(s->l2, off);
    }
    if (!table) {
        *l2_off = off;
        return 1;
    }
    *bytes = MIN(*bytes, span - (guest_off & (span - 1)));
    decode_run(s, table, guest_off, bytes, map, d);
    return 0;
}

int coroutine_fn qcow2_lookup(Qcow2State *s, uint64_t guest_off, uint64_t *bytes, Qcow2Map *map, Qcow2Reader *reader)
{
    void *table = NULL;
    uint64_t l2_off = 0;
    Defect d;

    g_assert(*bytes > 0);
    if (reader) {
        reader->bytes = 0;
    }
    if (s->corrupt) {
        return -ENOMEDIUM;
    }
    qcow2_cache_lock(s->l2);
    while (try_lookup(s, guest_off, bytes, map, &l2_off, table, &d) != 0) {
        qcow2_cache_unlock(s->l2);
        if (table) {
            qcow2_cache_put(s->l2, &table);
        }
        int ret = qcow2_cache_get(s->l2, l2_off, &table);
        if (ret < 0) {
            return ret;
        }
        qcow2_cache_lock(s->l2);
    }
    if (d.what == SOUND && reader && !map->copied) {
        if (map->kind == QCOW2_KIND_COMPRESSED) {
            qcow2_reader_begin_locked(s, reader, map->host_off, map->host_bytes);
        } else if (map->kind == QCOW2_KIND_NORMAL) {
            qcow2_reader_begin_locked(s, reader, map->host_off, *bytes);
        }
    }
    qcow2_cache_unlock(s->l2);
    if (table) {
        qcow2_cache_put(s->l2, &table);
    }
    return d.what == SOUND ? 0 : report_defect(s, &d);
}
