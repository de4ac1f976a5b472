/* SPDX-License-Identifier: MIT */
#include "crypto/luks/luks2-keyslot.h"

#include <errno.h>

#include "crypto/kdf/afsplit.h"
#include "crypto/luks/luks-header.h"
#include "crypto/kdf/pbkdf.h"
#include "crypto/base/random.h"
#include "util/base/error.h"
#include "util/base/trace.h"
#include "util/base/units.h"

enum { WIPE_CHUNK_BYTES = 64 << 10 };

void luks2_digest_compute(const Luks2Digest *d, const SecBuf *key, uint8_t out[static HASH_MAX_BYTES])
{
    pbkdf2_derive(d->hash, secbuf_data(key), secbuf_size(key), d->salt, d->salt_bytes, d->iterations, out,
                  d->digest_bytes);
}

/* The cipher that protects a slot's key material. */
static SectorCipher *slot_cipher(const Luks2Keyslot *s, const SecBuf *password, GError **errp)
{
    g_autoptr(SecBuf) key = secbuf_new(s->area.key_bytes);

    if (!luks2_kdf_derive(&s->kdf, password, secbuf_data(key), s->area.key_bytes, errp)) {
        return NULL;
    }
    return sector_cipher_new(&s->area.cipher, secbuf_data(key), s->area.key_bytes, errp);
}

/* Zeroed memory for the material, in whole sectors. */
static SecBuf *new_material(const Luks2Keyslot *s, GError **errp)
{
    SecBuf *material = secbuf_new(luks_material_bytes(s->key_bytes));

    if (!material) {
        error_set_errno(errp, ENOMEM, "Unable to read the key material of keyslot %u", s->id);
    }
    return material;
}

/* ---- open ------------------------------------------------------------------------------------------------------ */

bool luks2_keyslot_try(const Luks2Keyslot *s, const Luks2Digest *d, const SecBuf *password, const CryptoIo *io,
                       SecBuf **key, GError **errp)
{
    MEM_WIPE_STACK_GUARD();
    g_autoptr(SecBuf) material = new_material(s, errp);
    g_autoptr(SecBuf) merged = secbuf_new(s->key_bytes);
    g_autoptr(SectorCipher) sc = NULL;
    uint8_t digest[HASH_MAX_BYTES];
    int ret;

    g_assert(!s->unusable && !d->unusable);
    *key = NULL;
    if (!material) {
        return false;
    }
    ret = io->read(io->opaque, s->area.offset, secbuf_data(material), secbuf_size(material));
    if (ret < 0) {
        error_set_errno(errp, -ret, "Unable to read the key material of keyslot %u", s->id);
        return false;
    }
    sc = slot_cipher(s, password, errp);
    if (!sc) {
        return false;
    }
    ret = sector_cipher_decrypt(sc, 0, secbuf_data(material), secbuf_data(material), secbuf_size(material));
    if (ret < 0) {
        error_set_errno(errp, -ret, "Unable to decrypt the key material of keyslot %u", s->id);
        return false;
    }
    afsplit_merge(s->af_hash, secbuf_data(material), s->key_bytes, LUKS_STRIPES, secbuf_data(merged));
    luks2_digest_compute(d, merged, digest);
    if (mem_equal_consttime(digest, d->digest, d->digest_bytes)) {
        *key = g_steal_pointer(&merged);
    }
    trace(TRACE_CRYPTO, "luks2-slot", "slot=%u opened=%d", s->id, *key != NULL);
    return true;
}

typedef struct Search {
    const Luks2Meta *meta;
    const Luks2Volume *volume;
    const SecBuf *password;
    const CryptoIo *io;
    unsigned tried;
    const Luks2Keyslot *skipped, *opened;
} Search;

/* All slots of one priority; as luks2_keyslot_try(). */
static bool search(Search *q, Luks2Priority priority, SecBuf **key, GError **errp)
{
    *key = NULL;
    for (size_t i = 0; i < q->meta->keyslot_count && !*key; i++) {
        const Luks2Keyslot *s = &q->meta->keyslots[i];

        if (s->priority != priority || !(q->volume->digest->keyslots >> s->id & 1)) {
            continue;
        }
        if (s->unusable) {
            q->skipped = s;
            continue;
        }
        q->tried++;
        if (!luks2_keyslot_try(s, q->volume->digest, q->password, q->io, key, errp)) {
            return false;
        }
        q->opened = s;
    }
    return true;
}

static void set_not_found(const Search *q, GError **errp)
{
    if (q->tried == 0 && q->skipped) {
        error_set_code(errp, QB_ERROR_UNSUPPORTED, "Keyslot %u cannot be tried: %s", q->skipped->id,
                       q->skipped->unusable);
    } else if (q->skipped) {
        error_set_code(errp, QB_ERROR_PASSPHRASE,
                       "Invalid password, cannot unlock any keyslot (keyslot %u could not be tried: %s)",
                       q->skipped->id, q->skipped->unusable);
    } else {
        error_set_code(errp, QB_ERROR_PASSPHRASE, "Invalid password, cannot unlock any keyslot");
    }
}

