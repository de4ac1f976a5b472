/* SPDX-License-Identifier: MIT */
#include "crypto/hash/hash.h"

#include <string.h>

#include "crypto/hash/hash-int.h"
#include "util/base/error.h"
#include "util/base/secbuf.h"

typedef struct HashRow {
    const char *name;
    const struct nettle_hash *ops; /* NULL: not in this build */
    const char *abc;               /* digest of "abc" in hex */
} HashRow;

/* Answers for "abc": RFC 1321, FIPS 180-4 examples, the RIPEMD-160 paper, GB/T 32905 example 1. */
static const HashRow hash_rows[HASH_COUNT] = {
    [HASH_MD5] = {"md5", &nettle_md5, "900150983cd24fb0d6963f7d28e17f72"},
    [HASH_SHA1] = {"sha1", &nettle_sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"},
    [HASH_SHA224] = {"sha224", &nettle_sha224, "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"},
    [HASH_SHA256] = {"sha256", &nettle_sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    [HASH_SHA384] = {"sha384", &nettle_sha384,
                     "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed"
                     "8086072ba1e7cc2358baeca134c825a7"},
    [HASH_SHA512] = {"sha512", &nettle_sha512,
                     "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                     "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"},
    [HASH_RIPEMD160] = {"ripemd160", &nettle_ripemd160, "8eb208f7e05d987a9b044a8e98c6b087f15a0bfc"},
    [HASH_SM3] = {"sm3",
#if QBLOCK_HAVE_SM3
                  &nettle_sm3,
#else
                  NULL,
#endif
                  "66c7f0f462eeedd9d1f2d46bdc10e4e24167c4875cf2f7a2297da02b8f4ba8e0"},
};

const char *hash_name(HashAlg alg)
{
    g_assert(alg < HASH_COUNT);
    return hash_rows[alg].name;
}

bool hash_from_name(const char *name, HashAlg *alg)
{
    for (int i = 0; i < HASH_COUNT; i++) {
        if (hash_rows[i].ops && !strcmp(name, hash_rows[i].name)) {
            *alg = i;
            return true;
        }
    }
    return false;
}

bool hash_supported(HashAlg alg)
{
    return alg < HASH_COUNT && hash_rows[alg].ops;
}

const struct nettle_hash *hash_ops(HashAlg alg)
{
    g_assert(hash_supported(alg));
    return hash_rows[alg].ops;
}

size_t hash_bytes(HashAlg alg)
{
    return hash_ops(alg)->digest_size;
}

size_t hash_block_bytes(HashAlg alg)
{
    return hash_ops(alg)->block_size;
}

void hash_compute(HashAlg alg, const void *data, size_t len, uint8_t *out)
{
    const struct nettle_hash *ops = hash_ops(alg);
    HashCtx ctx;

    ops->init(&ctx);
    ops->update(&ctx, len, data);
    ops->digest(&ctx, ops->digest_size, out);
    mem_wipe(&ctx, sizeof(ctx)); /* what is hashed here is mostly key material */
}

bool hash_self_test(GError **errp)
{
    for (int i = 0; i < HASH_COUNT; i++) {
        uint8_t digest[HASH_MAX_BYTES];
        char hex[2 * HASH_MAX_BYTES + 1];

        if (!hash_supported(i)) {
            continue;
        }
        hash_compute(i, "abc", 3, digest);
        for (size_t k = 0; k < hash_bytes(i); k++) {
            g_snprintf(hex + 2 * k, 3, "%02x", digest[k]);
        }
        if (strcmp(hex, hash_rows[i].abc)) {
            error_set(errp, "Hash '%s' failed its self-test", hash_rows[i].name);
            return false;
        }
    }
    return true;
}
