/* SPDX-License-Identifier: MIT */
#include "crypto/hash/hmac.h"

#include <string.h>

#include "crypto/hash/hash-int.h"
#include "util/base/error.h"
#include "util/base/secbuf.h"
#ifdef __x86_64__
#include "crypto/base/cpu-x86.h"
#include "crypto/hash/hmac-sha256-x86.h"
#endif

enum { IPAD = 0x36, OPAD = 0x5c };

struct HmacKey {
    const struct nettle_hash *ops;
    HashAlg alg;
    HashCtx inner, outer; /* after the padded key's block: as good as the key */
    SecBuf *memory;       /* that it lies in */
};

HmacKey *hmac_key_new(HashAlg alg, const void *key, size_t key_len)
{
    MEM_WIPE_STACK_GUARD();
    const struct nettle_hash *ops = hash_ops(alg);
    SecBuf *memory = secbuf_new(sizeof(HmacKey));
    HmacKey *k = (HmacKey *)secbuf_data(memory);
    uint8_t pad[HASH_MAX_BLOCK_BYTES] = {0};

    k->memory = memory;
    k->ops = ops;
    k->alg = alg;
    if (key_len > ops->block_size) {
        hash_compute(alg, key, key_len, pad);
    } else if (key_len > 0) {
        memcpy(pad, key, key_len);
    }
    for (size_t i = 0; i < ops->block_size; i++) {
        pad[i] ^= IPAD;
    }
    ops->init(&k->inner);
    ops->update(&k->inner, ops->block_size, pad);
    for (size_t i = 0; i < ops->block_size; i++) {
        pad[i] ^= IPAD ^ OPAD;
    }
    ops->init(&k->outer);
    ops->update(&k->outer, ops->block_size, pad);
    mem_wipe(pad, sizeof(pad));
    return k;
}

void hmac_key_free(HmacKey *k)
{
    if (k) {
        secbuf_free(k->memory);
    }
}

void hmac_key_digest(const HmacKey *k, const void *a, size_t a_len, const void *b, size_t b_len, uint8_t *out)
{
    const struct nettle_hash *ops = k->ops;
    HashCtx ctx = k->inner;
    uint8_t digest[HASH_MAX_BYTES];

    ops->update(&ctx, a_len, a);
    ops->update(&ctx, b_len, b);
    ops->digest(&ctx, ops->digest_size, digest);
    ctx = k->outer;
    ops->update(&ctx, ops->digest_size, digest);
    ops->digest(&ctx, ops->digest_size, out);
    mem_wipe(digest, sizeof(digest));
    mem_wipe(&ctx, sizeof(ctx));
}

void hmac_key_chain_portable(const HmacKey *k, uint8_t *u, uint8_t *acc, uint64_t count)
{
    const struct nettle_hash *ops = k->ops;
    const size_t len = ops->digest_size, ctx_len = ops->context_size;
    HashCtx ctx;

    for (uint64_t n = 0; n < count; n++) {
        memcpy(&ctx, &k->inner, ctx_len);
        ops->update(&ctx, len, u);
        ops->digest(&ctx, len, u);
        memcpy(&ctx, &k->outer, ctx_len);
        ops->update(&ctx, len, u);
        ops->digest(&ctx, len, u);
        for (size_t i = 0; i < len; i++) {
            acc[i] ^= u[i];
        }
    }
    mem_wipe(&ctx, sizeof(ctx));
}

/* The row that hmac_key_chain() takes gives what the portable one does. */
static bool chain_agrees(const HmacKey *k)
{
    const size_t len = k->ops->digest_size;
    uint8_t u[2][HASH_MAX_BYTES] = {{1, 2, 3}, {1, 2, 3}}, acc[2][HASH_MAX_BYTES] = {{9}, {9}};

    hmac_key_chain_portable(k, u[0], acc[0], 3);
    hmac_key_chain(k, u[1], acc[1], 3);
    return !memcmp(u[0], u[1], len) && !memcmp(acc[0], acc[1], len);
}

void hmac_key_chain(const HmacKey *k, uint8_t *u, uint8_t *acc, uint64_t count)
{
#ifdef __x86_64__
    if (k->alg == HASH_SHA256 && cpu_has_sha()) {
        hmac_sha256_chain_x86(k->inner.sha256.state, k->outer.sha256.state, u, acc, count);
        return;
    }
#endif
    hmac_key_chain_portable(k, u, acc, count);
}

bool hmac_self_test(GError **errp)
{
    for (int alg = 0; alg < HASH_COUNT; alg++) {
        g_autoptr(HmacKey) k = hash_supported(alg) ? hmac_key_new(alg, "self-test", 9) : NULL;

        if (k && !chain_agrees(k)) {
            error_set(errp, "HMAC of hash '%s' failed its self-test", hash_name(alg));
            return false;
        }
    }
    return true;
}
