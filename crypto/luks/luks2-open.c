/* SPDX-License-Identifier: MIT */
/* Opening of a LUKS2 volume. */
#include "crypto/luks/luks2-int.h"

#include "crypto/luks/luks2-disk.h"
#include "crypto/luks/luks2-keyslot.h"
#include "util/base/error.h"
#include "util/base/trace.h"

/* A cut file would give zeros for key material, and then blame the password. */
static bool check_file_length(const Luks2Meta *m, uint64_t area_bytes, GError **errp)
{
    for (size_t i = 0; i < m->keyslot_count; i++) {
        const Luks2Keyslot *s = &m->keyslots[i];

        if (s->area.offset + s->area.bytes > area_bytes) {
            error_set_code(errp, QB_ERROR_CORRUPT,
                           "Keyslot %u ends at byte %" G_GUINT64_FORMAT ", beyond the file of %" G_GUINT64_FORMAT
                           " bytes",
                           s->id, s->area.offset + s->area.bytes, area_bytes);
            return false;
        }
    }
    return true;
}

/* The metadata of the better copy. The other one is mended where that is allowed; the volume opens all the same when
 * the disk refuses. */
static bool load(Luks2State *s, const CryptoIo *io, uint64_t area_bytes, unsigned flags, GError **errp)
{
    g_autofree char *json = NULL;
    int damaged;

    if (!luks2_disk_load(io, area_bytes, &s->header, &json, &damaged, errp)) {
        return false;
    }
    s->meta = luks2_meta_parse(json, &s->header, errp);
    if (!s->meta || !check_file_length(s->meta, area_bytes, errp)) {
        return false;
    }
    if (damaged >= 0 && flags & CRYPTO_OPEN_REPAIR) {
        g_autoptr(GError) err = NULL;
        bool ok = luks2_disk_restore(io, &s->header, json, damaged, &err);

        trace(TRACE_CRYPTO, "luks2-restore", "copy=%d %s", damaged, ok ? "done" : err->message);
    }
    return true;
}

bool luks2_install_key(CryptoBlock *b, const Luks2State *s, const SecBuf *key, GError **errp)
{
    const Luks2Segment *data = s->volume.segment ? s->volume.segment : &s->meta->segments[0];

    b->payload_offset = data->offset;
    b->payload_bytes = data->bytes;
    b->sector_bytes = data->sector_bytes;
    b->first_iv = data->iv_tweak;
    if (key) {
        b->slots = cipher_slots_new(&s->volume.cipher, key, errp);
        return b->slots;
    }
    return true;
}

/* Facts need no key, and tell of volumes that cannot be opened too. */
static bool open_facts(CryptoBlock *b, Luks2State *s, const CryptoIo *io, uint64_t area_bytes, GError **errp)
{
    if (!load(s, io, area_bytes, 0, errp)) {
        return false;
    }
    (void)luks2_meta_volume(s->meta, &s->volume, NULL);
    return luks2_install_key(b, s, NULL, errp);
}

bool luks2_open(CryptoBlock *b, OptDict *options, const char *prefix, const CryptoIo *io, uint64_t area_bytes,
                unsigned flags, GError **errp)
{
    Luks2State *s = g_new0(Luks2State, 1);
    g_autoptr(SecBuf) password = NULL;
    g_autoptr(SecBuf) key = NULL;

    b->state = s;
    if (flags & CRYPTO_OPEN_NO_IO) {
        optdict_remove(options, "key-secret");
        return open_facts(b, s, io, area_bytes, errp);
    }
    password = crypto_block_take_secret(options, prefix, errp);
    if (!password || !load(s, io, area_bytes, flags, errp) || !luks2_meta_check_requirements(s->meta, errp) ||
        !luks2_meta_volume(s->meta, &s->volume, errp)) {
        return false;
    }
    key = luks2_keyslot_find(s->meta, &s->volume, password, io, NULL, errp);
    return key && luks2_install_key(b, s, key, errp);
}

static void luks2_state_free(void *state)
{
    Luks2State *s = state;

    luks2_meta_free(s->meta); /* nothing secret: all of it is on the disk in clear */
    g_free(s);
}

const CryptoFormatOps crypto_format_luks2 = {
    .open = luks2_open,
    .create = luks2_create,
    .measure = luks2_measure,
    .amend = luks2_amend,
    .info = luks2_info,
    .state_free = luks2_state_free,
};
