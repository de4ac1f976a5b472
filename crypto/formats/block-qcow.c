/* SPDX-License-Identifier: MIT */
/* The legacy encryption of qcow2 (qcow2 sheet section 12): AES-128-CBC, plain64, the password itself as key. No header,
 * no salt, no check: a wrong password gives noise. */
#include "crypto/volume/block-int.h"

#include <string.h>

enum { LEGACY_KEY_BYTES = 16 };

static const SectorCipherSpec legacy_spec = {
    .cipher = CIPHER_AES_128, .mode = CIPHER_CBC, .ivgen = IVGEN_PLAIN64, .sector_bytes = SECTOR_CIPHER_IV_UNIT};

/* The first 16 bytes of the password, or all of it and zeros. */
static bool take_key(CryptoBlock *b, OptDict *options, const char *prefix, GError **errp)
{
    MEM_WIPE_STACK_GUARD();
    g_autoptr(SecBuf) password = crypto_block_take_secret(options, prefix, errp);
    g_autoptr(SecBuf) key = NULL;

    if (!password) {
        return false;
    }
    key = secbuf_new(LEGACY_KEY_BYTES);
    memcpy(secbuf_data(key), secbuf_data(password), MIN(secbuf_size(password), LEGACY_KEY_BYTES));
    b->slots = cipher_slots_new(&legacy_spec, key, errp);
    return b->slots;
}

static bool qcow_open(CryptoBlock *b, OptDict *options, const char *prefix, const CryptoIo *io, uint64_t area_bytes,
                      unsigned flags, GError **errp)
{
    if (flags & CRYPTO_OPEN_NO_IO) {
        optdict_remove(options, "key-secret");
        return true;
    }
    return take_key(b, options, prefix, errp);
}

static bool qcow_create(CryptoBlock *b, OptDict *options, const char *prefix, const CryptoIo *io, GError **errp)
{
    return take_key(b, options, prefix, errp);
}

static bool qcow_measure(OptDict *options, const char *prefix, uint64_t *header_bytes, GError **errp)
{
    g_autoptr(SecBuf) password = crypto_block_take_secret(options, prefix, errp);

    *header_bytes = 0;
    return password;
}

static InfoTree *qcow_info(const CryptoBlock *b)
{
    return info_object_new();
}

const CryptoFormatOps crypto_format_qcow = {
    .open = qcow_open, .create = qcow_create, .measure = qcow_measure, .info = qcow_info};
