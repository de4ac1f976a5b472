/* SPDX-License-Identifier: MIT */
#include "crypto/cipher/sector-cipher.h"

#include "util/base/secbuf.h"

/* IVs made at once: enough for a long run of the smallest sectors, small enough to stay in the first-level cache. */
enum { IV_BATCH = CIPHER_LONG_RUN_BYTES / SECTOR_CIPHER_IV_UNIT };

typedef int RunFunc(Cipher *c, uint8_t *ivs, size_t sector_bytes, size_t count, const uint8_t *in, uint8_t *out);

struct SectorCipher {
    Cipher *cipher;
    IvGen *ivgen;
    size_t sector_bytes;
    unsigned iv_step; /* IV numbers a sector */
    uint8_t ivs[IV_BATCH * CIPHER_IV_BYTES];
};

bool sector_cipher_check(const SectorCipherSpec *spec, GError **errp)
{
    return cipher_check_supported(spec->cipher, spec->mode, errp) &&
           ivgen_check(spec->ivgen, spec->cipher, spec->ivgen_hash, errp);
}

SectorCipher *sector_cipher_new(const SectorCipherSpec *spec, const uint8_t *key, size_t key_len, GError **errp)
{
    MEM_WIPE_STACK_GUARD();
    g_autoptr(SectorCipher) sc = g_new0(SectorCipher, 1);

    g_assert(spec->sector_bytes && spec->sector_bytes % SECTOR_CIPHER_IV_UNIT == 0);
    sc->sector_bytes = spec->sector_bytes;
    sc->iv_step = spec->sector_bytes / SECTOR_CIPHER_IV_UNIT;
    sc->cipher = cipher_new(spec->cipher, spec->mode, key, key_len, errp);
    if (!sc->cipher) {
        return NULL;
    }
    sc->ivgen = ivgen_new(spec->ivgen, spec->cipher, spec->ivgen_hash, key, key_len, errp);
    if (!sc->ivgen) {
        return NULL;
    }
    return g_steal_pointer(&sc);
}

void sector_cipher_free(SectorCipher *sc)
{
    if (sc) {
        cipher_free(sc->cipher);
        ivgen_free(sc->ivgen);
        mem_wipe(sc, sizeof(*sc));
        g_free(sc);
    }
}

static int run(SectorCipher *sc, RunFunc *func, uint64_t iv, const uint8_t *in, uint8_t *out, size_t bytes)
{
    size_t left = bytes / sc->sector_bytes;

    g_assert(bytes % sc->sector_bytes == 0);
    while (left > 0) {
        size_t n = MIN(left, IV_BATCH);
        int ret = ivgen_fill(sc->ivgen, iv, sc->iv_step, n, sc->ivs);

        if (ret == 0) {
            ret = func(sc->cipher, sc->ivs, sc->sector_bytes, n, in, out);
        }
        if (ret < 0) {
            return ret;
        }
        left -= n;
        iv += n * sc->iv_step;
        in += n * sc->sector_bytes;
        out += n * sc->sector_bytes;
    }
    return 0;
}

int sector_cipher_encrypt(SectorCipher *sc, uint64_t first_iv, const uint8_t *in, uint8_t *out, size_t bytes)
{
    return run(sc, cipher_encrypt_sectors, first_iv, in, out, bytes);
}

int sector_cipher_decrypt(SectorCipher *sc, uint64_t first_iv, const uint8_t *in, uint8_t *out, size_t bytes)
{
    return run(sc, cipher_decrypt_sectors, first_iv, in, out, bytes);
}

const char *sector_cipher_row(const SectorCipher *sc)
{
    return cipher_row(sc->cipher);
}
