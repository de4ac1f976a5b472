/* SPDX-License-Identifier: MIT */
/* New luks images, the header in the image's own file or in one of its own, and what they will take. */
#include "block/luks/luks-int.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "block/core/filename.h"
#include "crypto/formats/block-open.h"
#include "util/base/aligned-buf.h"
#include "util/base/error.h"
#include "util/base/units.h"

const OptDesc luks_create_opts[] = {
    {"size", OPT_TYPE_SIZE, "Virtual disk size"},
    CRYPTO_LUKS_CREATE_OPTS(""),
    CRYPTO_LUKS2_CREATE_OPTS,
    {"detached-header", OPT_TYPE_BOOL, "Create a detached LUKS header"},
    {"header.filename", OPT_TYPE_STR, "File for the detached LUKS header"},
    {NULL},
};

typedef struct LuksCreate {
    uint64_t wanted; /* bytes of the guest as asked for */
    uint64_t size;   /* in whole sectors */
    BlockPrealloc prealloc;
    char *header_name; /* owned; NULL: the header is in the image's own file */
    uint64_t header_bytes;
    BlockNode *file, *header; /* owned, @header only when it is another file */
} LuksCreate;

static void luks_create_clear(LuksCreate *c)
{
    g_assert(!c->file && !c->header);
    g_free(c->header_name);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(LuksCreate, luks_create_clear)

/* Where the header goes; "detached-header" itself is for crypto/ to take. */
static bool take_header_name(OptDict *options, char **name, GError **errp)
{
    g_autoptr(OptDict) copy = optdict_copy(options);
    bool detached = false;

    *name = optdict_take(options, "header.filename");
    if (!optdict_take_bool(copy, "detached-header", &detached, errp)) {
        return false;
    }
    if (detached && !*name) {
        error_set(errp, "Parameter 'header.filename' is required for a detached header (detached-header=on)");
        return false;
    }
    if (*name && !detached) {
        error_set(errp, "Parameter 'header.filename' needs detached-header=on");
        return false;
    }
    return true;
}

static bool take_create_options(OptDict *options, LuksCreate *c, GError **errp)
{
    g_autofree char *prealloc = optdict_take(options, "preallocation");

    if (!optdict_take_size(options, "size", &c->wanted, errp) || !take_header_name(options, &c->header_name, errp)) {
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
    if (!crypto_block_measure(CRYPTO_FORMAT_LUKS_ANY, options, "", &c->header_bytes, errp)) {
        return false;
    }
    c->size = round_up(c->wanted, crypto_luks_create_sector_bytes(options));
    return true;
}

/* The file at @name as far as there is one. */
static bool find_file(const char *name, struct stat *st)
{
    g_autoptr(OptDict) options = optdict_new();

    return block_filename_to_options(name, options, NULL) && optdict_has(options, "filename") &&
           stat(optdict_get(options, "filename"), st) == 0;
}

/* One file cannot be both: making the header would empty the image. */
static bool check_other_file(const char *filename, const char *header_name, GError **errp)
{
    struct stat image, header;

    if (find_file(filename, &image) && find_file(header_name, &header) && image.st_dev == header.st_dev &&
        image.st_ino == header.st_ino) {
        error_set(errp, "A detached LUKS header cannot be in the file of the image, '%s'", filename);
        return false;
    }
    return true;
}

/* Files of the right size. What was made is open, also on failure. */
static bool coroutine_fn make_files(LuksCreate *c, const char *filename, GError **errp)
{
    c->file = block_create_file(filename, errp);
    if (!c->file || !block_check_new_prealloc(c->file, c->prealloc, errp)) {
        return false;
    }
    if (!c->header_name) {
        return block_co_truncate(c->file, c->header_bytes + c->size, c->prealloc, errp);
    }
    if (!check_other_file(filename, c->header_name, errp) || !block_co_truncate(c->file, c->size, c->prealloc, errp)) {
        return false;
    }
    c->header = block_create_file(c->header_name, errp);
    return c->header && block_co_truncate(c->header, c->header_bytes, BLOCK_PREALLOC_OFF, errp);
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
    return ret < 0 ? ret : block_co_pwrite(c->file, crypto_block_payload_offset(crypto) + last, buf, sector, 0);
}

/* What a device held where no key slot is written - the second header of another volume, say - is not to be found there
 * by those who look for it. */
static bool coroutine_fn wipe_header(const LuksCreate *c, GError **errp)
{
    int ret = block_wipe_new(c->header ? c->header : c->file, c->header_bytes);

    if (ret < 0) {
        error_set_errno(errp, -ret, "Could not clear the header area");
    }
    return ret == 0;
}

static bool coroutine_fn write_volume(const LuksCreate *c, OptDict *options, GError **errp)
{
    CryptoIo io = luks_header_io(c->header ? c->header : c->file);

    if (!wipe_header(c, errp)) {
        return false;
    }
    g_autoptr(CryptoBlock) crypto = crypto_block_create(CRYPTO_FORMAT_LUKS_ANY, options, "", &io, errp);

    if (!crypto) {
        return false;
    }
    int ret = write_tail(c, crypto);
    if (ret < 0) {
        error_set_errno(errp, -ret, "Could not write the last sector of the image");
    }
    return ret == 0;
}

/* @ok: nothing has failed before; else errors here add nothing. */
static bool coroutine_fn close_file(BlockNode **node, bool ok, const char *name, GError **errp)
{
    int ret = *node ? block_co_close(g_steal_pointer(node)) : 0;

    if (ok && ret < 0) {
        error_set_errno(errp, -ret, "Could not write '%s'", name);
    }
    return ok && ret == 0;
}

bool coroutine_fn luks_co_create(const char *filename, OptDict *options, GError **errp)
{
    g_auto(LuksCreate) c = {.prealloc = BLOCK_PREALLOC_OFF};
    struct stat st;

    /* Bad options are found before a file is made or emptied. */
    if (!take_create_options(options, &c, errp)) {
        return false;
    }
    bool header_existed = c.header_name && find_file(c.header_name, &st);
    bool ok = make_files(&c, filename, errp) && write_volume(&c, options, errp);
    bool made_header = c.header && !header_existed;
    ok = close_file(&c.header, ok, c.header_name, errp);
    ok = close_file(&c.file, ok, filename, errp);
    if (!ok && made_header) {
        block_delete_file(c.header_name);
    }
    return ok;
}

bool coroutine_fn luks_co_measure(const OptDict *options, BlockNode *node, BlockMeasure *out, GError **errp)
{
    g_autoptr(OptDict) copy = optdict_copy(options);
    g_auto(LuksCreate) c = {.prealloc = BLOCK_PREALLOC_OFF};

    if (node) {
        g_autofree char *bytes = g_strdup_printf("%" PRId64, (int64_t)node->total_bytes);
        optdict_set(copy, "size", bytes);
    }
    if (!take_create_options(copy, &c, errp)) {
        return false;
    }
    /* A detached header is another file's room. */
    out->required = out->fully_allocated = (c.header_name ? 0 : c.header_bytes) + c.size;
    return true;
}
