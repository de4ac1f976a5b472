/* SPDX-License-Identifier: MIT */
/* LUKS2 metadata and volumes for tests. */
#ifndef QBLOCK_TESTS_LUKS2_FIXTURE_H
#define QBLOCK_TESTS_LUKS2_FIXTURE_H

#include "config.h"
#include "crypto/formats/block-open.h"
#include "crypto/luks/luks2-meta.h"
#include "tests/unit/luks-fixture.h"

/* As cryptsetup 2.6 writes it, with two slots, a token and fields that nobody knows; ' stands for ". Salts are 32 zero
 * bytes. */
#define LUKS2_ZERO_SALT "'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='"
#define LUKS2_GOOD_TEXT                                                                                                \
    "{'keyslots':{"                                                                                                    \
    "'0':{'type':'luks2','key_size':64,'af':{'type':'luks1','stripes':4000,'hash':'sha256'},"                          \
    "'area':{'type':'raw','offset':'32768','size':'258048','encryption':'aes-xts-plain64','key_size':64},"             \
    "'kdf':{'type':'pbkdf2','hash':'sha256','iterations':1000,'salt':" LUKS2_ZERO_SALT "},'x-note':{'a':[1,2]}},"      \
    "'3':{'type':'luks2','key_size':64,'priority':2,'af':{'type':'luks1','stripes':4000,'hash':'sha512'},"             \
    "'area':{'type':'raw','offset':'290816','size':'258048','encryption':'aes-cbc-essiv:sha256','key_size':32},"       \
    "'kdf':{'type':'argon2id','time':4,'memory':65536,'cpus':2,'salt':" LUKS2_ZERO_SALT "}}},"                         \
    "'tokens':{'0':{'type':'clevis','keyslots':['3'],'jwe':{'deep':[[{'x':null}]]}}},"                                 \
    "'segments':{'0':{'type':'crypt','offset':'16777216','size':'dynamic','iv_tweak':'0',"                             \
    "'encryption':'aes-xts-plain64','sector_size':4096}},"                                                             \
    "'digests':{'0':{'type':'pbkdf2','keyslots':['0','3'],'segments':['0'],'hash':'sha256','iterations':1000,"         \
    "'salt':" LUKS2_ZERO_SALT ",'digest':" LUKS2_ZERO_SALT "}},"                                                       \
    "'config':{'json_size':'12288','keyslots_size':'16744448','flags':['allow-discards'],'x-future':true}}"

/* @text with its first @find replaced and ' turned into ". Caller frees. */
static inline char *luks2_edit_text(const char *text, const char *find, const char *replace)
{
    GString *s = g_string_new(text);

    if (find) {
        ck_assert_msg(g_string_replace(s, find, replace, 1) == 1, "no '%s' in the text", find);
    }
    g_string_replace(s, "'", "\"", 0);
    return g_string_free(s, FALSE);
}

static inline Luks2Header luks2_test_header(void)
{
    return (Luks2Header){.copy_bytes = LUKS2_MIN_COPY_BYTES, .seqid = 1, .checksum = HASH_SHA256, .uuid = "u"};
}

static inline CryptoBlock *luks2_make(MemVolume *m, const char *text, GError **errp)
{
    g_autoptr(OptDict) o = luks_options(text);
    CryptoIo io = mem_io(m);

    optdict_set(o, "luks-version", "2");
    return crypto_block_create(CRYPTO_FORMAT_LUKS_ANY, o, "", &io, errp);
}

/* The same with a key derivation that every build has. */
static inline CryptoBlock *luks2_make_pbkdf2(MemVolume *m, const char *text, GError **errp)
{
    g_autofree char *all = g_strconcat("pbkdf=pbkdf2,", text, NULL);

    return luks2_make(m, all, errp);
}

static inline CryptoBlock *luks2_open_with(MemVolume *m, const char *secret, unsigned flags, GError **errp)
{
    g_autoptr(OptDict) o = optdict_new();
    CryptoIo io = mem_io(m);

    if (secret) {
        optdict_set(o, "key-secret", secret);
    }
    return crypto_block_open(CRYPTO_FORMAT_LUKS_ANY, o, "", &io, m->size, flags, errp);
}

#endif
