/* SPDX-License-Identifier: MIT */
#include "crypto/volume/block.h"

#include <errno.h>
#include <stdatomic.h>
#include <time.h>

#include "crypto/volume/block-int.h"
#include "crypto/secret/secret.h"
#include "util/base/error.h"

void crypto_block_free(CryptoBlock *b)
{
    MEM_WIPE_STACK_GUARD();

    if (b) {
        cipher_slots_free(b->slots);
        if (b->state) {
            b->ops->state_free(b->state);
        }
        g_free(b);
    }
}

CryptoFormat crypto_block_format(const CryptoBlock *b)
{
    return b->format;
}

uint64_t crypto_block_payload_offset(const CryptoBlock *b)
{
    return b->payload_offset;
}

uint64_t crypto_block_payload_bytes(const CryptoBlock *b)
{
    return b->payload_bytes;
}

size_t crypto_block_sector_bytes(const CryptoBlock *b)
{
    return b->sector_bytes;
}

bool crypto_block_has_key(const CryptoBlock *b)
{
    return b->slots;
}

InfoTree *crypto_block_info(const CryptoBlock *b)
{
    return b->ops->info(b);
}

SecBuf *crypto_block_take_secret(OptDict *options, const char *prefix, GError **errp)
{
    g_autofree char *id = optdict_take(options, "key-secret");

    if (!id) {
        error_set(errp, "Parameter '%skey-secret' is required for cipher", prefix);
        return NULL;
    }
    return secret_lookup_utf8(id, errp);
}

typedef int RunFunc(SectorCipher *sc, uint64_t first_iv, const uint8_t *in, uint8_t *out, size_t bytes);

static int run_borrowed(CryptoBlock *b, RunFunc *func, uint64_t offset, const uint8_t *in, uint8_t *out, size_t bytes)
{
    SectorCipher *sc;
    int ret;

    g_assert(b->slots && offset % b->sector_bytes == 0 && bytes % b->sector_bytes == 0);
    sc = cipher_slots_get(b->slots);
    if (!sc) {
        return -ENOMEM;
    }
    ret = func(sc, b->first_iv + offset / SECTOR_CIPHER_IV_UNIT, in, out, bytes);
    mem_wipe_registers(); /* of round keys, and of a key that met zeros */
    cipher_slots_put(b->slots, sc);
    return ret;
}

int crypto_block_encrypt(CryptoBlock *b, uint64_t offset, const uint8_t *in, uint8_t *out, size_t bytes)
{
    return run_borrowed(b, sector_cipher_encrypt, offset, in, out, bytes);
}

int crypto_block_decrypt(CryptoBlock *b, uint64_t offset, const uint8_t *in, uint8_t *out, size_t bytes)
{
    return run_borrowed(b, sector_cipher_decrypt, offset, in, out, bytes);
}

/* The best of a few short runs: interruptions only ever add. */
static uint64_t measure_ps_per_unit(CryptoBlock *b, bool encrypt)
{
    enum { BYTES = 16384, RUNS = 4 };
    static const int64_t ps_per_ns = 1000, ns_per_s = 1000000000;
    g_autofree uint8_t *buf = g_malloc0(BYTES);
    int64_t best = INT64_MAX;

    for (int i = 0; i < RUNS; i++) {
        struct timespec t0, t1;

        clock_gettime(CLOCK_MONOTONIC, &t0);
        run_borrowed(b, encrypt ? sector_cipher_encrypt : sector_cipher_decrypt, 0, buf, buf, BYTES);
        clock_gettime(CLOCK_MONOTONIC, &t1);
        best = MIN(best, (t1.tv_sec - t0.tv_sec) * ns_per_s + t1.tv_nsec - t0.tv_nsec);
    }
    return MAX(1, best * ps_per_ns / (BYTES / SECTOR_CIPHER_IV_UNIT));
}

uint64_t crypto_block_ps_per_sector(CryptoBlock *b, bool encrypt)
{
    /* By algorithm, mode, IV rule and direction; 0 = not measured yet. Two threads may both measure: no harm. */
    static _Atomic uint64_t measured[CIPHER_COUNT][CIPHER_MODE_COUNT][IVGEN_COUNT][2];
    const SectorCipherSpec *spec;
    _Atomic uint64_t *ps;

    g_assert(b->slots);
    spec = cipher_slots_spec(b->slots);
    ps = &measured[spec->cipher][spec->mode][spec->ivgen][encrypt];
    if (!*ps) {
        *ps = measure_ps_per_unit(b, encrypt);
    }
    return *ps * (b->sector_bytes / SECTOR_CIPHER_IV_UNIT);
}
