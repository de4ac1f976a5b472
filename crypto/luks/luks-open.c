/* SPDX-License-Identifier: MIT */
#include "crypto/luks/luks-int.h"

#include "crypto/luks/luks-keyslot.h"
#include "util/base/error.h"

bool crypto_luks_probe(const uint8_t *buf, size_t len, unsigned *version)
{
    return luks_header_probe(buf, len, version);
}

static bool read_header(LuksState *s, const CryptoIo *io, uint64_t area_bytes, GError **errp)
{
    uint8_t buf[LUKS_HEADER_BYTES];
    int ret;

    if (area_bytes < sizeof(buf)) {
        error_set_code(errp, QB_ERROR_CORRUPT, "Volume is not in LUKS format");
        return false;
    }
    ret = io->read(io->opaque, 0, buf, sizeof(buf));
    if (ret < 0) {
        error_set_errno(errp, -ret, "Unable to read LUKS header");
        return false;
    }
    return luks_header_decode(buf, area_bytes, &s->header, errp) && luks_names_parse(&s->header, &s->algs, errp);
}

bool luks_install_key(CryptoBlock *b, const LuksState *s, const SecBuf *key, GError **errp)
{
    b->payload_offset = (uint64_t)s->header.payload_sector * LUKS_SECTOR_BYTES;
    b->sector_bytes = s->algs.sector.sector_bytes;
    if (key) {
        b->slots = cipher_slots_new(&s->algs.sector, key, errp);
        return b->slots;
    }
    return true;
}

bool luks_open(CryptoBlock *b, OptDict *options, const char *prefix, const CryptoIo *io, uint64_t area_bytes,
               unsigned flags, GError **errp)
{
    LuksState *s = g_new0(LuksState, 1);
    g_autoptr(SecBuf) password = NULL;
    g_autoptr(SecBuf) key = NULL;

    b->state = s;
    if (!(flags & CRYPTO_OPEN_NO_IO)) {
        password = crypto_block_take_secret(options, prefix, errp);
        if (!password) {
            return false;
        }
    } else {
        optdict_remove(options, "key-secret");
    }
    if (!read_header(s, io, area_bytes, errp)) {
        return false;
    }
    if (password) {
        key = luks_keyslot_find(&s->header, &s->algs, password, io, NULL, errp);
        if (!key) {
            return false;
        }
    }
    return luks_install_key(b, s, key, errp);
}

static void luks_state_free(void *state)
{
    g_free(state); /* nothing secret: all of it is on the disk in clear */
}

const CryptoFormatOps crypto_format_luks = {
    .open = luks_open,
    .create = luks_create,
    .measure = luks_measure,
    .amend = luks_amend,
    .info = luks_info,
    .state_free = luks_state_free,
};
