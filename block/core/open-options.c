/* SPDX-License-Identifier: MIT */
#include "block/core/open-options.h"

#include "util/base/error.h"

bool block_parse_cache_mode(const char *mode, unsigned *flags)
{
    static const struct {
        const char *name;
        unsigned flags;
    } modes[] = {
        {"none", BLOCK_OPEN_DIRECT},
        {"writeback", 0},
        {"writethrough", BLOCK_OPEN_WRITETHROUGH},
        {"directsync", BLOCK_OPEN_DIRECT | BLOCK_OPEN_WRITETHROUGH},
        {"unsafe", BLOCK_OPEN_NO_FLUSH},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(modes); i++) {
        if (g_str_equal(mode, modes[i].name)) {
            *flags &= ~(unsigned)(BLOCK_OPEN_DIRECT | BLOCK_OPEN_WRITETHROUGH | BLOCK_OPEN_NO_FLUSH);
            *flags |= modes[i].flags;
            return true;
        }
    }
    return false;
}

static bool take_flag(OptDict *opts, const char *key, unsigned flag, unsigned *flags, GError **errp)
{
    bool on = *flags & flag;

    if (!optdict_take_bool(opts, key, &on, errp)) {
        return false;
    }
    *flags = on ? *flags | flag : *flags & ~flag;
    return true;
}

static bool take_discard(OptDict *opts, unsigned *flags, GError **errp)
{
    g_autofree char *value = optdict_take(opts, "discard");

    if (!value) {
        return true;
    }
    if (g_str_equal(value, "unmap") || g_str_equal(value, "on")) {
        *flags |= BLOCK_OPEN_UNMAP;
    } else if (g_str_equal(value, "ignore") || g_str_equal(value, "off")) {
        *flags &= ~(unsigned)BLOCK_OPEN_UNMAP;
    } else {
        error_set(errp, "Invalid discard option");
        return false;
    }
    return true;
}

static bool take_detect_zeroes(OptDict *opts, BlockDetectZeroes *out, GError **errp)
{
    static const char *const names[] = {"off", "on", "unmap"};
    g_autofree char *value = optdict_take(opts, "detect-zeroes");

    *out = BLOCK_DETECT_ZEROES_OFF;
    for (size_t i = 0; value && i < G_N_ELEMENTS(names); i++) {
        if (g_str_equal(value, names[i])) {
            *out = (BlockDetectZeroes)i;
            return true;
        }
    }
    if (value) {
        error_set(errp, "invalid parameter value: %s", value);
    }
    return !value;
}

/* Nodes have no names that could be referred to; a name is checked for form and forgotten. */
static bool take_node_name(OptDict *opts, GError **errp)
{
    g_autofree char *name = optdict_take(opts, "node-name");

    if (name && !g_ascii_isalpha(name[0])) {
        error_set(errp, "Invalid node-name: '%s'", name);
        return false;
    }
    return true;
}

bool block_take_node_options(OptDict *opts, NodeOptions *out, GError **errp)
{
    bool read_only = !(out->flags & BLOCK_OPEN_RDWR);
    bool auto_read_only = false;

    if (!optdict_take_bool(opts, "read-only", &read_only, errp) ||
        !optdict_take_bool(opts, "auto-read-only", &auto_read_only, errp) ||
        !take_flag(opts, "cache.direct", BLOCK_OPEN_DIRECT, &out->flags, errp) ||
        !take_flag(opts, "cache.no-flush", BLOCK_OPEN_NO_FLUSH, &out->flags, errp) ||
        !take_flag(opts, "force-share", BLOCK_OPEN_FORCE_SHARE, &out->flags, errp) ||
        !take_discard(opts, &out->flags, errp) || !take_detect_zeroes(opts, &out->detect_zeroes, errp) ||
        !take_node_name(opts, errp)) {
        return false;
    }
    /* Whoever opens for writing will write: there is no later moment at which a read-only node could be refused. */
    if (read_only && (out->flags & BLOCK_OPEN_RDWR)) {
        error_set(errp, "Block node is read-only");
        return false;
    }
    if ((out->flags & BLOCK_OPEN_FORCE_SHARE) && (out->flags & BLOCK_OPEN_RDWR)) {
        error_set(errp, "force-share=on can only be used with read-only images");
        return false;
    }
    if ((out->flags & BLOCK_OPEN_COPY_ON_READ) && !(out->flags & BLOCK_OPEN_RDWR)) {
        error_set(errp, "Can't use copy-on-read on read-only device");
        return false;
    }
    return true;
}

bool block_refuse_leftovers(const OptDict *opts, const BlockDriver *drv, GError **errp)
{
    if (optdict_size(opts) == 0) {
        return true;
    }
    error_set(errp,
              drv->protocol ? "Block protocol '%s' doesn't support the option '%s'"
                            : "Block format '%s' does not support the option '%s'",
              drv->format_name, optdict_key_at(opts, 0));
    return false;
}
