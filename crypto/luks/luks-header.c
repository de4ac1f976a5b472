/* SPDX-License-Identifier: MIT */
#include "crypto/luks/luks-header.h"

#include <string.h>

#include "util/base/endian.h"
#include "util/base/error.h"
#include "util/base/units.h"

#define corrupt(errp, ...) error_set_code(errp, QB_ERROR_CORRUPT, __VA_ARGS__)

bool luks_header_probe(const uint8_t *buf, size_t len, unsigned *version)
{
    if (len < LUKS_OFF_VERSION + 2 || memcmp(buf, LUKS_MAGIC, LUKS_MAGIC_BYTES)) {
        return false;
    }
    *version = load_be16(buf + LUKS_OFF_VERSION);
    return true;
}

uint32_t luks_material_bytes(uint32_t key_bytes)
{
    return round_up((uint64_t)key_bytes * LUKS_STRIPES, LUKS_SECTOR_BYTES);
}

uint32_t luks_slot_spacing(uint32_t key_bytes)
{
    return round_up(luks_material_bytes(key_bytes) / LUKS_SECTOR_BYTES, LUKS_SLOT_ALIGN_SECTORS);
}

uint32_t luks_payload_sector(uint32_t key_bytes)
{
    return LUKS_HEADER_AREA_SECTORS + LUKS_SLOTS * luks_slot_spacing(key_bytes);
}

void luks_header_init(LuksHeader *h, uint32_t key_bytes)
{
    memset(h, 0, sizeof(*h));
    h->key_bytes = key_bytes;
    h->payload_sector = luks_payload_sector(key_bytes);
    for (uint32_t i = 0; i < LUKS_SLOTS; i++) {
        h->slots[i].material_sector = LUKS_HEADER_AREA_SECTORS + i * luks_slot_spacing(key_bytes);
        h->slots[i].stripes = LUKS_STRIPES;
    }
}

static bool decode_name(const uint8_t *field, char *out, const char *what, GError **errp)
{
    if (!memchr(field, '\0', LUKS_NAME_BYTES)) {
        corrupt(errp, "LUKS header %s is not NUL terminated", what);
        return false;
    }
    memcpy(out, field, LUKS_NAME_BYTES);
    return true;
}

static bool decode_slot(const uint8_t *p, size_t i, LuksSlot *slot, GError **errp)
{
    uint32_t state = load_be32(p + LUKS_SLOT_OFF_STATE);

    slot->iterations = load_be32(p + LUKS_SLOT_OFF_ITERATIONS);
    memcpy(slot->salt, p + LUKS_SLOT_OFF_SALT, LUKS_SALT_BYTES);
    slot->material_sector = load_be32(p + LUKS_SLOT_OFF_MATERIAL);
    slot->stripes = load_be32(p + LUKS_SLOT_OFF_STRIPES);
    slot->active = state == LUKS_SLOT_ENABLED;
    if (slot->stripes != LUKS_STRIPES) {
        corrupt(errp, "Keyslot %zu is corrupted (stripes %" G_GUINT32_FORMAT " != %d)", i, slot->stripes, LUKS_STRIPES);
        return false;
    }
    if (state != LUKS_SLOT_ENABLED && state != LUKS_SLOT_DISABLED) {
        corrupt(errp, "Keyslot %zu state (active/disable) is corrupted", i);
        return false;
    }
    if (slot->active && slot->iterations == 0) {
        corrupt(errp, "Keyslot %zu iteration count is zero", i);
        return false;
    }
    return true;
}

/* Places of the key material; disabled slots count too, for they may be filled later. */
static bool check_slot_places(const LuksHeader *h, uint64_t area_bytes, GError **errp)
{
    uint64_t len = luks_material_bytes(h->key_bytes) / LUKS_SECTOR_BYTES;

    for (size_t i = 0; i < LUKS_SLOTS; i++) {
        uint64_t start = h->slots[i].material_sector, end = start + len;

        if (start < LUKS_HEADER_AREA_SECTORS) {
            corrupt(errp, "Keyslot %zu is overlapping with the LUKS header", i);
            return false;
        }
        if (h->payload_sector != 0 && end > h->payload_sector) {
            corrupt(errp, "Keyslot %zu is overlapping with the encrypted payload", i);
            return false;
        }
        if (end * LUKS_SECTOR_BYTES > area_bytes) {
            corrupt(errp,
                    "Keyslot %zu ends at byte %" G_GUINT64_FORMAT ", beyond the %" G_GUINT64_FORMAT
                    " bytes of the LUKS header area",
                    i, end * LUKS_SECTOR_BYTES, area_bytes);
            return false;
        }
        for (size_t j = i + 1; j < LUKS_SLOTS; j++) {
            uint64_t other = h->slots[j].material_sector;

            if (start < other + len && other < end) {
                corrupt(errp, "Keyslots %zu and %zu are overlapping in the header", i, j);
                return false;
            }
        }
    }
    return true;
}