SecBuf *luks2_keyslot_find(const Luks2Meta *m, const Luks2Volume *v, const SecBuf *password, const CryptoIo *io,
                           const Luks2Keyslot **slot, GError **errp)
{
    Search q = {.meta = m, .volume = v, .password = password, .io = io};
    SecBuf *key;

    for (Luks2Priority p = LUKS2_PRIORITY_HIGH; p > LUKS2_PRIORITY_IGNORE; p--) {
        if (!search(&q, p, &key, errp)) {
            return NULL;
        }
        if (key) {
            if (slot) {
                *slot = q.opened;
            }
            return key;
        }
    }
    set_not_found(&q, errp);
    return NULL;
}

/* ---- seal and wipe --------------------------------------------------------------------------------------------- */

/* The lowest place from @at on where @bytes touch no area; the caller checks that it is in range. */
static uint64_t free_place(const Luks2Meta *m, uint64_t at, uint64_t bytes)
{
    bool moved;

    do {
        moved = false;
        for (size_t i = 0; i < m->keyslot_count; i++) {
            const Luks2Area *a = &m->keyslots[i].area;

            if (a->bytes > 0 && at < a->offset + a->bytes && a->offset < at + bytes) {
                at = round_up(a->offset + a->bytes, LUKS2_AREA_ALIGN);
                moved = true;
            }
        }
    } while (moved);
    return at;
}

bool luks2_keyslot_free_id(const Luks2Meta *m, unsigned *id, GError **errp)
{
    uint32_t used = 0;

    for (size_t i = 0; i < m->keyslot_count; i++) {
        used |= UINT32_C(1) << m->keyslots[i].id;
    }
    if (used == UINT32_MAX) {
        error_set(errp, "Can't add a keyslot - all keyslots are in use");
        return false;
    }
    *id = __builtin_ctz(~used);
    return true;
}

bool luks2_keyslot_place(const Luks2Meta *m, const Luks2Header *h, uint32_t key_bytes, Luks2Keyslot *slot,
                         GError **errp)
{
    uint64_t bytes = round_up(luks_material_bytes(key_bytes), LUKS2_AREA_ALIGN);
    uint64_t end = luks2_header_end(h) + m->keyslots_bytes;
    uint64_t at = free_place(m, luks2_header_end(h), bytes);

    if (at + bytes > end) {
        error_set(errp, "Can't add a keyslot - its %" G_GUINT64_FORMAT " bytes do not fit the key slot area", bytes);
        return false;
    }
    slot->key_bytes = key_bytes;
    slot->area.offset = at;
    slot->area.bytes = bytes;
    return true;
}

bool luks2_keyslot_seal(const Luks2Keyslot *s, const SecBuf *password, const SecBuf *key, const CryptoIo *io,
                        GError **errp)
{
    MEM_WIPE_STACK_GUARD();
    g_autoptr(SecBuf) material = new_material(s, errp);
    g_autoptr(SectorCipher) sc = NULL;
    int ret;

    g_assert(secbuf_size(key) == s->key_bytes);
    if (!material) {
        return false;
    }
    sc = slot_cipher(s, password, errp);
    if (!sc || !afsplit_split(s->af_hash, secbuf_data(key), s->key_bytes, LUKS_STRIPES, secbuf_data(material), errp)) {
        return false;
    }
    ret = sector_cipher_encrypt(sc, 0, secbuf_data(material), secbuf_data(material), secbuf_size(material));
    if (ret == 0) {
        ret = io->write(io->opaque, s->area.offset, secbuf_data(material), secbuf_size(material));
    }
    if (ret < 0) {
        error_set_errno(errp, -ret, "Unable to write the key material of keyslot %u", s->id);
        return false;
    }
    return true;
}

bool luks2_keyslot_wipe(const Luks2Keyslot *s, const CryptoIo *io, GError **errp)
{
    g_autofree uint8_t *noise = g_malloc(WIPE_CHUNK_BYTES);
    int ret = 0;

    for (uint64_t done = 0; done < s->area.bytes && ret == 0; done += WIPE_CHUNK_BYTES) {
        if (!random_bytes(noise, WIPE_CHUNK_BYTES, errp)) {
            return false;
        }
        ret = io->write(io->opaque, s->area.offset + done, noise, MIN(WIPE_CHUNK_BYTES, s->area.bytes - done));
    }
    if (ret == 0 && io->flush) {
        ret = io->flush(io->opaque);
    }
    if (ret < 0) {
        error_set_errno(errp, -ret, "Unable to wipe the key material of keyslot %u", s->id);
        return false;
    }
    return true;
}
