/* SPDX-License-Identifier: MIT */
#include "crypto/cipher/ivgen.h"

#include <string.h>

#include "crypto/cipher/ivgen-int.h"

static const IvGenRule *const rules[IVGEN_COUNT] = {
    [IVGEN_PLAIN] = &ivgen_rule_plain,
    [IVGEN_PLAIN64] = &ivgen_rule_plain64,
    [IVGEN_ESSIV] = &ivgen_rule_essiv,
};

struct IvGen {
    const IvGenRule *rule;
    void *state;
};

const char *ivgen_name(IvGenAlg alg)
{
    g_assert(alg < IVGEN_COUNT);
    return rules[alg]->name;
}

bool ivgen_from_name(const char *name, IvGenAlg *alg)
{
    for (int i = 0; i < IVGEN_COUNT; i++) {
        if (!strcmp(name, rules[i]->name)) {
            *alg = i;
            return true;
        }
    }
    return false;
}

bool ivgen_needs_hash(IvGenAlg alg)
{
    g_assert(alg < IVGEN_COUNT);
    return rules[alg]->needs_hash;
}

bool ivgen_check(IvGenAlg alg, CipherAlg cipher, HashAlg hash, GError **errp)
{
    g_assert(alg < IVGEN_COUNT);
    return !rules[alg]->check || rules[alg]->check(cipher, hash, errp);
}

IvGen *ivgen_new(IvGenAlg alg, CipherAlg cipher, HashAlg hash, const uint8_t *key, size_t key_len, GError **errp)
{
    void *state = NULL;
    IvGen *g;

    if (!ivgen_check(alg, cipher, hash, errp)) {
        return NULL;
    }
    if (rules[alg]->state_new) {
        state = rules[alg]->state_new(cipher, hash, key, key_len, errp);
        if (!state) {
            return NULL;
        }
    }
    g = g_new(IvGen, 1);
    g->rule = rules[alg];
    g->state = state;
    return g;
}

void ivgen_free(IvGen *g)
{
    if (g) {
        if (g->state) {
            g->rule->state_free(g->state);
        }
        g_free(g);
    }
}

int ivgen_fill(IvGen *g, uint64_t first, unsigned step, size_t count, uint8_t *ivs)
{
    return g->rule->fill(g->state, first, step, count, ivs);
}
