/* SPDX-License-Identifier: MIT */
/* The rules between the objects of the metadata (LUKS sheet section 10, "Validation"), and what the volume is. */
#include "crypto/luks/luks2-meta-int.h"

#include "util/base/error.h"

#define corrupt(errp, ...)     error_set_code(errp, QB_ERROR_CORRUPT, "LUKS2 metadata: " __VA_ARGS__)
#define unsupported(errp, ...) error_set_code(errp, QB_ERROR_UNSUPPORTED, __VA_ARGS__)

/* ---- areas ----------------------------------------------------------------------------------------------------- */

static bool check_area(const Luks2Keyslot *s, uint64_t low, uint64_t high, GError **errp)
{
    /* No sum that can overflow: low <= high < 2^63. */
    if (s->area.offset < low || s->area.offset > high || s->area.bytes > high - s->area.offset) {
        corrupt(errp,
                "keyslots.%u.area of %" G_GUINT64_FORMAT " bytes at %" G_GUINT64_FORMAT
                " is not inside the key slot area, bytes %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT,
                s->id, s->area.bytes, s->area.offset, low, high);
        return false;
    }
    return true;
}

static bool areas_overlap(const Luks2Area *a, const Luks2Area *b)
{
    return a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

static bool check_areas(const Luks2Meta *m, const Luks2Header *h, GError **errp)
{
    uint64_t low = luks2_header_end(h), high = low + m->keyslots_bytes;

    for (size_t i = 0; i < m->keyslot_count; i++) {
        const Luks2Keyslot *a = &m->keyslots[i];

        if (a->area.bytes == 0) {
            continue;
        }
        if (!check_area(a, low, high, errp)) {
            return false;
        }
        for (size_t j = 0; j < i; j++) {
            if (m->keyslots[j].area.bytes > 0 && areas_overlap(&a->area, &m->keyslots[j].area)) {
                corrupt(errp, "keyslots.%u.area and keyslots.%u.area overlap", m->keyslots[j].id, a->id);
                return false;
            }
        }
    }
    return true;
}

/* ---- segments -------------------------------------------------------------------------------------------------- */

static bool check_segments(const Luks2Meta *m, uint64_t areas_end, GError **errp)
{
    const Luks2Segment *dynamic = NULL;

    if (m->segment_count == 0) {
        corrupt(errp, "segments is empty");
        return false;
    }
    for (size_t i = 0; i < m->segment_count; i++) {
        const Luks2Segment *s = &m->segments[i];

        if (s->id != i) {
            corrupt(errp, "segments has no %zu but a %u", i, s->id);
            return false;
        }
        /* At 0: the data is in a file of its own. */
        if (s->offset != 0 && s->offset < areas_end) {
            corrupt(errp,
                    "segments.%u.offset %" G_GUINT64_FORMAT " is inside the header, which ends at %" G_GUINT64_FORMAT,
                    s->id, s->offset, areas_end);
            return false;
        }
        if (s->backup) {
            continue;
        }
        if (dynamic) {
            corrupt(errp, "segments.%u.size is 'dynamic' though another segment follows", dynamic->id);
            return false;
        }
        dynamic = s->bytes == 0 ? s : NULL;
    }
    return true;
}

/* ---- ids ------------------------------------------------------------------------------------------------------- */

static bool check_ids(const char *what, unsigned id, const char *field, uint32_t named, uint32_t existing,
                      GError **errp)
{
    uint32_t missing = named & ~existing;

    if (missing) {
        corrupt(errp, "%s.%u.%s names %d, which does not exist", what, id, field, __builtin_ctz(missing));
        return false;
    }
    return true;
}

static bool check_digest_of_segment(const Luks2Meta *m, const Luks2Segment *s, GError **errp)
{
    unsigned digests = 0;

    for (size_t i = 0; i < m->digest_count; i++) {
        digests += m->digests[i].segments >> s->id & 1;
    }
    if (s->encryption && digests != 1) {
        corrupt(errp, "segments.%u has %u digests, not one", s->id, digests);
        return false;
    }
    return true;
}

static bool check_references(const Luks2Meta *m, GError **errp)
{
    uint32_t keyslots = 0, segments = 0;

    for (size_t i = 0; i < m->keyslot_count; i++) {
        keyslots |= UINT32_C(1) << m->keyslots[i].id;
    }
    for (size_t i = 0; i < m->segment_count; i++) {
        segments |= UINT32_C(1) << m->segments[i].id;
    }
    for (size_t i = 0; i < m->digest_count; i++) {
        const Luks2Digest *d = &m->digests[i];

        if (!check_ids("digests", d->id, "keyslots", d->keyslots, keyslots, errp) ||
            !check_ids("digests", d->id, "segments", d->segments, segments, errp)) {
            return false;
        }
    }
    for (size_t i = 0; i < m->token_count; i++) {
        if (!check_ids("tokens", m->tokens[i].id, "keyslots", m->tokens[i].keyslots, keyslots, errp)) {
            return false;
        }
    }
    for (size_t i = 0; i < m->segment_count; i++) {
        if (!check_digest_of_segment(m, &m->segments[i], errp)) {
            return false;
        }
    }
    return true;
}

bool luks2_meta_check(const Luks2Meta *m, const Luks2Header *h, GError **errp)
{
    return check_areas(m, h, errp) && check_segments(m, luks2_header_end(h) + m->keyslots_bytes, errp) &&
           check_references(m, errp);
}

/* ---- the volume ------------------------------------------------------------------------------------------------ */

bool luks2_meta_check_requirements(const Luks2Meta *m, GError **errp)
{
    for (guint i = 0; i < m->requirements->len; i++) {
        const char *name = m->requirements->pdata[i];
        g_autofree char *printable = luks2_json_printable(name);

        if (strstr(name, "reencrypt")) {
            unsupported(errp,
                        "LUKS2 volume with an unfinished reencryption (requirement '%s') is not supported; "
                        "finish it with cryptsetup first",
                        printable);
        } else {
            unsupported(errp, "LUKS2 volume needs '%s', which is not supported", printable);
        }
        return false;
    }
    return true;
}

static bool find_segment(const Luks2Meta *m, Luks2Volume *v, GError **errp)
{
    for (size_t i = 0; i < m->segment_count; i++) {
        const Luks2Segment *s = &m->segments[i];

        if (s->backup) {
            continue;
        }
        if (v->segment) {
            unsupported(errp, "LUKS2 volume of several segments is not supported");
            return false;
        }
        v->segment = s;
    }
    if (!v->segment) {
        unsupported(errp, "LUKS2 volume that has backup segments only is not supported");
        return false;
    }
    if (v->segment->unusable) {
        unsupported(errp, "LUKS2 %s is not supported", v->segment->unusable);
        return false;
    }
    return true;
}

static bool find_digest(const Luks2Meta *m, Luks2Volume *v, GError **errp)
{
    for (size_t i = 0; i < m->digest_count; i++) {
        if (m->digests[i].segments >> v->segment->id & 1) {
            v->digest = &m->digests[i];
        }
    }
    g_assert(v->digest); /* luks2_meta_check() */
    if (v->digest->unusable) {
        unsupported(errp, "LUKS2 %s is not supported", v->digest->unusable);
        return false;
    }
    return true;
}

/* The size of the volume key stands only in the key slots. */
static bool find_key_bytes(const Luks2Meta *m, Luks2Volume *v, GError **errp)
{
    for (size_t i = 0; i < m->keyslot_count; i++) {
        const Luks2Keyslot *s = &m->keyslots[i];

        if (!(v->digest->keyslots >> s->id & 1) || s->key_bytes == 0) {
            continue;
        }
        if (v->key_bytes && v->key_bytes != s->key_bytes) {
            corrupt(errp, "keyslots.%u.key_size %u is not the %u of the other slots", s->id, s->key_bytes,
                    v->key_bytes);
            return false;
        }
        v->key_bytes = s->key_bytes;
    }
    if (!v->key_bytes) {
        unsupported(errp, "LUKS2 volume has no keyslot of type 'luks2'");
        return false;
    }
    return true;
}

bool luks2_meta_volume(const Luks2Meta *m, Luks2Volume *v, GError **errp)
{
    *v = (Luks2Volume){0};
    return find_segment(m, v, errp) && find_digest(m, v, errp) && find_key_bytes(m, v, errp) &&
           luks2_cipher_parse(v->segment->encryption, v->key_bytes, v->segment->sector_bytes, &v->cipher, errp);
}
