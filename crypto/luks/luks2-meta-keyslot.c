/* SPDX-License-Identifier: MIT */
/* One key slot of the metadata (LUKS sheet section 10, keyslots.N). */
#include "crypto/luks/luks2-meta-int.h"

#include <string.h>

#include "util/base/error.h"
#include "crypto/luks/luks-header.h"

/* Note why the slot cannot be tried; the first reason stays. True, for tail calls: the header is not at fault. */
static bool cannot_use(Luks2Keyslot *s, const char *what, const char *value)
{
    g_autofree char *printable = luks2_json_printable(value);

    if (!s->unusable) {
        s->unusable = g_strdup_printf("%s '%s' not supported", what, printable);
    }
    return true;
}

static bool parse_hash(const Luks2JsonAt *at, Luks2Keyslot *s, HashAlg *out, GError **errp)
{
    const char *name;

    if (!luks2_json_string(at, "hash", &name, errp)) {
        return false;
    }
    return hash_from_name(name, out) || cannot_use(s, "Hash algorithm", name);
}

static bool parse_af(const Luks2JsonAt *slot, Luks2Keyslot *s, GError **errp)
{
    Luks2JsonAt at;
    const char *type;
    uint32_t stripes;

    if (!luks2_json_object(slot, "af", &at, errp) || !luks2_json_string(&at, "type", &type, errp)) {
        return false;
    }
    if (!g_str_equal(type, "luks1")) {
        return cannot_use(s, "Splitter", type);
    }
    if (!luks2_json_uint(&at, "stripes", 0, UINT32_MAX, &stripes, errp)) {
        return false;
    }
    if (stripes != LUKS_STRIPES) {
        return luks2_json_fail(&at, "stripes", errp, "%" G_GUINT32_FORMAT " is not %d", stripes, LUKS_STRIPES);
    }
    return parse_hash(&at, s, &s->af_hash, errp);
}

static bool parse_area_place(const Luks2JsonAt *at, Luks2Keyslot *s, GError **errp)
{
    if (!luks2_json_u64(at, "offset", &s->area.offset, errp) || !luks2_json_u64(at, "size", &s->area.bytes, errp)) {
        return false;
    }
    return s->area.bytes > 0 || luks2_json_fail(at, "size", errp, "0 is no room for key material");
}

static bool parse_area(const Luks2JsonAt *slot, Luks2Keyslot *s, GError **errp)
{
    g_autoptr(GError) err = NULL;
    uint64_t material = luks_material_bytes(s->key_bytes);
    const char *type, *encryption;
    Luks2JsonAt at;

    if (!luks2_json_object(slot, "area", &at, errp) || !luks2_json_string(&at, "type", &type, errp) ||
        !parse_area_place(&at, s, errp)) {
        return false;
    }
    if (!g_str_equal(type, "raw")) {
        return cannot_use(s, "Area type", type);
    }
    if (s->area.bytes < material) {
        return luks2_json_fail(&at, "size", errp,
                               "%" G_GUINT64_FORMAT " is less than the %" G_GUINT64_FORMAT " bytes of its key material",
                               s->area.bytes, material);
    }
    if (!luks2_json_string(&at, "encryption", &encryption, errp) ||
        !luks2_json_uint(&at, "key_size", 1, LUKS_MAX_KEY_BYTES, &s->area.key_bytes, errp)) {
        return false;
    }
    if (!luks2_cipher_parse(encryption, s->area.key_bytes, LUKS_SECTOR_BYTES, &s->area.cipher, &err) && !s->unusable) {
        s->unusable = g_strdup(err->message);
    }
    return true;
}

static bool parse_argon2(const Luks2JsonAt *at, Luks2Keyslot *s, GError **errp)
{
    Luks2Kdf *kdf = &s->kdf;

    if (!luks2_json_uint(at, "time", 1, UINT32_MAX, &kdf->passes, errp) ||
        !luks2_json_uint(at, "memory", 1, LUKS2_MAX_ARGON2_KIB, &kdf->memory_kib, errp) ||
        !luks2_json_uint(at, "cpus", 1, LUKS2_MAX_ARGON2_LANES, &kdf->lanes, errp)) {
        return false;
    }
    /* The algorithm's own rules, RFC 9106 section 3.1. */
    if (kdf->memory_kib < 8 * kdf->lanes) {
        return luks2_json_fail(at, "memory", errp,
                               "%" G_GUINT32_FORMAT " is less than 8 for each of %" G_GUINT32_FORMAT " cpus",
                               kdf->memory_kib, kdf->lanes);
    }
    if (kdf->salt_bytes < 8) {
        return luks2_json_fail(at, "salt", errp, "has %zu bytes, less than 8", kdf->salt_bytes);
    }
    if ((uint64_t)kdf->passes * kdf->memory_kib > LUKS2_MAX_ARGON2_COST) {
        return luks2_json_fail(at, "time", errp,
                               "%" G_GUINT32_FORMAT " over %" G_GUINT32_FORMAT
                               " KiB of memory is more than this build will compute",
                               kdf->passes, kdf->memory_kib);
    }
    return true;
}

static bool parse_kdf(const Luks2JsonAt *slot, Luks2Keyslot *s, GError **errp)
{
    g_autoptr(GError) err = NULL;
    Luks2Kdf *kdf = &s->kdf;
    Luks2JsonAt at;
    const char *type;
    bool ok;

    if (!luks2_json_object(slot, "kdf", &at, errp) || !luks2_json_string(&at, "type", &type, errp) ||
        !luks2_json_bytes(&at, "salt", kdf->salt, sizeof(kdf->salt), &kdf->salt_bytes, errp)) {
        return false;
    }
    if (!luks2_kdf_from_name(type, &kdf->alg)) {
        return cannot_use(s, "Key derivation", type);
    }
    if (kdf->alg == LUKS2_KDF_PBKDF2) {
        ok = parse_hash(&at, s, &kdf->hash, errp) &&
             luks2_json_uint(&at, "iterations", 1, UINT32_MAX, &kdf->iterations, errp);
    } else {
        ok = parse_argon2(&at, s, errp);
    }
    if (ok && !luks2_kdf_check(kdf, &err) && !s->unusable) {
        s->unusable = g_strdup(err->message);
    }
    return ok;
}

/* Another kind of slot is kept as it is; only its area, if it has one, has to respect ours. */
static bool parse_foreign(const Luks2JsonAt *at, Luks2Keyslot *s, GError **errp)
{
    Luks2JsonAt area;

    cannot_use(s, "Keyslot type", s->type);
    if (!luks2_json_has(at, "area")) {
        return true;
    }
    return luks2_json_object(at, "area", &area, errp) && parse_area_place(&area, s, errp);
}

bool luks2_meta_parse_keyslot(const Luks2JsonAt *at, Luks2Keyslot *s, GError **errp)
{
    uint32_t priority = LUKS2_PRIORITY_NORMAL;
    const char *type;

    if (!luks2_json_string(at, "type", &type, errp)) {
        return false;
    }
    s->type = g_strdup(type);
    if (luks2_json_has(at, "priority") &&
        !luks2_json_uint(at, "priority", LUKS2_PRIORITY_IGNORE, LUKS2_PRIORITY_HIGH, &priority, errp)) {
        return false;
    }
    s->priority = priority;
    if (!g_str_equal(type, "luks2")) {
        return parse_foreign(at, s, errp);
    }
    return luks2_json_uint(at, "key_size", 1, LUKS_MAX_KEY_BYTES, &s->key_bytes, errp) && parse_af(at, s, errp) &&
           parse_area(at, s, errp) && parse_kdf(at, s, errp);
}
