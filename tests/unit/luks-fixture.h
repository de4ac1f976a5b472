/* SPDX-License-Identifier: MIT */
/* A LUKS volume in memory, for tests. */
#ifndef QBLOCK_TESTS_LUKS_FIXTURE_H
#define QBLOCK_TESTS_LUKS_FIXTURE_H

#include <errno.h>

#include "crypto/formats/block-open.h"
#include "crypto/volume/block.h"
#include "crypto/secret/secret.h"
#include "tests/unit/crypto-fixture.h"

typedef struct MemVolume {
    uint8_t *data;
    size_t size;
    int writes, flushes, reads;
    int fail_write; /* n-th write (from 1) fails; 0 = none */
    uint64_t reserved;
} MemVolume;

static inline int mem_read(void *opaque, uint64_t offset, void *buf, size_t bytes)
{
    MemVolume *m = opaque;

    m->reads++;
    if (offset > m->size || bytes > m->size - offset) {
        return -EIO;
    }
    memcpy(buf, m->data + offset, bytes);
    return 0;
}

static inline int mem_write(void *opaque, uint64_t offset, const void *buf, size_t bytes)
{
    MemVolume *m = opaque;

    if (++m->writes == m->fail_write) {
        return -ENOSPC;
    }
    if (offset > m->size || bytes > m->size - offset) {
        return -EIO;
    }
    memcpy(m->data + offset, buf, bytes);
    return 0;
}

static inline int mem_flush(void *opaque)
{
    ((MemVolume *)opaque)->flushes++;
    return 0;
}

static inline bool mem_reserve(void *opaque, uint64_t header_bytes, GError **errp)
{
    MemVolume *m = opaque;

    g_free(m->data);
    m->reserved = m->size = header_bytes;
    m->data = g_malloc0(m->size);
    return true;
}

static inline CryptoIo mem_io(MemVolume *m)
{
    return (CryptoIo){mem_read, mem_write, mem_flush, mem_reserve, m};
}

static inline void define_secret(const char *id, const char *data)
{
    g_autoptr(OptDict) o = optdict_new();

    optdict_set(o, "id", id);
    optdict_set(o, "data", data);
    ck_assert(secret_add(o, NULL));
}

/* Options from "key=value,..." with the secret "pw". */
static inline OptDict *luks_options(const char *text)
{
    OptDict *o = optdict_parse_keyval(text, NULL, NULL);

    ck_assert_ptr_nonnull(o);
    if (!optdict_has(o, "key-secret")) {
        optdict_set(o, "key-secret", "pw");
    }
    if (!optdict_has(o, "iter-time")) {
        optdict_set(o, "iter-time", "1");
    }
    return o;
}

static inline CryptoBlock *luks_make(MemVolume *m, const char *text, GError **errp)
{
    g_autoptr(OptDict) o = luks_options(text);
    CryptoIo io = mem_io(m);

    return crypto_block_create(CRYPTO_FORMAT_LUKS, o, "", &io, errp);
}

static inline CryptoBlock *luks_open_with(MemVolume *m, const char *secret, unsigned flags, GError **errp)
{
    g_autoptr(OptDict) o = optdict_new();
    CryptoIo io = mem_io(m);

    if (secret) {
        optdict_set(o, "key-secret", secret);
    }
    return crypto_block_open(CRYPTO_FORMAT_LUKS, o, "", &io, m->size, flags, errp);
}

/* The secrets of tests that make and open volumes: the password, and one that is wrong. */
static inline void luks_define_passwords(void)
{
    define_secret("pw", "password");
    define_secret("other", "Password");
}

/* What one of two views of a volume encrypts, the other decrypts. */
static inline void luks_check_payload(CryptoBlock *b, CryptoBlock *again)
{
    size_t sector = crypto_block_sector_bytes(b), bytes = 70 * sector;
    g_autofree uint8_t *plain = g_malloc(bytes), *cipher = g_malloc(bytes), *back = g_malloc(bytes);

    for (size_t i = 0; i < bytes; i++) {
        plain[i] = i * 7;
    }
    ck_assert_int_eq(crypto_block_encrypt(b, 10 * sector, plain, cipher, bytes), 0);
    ck_assert_mem_ne(cipher, plain, bytes);
    ck_assert_int_eq(crypto_block_decrypt(again, 10 * sector, cipher, back, bytes), 0);
    ck_assert_mem_eq(back, plain, bytes);
}

#endif