static bool check_fields(const LuksHeader *h, uint64_t area_bytes, GError **errp)
{
    uint64_t payload = (uint64_t)h->payload_sector * LUKS_SECTOR_BYTES;

    if (h->payload_sector != 0 && h->payload_sector < LUKS_HEADER_AREA_SECTORS) {
        corrupt(errp, "LUKS payload is overlapping with the header");
        return false;
    }
    if (h->digest_iterations == 0) {
        corrupt(errp, "LUKS key iteration count is zero");
        return false;
    }
    if (h->key_bytes == 0 || h->key_bytes > LUKS_MAX_KEY_BYTES) {
        g_autofree char *printable = g_strescape(h->cipher_name, NULL);

        corrupt(errp, "Algorithm '%s' with key size %" G_GUINT32_FORMAT " bytes not supported", printable,
                h->key_bytes);
        return false;
    }
    if (!check_slot_places(h, area_bytes, errp)) {
        return false;
    }
    if (payload > area_bytes) {
        corrupt(errp,
                "LUKS payload offset %" G_GUINT64_FORMAT " is beyond the %" G_GUINT64_FORMAT
                " bytes of the LUKS header area",
                payload, area_bytes);
        return false;
    }
    return true;
}

bool luks_header_decode(const uint8_t buf[static LUKS_HEADER_BYTES], uint64_t area_bytes, LuksHeader *h, GError **errp)
{
    unsigned version;

    memset(h, 0, sizeof(*h));
    if (!luks_header_probe(buf, LUKS_HEADER_BYTES, &version)) {
        corrupt(errp, "Volume is not in LUKS format");
        return false;
    }
    if (version != LUKS_VERSION_1) {
        error_set_code(errp, QB_ERROR_UNSUPPORTED, "LUKS version %u is not supported", version);
        return false;
    }
    if (!decode_name(buf + LUKS_OFF_CIPHER_NAME, h->cipher_name, "cipher name", errp) ||
        !decode_name(buf + LUKS_OFF_CIPHER_MODE, h->cipher_mode, "cipher mode", errp) ||
        !decode_name(buf + LUKS_OFF_HASH_SPEC, h->hash_spec, "hash spec", errp)) {
        return false;
    }
    h->payload_sector = load_be32(buf + LUKS_OFF_PAYLOAD);
    h->key_bytes = load_be32(buf + LUKS_OFF_KEY_BYTES);
    memcpy(h->digest, buf + LUKS_OFF_DIGEST, LUKS_DIGEST_BYTES);
    memcpy(h->digest_salt, buf + LUKS_OFF_DIGEST_SALT, LUKS_SALT_BYTES);
    h->digest_iterations = load_be32(buf + LUKS_OFF_DIGEST_ITERATIONS);
    memcpy(h->uuid, buf + LUKS_OFF_UUID, LUKS_UUID_BYTES);
    for (size_t i = 0; i < LUKS_SLOTS; i++) {
        if (!decode_slot(buf + LUKS_OFF_SLOTS + i * LUKS_SLOT_BYTES, i, &h->slots[i], errp)) {
            return false;
        }
    }
    return check_fields(h, area_bytes, errp);
}

void luks_header_encode(const LuksHeader *h, uint8_t buf[static LUKS_HEADER_BYTES])
{
    memset(buf, 0, LUKS_HEADER_BYTES);
    memcpy(buf + LUKS_OFF_MAGIC, LUKS_MAGIC, LUKS_MAGIC_BYTES);
    store_be16(buf + LUKS_OFF_VERSION, LUKS_VERSION_1);
    memcpy(buf + LUKS_OFF_CIPHER_NAME, h->cipher_name, LUKS_NAME_BYTES);
    memcpy(buf + LUKS_OFF_CIPHER_MODE, h->cipher_mode, LUKS_NAME_BYTES);
    memcpy(buf + LUKS_OFF_HASH_SPEC, h->hash_spec, LUKS_NAME_BYTES);
    store_be32(buf + LUKS_OFF_PAYLOAD, h->payload_sector);
    store_be32(buf + LUKS_OFF_KEY_BYTES, h->key_bytes);
    memcpy(buf + LUKS_OFF_DIGEST, h->digest, LUKS_DIGEST_BYTES);
    memcpy(buf + LUKS_OFF_DIGEST_SALT, h->digest_salt, LUKS_SALT_BYTES);
    store_be32(buf + LUKS_OFF_DIGEST_ITERATIONS, h->digest_iterations);
    memcpy(buf + LUKS_OFF_UUID, h->uuid, LUKS_UUID_BYTES);
    for (size_t i = 0; i < LUKS_SLOTS; i++) {
        const LuksSlot *slot = &h->slots[i];
        uint8_t *p = buf + LUKS_OFF_SLOTS + i * LUKS_SLOT_BYTES;

        store_be32(p + LUKS_SLOT_OFF_STATE, slot->active ? LUKS_SLOT_ENABLED : LUKS_SLOT_DISABLED);
        store_be32(p + LUKS_SLOT_OFF_ITERATIONS, slot->iterations);
        memcpy(p + LUKS_SLOT_OFF_SALT, slot->salt, LUKS_SALT_BYTES);
        store_be32(p + LUKS_SLOT_OFF_MATERIAL, slot->material_sector);
        store_be32(p + LUKS_SLOT_OFF_STRIPES, slot->stripes);
    }
}
