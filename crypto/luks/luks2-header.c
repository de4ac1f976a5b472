/* SPDX-License-Identifier: MIT */
#include "crypto/luks/luks2-header.h"

#include <string.h>

#include "util/base/endian.h"
#include "util/base/error.h"

#define corrupt(errp, ...) error_set_code(errp, QB_ERROR_CORRUPT, __VA_ARGS__)

static const char *const magics[LUKS2_COPIES] = {LUKS_MAGIC, LUKS2_MAGIC_SECOND};

bool luks2_header_size_valid(uint64_t copy_bytes)
{
    for (int i = 0; i < LUKS2_COPY_SIZES; i++) {
        if (copy_bytes == (uint64_t)LUKS2_MIN_COPY_BYTES << i) {
            return true;
        }
    }
    return false;
}

static bool decode_checksum_name(const uint8_t *field, HashAlg *out, GError **errp)
{
    g_autofree char *name = g_strndup((const char *)field, LUKS2_CHECKSUM_NAME_BYTES);

    if (!hash_from_name(name, out)) {
        g_autofree char *printable = g_strescape(name, NULL);

        error_set_code(errp, QB_ERROR_UNSUPPORTED, "LUKS2 header checksum algorithm '%s' not supported", printable);
        return false;
    }
    return true;
}

static bool check_place(const Luks2Header *h, unsigned copy, uint64_t offset, uint64_t own_offset, GError **errp)
{
    if (!luks2_header_size_valid(h->copy_bytes)) {
        corrupt(errp, "LUKS2 header copy %u size %" G_GUINT64_FORMAT " is none of 16 KiB to 4 MiB", copy,
                h->copy_bytes);
        return false;
    }
    if (own_offset != offset || offset != luks2_header_offset(h, copy)) {
        corrupt(errp, "LUKS2 header copy %u offset %" G_GUINT64_FORMAT " is not its place at byte %" G_GUINT64_FORMAT,
                copy, own_offset, offset);
        return false;
    }
    return true;
}

bool luks2_header_decode(const uint8_t buf[static LUKS2_BINARY_BYTES], unsigned copy, uint64_t offset, Luks2Header *h,
                         GError **errp)
{
    unsigned version = load_be16(buf + LUKS2_OFF_VERSION);

    g_assert(copy < LUKS2_COPIES);
    memset(h, 0, sizeof(*h));
    if (memcmp(buf + LUKS2_OFF_MAGIC, magics[copy], LUKS_MAGIC_BYTES)) {
        corrupt(errp, "LUKS2 header copy %u has no LUKS magic", copy);
        return false;
    }
    if (version != LUKS_VERSION_2) {
        error_set_code(errp, QB_ERROR_UNSUPPORTED, "LUKS version %u is not supported", version);
        return false;
    }
    h->copy_bytes = load_be64(buf + LUKS2_OFF_COPY_BYTES);
    h->seqid = load_be64(buf + LUKS2_OFF_SEQID);
    memcpy(h->label, buf + LUKS2_OFF_LABEL, LUKS2_LABEL_BYTES);
    memcpy(h->uuid, buf + LUKS2_OFF_UUID, LUKS_UUID_BYTES);
    memcpy(h->subsystem, buf + LUKS2_OFF_SUBSYSTEM, LUKS2_LABEL_BYTES);
    return check_place(h, copy, offset, load_be64(buf + LUKS2_OFF_OWN_OFFSET), errp) &&
           decode_checksum_name(buf + LUKS2_OFF_CHECKSUM_NAME, &h->checksum, errp);
}

/* Over the whole copy, as if its checksum field were zero. */
static void compute_checksum(uint8_t *area, const Luks2Header *h, uint8_t out[static LUKS2_CHECKSUM_BYTES])
{
    uint8_t *field = area + LUKS2_OFF_CHECKSUM;
    uint8_t saved[LUKS2_CHECKSUM_BYTES];

    G_STATIC_ASSERT(HASH_MAX_BYTES <= LUKS2_CHECKSUM_BYTES);
    memcpy(saved, field, sizeof(saved));
    memset(field, 0, sizeof(saved));
    memset(out, 0, LUKS2_CHECKSUM_BYTES);
    hash_compute(h->checksum, area, h->copy_bytes, out);
    memcpy(field, saved, sizeof(saved));
}

static bool check_json_end(const uint8_t *json, size_t bytes, GError **errp)
{
    const uint8_t *end = memchr(json, '\0', bytes);

    if (!end) {
        corrupt(errp, "LUKS2 metadata has no NUL in its area of %zu bytes", bytes);
        return false;
    }
    for (const uint8_t *p = end; p < json + bytes; p++) {
        if (*p) {
            corrupt(errp, "LUKS2 metadata has data behind its end, at byte %zu of its area", (size_t)(p - json));
            return false;
        }
    }
    return true;
}

bool luks2_header_verify(uint8_t *area, const Luks2Header *h, GError **errp)
{
    uint8_t wanted[LUKS2_CHECKSUM_BYTES];

    compute_checksum(area, h, wanted);
    if (memcmp(wanted, area + LUKS2_OFF_CHECKSUM, hash_bytes(h->checksum))) {
        corrupt(errp, "LUKS2 header checksum does not match");
        return false;
    }
    return check_json_end(area + LUKS2_OFF_JSON, h->copy_bytes - LUKS2_OFF_JSON, errp);
}

bool luks2_header_encode(const Luks2Header *h, unsigned copy, const uint8_t salt[static LUKS2_HEADER_SALT_BYTES],
                         const char *json, uint8_t *area, GError **errp)
{
    size_t json_bytes = strlen(json) + 1;
    uint8_t checksum[LUKS2_CHECKSUM_BYTES];

    g_assert(copy < LUKS2_COPIES && luks2_header_size_valid(h->copy_bytes));
    if (json_bytes > h->copy_bytes - LUKS2_OFF_JSON) {
        error_set(errp, "LUKS2 metadata of %zu bytes does not fit its area of %" G_GUINT64_FORMAT " bytes", json_bytes,
                  h->copy_bytes - LUKS2_OFF_JSON);
        return false;
    }
    memset(area, 0, h->copy_bytes);
    memcpy(area + LUKS2_OFF_MAGIC, magics[copy], LUKS_MAGIC_BYTES);
    store_be16(area + LUKS2_OFF_VERSION, LUKS_VERSION_2);
    store_be64(area + LUKS2_OFF_COPY_BYTES, h->copy_bytes);
    store_be64(area + LUKS2_OFF_SEQID, h->seqid);
    memcpy(area + LUKS2_OFF_LABEL, h->label, LUKS2_LABEL_BYTES);
    strncpy((char *)area + LUKS2_OFF_CHECKSUM_NAME, hash_name(h->checksum), LUKS2_CHECKSUM_NAME_BYTES - 1);
    memcpy(area + LUKS2_OFF_SALT, salt, LUKS2_HEADER_SALT_BYTES);
    memcpy(area + LUKS2_OFF_UUID, h->uuid, LUKS_UUID_BYTES);
    memcpy(area + LUKS2_OFF_SUBSYSTEM, h->subsystem, LUKS2_LABEL_BYTES);
    store_be64(area + LUKS2_OFF_OWN_OFFSET, luks2_header_offset(h, copy));
    memcpy(area + LUKS2_OFF_JSON, json, json_bytes);
    compute_checksum(area, h, checksum);
    memcpy(area + LUKS2_OFF_CHECKSUM, checksum, sizeof(checksum));
    return true;
}
