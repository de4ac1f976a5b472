/* SPDX-License-Identifier: MIT */
/* The inside of hashing, for hash.c and hmac.c only: running contexts that may be copied by assignment. */
#ifndef QBLOCK_CRYPTO_HASH_INT_H
#define QBLOCK_CRYPTO_HASH_INT_H

#include <nettle/md5.h>
#include <nettle/nettle-meta.h>
#include <nettle/ripemd160.h>
#include <nettle/sha1.h>
#include <nettle/sha2.h>

#include "crypto/hash/hash.h"

#if defined(__has_include)
#if __has_include(<nettle/sm3.h>)
#include <nettle/sm3.h>
#define QBLOCK_HAVE_SM3 1
#endif
#endif
#ifndef QBLOCK_HAVE_SM3
#define QBLOCK_HAVE_SM3 0
#endif

/* The library's contexts are plain structs without pointers: a copy is a fork of the running hash. */
typedef union HashCtx {
    struct md5_ctx md5;
    struct sha1_ctx sha1;
    struct sha256_ctx sha256;
    struct sha512_ctx sha512;
    struct ripemd160_ctx ripemd160;
#if QBLOCK_HAVE_SM3
    struct sm3_ctx sm3;
#endif
} HashCtx;

/* The library's function table of a supported algorithm. */
const struct nettle_hash *hash_ops(HashAlg alg);

#endif
