/* SPDX-License-Identifier: MIT */
#include "crypto/cipher/cipher-measure.h"

#include <string.h>
#include <time.h>

enum { SECTOR = 512, MAX_REQUEST = CIPHER_LONG_RUN_BYTES, TRIES = 4 };

static const size_t request_sizes[] = {4096, 16384, MAX_REQUEST};

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * UINT64_C(1000000000) + ts.tv_nsec;
}

/* The shortest of some tries, so that what else the machine does counts little; UINT64_MAX if the row fails. */
static uint64_t measure_request(const CipherDriver *d, void *ctx, bool encrypt, uint8_t *buf, size_t bytes)
{
    uint8_t ivs[MAX_REQUEST / SECTOR * CIPHER_IV_BYTES] = {0};
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < TRIES; i++) {
        uint64_t start = now_ns();

        if ((encrypt ? d->encrypt : d->decrypt)(ctx, ivs, SECTOR, bytes / SECTOR, buf, buf)) {
            return UINT64_MAX;
        }
        best = MIN(best, now_ns() - start);
    }
    return best;
}

/* By at least a tenth, for a change of rows that gains nothing is not worth it. */
static bool is_faster(uint64_t ns, uint64_t than_ns)
{
    return ns < than_ns / 10 * 9;
}

size_t cipher_measure_crossover(const CipherDriver *mine, const CipherDriver *theirs, CipherAlg alg, CipherMode mode,
                                bool encrypt)
{
    uint8_t key[CIPHER_MAX_KEY_BYTES];
    g_autofree uint8_t *buf = g_malloc0(MAX_REQUEST);
    size_t i = G_N_ELEMENTS(request_sizes), from = CIPHER_NEVER;
    void *my_ctx, *their_ctx = NULL;

    for (size_t k = 0; k < sizeof(key); k++) {
        key[k] = k;
    }
    my_ctx = mine->ctx_new(alg, mode, key, cipher_key_bytes(alg, mode), NULL);
    if (my_ctx) {
        their_ctx = theirs->ctx_new(alg, mode, key, cipher_key_bytes(alg, mode), NULL);
    }
    /* From the largest down: the first that is lost ends it. */
    while (their_ctx && i-- > 0) {
        uint64_t my_ns = measure_request(mine, my_ctx, encrypt, buf, request_sizes[i]);
        uint64_t their_ns = measure_request(theirs, their_ctx, encrypt, buf, request_sizes[i]);

        if (!is_faster(their_ns, my_ns)) {
            break;
        }
        from = request_sizes[i];
    }
    if (their_ctx) {
        theirs->ctx_free(their_ctx);
    }
    if (my_ctx) {
        mine->ctx_free(my_ctx);
    }
    return from;
}
