/* SPDX-License-Identifier: MIT */
/* What info reports of a LUKS2 volume: the fields of LUKS1 under the same names (LUKS sheet section 8) and those that
 * only LUKS2 has. Texts come from the disk and may hold anything. */
#include "crypto/luks/luks2-int.h"

static void set_escaped(InfoTree *t, const char *key, const char *text)
{
    g_autofree char *printable = luks2_json_printable(text);

    info_set_str(t, key, printable);
}

static void set_ids(InfoTree *t, const char *key, uint32_t mask)
{
    InfoTree *list = info_array_new();

    for (unsigned id = 0; id < LUKS2_MAX_IDS; id++) {
        if (mask >> id & 1) {
            info_append(list, info_uint_new(id));
        }
    }
    info_set(t, key, list);
}

static void set_kdf(InfoTree *t, const Luks2Kdf *kdf)
{
    info_set_str(t, "pbkdf", luks2_kdf_name(kdf->alg));
    if (kdf->alg == LUKS2_KDF_PBKDF2) {
        info_set_uint(t, "iters", kdf->iterations);
        return;
    }
    info_set_uint(t, "time", kdf->passes);
    info_set_uint(t, "memory", (uint64_t)kdf->memory_kib << 10);
    info_set_uint(t, "cpus", kdf->lanes);
}

static InfoTree *slot_info(const Luks2Keyslot *s)
{
    static const char *const priorities[] = {"ignore", "normal", "high"};
    InfoTree *t = info_object_new();

    info_set_bool(t, "active", true);
    info_set_uint(t, "slot", s->id);
    set_escaped(t, "type", s->type);
    info_set_str(t, "priority", priorities[s->priority]);
    if (s->key_bytes > 0 && s->kdf.salt_bytes > 0 && !s->unusable) {
        set_kdf(t, &s->kdf);
        info_set_uint(t, "stripes", LUKS_STRIPES);
    }
    info_set_str(t, "unusable", s->unusable);
    if (s->area.bytes > 0) {
        info_set_uint(t, "key-offset", s->area.offset);
    }
    return t;
}

static InfoTree *token_info(const Luks2Token *token)
{
    InfoTree *t = info_object_new();

    info_set_uint(t, "token", token->id);
    set_escaped(t, "type", token->type);
    set_ids(t, "keyslots", token->keyslots);
    return t;
}

static void set_cipher(InfoTree *t, const Luks2Volume *v)
{
    if (v->cipher.sector_bytes == 0) {
        return; /* luks2_meta_volume() did not get that far */
    }
    info_set_str(t, "ivgen-alg", ivgen_name(v->cipher.ivgen));
    if (ivgen_needs_hash(v->cipher.ivgen)) {
        info_set_str(t, "ivgen-hash-alg", hash_name(v->cipher.ivgen_hash));
    }
    info_set_str(t, "cipher-alg", cipher_alg_name(v->cipher.cipher));
    info_set_str(t, "cipher-mode", cipher_mode_name(v->cipher.mode));
}

static void set_segment(InfoTree *t, const Luks2Segment *s)
{
    if (s->encryption) {
        set_escaped(t, "encryption", s->encryption);
    }
    info_set_uint(t, "sector-size", s->sector_bytes);
}

/* Lists that most volumes have empty are left out. */
static void set_extras(InfoTree *t, const Luks2Meta *m)
{
    InfoTree *tokens = m->token_count ? info_array_new() : NULL;
    InfoTree *needs = m->requirements->len ? info_array_new() : NULL;

    for (size_t i = 0; i < m->token_count; i++) {
        info_append(tokens, token_info(&m->tokens[i]));
    }
    for (guint i = 0; i < m->requirements->len; i++) {
        g_autofree char *printable = luks2_json_printable(m->requirements->pdata[i]);

        info_append(needs, info_str_new(printable));
    }
    info_set(t, "tokens", tokens);
    info_set(t, "requirements", needs);
}

InfoTree *luks2_info(const CryptoBlock *b)
{
    const Luks2State *s = b->state;
    InfoTree *t = info_object_new(), *slots = info_array_new();

    info_set_uint(t, "luks-version", LUKS_VERSION_2);
    set_cipher(t, &s->volume);
    if (s->volume.digest && !s->volume.digest->unusable) {
        info_set_str(t, "hash-alg", hash_name(s->volume.digest->hash));
        info_set_uint(t, "master-key-iters", s->volume.digest->iterations);
    }
    if (s->volume.segment) {
        set_segment(t, s->volume.segment);
    }
    set_escaped(t, "uuid", s->header.uuid);
    if (s->header.label[0]) {
        set_escaped(t, "label", s->header.label);
    }
    if (s->header.subsystem[0]) {
        set_escaped(t, "subsystem", s->header.subsystem);
    }
    info_set_uint(t, "payload-offset", b->payload_offset);
    info_set_bool(t, "detached-header", b->payload_offset == 0);
    for (size_t i = 0; i < s->meta->keyslot_count; i++) {
        info_append(slots, slot_info(&s->meta->keyslots[i]));
    }
    info_set(t, "slots", slots);
    set_extras(t, s->meta);
    return t;
}
