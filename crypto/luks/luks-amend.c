/* SPDX-License-Identifier: MIT */
/* Key slots of an existing LUKS1 header: adding, replacing, erasing (LUKS sheet section 6).
 *
 * I1  At every moment some slot of the header on the disk opens the volume with a password that opened it before or
 *     with the new one, unless the user forces the last one away.
 * I2  A slot's key material is on the disk before the header calls it active; flushed, because writes may be reordered.
 * I3  The header calls a slot dead, flushed, before its key material is overwritten.
 * I4  s->header is what was last written to the disk as a whole. */
#include "crypto/luks/luks-int.h"

#include <string.h>

#include "crypto/luks/luks-keyslot.h"
#include "crypto/kdf/pbkdf.h"
#include "crypto/base/random.h"
#include "util/base/error.h"
#include "util/base/trace.h"

typedef struct Amend {
    LuksState *s;
    const CryptoIo *io;
    const CryptoAmend *req;
} Amend;

static int flush(const Amend *a)
{
    return a->io->flush ? a->io->flush(a->io->opaque) : 0;
}

/* Only the header's own bytes: what others keep behind it is not ours. */
static bool commit(const Amend *a, const LuksHeader *h, GError **errp)
{
    if (!luks_write_header(h, LUKS_HEADER_BYTES, a->io, errp)) {
        return false;
    }
    a->s->header = *h;
    return true;
}

static size_t count_active(const LuksHeader *h)
{
    size_t n = 0;

    for (size_t i = 0; i < LUKS_SLOTS; i++) {
        n += h->slots[i].active;
    }
    return n;
}

/* LUKS_SLOTS when all are in use. */
static size_t first_free(const LuksHeader *h)
{
    size_t i = 0;

    while (i < LUKS_SLOTS && h->slots[i].active) {
        i++;
    }
    return i;
}

/* ---- erase ----------------------------------------------------------------------------------------------------- */

/* Random data over the key material of slot @i, once. The splitter (sheet section 3) spreads the key over all of the
 * material, so one sector truly overwritten is enough. A magnetic disk gives nothing back that was overwritten once,
 * and where the old bytes live on elsewhere, in flash or in a copying file system, no number of passes reaches them. */
static bool wipe_material(const Amend *a, size_t i, GError **errp)
{
    const LuksHeader *h = &a->s->header;
    uint32_t bytes = luks_material_bytes(h->key_bytes);
    g_autofree uint8_t *noise = g_malloc(bytes);
    int ret;

    if (!random_bytes(noise, bytes, errp)) {
        return false;
    }
    ret = a->io->write(a->io->opaque, (uint64_t)h->slots[i].material_sector * LUKS_SECTOR_BYTES, noise, bytes);
    ret = ret < 0 ? ret : flush(a);
    if (ret < 0) {
        error_set_errno(errp, -ret, "Keyslot %zu is erased, but its key material could not be overwritten", i);
        return false;
    }
    return true;
}

/* Erase the slots of the set @which (bit per slot). */
static bool erase(const Amend *a, unsigned which, GError **errp)
{
    LuksHeader h = a->s->header;

    for (size_t i = 0; i < LUKS_SLOTS; i++) {
        if (which & 1u << i) {
            h.slots[i].active = false;
            h.slots[i].iterations = 0;
            memset(h.slots[i].salt, 0, LUKS_SALT_BYTES);
        }
    }
    if (!commit(a, &h, errp)) {
        return false;
    }
    for (size_t i = 0; i < LUKS_SLOTS; i++) {
        if ((which & 1u << i) && !wipe_material(a, i, errp)) {
            return false;
        }
    }
    trace(TRACE_CRYPTO, "luks-erase", "slots=0x%x", which);
    return true;
}

static bool slot_opens(const Amend *a, size_t i, const SecBuf *password, bool *opens, GError **errp)
{
    SecBuf *key = NULL;
    bool ok = luks_keyslot_try(&a->s->header, &a->s->algs, i, password, a->io, &key, errp);

    *opens = key;
    secbuf_free(key);
    return ok;
}

