/* SPDX-License-Identifier: MIT */
/* Metadata written: the tree of a new volume, and edits of one that was read. */
#include "crypto/luks/luks2-meta.h"

#include <string.h>

/* ---- values ---------------------------------------------------------------------------------------------------- */

static void set_u64(JsonObject *o, const char *name, uint64_t value)
{
    char text[24];

    g_snprintf(text, sizeof(text), "%" G_GUINT64_FORMAT, value);
    json_object_set_string_member(o, name, text);
}

static void set_bytes(JsonObject *o, const char *name, const uint8_t *bytes, size_t len)
{
    g_autofree char *text = g_base64_encode(bytes, len);

    json_object_set_string_member(o, name, text);
}

static void add_id(JsonArray *list, unsigned id)
{
    char text[16];

    g_snprintf(text, sizeof(text), "%u", id);
    json_array_add_string_element(list, text);
}

static void set_ids(JsonObject *o, const char *name, uint32_t mask)
{
    JsonArray *list = json_array_new();

    for (unsigned id = 0; id < LUKS2_MAX_IDS; id++) {
        if (mask >> id & 1) {
            add_id(list, id);
        }
    }
    json_object_set_array_member(o, name, list);
}

static void set_member(JsonObject *section, unsigned id, JsonObject *value)
{
    char name[16];

    g_snprintf(name, sizeof(name), "%u", id);
    json_object_set_object_member(section, name, value);
}

/* ---- objects --------------------------------------------------------------------------------------------------- */

static JsonObject *kdf_object(const Luks2Kdf *kdf)
{
    JsonObject *o = json_object_new();

    json_object_set_string_member(o, "type", luks2_kdf_name(kdf->alg));
    if (kdf->alg == LUKS2_KDF_PBKDF2) {
        json_object_set_string_member(o, "hash", hash_name(kdf->hash));
        json_object_set_int_member(o, "iterations", kdf->iterations);
    } else {
        json_object_set_int_member(o, "time", kdf->passes);
        json_object_set_int_member(o, "memory", kdf->memory_kib);
        json_object_set_int_member(o, "cpus", kdf->lanes);
    }
    set_bytes(o, "salt", kdf->salt, kdf->salt_bytes);
    return o;
}

static JsonObject *area_object(const Luks2Area *area)
{
    JsonObject *o = json_object_new();
    g_autofree char *encryption = luks2_cipher_text(&area->cipher);

    json_object_set_string_member(o, "type", "raw");
    set_u64(o, "offset", area->offset);
    set_u64(o, "size", area->bytes);
    json_object_set_string_member(o, "encryption", encryption);
    json_object_set_int_member(o, "key_size", area->key_bytes);
    return o;
}

static JsonObject *keyslot_object(const Luks2Keyslot *s)
{
    JsonObject *o = json_object_new(), *af = json_object_new();

    json_object_set_string_member(o, "type", "luks2");
    json_object_set_int_member(o, "key_size", s->key_bytes);
    if (s->priority != LUKS2_PRIORITY_NORMAL) {
        json_object_set_int_member(o, "priority", s->priority);
    }
    json_object_set_string_member(af, "type", "luks1");
    json_object_set_int_member(af, "stripes", LUKS_STRIPES);
    json_object_set_string_member(af, "hash", hash_name(s->af_hash));
    json_object_set_object_member(o, "af", af);
    json_object_set_object_member(o, "area", area_object(&s->area));
    json_object_set_object_member(o, "kdf", kdf_object(&s->kdf));
    return o;
}

static JsonObject *segment_object(const Luks2Segment *s)
{
    JsonObject *o = json_object_new();

    json_object_set_string_member(o, "type", "crypt");
    set_u64(o, "offset", s->offset);
    if (s->bytes == 0) {
        json_object_set_string_member(o, "size", "dynamic");
    } else {
        set_u64(o, "size", s->bytes);
    }
    set_u64(o, "iv_tweak", s->iv_tweak);
    json_object_set_string_member(o, "encryption", s->encryption);
    json_object_set_int_member(o, "sector_size", s->sector_bytes);
    return o;
}

