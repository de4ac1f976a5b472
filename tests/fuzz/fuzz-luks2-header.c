/* SPDX-License-Identifier: MIT */
/* A LUKS2 header: any bytes are refused with one line of error, or decode to metadata that survives being written,
 * edited and read again, and opens without a key.
 *
 * The input is the first 512 bytes of the binary header and then the metadata; checksum and second copy are made from
 * them, so that the fuzzer gets past the checksum. The first byte of the salt, which has no other use, breaks one copy.
 */
#include <errno.h>
#include <string.h>

#include "crypto/formats/block-open.h"
#include "crypto/volume/block.h"
#include "crypto/cipher/init.h"
#include "crypto/luks/luks2-header.h"
#include "crypto/luks/luks2-keyslot.h"
#include "tests/fuzz/fuzz.h"

enum { HEAD_BYTES = 512, FILE_BYTES = 32 << 20 };

typedef struct Image {
    uint8_t *copies; /* both */
    uint64_t bytes;
} Image;

/* The image, zeros behind it. */
static int image_read(void *opaque, uint64_t offset, void *buf, size_t bytes)
{
    const Image *image = opaque;

    g_assert(offset <= FILE_BYTES && bytes <= FILE_BYTES - offset);
    memset(buf, 0, bytes);
    if (offset < image->bytes) {
        memcpy(buf, image->copies + offset, MIN(bytes, image->bytes - offset));
    }
    return 0;
}

static void check_error(const GError *err)
{
    g_assert(err && err->message[0] && g_utf8_validate(err->message, -1, NULL) && !strpbrk(err->message, "\r\n\x1b"));
}

static void fix_checksum(uint8_t *area, const Luks2Header *h)
{
    uint8_t *field = area + LUKS2_OFF_CHECKSUM, digest[LUKS2_CHECKSUM_BYTES] = {0};

    memset(field, 0, LUKS2_CHECKSUM_BYTES);
    hash_compute(h->checksum, area, h->copy_bytes, digest);
    memcpy(field, digest, sizeof(digest));
}

/* Both copies from the input. False: the binary header is bad; it is in @image as it came. */
static bool build(const uint8_t *data, size_t size, Luks2Header *h, Image *image, GError **errp)
{
    uint8_t head[LUKS2_BINARY_BYTES] = {0};
    size_t head_bytes = MIN(size, HEAD_BYTES);
    bool ok;

    memcpy(head, data, head_bytes);
    ok = luks2_header_decode(head, 0, 0, h, errp);
    image->bytes = ok ? LUKS2_COPIES * h->copy_bytes : LUKS2_BINARY_BYTES;
    image->copies = g_malloc0(image->bytes);
    memcpy(image->copies, head, LUKS2_BINARY_BYTES);
    for (unsigned copy = 0; ok && copy < LUKS2_COPIES; copy++) {
        uint8_t *area = image->copies + copy * h->copy_bytes;
        size_t room = h->copy_bytes - LUKS2_OFF_JSON;

        memcpy(area, head, LUKS2_BINARY_BYTES);
        memcpy(area, copy ? LUKS2_MAGIC_SECOND : LUKS_MAGIC, LUKS_MAGIC_BYTES);
        area[LUKS2_OFF_OWN_OFFSET + 5] = copy * h->copy_bytes >> 16;
        area[LUKS2_OFF_OWN_OFFSET + 6] = copy * h->copy_bytes >> 8;
        memcpy(area + LUKS2_OFF_JSON, data + head_bytes, MIN(size - head_bytes, room));
        fix_checksum(area, h);
        area[LUKS2_OFF_JSON] ^= head[LUKS2_OFF_SALT] == copy + 1;
    }
    return ok;
}

/* Every slot it has may be put in again, every one taken out, and one more be placed; what is left is good metadata. */
static void check_edits(Luks2Meta *m, const Luks2Header *h)
{
    g_autofree char *text = NULL;
    Luks2Keyslot slot = {.af_hash = HASH_SHA256, .kdf = {.alg = LUKS2_KDF_PBKDF2, .iterations = 1000, .salt_bytes = 1}};
    bool placed = luks2_keyslot_free_id(m, &slot.id, NULL) && luks2_keyslot_place(m, h, 64, &slot, NULL);
    size_t count = m->keyslot_count;

    slot.area.key_bytes = 64;
    g_assert(luks2_cipher_parse("aes-xts-plain64", 64, 512, &slot.area.cipher, NULL));
    if (placed && m->digest_count > 0) {
        luks2_meta_put_keyslot(m, &slot, m->digests[0].id);
        count++;
    }
    if (m->keyslot_count > 0) {
        luks2_meta_remove_keyslot(m, m->keyslots[0].id);
        count--;
    }
    text = luks2_meta_text(m);
    g_autoptr(GError) err = NULL;
    g_autoptr(Luks2Meta) again = luks2_meta_parse(text, h, &err);
    g_assert_no_error(err);
    g_assert(again->keyslot_count == count && again->token_count == m->token_count);
}

static bool check_meta(const char *json, const Luks2Header *h, GError **errp)
{
    g_autoptr(Luks2Meta) m = luks2_meta_parse(json, h, errp);
    g_autoptr(GError) err = NULL;
    Luks2Volume v;

    if (!m) {
        return false;
    }
    for (size_t i = 0; i < m->keyslot_count; i++) {
        const Luks2Area *a = &m->keyslots[i].area;

        g_assert(a->bytes == 0 ||
                 (a->offset >= luks2_header_end(h) && a->offset + a->bytes <= luks2_header_end(h) + m->keyslots_bytes));
        g_assert((uint64_t)m->keyslots[i].kdf.passes * m->keyslots[i].kdf.memory_kib <= LUKS2_MAX_ARGON2_COST);
    }
    if (!luks2_meta_volume(m, &v, &err)) {
        check_error(err);
    } else {
        g_assert(v.segment->offset % LUKS_SECTOR_BYTES == 0 && v.segment->bytes % v.segment->sector_bytes == 0);
    }
    check_edits(m, h);
    return true;
}

static void check_open(Image *image, bool must_open)
{
    CryptoIo io = {.read = image_read, .opaque = image};
    g_autoptr(OptDict) options = optdict_new();
    g_autoptr(GError) err = NULL;
    g_autoptr(CryptoBlock) b =
        crypto_block_open(CRYPTO_FORMAT_LUKS_ANY, options, "", &io, FILE_BYTES, CRYPTO_OPEN_NO_IO, &err);

    if (!b) {
        check_error(err);
        g_assert(!must_open || strstr(err->message, "beyond the file"));
        return;
    }
    InfoTree *info = crypto_block_info(b);
    g_autofree char *json = info_to_json(info, true);

    g_assert(json[0] == '{');
    info_free(info);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Image image = {0};
    Luks2Header h;
    g_autoptr(GError) err = NULL;
    bool good;

    g_assert(crypto_init(NULL));
    good = build(data, size, &h, &image, &err);
    if (good && luks2_header_verify(image.copies + h.copy_bytes, &h, NULL)) {
        g_autofree char *json = g_strdup((char *)image.copies + h.copy_bytes + LUKS2_OFF_JSON);

        good = check_meta(json, &h, &err);
        if (!good) {
            check_error(err);
        }
    } else if (!good) {
        check_error(err);
    } else {
        good = false; /* of the second copy at least: the first may still open */
    }
    check_open(&image, good);
    g_free(image.copies);
    return 0;
}
