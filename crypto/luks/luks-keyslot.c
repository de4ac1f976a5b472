/* SPDX-License-Identifier: MIT */
#include "crypto/luks/luks-keyslot.h"

#include <string.h>

#include "crypto/kdf/afsplit.h"
#include "crypto/kdf/pbkdf.h"
#include "crypto/base/random.h"
#include "util/base/error.h"
#include "util/base/trace.h"

G_STATIC_ASSERT(LUKS_MAX_KEY_BYTES <= AFSPLIT_MAX_KEY_BYTES);

void luks_key_digest(const LuksHeader *h, const LuksAlgs *algs, const SecBuf *key,
                     uint8_t digest[static LUKS_DIGEST_BYTES])
{
    pbkdf2_derive(algs->hash, secbuf_data(key), secbuf_size(key), h->digest_salt, LUKS_SALT_BYTES, h->digest_iterations,
                  digest, LUKS_DIGEST_BYTES);
}

/* The cipher that protects a slot's key material. */
static SectorCipher *slot_cipher(const LuksHeader *h, const LuksAlgs *algs, const LuksSlot *slot,
                                 const SecBuf *password, GError **errp)
{
    g_autoptr(SecBuf) slot_key = secbuf_new(h->key_bytes);

    pbkdf2_derive(algs->hash, secbuf_data(password), secbuf_size(password), slot->salt, LUKS_SALT_BYTES,
                  slot->iterations, secbuf_data(slot_key), h->key_bytes);
    return sector_cipher_new(&algs->sector, secbuf_data(slot_key), h->key_bytes, errp);
}

static uint64_t material_offset(const LuksSlot *slot)
{
    return (uint64_t)slot->material_sector * LUKS_SECTOR_BYTES;
}

bool luks_keyslot_try(const LuksHeader *h, const LuksAlgs *algs, size_t i, const SecBuf *password, const CryptoIo *io,
                      SecBuf **key, GError **errp)
{
    MEM_WIPE_STACK_GUARD();
    const LuksSlot *slot = &h->slots[i];
    uint32_t bytes = luks_material_bytes(h->key_bytes);
    g_autoptr(SecBuf) material = secbuf_new(bytes);
    g_autoptr(SecBuf) merged = secbuf_new(h->key_bytes);
    g_autoptr(SectorCipher) sc = NULL;
    uint8_t digest[LUKS_DIGEST_BYTES];
    int ret;

    g_assert(slot->active);
    *key = NULL;
    ret = io->read(io->opaque, material_offset(slot), secbuf_data(material), bytes);
    if (ret < 0) {
        error_set_errno(errp, -ret, "Unable to read the key material of keyslot %zu", i);
        return false;
    }
    sc = slot_cipher(h, algs, slot, password, errp);
    if (!sc) {
        return false;
    }
    ret = sector_cipher_decrypt(sc, 0, secbuf_data(material), secbuf_data(material), bytes);
    if (ret < 0) {
        error_set_errno(errp, -ret, "Unable to decrypt the key material of keyslot %zu", i);
        return false;
    }
    afsplit_merge(algs->hash, secbuf_data(material), h->key_bytes, LUKS_STRIPES, secbuf_data(merged));
    luks_key_digest(h, algs, merged, digest);
    if (mem_equal_consttime(digest, h->digest, sizeof(digest))) {
        *key = g_steal_pointer(&merged);
    }
    trace(TRACE_CRYPTO, "luks-slot", "slot=%zu opened=%d", i, *key != NULL);
    return true;
}

SecBuf *luks_keyslot_find(const LuksHeader *h, const LuksAlgs *algs, const SecBuf *password, const CryptoIo *io,
                          size_t *slot, GError **errp)
{
    for (size_t i = 0; i < LUKS_SLOTS; i++) {
        SecBuf *key;

        if (!h->slots[i].active) {
            continue;
        }
        if (!luks_keyslot_try(h, algs, i, password, io, &key, errp)) {
            return NULL;
        }
        if (key) {
            if (slot) {
                *slot = i;
            }
            return key;
        }
    }
    error_set_code(errp, QB_ERROR_PASSPHRASE, "Invalid password, cannot unlock any keyslot");
    return NULL;
}

bool luks_keyslot_seal(LuksHeader *h, const LuksAlgs *algs, size_t i, const SecBuf *password, const SecBuf *key,
                       uint32_t iterations, const CryptoIo *io, GError **errp)
{
    MEM_WIPE_STACK_GUARD();
    LuksSlot *slot = &h->slots[i];
    uint32_t bytes = luks_material_bytes(h->key_bytes);
    g_autoptr(SecBuf) material = secbuf_new(bytes); /* zero behind the last stripe, where that is inside a sector */
    g_autoptr(SectorCipher) sc = NULL;
    int ret;

    g_assert(secbuf_size(key) == h->key_bytes);
    if (!random_bytes(slot->salt, LUKS_SALT_BYTES, errp)) {
        return false;
    }
    slot->iterations = iterations;
    sc = slot_cipher(h, algs, slot, password, errp);
    if (!sc || !afsplit_split(algs->hash, secbuf_data(key), h->key_bytes, LUKS_STRIPES, secbuf_data(material), errp)) {
        return false;
    }
    ret = sector_cipher_encrypt(sc, 0, secbuf_data(material), secbuf_data(material), bytes);
    if (ret == 0) {
        ret = io->write(io->opaque, material_offset(slot), secbuf_data(material), bytes);
    }
    if (ret < 0) {
        error_set_errno(errp, -ret, "Unable to write the key material of keyslot %zu", i);
        return false;
    }
    slot->active = true;
    return true;
}
