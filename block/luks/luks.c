/* SPDX-License-Identifier: MIT */
/* The luks format, versions 1 and 2: a header, then the guest's sectors encrypted, up to the end of the file or, where
 * the header says so, for a fixed length. */
#include "block/luks/luks-int.h"

#include <errno.h>

#include "block/crypt/crypt-io.h"
#include "crypto/formats/block-open.h"
#include "util/base/error.h"
#include "util/base/units.h"

typedef struct LuksState {
    /* fixed after open */
    CryptIo crypt;
    int64_t payload; /* file offset of the guest's sector 0 */
} LuksState;

static int64_t sector_bytes(const LuksState *s)
{
    return crypto_block_sector_bytes(s->crypt.crypto);
}

/* ---- the header area, for crypto/ ------------------------------------------------------------------------------ */

static int coroutine_fn header_read(void *opaque, uint64_t offset, void *buf, size_t bytes)
{
    return block_co_pread(opaque, offset, buf, bytes, 0);
}

static int coroutine_fn header_write(void *opaque, uint64_t offset, const void *buf, size_t bytes)
{
    return block_co_pwrite(opaque, offset, buf, bytes, 0);
}

static int coroutine_fn header_flush(void *opaque)
{
    return block_co_flush(opaque);
}

/* A detached header is a file of its own. */
static BlockNode *header_node(const BlockNode *node)
{
    return node->aux ? node->aux : node->file;
}

CryptoIo luks_header_io(BlockNode *file)
{
    return (CryptoIo){.read = header_read, .write = header_write, .flush = header_flush, .opaque = file};
}

/* ---- open ------------------------------------------------------------------------------------------------------ */

static int luks_probe(const uint8_t *buf, size_t len, const char *filename)
{
    unsigned version;

    return crypto_luks_probe(buf, len, &version) ? 100 : 0;
}

static bool take_mode(OptDict *options, OffloadMode *out, GError **errp)
{
    g_autofree char *name = optdict_take(options, "encrypt-in-parallel");

    *out = OFFLOAD_AUTO;
    if (name && !offload_mode_from_name(name, out)) {
        error_set(errp, "Parameter 'encrypt-in-parallel' does not accept value '%s'", name);
        return false;
    }
    return true;
}

static unsigned crypto_flags(unsigned flags)
{
    if (flags & BLOCK_OPEN_NO_IO) {
        return CRYPTO_OPEN_NO_IO;
    }
    return flags & BLOCK_OPEN_RDWR ? CRYPTO_OPEN_REPAIR : 0;
}

/* What the header says of the payload against the file that is there. @is_detached: the header is in another one. */
static bool check_payload(const CryptoBlock *crypto, bool is_detached, uint64_t file_bytes, unsigned flags,
                          GError **errp)
{
    uint64_t start = crypto_block_payload_offset(crypto), bytes = crypto_block_payload_bytes(crypto);

    if (start > file_bytes) {
        error_set_code(errp, QB_ERROR_CORRUPT,
                       "LUKS payload at %" PRIu64 " is past the end of the file (%" PRIu64 " bytes)", start,
                       file_bytes);
        return false;
    }
    if (start == 0 && !is_detached) {
        error_set_code(errp, QB_ERROR_UNSUPPORTED,
                       "LUKS payload is overlapping with the header\n"
                       "This is a detached header: name the file with the data as file.filename and this one as "
                       "header.filename");
        return false;
    }
    if (flags & BLOCK_OPEN_NO_IO) {
        return true;
    }
    if (bytes > file_bytes - start) {
        error_set_code(errp, QB_ERROR_CORRUPT,
                       "LUKS payload of %" PRIu64 " bytes at %" PRIu64 " is past the end of the file (%" PRIu64
                       " bytes)",
                       bytes, start, file_bytes);
        return false;
    }
    return true;
}

