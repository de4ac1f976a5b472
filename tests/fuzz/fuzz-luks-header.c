/* SPDX-License-Identifier: MIT */
/* A LUKS header: any bytes are refused with one line of error, or decode to a header that encodes to the same and opens
 * without a key. */
#include <errno.h>
#include <string.h>

#include "crypto/formats/block-open.h"
#include "crypto/volume/block.h"
#include "crypto/luks/luks-header.h"
#include "crypto/luks/luks-names.h"
#include "tests/fuzz/fuzz.h"

#define AREA_BYTES (UINT64_C(8) << 20)

typedef struct Input {
    const uint8_t *data;
    size_t size;
} Input;

/* The input, zeros behind it. */
static int input_read(void *opaque, uint64_t offset, void *buf, size_t bytes)
{
    const Input *in = opaque;

    g_assert(offset <= AREA_BYTES && bytes <= AREA_BYTES - offset);
    memset(buf, 0, bytes);
    if (offset < in->size) {
        memcpy(buf, in->data + offset, MIN(bytes, in->size - offset));
    }
    return 0;
}

static void check_error(const GError *err)
{
    g_assert(err && err->message[0] && g_utf8_validate(err->message, -1, NULL) && !strpbrk(err->message, "\r\n\x1b"));
}

/* What was decoded survives a round trip: only bytes behind a name's or the UUID's NUL may differ. */
static void check_round_trip(const LuksHeader *h)
{
    uint8_t buf[LUKS_HEADER_BYTES];
    LuksHeader again;

    luks_header_encode(h, buf);
    g_assert(luks_header_decode(buf, AREA_BYTES, &again, NULL));
    g_assert(!memcmp(h, &again, sizeof(again)));
    for (int i = 0; i < LUKS_SLOTS; i++) {
        g_assert(again.slots[i].stripes == LUKS_STRIPES);
        g_assert((uint64_t)again.slots[i].material_sector * LUKS_SECTOR_BYTES < AREA_BYTES);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input in = {data, size};
    CryptoIo io = {.read = input_read, .opaque = &in};
    g_autoptr(OptDict) options = optdict_new();
    uint8_t header[LUKS_HEADER_BYTES];
    LuksHeader h;
    LuksAlgs algs;
    g_autoptr(GError) err = NULL, open_err = NULL;
    g_autoptr(CryptoBlock) b = NULL;
    bool good;

    input_read(&in, 0, header, sizeof(header));
    good = luks_header_decode(header, AREA_BYTES, &h, &err);
    if (good) {
        check_round_trip(&h);
        good = luks_names_parse(&h, &algs, &err);
    }
    if (!good) {
        check_error(err);
    }
    b = crypto_block_open(CRYPTO_FORMAT_LUKS, options, "", &io, AREA_BYTES, CRYPTO_OPEN_NO_IO, &open_err);
    g_assert(good == (b != NULL));
    if (b) {
        InfoTree *info = crypto_block_info(b);
        g_autofree char *json = info_to_json(info, true);

        g_assert(json[0] == '{');
        info_free(info);
    }
    return 0;
}
