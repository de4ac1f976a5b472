/* SPDX-License-Identifier: MIT */
#include "crypto/cipher/cipher-slots.h"

#include <stdatomic.h>

/* Each shelf holds one idle cipher or NULL and is only ever exchanged, so there is no ABA to guard against. A thread
 * starts at a shelf of its own, which mostly holds the cipher it returned last, warm in its cache. */
enum { SHELVES = 32, CACHE_LINE = 64 };

/* A line of its own: threads beside each other change theirs with each request, and what is fixed is read by all. */
typedef struct Shelf {
    SectorCipher *_Atomic cipher;
    char pad[CACHE_LINE - sizeof(SectorCipher *)];
} Shelf;

struct CipherSlots {
    /* fixed after new */
    SectorCipherSpec spec;
    SecBuf *key;
    char pad[CACHE_LINE];

    /* atomic */
    Shelf shelf[SHELVES];
};

static unsigned own_shelf(void)
{
    static atomic_uint next;
    static _Thread_local unsigned mine; /* 1 + index; 0 = not chosen yet */

    if (!mine) {
        mine = 1 + atomic_fetch_add(&next, 1) % SHELVES;
    }
    return mine - 1;
}

SectorCipher *cipher_slots_get(CipherSlots *s)
{
    unsigned first = own_shelf();

    for (unsigned i = 0; i < SHELVES; i++) {
        SectorCipher *_Atomic *shelf = &s->shelf[(first + i) % SHELVES].cipher;

        if (atomic_load_explicit(shelf, memory_order_relaxed)) {
            SectorCipher *sc = atomic_exchange_explicit(shelf, NULL, memory_order_acquire);
            if (sc) {
                return sc;
            }
        }
    }
    return sector_cipher_new(&s->spec, secbuf_data(s->key), secbuf_size(s->key), NULL);
}

void cipher_slots_put(CipherSlots *s, SectorCipher *sc)
{
    unsigned first = own_shelf();

    for (unsigned i = 0; i < SHELVES; i++) {
        SectorCipher *empty = NULL;

        if (atomic_compare_exchange_strong_explicit(&s->shelf[(first + i) % SHELVES].cipher, &empty, sc,
                                                    memory_order_release, memory_order_relaxed)) {
            return;
        }
    }
    sector_cipher_free(sc);
}

CipherSlots *cipher_slots_new(const SectorCipherSpec *spec, const SecBuf *key, GError **errp)
{
    SectorCipher *sc = sector_cipher_new(spec, secbuf_data(key), secbuf_size(key), errp);
    CipherSlots *s;

    if (!sc) {
        return NULL;
    }
    s = g_new0(CipherSlots, 1);
    s->spec = *spec;
    s->key = secbuf_new_copy(secbuf_data(key), secbuf_size(key));
    cipher_slots_put(s, sc);
    return s;
}

void cipher_slots_free(CipherSlots *s)
{
    if (s) {
        for (unsigned i = 0; i < SHELVES; i++) {
            sector_cipher_free(s->shelf[i].cipher);
        }
        secbuf_free(s->key);
        g_free(s);
    }
}

const SectorCipherSpec *cipher_slots_spec(const CipherSlots *s)
{
    return &s->spec;
}

const SecBuf *cipher_slots_key(const CipherSlots *s)
{
    return s->key;
}
