/* SPDX-License-Identifier: MIT */
#include "crypto/formats/block-open.h"

#include "crypto/cipher/init.h"
#include "crypto/volume/block-int.h"

static const CryptoFormatOps *const formats[] = {
    [CRYPTO_FORMAT_QCOW] = &crypto_format_qcow,
    [CRYPTO_FORMAT_LUKS] = &crypto_format_luks,
    [CRYPTO_FORMAT_LUKS2] = &crypto_format_luks2,
    [CRYPTO_FORMAT_LUKS_ANY] = &crypto_format_luks_any,
};

static CryptoBlock *block_new(CryptoFormat format)
{
    CryptoBlock *b = g_new0(CryptoBlock, 1);

    b->format = format;
    b->ops = formats[format];
    b->sector_bytes = SECTOR_CIPHER_IV_UNIT;
    return b;
}

CryptoBlock *crypto_block_open(CryptoFormat format, OptDict *options, const char *prefix, const CryptoIo *io,
                               uint64_t area_bytes, unsigned flags, GError **errp)
{
    g_autoptr(CryptoBlock) b = block_new(format);

    if (!crypto_init(errp) || !b->ops->open(b, options, prefix, io, area_bytes, flags, errp)) {
        return NULL;
    }
    return g_steal_pointer(&b);
}

CryptoBlock *crypto_block_create(CryptoFormat format, OptDict *options, const char *prefix, const CryptoIo *io,
                                 GError **errp)
{
    g_autoptr(CryptoBlock) b = block_new(format);

    if (!crypto_init(errp) || !b->ops->create(b, options, prefix, io, errp)) {
        return NULL;
    }
    return g_steal_pointer(&b);
}

bool crypto_block_measure(CryptoFormat format, const OptDict *options, const char *prefix, uint64_t *header_bytes,
                          GError **errp)
{
    g_autoptr(OptDict) copy = optdict_copy(options);

    return crypto_init(errp) && formats[format]->measure(copy, prefix, header_bytes, errp);
}