static JsonObject *digest_object(const Luks2Digest *d)
{
    JsonObject *o = json_object_new();

    json_object_set_string_member(o, "type", "pbkdf2");
    set_ids(o, "keyslots", d->keyslots);
    set_ids(o, "segments", d->segments);
    json_object_set_string_member(o, "hash", hash_name(d->hash));
    json_object_set_int_member(o, "iterations", d->iterations);
    set_bytes(o, "salt", d->salt, d->salt_bytes);
    set_bytes(o, "digest", d->digest, d->digest_bytes);
    return o;
}

static JsonObject *config_object(const Luks2Header *h, uint64_t keyslots_bytes)
{
    JsonObject *o = json_object_new();

    set_u64(o, "json_size", h->copy_bytes - LUKS2_OFF_JSON);
    set_u64(o, "keyslots_size", keyslots_bytes);
    return o;
}

/* ---- the tree -------------------------------------------------------------------------------------------------- */

char *luks2_meta_new_text(const Luks2Header *h, const Luks2Segment *segment, const Luks2Digest *digest,
                          uint64_t keyslots_bytes)
{
    g_autoptr(JsonNode) root = json_node_new(JSON_NODE_OBJECT);
    JsonObject *o = json_object_new(), *segments = json_object_new(), *digests = json_object_new();

    set_member(segments, segment->id, segment_object(segment));
    set_member(digests, digest->id, digest_object(digest));
    json_object_set_object_member(o, "keyslots", json_object_new());
    json_object_set_object_member(o, "tokens", json_object_new());
    json_object_set_object_member(o, "segments", segments);
    json_object_set_object_member(o, "digests", digests);
    json_object_set_object_member(o, "config", config_object(h, keyslots_bytes));
    json_node_take_object(root, o);
    return luks2_json_text(root);
}

/* The list @o.keyslots without @id, or with it once. Other items keep their order. */
static void bind_keyslot(JsonObject *o, unsigned id, bool bound)
{
    JsonArray *old = json_object_get_array_member(o, "keyslots"), *list = json_array_new();
    char text[16];

    g_snprintf(text, sizeof(text), "%u", id);
    for (guint i = 0; i < json_array_get_length(old); i++) {
        const char *item = json_array_get_string_element(old, i);

        if (strcmp(item, text)) {
            json_array_add_string_element(list, item);
        }
    }
    if (bound) {
        json_array_add_string_element(list, text);
    }
    json_object_set_array_member(o, "keyslots", list);
}

static void bind_in_section(JsonObject *root, const char *section, unsigned id, int bound_to)
{
    JsonObject *o = json_object_get_object_member(root, section);
    g_autoptr(GList) names = json_object_get_members(o);

    for (GList *l = names; l; l = l->next) {
        bind_keyslot(json_object_get_object_member(o, l->data), id,
                     (int)g_ascii_strtoull(l->data, NULL, 10) == bound_to);
    }
}

void luks2_meta_put_keyslot(Luks2Meta *m, const Luks2Keyslot *slot, unsigned digest_id)
{
    JsonObject *root = json_node_get_object(m->root);

    set_member(json_object_get_object_member(root, "keyslots"), slot->id, keyslot_object(slot));
    bind_in_section(root, "digests", slot->id, digest_id);
}

void luks2_meta_remove_keyslot(Luks2Meta *m, unsigned id)
{
    JsonObject *root = json_node_get_object(m->root);
    char name[16];

    g_snprintf(name, sizeof(name), "%u", id);
    json_object_remove_member(json_object_get_object_member(root, "keyslots"), name);
    bind_in_section(root, "digests", id, -1);
    bind_in_section(root, "tokens", id, -1);
}
