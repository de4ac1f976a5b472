/* SPDX-License-Identifier: MIT */
/* COPIED flags against refcounts: set exactly where the refcount is 1 (qcow2 sheet section 6). */
#include "block/qcow2/check/qcow2-check-int.h"

#include <errno.h>
#include <inttypes.h>

#include "util/base/aligned-buf.h"
#include "util/base/endian.h"

/* Leaks are fixed by lowering refcounts, which the flags must follow; errors that stay make the refcounts doubtful. */
static bool may_repair(const Qcow2Check *c)
{
    const BlockCheckResult *r = c->res;

    return (c->fix & BLOCK_FIX_ERRORS) || (c->fix && !r->check_errors && !r->corruptions && !r->leaks);
}

/* 1: the flag is wrong; 0: right; -errno. */
static int coroutine_fn flag_is_wrong(Qcow2Check *c, uint64_t entry, uint64_t host_off, uint64_t *refcount)
{
    int ret = qcow2_disk_ref_get(c, host_off >> c->g->cluster_bits, refcount);

    return ret < 0 ? ret : (*refcount == 1) != ((entry & QCOW2_OFLAG_COPIED) != 0);
}

static void note(Qcow2Check *c, bool repair)
{
    if (repair) {
        c->res->corruptions_fixed++;
    } else {
        c->res->corruptions++;
    }
}

static int coroutine_fn check_l2(Qcow2Check *c, uint8_t *table, bool repair, bool *changed)
{
    *changed = false;
    for (unsigned i = 0; i < 1u << c->g->l2_bits; i++) {
        uint8_t *at = table + i * c->g->l2_entry_bytes;
        uint64_t entry = load_be64(at), host_off = entry & QCOW2_L2_OFF_MASK, refcount;

        if ((entry & QCOW2_OFLAG_COMPRESSED) || host_off == 0) {
            continue;
        }
        int wrong = flag_is_wrong(c, entry, host_off, &refcount);
        if (wrong < 0) {
            return wrong;
        }
        if (wrong) {
            qcow2_check_report("%s OFLAG_COPIED data cluster: l2_entry=%" PRIx64 " refcount=%" PRIu64,
                               repair ? "Repairing" : "ERROR", entry, refcount);
            note(c, repair);
            store_be64(at, entry ^ QCOW2_OFLAG_COPIED);
            *changed = repair;
        }
    }
    return 0;
}

static int coroutine_fn check_l2_at(Qcow2Check *c, uint64_t l2_off, uint8_t *table, bool repair)
{
    bool changed;

    if (l2_off >= c->file_bytes || qcow2_in_cluster(c->g, l2_off)) {
        return 0;
    }
    int ret = qcow2_check_read(c, l2_off, table, c->g->cluster_bytes);
    ret = ret < 0 ? ret : check_l2(c, table, repair, &changed);
    return ret == 0 && changed ? block_co_pwrite(c->file, l2_off, table, c->g->cluster_bytes, 0) : ret;
}

static int coroutine_fn check_l1_entry(Qcow2Check *c, uint64_t idx, uint64_t entry, bool repair)
{
    uint64_t refcount;
    int wrong = flag_is_wrong(c, entry, entry & QCOW2_L1_OFF_MASK, &refcount);

    if (wrong <= 0) {
        return wrong;
    }
    qcow2_check_report("%s OFLAG_COPIED L2 cluster: l1_index=%" PRIu64 " l1_entry=%" PRIx64 " refcount=%" PRIu64,
                       repair ? "Repairing" : "ERROR", idx, entry, refcount);
    note(c, repair);
    if (!repair) {
        return 0;
    }
    uint8_t raw[8];
    store_be64(raw, entry ^ QCOW2_OFLAG_COPIED);
    return block_co_pwrite(c->file, c->h->l1_off + idx * sizeof(raw), raw, sizeof(raw), 0);
}

int coroutine_fn qcow2_check_copied(Qcow2Check *c)
{
    bool repair = may_repair(c);
    g_autofree uint64_t *l1 = NULL;
    g_autoaligned table = aligned_buf_try_new(c->g->cluster_bytes);

    if (!table) {
        return -ENOMEM;
    }
    int ret = qcow2_check_read_table(c, c->h->l1_off, c->h->l1_size, &l1);
    for (uint64_t i = 0; ret == 0 && i < c->h->l1_size; i++) {
        uint64_t l2_off = l1[i] & QCOW2_L1_OFF_MASK;

        if (l2_off) {
            ret = check_l1_entry(c, i, l1[i], repair);
            ret = ret < 0 ? ret : check_l2_at(c, l2_off, table, repair);
        }
    }
    return ret;
}
