/* SPDX-License-Identifier: MIT */
/* The luks format, versions 1 and 2: a header, then the guest's sectors encrypted, up to the end of the file or, where
 * the header says so, for a fixed length. */
#include "block/block-int.h"

#include <errno.h>
#include <string.h>

#include "block/crypt-io.h"
#include "util/aligned-buf.h"
#include "util/error.h"
#include "util/units.h"

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

static CryptoIo header_io(BlockNode *file)
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
    CryptoIo io = header_io(header);
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
    CryptoIo io = header_io(header_node(node));

    return crypto_block_amend(s->crypt.crypto, options, &io, force, errp);
}

/* ---- create and measure ---------------------------------------------------------------------------------------- */

static const OptDesc luks_create_opts[] = {
    {"size", OPT_TYPE_SIZE, "Virtual disk size"},
    CRYPTO_LUKS_CREATE_OPTS(""),
    CRYPTO_LUKS2_CREATE_OPTS,
    {"detached-header", OPT_TYPE_BOOL, "Create a detached LUKS header"},
    {NULL},
};

typedef struct LuksCreate {
    BlockNode *file;
    uint64_t wanted; /* bytes of the guest as asked for */
    uint64_t size;   /* in whole sectors */
    BlockPrealloc prealloc;
} LuksCreate;

static bool take_create_options(OptDict *options, LuksCreate *c, GError **errp)
{
    g_autofree char *prealloc = optdict_take(options, "preallocation");
    bool detached = false;

    if (!optdict_take_size(options, "size", &c->wanted, errp) ||
        !optdict_take_bool(options, "detached-header", &detached, errp)) {
        return false;
    }
    if (detached) {
        error_set_code(errp, QB_ERROR_UNSUPPORTED,
                       "Detached LUKS headers (option 'detached-header') are not supported by this build yet");
        return false;
    }
    if (prealloc && !block_prealloc_from_name(prealloc, &c->prealloc)) {
        error_set(errp, "invalid parameter value: %s", prealloc);
        return false;
    }
    /* There is no metadata but the header, which is always written. */
    if (c->prealloc == BLOCK_PREALLOC_METADATA) {
        c->prealloc = BLOCK_PREALLOC_OFF;
    }
    if (c->wanted > INT64_MAX / 2) {
        error_set(errp, "The image size is too large for file format 'luks'");
        return false;
    }
    return true;
}

static bool coroutine_fn reserve_file(void *opaque, uint64_t header_bytes, GError **errp)
{
    LuksCreate *c = opaque;

    return block_co_truncate(c->file, header_bytes + c->size, c->prealloc, errp);
}

static int coroutine_fn create_read(void *opaque, uint64_t offset, void *buf, size_t bytes)
{
    LuksCreate *c = opaque;

    return header_read(c->file, offset, buf, bytes);
}

static int coroutine_fn create_write(void *opaque, uint64_t offset, const void *buf, size_t bytes)
{
    LuksCreate *c = opaque;

    return header_write(c->file, offset, buf, bytes);
}

static int coroutine_fn create_flush(void *opaque)
{
    LuksCreate *c = opaque;

    return header_flush(c->file);
}

/* With large sectors the image is longer than asked for: what was not asked for reads as zeros. */
static int coroutine_fn write_tail(const LuksCreate *c, CryptoBlock *crypto)
{
    size_t sector = crypto_block_sector_bytes(crypto);
    uint64_t last = c->size - sector;

    if (sector == SECTOR_SIZE || c->size == c->wanted) {
        return 0;
    }
    g_autoaligned buf = aligned_buf_try_new(sector);
    if (!buf) {
        return -ENOMEM;
    }
    memset(buf, 0, sector);
    int ret = crypto_block_encrypt(crypto, last, buf, buf, sector);
    return ret < 0 ? ret : header_write(c->file, crypto_block_payload_offset(crypto) + last, buf, sector);
}

static bool coroutine_fn luks_co_create(const char *filename, OptDict *options, GError **errp)
{
    LuksCreate c = {0};
    CryptoIo io = {
        .read = create_read, .write = create_write, .flush = create_flush, .reserve = reserve_file, .opaque = &c};
    uint64_t header_bytes;

    /* Bad options are found before a file is made or emptied. */
    if (!take_create_options(options, &c, errp) ||
        !crypto_block_measure(CRYPTO_FORMAT_LUKS_ANY, options, "", &header_bytes, errp)) {
        return false;
    }
    c.size = round_up(c.wanted, crypto_luks_create_sector_bytes(options));
    c.file = block_create_file(filename, errp);
    if (!c.file) {
        return false;
    }
    CryptoBlock *crypto = crypto_block_create(CRYPTO_FORMAT_LUKS_ANY, options, "", &io, errp);
    bool ok = crypto != NULL;
    int ret = ok ? write_tail(&c, crypto) : 0;
    crypto_block_free(crypto);
    int closed = block_co_close(c.file);
    ret = ret < 0 ? ret : closed;
    if (ok && ret < 0) {
        error_set_errno(errp, -ret, "Could not write '%s'", filename);
    }
    return ok && ret == 0;
}

static bool coroutine_fn luks_co_measure(const OptDict *options, BlockNode *node, BlockMeasure *out, GError **errp)
{
    g_autoptr(OptDict) copy = optdict_copy(options);
    uint64_t size = node ? (uint64_t)node->total_bytes : 0;
    uint64_t header_bytes, sector;

    if (!node && !optdict_take_size(copy, "size", &size, errp)) {
        return false;
    }
    if (!crypto_block_measure(CRYPTO_FORMAT_LUKS_ANY, options, "", &header_bytes, errp)) {
        return false;
    }
    sector = crypto_luks_create_sector_bytes(options);
    if (size > INT64_MAX - header_bytes - sector) {
        error_set(errp, "The image size is too large for file format 'luks'");
        return false;
    }
    out->required = out->fully_allocated = header_bytes + round_up(size, sector);
    return true;
}

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
