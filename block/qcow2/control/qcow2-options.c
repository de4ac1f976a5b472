/* SPDX-License-Identifier: MIT */
#include "block/qcow2/control/qcow2-options.h"

#include <inttypes.h>
#include <limits.h>

#include "block/qcow2/alloc/qcow2-clusters.h"
#include "block/qcow2/state/qcow2-overlap.h"
#include "util/base/error.h"

enum {
    DEFAULT_L2_CACHE_BYTES = 32 << 20,
    REFCOUNT_CACHE_TABLES = 4, /* refcount blocks are visited in order: a few suffice */
    CACHE_CLEAN_SECONDS = 600,
};

const OptDesc qcow2_open_opts[] = {
    {"lazy-refcounts", OPT_TYPE_BOOL, "Postpone refcount updates"},
    {"pass-discard-request", OPT_TYPE_BOOL, "Pass guest discard requests to the layer below"},
    {"pass-discard-snapshot", OPT_TYPE_BOOL, "Generate discard requests when snapshot related space is freed"},
    {"pass-discard-other", OPT_TYPE_BOOL, "Generate discard requests when other clusters are freed"},
    {"discard-no-unref", OPT_TYPE_BOOL, "Do not unreference discarded clusters"},
    {"overlap-check", OPT_TYPE_STR, "Selects which overlap checks to perform from a range of templates"},
    {"overlap-check.", OPT_TYPE_STR, "Check for unintended writes into one kind of metadata"},
    {"cache-size", OPT_TYPE_SIZE, "Maximum combined metadata (L2 tables and refcount blocks) cache size"},
    {"l2-cache-size", OPT_TYPE_SIZE, "Maximum L2 table cache size"},
    {"l2-cache-entry-size", OPT_TYPE_SIZE, "Size of each entry in the L2 cache"},
    {"refcount-cache-size", OPT_TYPE_SIZE, "Maximum refcount block cache size"},
    {"cache-clean-interval", OPT_TYPE_NUM, "Clean unused cache entries after this time (in seconds)"},
    {"encrypt-in-parallel", OPT_TYPE_STR, "Encrypt and decrypt on worker threads: on, off or auto"},
    {"encrypt.", OPT_TYPE_STR, "Encryption options"},
    {"data-file", OPT_TYPE_STR, "External data file"},
    {NULL},
};

/* --- cache sizes --- */

typedef struct CacheSizes {
    bool has_total, has_l2, has_refcount;
    uint64_t total, l2, refcount;
} CacheSizes;

static bool take_size(OptDict *options, const char *key, bool *has, uint64_t *out, GError **errp)
{
    *has = optdict_has(options, key);
    return optdict_take_size(options, key, out, errp);
}

static bool check_cache_sizes(const CacheSizes *c, GError **errp)
{
    if (c->has_total && c->has_l2 && c->has_refcount) {
        error_set(errp, "cache-size, l2-cache-size and refcount-cache-size may not be set at the same time");
    } else if (c->has_total && c->has_l2 && c->l2 > c->total) {
        error_set(errp, "l2-cache-size may not exceed cache-size");
    } else if (c->has_total && c->has_refcount && c->refcount > c->total) {
        error_set(errp, "refcount-cache-size may not exceed cache-size");
    } else {
        return true;
    }
    return false;
}

/* Nothing is gained by room for more tables than the image can have; the caches allocate only what they use. */
static void set_cache_limits(Qcow2State *s, const CacheSizes *c)
{
    uint64_t cluster_bytes = s->geo.cluster_bytes;
    uint64_t all_l2 = qcow2_l1_entries_for(&s->geo, s->header.size) * cluster_bytes;
    uint64_t few_refcounts = REFCOUNT_CACHE_TABLES * cluster_bytes;
    uint64_t l2 = c->has_l2 ? c->l2 : MIN(all_l2, (uint64_t)DEFAULT_L2_CACHE_BYTES);
    uint64_t refcount = c->has_refcount ? c->refcount : few_refcounts;

    if (c->has_total && c->has_l2) {
        refcount = c->total - c->l2;
    } else if (c->has_total && c->has_refcount) {
        l2 = c->total - c->refcount;
    } else if (c->has_total) {
        refcount = MIN(few_refcounts, c->total);
        l2 = c->total - refcount;
    }
    s->l2_cache_bytes = MIN(l2, all_l2);
    s->refcount_cache_bytes = MIN(refcount, (uint64_t)GIB);
}

static bool take_cache_options(Qcow2State *s, OptDict *options, GError **errp)
{
    CacheSizes c = {0};
    uint64_t entry_bytes = s->geo.cluster_bytes, clean_seconds = CACHE_CLEAN_SECONDS;

    if (!take_size(options, "cache-size", &c.has_total, &c.total, errp) ||
        !take_size(options, "l2-cache-size", &c.has_l2, &c.l2, errp) ||
        !take_size(options, "refcount-cache-size", &c.has_refcount, &c.refcount, errp) ||
        !optdict_take_size(options, "l2-cache-entry-size", &entry_bytes, errp) || !check_cache_sizes(&c, errp)) {
        return false;
    }
    if (!is_power_of_2(entry_bytes) || entry_bytes < 512 || entry_bytes > s->geo.cluster_bytes) {
        error_set(errp, "L2 cache entry size must be a power of two between 512 and the cluster size (%" PRIu64 ")",
                  s->geo.cluster_bytes);
        return false;
    }
    if (!optdict_take_uint(options, "cache-clean-interval", UINT64_MAX, &clean_seconds, errp)) {
        return false;
    }
    if (clean_seconds > UINT_MAX) {
        error_set(errp, "Cache clean interval too big");
        return false;
    }
    set_cache_limits(s, &c);
    return true;
}

