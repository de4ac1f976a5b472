/* SPDX-License-Identifier: MIT */
/* What a change of key slots asks for: the amend options read and checked, whatever the format (LUKS sheet section 6).
 */
#include "crypto/volume/block-int.h"

#include "crypto/secret/secret.h"
#include "util/base/error.h"

const OptDesc crypto_luks_amend_opts[] = {CRYPTO_LUKS_AMEND_OPTS(""), {NULL}};

static void amend_clear(CryptoAmend *a)
{
    secbuf_free(a->new_secret);
    secbuf_free(a->old_secret);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CryptoAmend, amend_clear)

static bool take_state(OptDict *options, bool *activate, GError **errp)
{
    g_autofree char *state = optdict_take(options, "state");

    if (!state) {
        error_set(errp, "Parameter 'state' is missing");
        return false;
    }
    *activate = g_str_equal(state, "active");
    if (!*activate && !g_str_equal(state, "inactive")) {
        error_set(errp, "Parameter 'state' does not accept value '%s'", state);
        return false;
    }
    return true;
}

static bool take_number(OptDict *options, const char *key, bool *given, uint64_t *out, GError **errp)
{
    *given = optdict_has(options, key);
    return optdict_take_uint(options, key, UINT64_MAX, out, errp);
}

/* *@out stays NULL when the option is not given. */
static bool take_secret(OptDict *options, const char *key, SecBuf **out, GError **errp)
{
    g_autofree char *id = optdict_take(options, key);

    if (id) {
        *out = secret_lookup_utf8(id, errp);
    }
    return !id || *out;
}

/* What does not go together: a user who gives too much may mean something else than what would be done. */
static bool check_combination(const OptDict *options, bool activate, GError **errp)
{
    if (activate && optdict_has(options, "old-secret")) {
        error_set(errp, "'old-secret' must not be given when activating keyslots");
    } else if (activate && !optdict_has(options, "new-secret")) {
        error_set(errp, "'new-secret' is required to activate a keyslot");
    } else if (!activate && optdict_has(options, "new-secret")) {
        error_set(errp, "'new-secret' must not be given when erasing keyslots");
    } else if (!activate && optdict_has(options, "iter-time")) {
        error_set(errp, "'iter-time' must not be given when erasing keyslots");
    } else if (!activate && !optdict_has(options, "old-secret") && !optdict_has(options, "keyslot")) {
        error_set(errp,
                  "To erase keyslot(s), either explicit keyslot index or the password currently contained in them "
                  "must be given");
    } else {
        return true;
    }
    return false;
}

static bool take_request(OptDict *options, CryptoAmend *a, GError **errp)
{
    bool has_iter_time;

    a->iter_time_ms = CRYPTO_ITER_TIME_MS;
    return take_state(options, &a->activate, errp) && check_combination(options, a->activate, errp) &&
           take_number(options, "keyslot", &a->has_slot, &a->slot, errp) &&
           take_number(options, "iter-time", &has_iter_time, &a->iter_time_ms, errp) &&
           take_secret(options, "new-secret", &a->new_secret, errp) &&
           take_secret(options, "old-secret", &a->old_secret, errp);
}

bool crypto_block_amend(CryptoBlock *b, OptDict *options, const CryptoIo *io, bool force, GError **errp)
{
    g_auto(CryptoAmend) a = {.force = force};

    g_assert(b->slots);
    if (!b->ops->amend) {
        error_set(errp, "Only LUKS encryption options can be amended");
        return false;
    }
    return take_request(options, &a, errp) && b->ops->amend(b, &a, io, errp);
}
