/* SPDX-License-Identifier: MIT */
/* Key slots of an existing LUKS2 volume: adding, replacing, erasing (LUKS sheet section 6, with the slots of section
 * 10).
 *
 * I1  At every moment the valid header copies on the disk open the volume by a password that opened it before or by the
 *     new one, unless the user forces the last one away. A slot is replaced in one header update: its new key material
 *     lies in an area that no slot had.
 * I2  Key material is on the disk before a header names it (D1 of luks2-disk.h).
 * I3  No header names an area, flushed, before it is overwritten.
 * I4  s->header and s->meta are what was last written to the disk as a whole. */
#include "crypto/luks/luks2-int.h"

#include "crypto/luks/luks2-disk.h"
#include "crypto/luks/luks2-keyslot.h"
#include "util/base/error.h"
#include "util/base/trace.h"

typedef struct Amend {
    Luks2State *s;
    const CryptoIo *io;
    const CryptoAmend *req;
} Amend;

/* ---- the header ------------------------------------------------------------------------------------------------- */

static const Luks2Keyslot *find_slot(const Luks2Meta *m, uint64_t id)
{
    for (size_t i = 0; i < m->keyslot_count; i++) {
        if (m->keyslots[i].id == id) {
            return &m->keyslots[i];
        }
    }
    return NULL;
}

/* It holds the key of the volume, whether or not this build can try it. */
static bool is_active(const Luks2State *s, const Luks2Keyslot *slot)
{
    return slot->key_bytes > 0 && s->volume.digest->keyslots >> slot->id & 1;
}

static size_t count_active(const Luks2State *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->meta->keyslot_count; i++) {
        n += is_active(s, &s->meta->keyslots[i]);
    }
    return n;
}

/* A copy of the metadata, to be edited. */
static Luks2Meta *copy_meta(const Luks2State *s, GError **errp)
{
    g_autofree char *text = luks2_meta_text(s->meta);

    return luks2_meta_parse(text, &s->header, errp);
}

/* Write what @edited has become. */
static bool commit(const Amend *a, const Luks2Meta *edited, GError **errp)
{
    g_autofree char *text = luks2_meta_text(edited);
    g_autoptr(Luks2Meta) m = luks2_meta_parse(text, &a->s->header, errp);

    if (!m || !luks2_disk_store(a->io, &a->s->header, text, errp)) {
        return false;
    }
    luks2_meta_free(a->s->meta);
    a->s->meta = g_steal_pointer(&m);
    /* Fails when the last slot is gone: then nothing else is asked of it. */
    (void)luks2_meta_volume(a->s->meta, &a->s->volume, NULL);
    return true;
}

static bool refuse_foreign(const Luks2Keyslot *slot, GError **errp)
{
    g_autofree char *printable = luks2_json_printable(slot->type);

    error_set(errp, "Keyslot %u of type '%s' does not belong to the data and is left alone", slot->id, printable);
    return false;
}

/* ---- erase ------------------------------------------------------------------------------------------------------ */

/* @slot is a copy: no header has it any more. */
static bool wipe(const Amend *a, const Luks2Keyslot *slot, GError **errp)
{
    if (!luks2_keyslot_wipe(slot, a->io, errp)) {
        g_prefix_error(errp, "Keyslot %u is erased, but: ", slot->id);
        return false;
    }
    return true;
}

/* Erase the slots of the set @which (bit per id). */
static bool erase(const Amend *a, uint32_t which, GError **errp)
{
    g_autoptr(Luks2Meta) edited = copy_meta(a->s, errp);
    Luks2Keyslot gone[LUKS2_MAX_IDS];
    size_t n = 0;

    if (!edited) {
        return false;
    }
    for (size_t i = 0; i < edited->keyslot_count; i++) {
        if (which >> edited->keyslots[i].id & 1) {
            gone[n++] = edited->keyslots[i];
            luks2_meta_remove_keyslot(edited, edited->keyslots[i].id);
        }
    }
    if (!commit(a, edited, errp)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!wipe(a, &gone[i], errp)) {
            return false;
        }
    }
    trace(TRACE_CRYPTO, "luks2-erase", "slots=0x%x", which);
    return true;
}

static bool slot_opens(const Amend *a, const Luks2Keyslot *slot, bool *opens, GError **errp)
{
    g_autoptr(SecBuf) key = NULL;
    bool ok = luks2_keyslot_try(slot, a->s->volume.digest, a->req->old_secret, a->io, &key, errp);

    *opens = key;
    return ok;
}

