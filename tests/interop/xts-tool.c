/* SPDX-License-Identifier: MIT */
/* AES-256-XTS with "plain64" IVs by nettle alone, none of our code: what a volume's data has to decrypt to.
 *
 *     xts-tool KEYFILE SECTOR-BYTES SKIP IN OUT    decrypt IN from byte SKIP on; IV numbers count 512 bytes
 */
#include <nettle/xts.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEY_BYTES = 64, MAX_SECTOR = 4096 };

static void decrypt_file(const uint8_t *key, size_t sector, FILE *in, FILE *out)
{
    struct xts_aes256_key ctx;
    uint8_t buf[MAX_SECTOR];
    uint64_t iv = 0;

    xts_aes256_set_decrypt_key(&ctx, key);
    while (fread(buf, 1, sector, in) == sector) {
        uint8_t tweak[16] = {0};

        for (int i = 0; i < 8; i++) {
            tweak[i] = iv >> (8 * i);
        }
        xts_aes256_decrypt_message(&ctx, tweak, sector, buf, buf);
        fwrite(buf, 1, sector, out);
        iv += sector / 512;
    }
}

int main(int argc, char **argv)
{
    size_t sector = argc == 6 ? strtoul(argv[2], NULL, 0) : 0;
    FILE *key_file = argc == 6 ? fopen(argv[1], "rb") : NULL;
    FILE *in = argc == 6 ? fopen(argv[4], "rb") : NULL;
    FILE *out = argc == 6 ? fopen(argv[5], "wb") : NULL;
    uint8_t key[KEY_BYTES + 1];

    if (!key_file || !in || !out || sector == 0 || sector > MAX_SECTOR ||
        fseek(in, strtol(argv[3], NULL, 0), SEEK_SET)) {
        fprintf(stderr, "usage: xts-tool KEYFILE SECTOR-BYTES SKIP IN OUT\n");
        return 2;
    }
    if (fread(key, 1, sizeof(key), key_file) != KEY_BYTES) {
        fprintf(stderr, "xts-tool: %s has not %d bytes\n", argv[1], KEY_BYTES);
        return 1;
    }
    decrypt_file(key, sector, in, out);
    return fclose(out) == 0 && !ferror(in) ? 0 : 1;
}
