/* SPDX-License-Identifier: MIT */
#include "crypto/luks/luks2-disk.h"

#include <string.h>

#include "crypto/base/random.h"
#include "util/base/error.h"
#include "util/base/trace.h"

/* ---- load ------------------------------------------------------------------------------------------------------ */

typedef struct Copy {
    Luks2Header header;
    uint8_t *area; /* header.copy_bytes; NULL: the copy is bad */
} Copy;

static void copy_clear(Copy *c)
{
    g_free(c->area);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Copy, copy_clear)

static bool read_at(const CryptoIo *io, uint64_t area_bytes, uint64_t offset, void *buf, size_t bytes, unsigned copy,
                    GError **errp)
{
    int ret;

    if (bytes > area_bytes || offset > area_bytes - bytes) {
        error_set_code(errp, QB_ERROR_CORRUPT,
                       "LUKS2 header copy %u at byte %" G_GUINT64_FORMAT " does not fit the file of %" G_GUINT64_FORMAT
                       " bytes",
                       copy, offset, area_bytes);
        return false;
    }
    ret = io->read(io->opaque, offset, buf, bytes);
    if (ret < 0) {
        error_set_errno(errp, -ret, "Unable to read LUKS2 header copy %u", copy);
        return false;
    }
    return true;
}

static bool load_copy(const CryptoIo *io, uint64_t area_bytes, uint64_t offset, unsigned copy, Copy *out, GError **errp)
{
    g_autofree uint8_t *binary = g_malloc(LUKS2_BINARY_BYTES);
    g_autofree uint8_t *area = NULL;

    if (!read_at(io, area_bytes, offset, binary, LUKS2_BINARY_BYTES, copy, errp) ||
        !luks2_header_decode(binary, copy, offset, &out->header, errp)) {
        return false;
    }
    area = g_try_malloc(out->header.copy_bytes); /* at most LUKS2_MAX_COPY_BYTES */
    if (!area) {
        error_set(errp, "Not enough memory for a LUKS2 header of %" G_GUINT64_FORMAT " bytes", out->header.copy_bytes);
        return false;
    }
    if (!read_at(io, area_bytes, offset, area, out->header.copy_bytes, copy, errp) ||
        !luks2_header_verify(area, &out->header, errp)) {
        return false;
    }
    out->area = g_steal_pointer(&area);
    return true;
}

/* The second copy, wherever it is when the first does not say. */
static void load_second(const CryptoIo *io, uint64_t area_bytes, const Copy *first, Copy *second)
{
    if (first->area) {
        load_copy(io, area_bytes, first->header.copy_bytes, 1, second, NULL);
        return;
    }
    for (int i = 0; i < LUKS2_COPY_SIZES && !second->area; i++) {
        load_copy(io, area_bytes, (uint64_t)LUKS2_MIN_COPY_BYTES << i, 1, second, NULL);
    }
}

bool luks2_disk_load(const CryptoIo *io, uint64_t area_bytes, Luks2Header *h, char **json, int *damaged, GError **errp)
{
    g_auto(Copy) first = {0}, second = {0};
    g_autoptr(GError) err = NULL;
    const Copy *best = &first;

    *damaged = -1;
    load_copy(io, area_bytes, 0, 0, &first, &err);
    load_second(io, area_bytes, &first, &second);
    if (!first.area && !second.area) {
        g_propagate_error(errp, g_steal_pointer(&err));
        return false;
    }
    if (!first.area || (second.area && second.header.seqid > first.header.seqid)) {
        best = &second;
        *damaged = 0;
    } else if (!second.area || second.header.seqid != first.header.seqid) {
        *damaged = 1;
    }
    trace(TRACE_CRYPTO, "luks2-header", "first=%d second=%d damaged=%d seqid=%" G_GUINT64_FORMAT, first.area != NULL,
          second.area != NULL, *damaged, best->header.seqid);
    *h = best->header;
    *json = g_strdup((char *)best->area + LUKS2_OFF_JSON);
    return true;
}

bool luks2_disk_has_second(const CryptoIo *io, uint64_t area_bytes)
{
    for (int i = 0; i < LUKS2_COPY_SIZES; i++) {
        uint64_t offset = (uint64_t)LUKS2_MIN_COPY_BYTES << i;
        uint8_t magic[LUKS_MAGIC_BYTES];

        if (read_at(io, area_bytes, offset, magic, sizeof(magic), 1, NULL) &&
            !memcmp(magic, LUKS2_MAGIC_SECOND, sizeof(magic))) {
            return true;
        }
    }
    return false;
}

/* ---- store ----------------------------------------------------------------------------------------------------- */

static int flush(const CryptoIo *io)
{
    return io->flush ? io->flush(io->opaque) : 0;
}

/* D2. The binary header without a checksum, the metadata, then the binary header that makes both valid. */
static int write_copy(const CryptoIo *io, uint64_t offset, const uint8_t *area, size_t bytes)
{
    g_autofree uint8_t *torn = g_memdup2(area, LUKS2_BINARY_BYTES);
    int ret;

    memset(torn + LUKS2_OFF_CHECKSUM, 0, LUKS2_CHECKSUM_BYTES);
    ret = io->write(io->opaque, offset, torn, LUKS2_BINARY_BYTES);
    if (ret == 0) {
        ret = io->write(io->opaque, offset + LUKS2_OFF_JSON, area + LUKS2_OFF_JSON, bytes - LUKS2_OFF_JSON);
    }
    if (ret == 0) {
        ret = io->write(io->opaque, offset, area, LUKS2_BINARY_BYTES);
    }
    return ret < 0 ? ret : flush(io);
}

bool luks2_disk_restore(const CryptoIo *io, const Luks2Header *h, const char *json, int copy, GError **errp)
{
    g_autofree uint8_t *area = g_try_malloc(h->copy_bytes);
    uint8_t salt[LUKS2_HEADER_SALT_BYTES];
    int ret;

    if (!area) {
        error_set(errp, "Not enough memory for a LUKS2 header of %" G_GUINT64_FORMAT " bytes", h->copy_bytes);
        return false;
    }
    if (!random_bytes(salt, sizeof(salt), errp) || !luks2_header_encode(h, copy, salt, json, area, errp)) {
        return false;
    }
    ret = write_copy(io, luks2_header_offset(h, copy), area, h->copy_bytes);
    if (ret < 0) {
        error_set_errno(errp, -ret, "Unable to write LUKS2 header copy %d", copy);
        return false;
    }
    return true;
}

bool luks2_disk_store(const CryptoIo *io, Luks2Header *h, const char *json, GError **errp)
{
    int ret = flush(io); /* D1 */

    if (ret < 0) {
        error_set_errno(errp, -ret, "Unable to flush LUKS2 key material");
        return false;
    }
    h->seqid++;
    return luks2_disk_restore(io, h, json, 0, errp) && luks2_disk_restore(io, h, json, 1, errp);
}