/* --- overlap checks --- */

static const struct {
    const char *name;
    unsigned bits;
} overlap_templates[] = {{"none", 0},
                         {"constant", QCOW2_OL_CONSTANT},
                         {"cached", QCOW2_OL_CACHED},
                         {"all", QCOW2_OL_ALL}},
  overlap_structures[] = {
      {"overlap-check.main-header", QCOW2_OL_HEADER},
      {"overlap-check.active-l1", QCOW2_OL_ACTIVE_L1},
      {"overlap-check.active-l2", QCOW2_OL_ACTIVE_L2},
      {"overlap-check.refcount-table", QCOW2_OL_REFTABLE},
      {"overlap-check.refcount-block", QCOW2_OL_REFBLOCK},
      {"overlap-check.snapshot-table", QCOW2_OL_SNAPSHOT_TABLE},
      {"overlap-check.inactive-l1", QCOW2_OL_INACTIVE_L1},
      {"overlap-check.inactive-l2", QCOW2_OL_INACTIVE_L2},
      {"overlap-check.bitmap-directory", QCOW2_OL_BITMAP_DIR},
};

static bool overlap_template_from_name(const char *name, unsigned *bits, GError **errp)
{
    for (size_t i = 0; i < G_N_ELEMENTS(overlap_templates); i++) {
        if (g_str_equal(overlap_templates[i].name, name)) {
            *bits = overlap_templates[i].bits;
            return true;
        }
    }
    error_set(errp,
              "Unsupported value '%s' for qcow2 option 'overlap-check'. Allowed are any of the following: none, "
              "constant, cached, all",
              name);
    return false;
}

static bool take_overlap_options(Qcow2State *s, OptDict *options, GError **errp)
{
    g_autofree char *plain = optdict_take(options, "overlap-check");
    g_autofree char *dotted = optdict_take(options, "overlap-check.template");

    if (plain && dotted && !g_str_equal(plain, dotted)) {
        error_set(errp,
                  "Conflicting values for qcow2 options 'overlap-check' ('%s') and 'overlap-check.template' ('%s')",
                  plain, dotted);
        return false;
    }
    const char *name = plain ? plain : dotted ? dotted : "cached";
    if (!overlap_template_from_name(name, &s->overlap_check, errp)) {
        return false;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(overlap_structures); i++) {
        bool on = s->overlap_check & overlap_structures[i].bits;

        if (!optdict_take_bool(options, overlap_structures[i].name, &on, errp)) {
            return false;
        }
        s->overlap_check &= ~overlap_structures[i].bits;
        s->overlap_check |= on ? overlap_structures[i].bits : 0;
    }
    return true;
}

/* --- the others --- */

static bool take_discard_options(Qcow2State *s, OptDict *options, unsigned flags, GError **errp)
{
    bool no_unref = false;

    s->discard_passes[QCOW2_FREE_NEVER] = false;
    s->discard_passes[QCOW2_FREE_REQUEST] = flags & BLOCK_OPEN_UNMAP;
    s->discard_passes[QCOW2_FREE_SNAPSHOT] = true;
    s->discard_passes[QCOW2_FREE_OTHER] = false;
    if (!optdict_take_bool(options, "pass-discard-request", &s->discard_passes[QCOW2_FREE_REQUEST], errp) ||
        !optdict_take_bool(options, "pass-discard-snapshot", &s->discard_passes[QCOW2_FREE_SNAPSHOT], errp) ||
        !optdict_take_bool(options, "pass-discard-other", &s->discard_passes[QCOW2_FREE_OTHER], errp) ||
        !optdict_take_bool(options, "discard-no-unref", &no_unref, errp)) {
        return false;
    }
    if (no_unref) {
        error_set_code(errp, QB_ERROR_UNSUPPORTED, "discard-no-unref=on is not supported yet by this build");
        return false;
    }
    return true;
}

static bool take_lazy_refcounts(Qcow2State *s, OptDict *options, GError **errp)
{
    s->lazy_refcounts = s->header.compatible & QCOW2_COMPAT_LAZY_REFCOUNTS;
    if (!optdict_take_bool(options, "lazy-refcounts", &s->lazy_refcounts, errp)) {
        return false;
    }
    if (s->lazy_refcounts && s->geo.version < 3) {
        error_set(errp, "Lazy refcounts require a qcow2 image with at least qemu 1.1 compatibility level");
        return false;
    }
    return true;
}

static bool take_offload_mode(Qcow2State *s, OptDict *options, GError **errp)
{
    g_autofree char *mode = optdict_take(options, "encrypt-in-parallel");

    s->crypt.mode = OFFLOAD_AUTO;
    if (mode && !offload_mode_from_name(mode, &s->crypt.mode)) {
        error_set(errp, "Parameter 'encrypt-in-parallel' does not accept value '%s' (on, off or auto)", mode);
        return false;
    }
    return true;
}

bool qcow2_options_take(Qcow2State *s, OptDict *options, unsigned flags, GError **errp)
{
    if (optdict_has(options, "data-file") || optdict_has_prefix(options, "data-file.")) {
        error_set(errp, "'data-file' can only be set for images with an external data file");
        return false;
    }
    return take_cache_options(s, options, errp) && take_overlap_options(s, options, errp) &&
           take_discard_options(s, options, flags, errp) && take_lazy_refcounts(s, options, errp) &&
           take_offload_mode(s, options, errp);
}