static bool coroutine_fn luks_co_open(BlockNode *node, OptDict *options, unsigned flags, GError **errp)
{
    LuksState *s = node->state;
    if (!take_mode(options, &s->crypt.mode, errp) || !block_open_aux(node, options, "header", errp)) {
        return false;
    }
    BlockNode *header = header_node(node);
    CryptoIo io = luks_header_io(header);
    s->crypt.crypto =
        crypto_block_open(CRYPTO_FORMAT_LUKS_ANY, options, "", &io, header->total_bytes, crypto_flags(flags), errp);
    if (!s->crypt.crypto) {
        return false;
    }
    if (!check_payload(s->crypt.crypto, node->aux, node->file->total_bytes, flags, errp)) {
        crypto_block_free(s->crypt.crypto);
        return false;
    }
    s->payload = crypto_block_payload_offset(s->crypt.crypto);
    node->encrypted = true;
    node->limits.request_align = crypto_block_sector_bytes(s->crypt.crypto);
    return true;
}

static int coroutine_fn luks_co_close(BlockNode *node)
{
    LuksState *s = node->state;

    crypto_block_free(s->crypt.crypto);
    return 0;
}

/* ---- data ------------------------------------------------------------------------------------------------------ */

static int coroutine_fn luks_co_read(BlockNode *node, const BlockRw *rw)
{
    const LuksState *s = node->state;

    return crypt_io_co_read(&s->crypt, node->file, s->payload + rw->offset, rw->offset, rw);
}

static int coroutine_fn luks_co_write(BlockNode *node, const BlockRw *rw)
{
    const LuksState *s = node->state;

    return crypt_io_co_write(&s->crypt, node->file, s->payload + rw->offset, rw->offset, rw);
}

static int64_t coroutine_fn luks_co_getlength(BlockNode *node)
{
    const LuksState *s = node->state;

    int64_t bytes = crypto_block_payload_bytes(s->crypt.crypto);

    return bytes ? bytes : (int64_t)round_down(node->file->total_bytes - s->payload, sector_bytes(s));
}

static bool coroutine_fn luks_co_truncate(BlockNode *node, int64_t bytes, BlockPrealloc prealloc, GError **errp)
{
    const LuksState *s = node->state;

    if (bytes > INT64_MAX - sector_bytes(s) - s->payload) {
        error_set(errp, "The image size is too large for file format 'luks'");
        return false;
    }
    if (crypto_block_payload_bytes(s->crypt.crypto)) {
        error_set_code(errp, QB_ERROR_UNSUPPORTED, "The LUKS header gives the volume a fixed size of %" PRIu64 " bytes",
                       crypto_block_payload_bytes(s->crypt.crypto));
        return false;
    }
    return block_co_truncate(node->file, s->payload + round_up(bytes, sector_bytes(s)), prealloc, errp);
}

static InfoTree *coroutine_fn luks_co_specific_info(BlockNode *node, GError **errp)
{
    const LuksState *s = node->state;

    return crypto_block_info(s->crypt.crypto);
}

static bool coroutine_fn luks_co_amend(BlockNode *node, OptDict *options, bool force, GError **errp)
{
    LuksState *s = node->state;
    CryptoIo io = luks_header_io(header_node(node));

    return crypto_block_amend(s->crypt.crypto, options, &io, force, errp);
}

/* ---- driver ----------------------------------------------------------------------------------------------------- */

static const char *const luks_strong_opts[] = {"key-secret", NULL};

const BlockDriver block_driver_luks = {
    .format_name = "luks",
    .state_bytes = sizeof(LuksState),
    .passthrough = true,
    .strong_open_opts = luks_strong_opts,
    .create_opts = luks_create_opts,
    .amend_opts = crypto_luks_amend_opts,
    .probe = luks_probe,
    .co_open = luks_co_open,
    .co_close = luks_co_close,
    .co_create = luks_co_create,
    .co_read = luks_co_read,
    .co_write = luks_co_write,
    .supported_write_flags = BLOCK_REQ_OWN_BUFFER,
    /* No co_write_zeroes and no co_discard: a hole would decrypt to noise, zeros have to be encrypted. */
    .co_getlength = luks_co_getlength,
    .co_truncate = luks_co_truncate,
    .co_specific_info = luks_co_specific_info,
    .co_amend = luks_co_amend,
    .co_measure = luks_co_measure,
};
