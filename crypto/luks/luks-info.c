/* SPDX-License-Identifier: MIT */
#include "crypto/luks/luks-int.h"

static InfoTree *slot_info(const LuksSlot *slot)
{
    InfoTree *t = info_object_new();

    info_set_bool(t, "active", slot->active);
    if (slot->active) {
        info_set_uint(t, "iters", slot->iterations);
        info_set_uint(t, "stripes", slot->stripes);
    }
    info_set_uint(t, "key-offset", (uint64_t)slot->material_sector * LUKS_SECTOR_BYTES);
    return t;
}

InfoTree *luks_info(const CryptoBlock *b)
{
    const LuksState *s = b->state;
    const LuksHeader *h = &s->header;
    const SectorCipherSpec *sector = &s->algs.sector;
    InfoTree *t = info_object_new(), *slots = info_array_new();
    g_autofree char *uuid = g_strescape(h->uuid, NULL); /* from the disk: may hold anything */

    info_set_str(t, "ivgen-alg", ivgen_name(sector->ivgen));
    if (s->algs.has_ivgen_hash) {
        info_set_str(t, "ivgen-hash-alg", hash_name(sector->ivgen_hash));
    }
    info_set_str(t, "cipher-alg", cipher_alg_name(sector->cipher));
    info_set_str(t, "cipher-mode", cipher_mode_name(sector->mode));
    info_set_str(t, "hash-alg", hash_name(s->algs.hash));
    info_set_str(t, "uuid", uuid);
    info_set_uint(t, "payload-offset", b->payload_offset);
    info_set_uint(t, "master-key-iters", h->digest_iterations);
    info_set_bool(t, "detached-header", h->payload_sector == 0);
    for (size_t i = 0; i < LUKS_SLOTS; i++) {
        info_append(slots, slot_info(&h->slots[i]));
    }
    info_set(t, "slots", slots);
    return t;
}