static bool erase_slot(const Amend *a, size_t i, GError **errp)
{
    const LuksHeader *h = &a->s->header;
    bool opens = h->slots[i].active;

    if (opens && a->req->old_secret && !slot_opens(a, i, a->req->old_secret, &opens, errp)) {
        return false;
    }
    if (!opens && a->req->old_secret) {
        error_set(errp, "Given keyslot %zu doesn't contain the given old password for erase operation", i);
        return false;
    }
    /* Forced, a dead slot is wiped again: that ends an erasing that was cut short. */
    if (!h->slots[i].active && !a->req->force) {
        error_set(errp, "Given keyslot %zu is already erased (inactive) ", i);
        return false;
    }
    if (h->slots[i].active && count_active(h) == 1 && !a->req->force) {
        error_set(
            errp,
            "Attempt to erase the only active keyslot %zu which will erase all the data in the image irreversibly "
            "- refusing operation",
            i);
        return false;
    }
    return erase(a, 1u << i, errp);
}

static bool erase_by_password(const Amend *a, GError **errp)
{
    const LuksHeader *h = &a->s->header;
    unsigned which = 0;
    size_t n = 0;

    for (size_t i = 0; i < LUKS_SLOTS; i++) {
        bool opens = false;

        if (h->slots[i].active && !slot_opens(a, i, a->req->old_secret, &opens, errp)) {
            return false;
        }
        which |= (unsigned)opens << i;
        n += opens;
    }
    if (n == 0) {
        error_set(errp, "No keyslots match given (old) password for erase operation");
        return false;
    }
    if (n == count_active(h) && !a->req->force) {
        error_set(errp,
                  "All the active keyslots match the (old) password that was given and erasing them will erase all "
                  "the data in the image irreversibly - refusing operation");
        return false;
    }
    return erase(a, which, errp);
}

/* ---- add ------------------------------------------------------------------------------------------------------- */

static bool fill(const Amend *a, size_t i, const SecBuf *key, uint32_t iterations, GError **errp)
{
    LuksHeader h = a->s->header;
    int ret;

    g_assert(!h.slots[i].active);
    if (!luks_keyslot_seal(&h, &a->s->algs, i, a->req->new_secret, key, iterations, a->io, errp)) {
        return false;
    }
    ret = flush(a);
    if (ret < 0) {
        error_set_errno(errp, -ret, "Unable to write the key material of keyslot %zu", i);
        return false;
    }
    trace(TRACE_CRYPTO, "luks-add", "slot=%zu iterations=%u", i, iterations);
    return commit(a, &h, errp);
}

/* Slot @i is active and the user insists. When it is the only one, a free one holds the new key meanwhile (I1). */
static bool replace(const Amend *a, size_t i, const SecBuf *key, uint32_t iterations, GError **errp)
{
    bool is_only = count_active(&a->s->header) == 1;
    size_t spare = first_free(&a->s->header);

    g_assert(!is_only || spare < LUKS_SLOTS);
    return (!is_only || fill(a, spare, key, iterations, errp)) && erase(a, 1u << i, errp) &&
           fill(a, i, key, iterations, errp) && (!is_only || erase(a, 1u << spare, errp));
}

static bool choose_slot(const Amend *a, size_t *slot, GError **errp)
{
    const LuksHeader *h = &a->s->header;

    *slot = a->req->has_slot ? a->req->slot : first_free(h);
    if (*slot == LUKS_SLOTS) {
        error_set(errp, "Can't add a keyslot - all keyslots are in use");
        return false;
    }
    if (h->slots[*slot].active && !a->req->force) {
        error_set(errp, "Refusing to overwrite active keyslot %zu - please erase it first", *slot);
        return false;
    }
    return true;
}

static bool add(const Amend *a, const SecBuf *key, GError **errp)
{
    const LuksHeader *h = &a->s->header;
    uint32_t iterations;
    uint64_t rate;
    size_t i;

    if (!choose_slot(a, &i, errp)) {
        return false;
    }
    rate = pbkdf2_rate(a->s->algs.hash, h->key_bytes, errp);
    if (!rate || !pbkdf2_iterations_for_time(rate, a->req->iter_time_ms, 1, &iterations, errp)) {
        return false;
    }
    return (h->slots[i].active ? replace : fill)(a, i, key, iterations, errp);
}

bool luks_amend(CryptoBlock *b, const CryptoAmend *req, const CryptoIo *io, GError **errp)
{
    Amend a = {.s = b->state, .io = io, .req = req};

    if (req->has_slot && req->slot >= LUKS_SLOTS) {
        error_set(errp, "Invalid keyslot %" G_GUINT64_FORMAT " specified, must be between 0 and %d", req->slot,
                  LUKS_SLOTS - 1);
        return false;
    }
    if (req->activate) {
        return add(&a, cipher_slots_key(b->slots), errp);
    }
    return req->has_slot ? erase_slot(&a, req->slot, errp) : erase_by_password(&a, errp);
}
