/* SPDX-License-Identifier: MIT */
/* LUKS1 or LUKS2: the version is read from the header, or asked for by "luks-version". */
#include "crypto/volume/block-int.h"

#include "crypto/luks/luks-header.h"
#include "crypto/luks/luks2-disk.h"
#include "util/base/error.h"

static void become(CryptoBlock *b, CryptoFormat format)
{
    b->format = format;
    b->ops = format == CRYPTO_FORMAT_LUKS2 ? &crypto_format_luks2 : &crypto_format_luks;
}

/* Anything but a LUKS2 header is for the LUKS1 code to open or to refuse. */
static CryptoFormat format_on_disk(const CryptoIo *io, uint64_t area_bytes)
{
    uint8_t start[LUKS_OFF_VERSION + 2];
    unsigned version;

    if (area_bytes < sizeof(start) || io->read(io->opaque, 0, start, sizeof(start)) < 0) {
        return CRYPTO_FORMAT_LUKS;
    }
    if (luks_header_probe(start, sizeof(start), &version)) {
        return version == LUKS_VERSION_2 ? CRYPTO_FORMAT_LUKS2 : CRYPTO_FORMAT_LUKS;
    }
    return luks2_disk_has_second(io, area_bytes) ? CRYPTO_FORMAT_LUKS2 : CRYPTO_FORMAT_LUKS;
}

static bool any_open(CryptoBlock *b, OptDict *options, const char *prefix, const CryptoIo *io, uint64_t area_bytes,
                     unsigned flags, GError **errp)
{
    become(b, format_on_disk(io, area_bytes));
    return b->ops->open(b, options, prefix, io, area_bytes, flags, errp);
}

static bool take_version(OptDict *options, CryptoFormat *format, GError **errp)
{
    static const char *const luks2_only[] = {"sector-size", "pbkdf"};
    uint64_t version = LUKS_VERSION_1;

    if (!optdict_take_uint(options, "luks-version", UINT64_MAX, &version, errp)) {
        return false;
    }
    if (version != LUKS_VERSION_1 && version != LUKS_VERSION_2) {
        error_set(errp, "Parameter 'luks-version' does not accept value '%" G_GUINT64_FORMAT "': 1 or 2", version);
        return false;
    }
    for (size_t i = 0; version == LUKS_VERSION_1 && i < G_N_ELEMENTS(luks2_only); i++) {
        if (optdict_has(options, luks2_only[i])) {
            error_set(errp, "Parameter '%s' needs luks-version=2", luks2_only[i]);
            return false;
        }
    }
    *format = version == LUKS_VERSION_2 ? CRYPTO_FORMAT_LUKS2 : CRYPTO_FORMAT_LUKS;
    return true;
}

static bool any_create(CryptoBlock *b, OptDict *options, const char *prefix, const CryptoIo *io, GError **errp)
{
    CryptoFormat format;

    if (!take_version(options, &format, errp)) {
        return false;
    }
    become(b, format);
    return b->ops->create(b, options, prefix, io, errp);
}

static bool any_measure(OptDict *options, const char *prefix, uint64_t *header_bytes, GError **errp)
{
    CryptoFormat format;

    if (!take_version(options, &format, errp)) {
        return false;
    }
    return (format == CRYPTO_FORMAT_LUKS2 ? &crypto_format_luks2 : &crypto_format_luks)
        ->measure(options, prefix, header_bytes, errp);
}

/* No info, no state: after open or create a block has become one of the two. */
const CryptoFormatOps crypto_format_luks_any = {
    .open = any_open,
    .create = any_create,
    .measure = any_measure,
};