static bool erase_slot(const Amend *a, unsigned id, GError **errp)
{
    const Luks2Keyslot *slot = find_slot(a->s->meta, id);
    bool opens = false;

    if (slot && !is_active(a->s, slot)) {
        return refuse_foreign(slot, errp);
    }
    if (slot && a->req->old_secret && slot->unusable) {
        error_set_code(errp, QB_ERROR_UNSUPPORTED, "Keyslot %u cannot be tried: %s", id, slot->unusable);
        return false;
    }
    if (slot && a->req->old_secret && !slot_opens(a, slot, &opens, errp)) {
        return false;
    }
    if (a->req->old_secret && !opens) {
        error_set(errp, "Given keyslot %u doesn't contain the given old password for erase operation", id);
        return false;
    }
    if (!slot) {
        error_set(errp, "Given keyslot %u is already erased (inactive) ", id);
        return false;
    }
    if (count_active(a->s) == 1 && !a->req->force) {
        error_set(errp,
                  "Attempt to erase the only active keyslot %u which will erase all the data in the image irreversibly "
                  "- refusing operation",
                  id);
        return false;
    }
    return erase(a, UINT32_C(1) << id, errp);
}

static bool erase_by_password(const Amend *a, GError **errp)
{
    const Luks2Meta *m = a->s->meta;
    uint32_t which = 0;
    size_t n = 0;

    for (size_t i = 0; i < m->keyslot_count; i++) {
        const Luks2Keyslot *slot = &m->keyslots[i];
        bool opens = false;

        if (is_active(a->s, slot) && !slot->unusable && !slot_opens(a, slot, &opens, errp)) {
            return false;
        }
        which |= (uint32_t)opens << slot->id;
        n += opens;
    }
    if (n == 0) {
        error_set(errp, "No keyslots match given (old) password for erase operation");
        return false;
    }
    if (n == count_active(a->s) && !a->req->force) {
        error_set(errp,
                  "All the active keyslots match the (old) password that was given and erasing them will erase all "
                  "the data in the image irreversibly - refusing operation");
        return false;
    }
    return erase(a, which, errp);
}

/* ---- add -------------------------------------------------------------------------------------------------------- */

static bool choose_id(const Amend *a, unsigned *id, GError **errp)
{
    const Luks2Keyslot *there;

    if (!a->req->has_slot) {
        return luks2_keyslot_free_id(a->s->meta, id, errp);
    }
    *id = a->req->slot;
    there = find_slot(a->s->meta, *id);
    if (there && !a->req->force) {
        error_set(errp, "Refusing to overwrite active keyslot %u - please erase it first", *id);
        return false;
    }
    if (there && !is_active(a->s, there)) {
        return refuse_foreign(there, errp);
    }
    return true;
}

/* A new slot is of the kind of the first one that this build can do: some slot opened the volume, so there is one. */
static bool plan(const Amend *a, size_t key_bytes, Luks2Keyslot *slot, GError **errp)
{
    const Luks2State *s = a->s;
    const Luks2Keyslot *like = NULL;

    for (size_t i = 0; i < s->meta->keyslot_count && !like; i++) {
        const Luks2Keyslot *k = &s->meta->keyslots[i];
        like = is_active(s, k) && !k->unusable ? k : NULL;
    }
    g_assert(like);
    *slot = (Luks2Keyslot){.priority = LUKS2_PRIORITY_NORMAL, .af_hash = like->af_hash};
    slot->area.key_bytes = like->area.key_bytes;
    slot->area.cipher = like->area.cipher;
    slot->kdf.alg = like->kdf.alg;
    slot->kdf.hash = like->kdf.hash;
    return choose_id(a, &slot->id, errp) && luks2_keyslot_place(s->meta, &s->header, key_bytes, slot, errp) &&
           luks2_kdf_calibrate(&slot->kdf, a->req->iter_time_ms, slot->area.key_bytes, errp);
}

static bool add(const Amend *a, const SecBuf *key, GError **errp)
{
    g_autoptr(Luks2Meta) edited = NULL;
    const Luks2Keyslot *there;
    Luks2Keyslot slot, old = {0};

    if (!plan(a, secbuf_size(key), &slot, errp) || !luks2_keyslot_seal(&slot, a->req->new_secret, key, a->io, errp)) {
        return false;
    }
    there = find_slot(a->s->meta, slot.id);
    if (there) {
        old = *there;
    }
    edited = copy_meta(a->s, errp);
    if (!edited) {
        return false;
    }
    luks2_meta_put_keyslot(edited, &slot, a->s->volume.digest->id);
    if (!commit(a, edited, errp)) {
        return false;
    }
    trace(TRACE_CRYPTO, "luks2-add", "slot=%u replaced=%d", slot.id, old.area.bytes > 0);
    return old.area.bytes == 0 || wipe(a, &old, errp);
}

bool luks2_amend(CryptoBlock *b, const CryptoAmend *req, const CryptoIo *io, GError **errp)
{
    Amend a = {.s = b->state, .io = io, .req = req};

    if (req->has_slot && req->slot >= LUKS2_MAX_IDS) {
        error_set(errp, "Invalid keyslot %" G_GUINT64_FORMAT " specified, must be between 0 and %d", req->slot,
                  LUKS2_MAX_IDS - 1);
        return false;
    }
    if (req->activate) {
        return add(&a, cipher_slots_key(b->slots), errp);
    }
    return req->has_slot ? erase_slot(&a, req->slot, errp) : erase_by_password(&a, errp);
}
