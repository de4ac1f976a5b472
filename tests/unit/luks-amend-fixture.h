/* SPDX-License-Identifier: MIT */
/* One LUKS volume in memory whose key slots a test changes: the volume, its secrets, a change done and a change
 * refused. */
#ifndef QBLOCK_TESTS_LUKS_AMEND_FIXTURE_H
#define QBLOCK_TESTS_LUKS_AMEND_FIXTURE_H

#include "tests/unit/luks-fixture.h"

static MemVolume vol;
static CryptoBlock *block;

static inline void define_amend_secrets(void)
{
    define_secret("pw", "abc");
    define_secret("new", "new password");
    define_secret("other", "another");
}

static inline void stop(void)
{
    g_clear_pointer(&block, crypto_block_free);
    g_clear_pointer(&vol.data, g_free);
    secret_forget_all();
    vol = (MemVolume){0};
}

/* A new key costs as little as it may, unless @text says otherwise. */
static inline bool amend_on(CryptoBlock *b, const CryptoIo *io, const char *text, bool force, GError **errp)
{
    g_autoptr(OptDict) o = optdict_parse_keyval(text, NULL, NULL);

    if (g_strstr_len(text, -1, "state=active") && !optdict_has(o, "iter-time")) {
        optdict_set(o, "iter-time", "1");
    }
    return crypto_block_amend(b, o, io, force, errp);
}

static inline bool amend(const char *text, bool force, GError **errp)
{
    CryptoIo io = mem_io(&vol);

    return amend_on(block, &io, text, force, errp);
}

static inline void do_amend(const char *text, bool force)
{
    GError *err = NULL;

    ck_assert_msg(amend(text, force, &err), "%s: %s", text, err ? err->message : "");
}

/* Refused with @message, and nothing of the volume is changed. */
static inline void assert_refused(const char *text, bool force, const char *message)
{
    g_autofree uint8_t *before = g_memdup2(vol.data, vol.size);
    GError *err = NULL;

    ck_assert_msg(!amend(text, force, &err), "%s was done", text);
    assert_error(err, message);
    ck_assert_mem_eq(vol.data, before, vol.size);
}

#endif
