/* SPDX-License-Identifier: MIT */
/* A new LUKS2 volume with one key slot (LUKS sheet section 10, "Defaults of a fresh volume"). */
#include "crypto/luks/luks2-int.h"

#include <string.h>

#include "crypto/luks/luks-int.h"
#include "crypto/luks/luks2-disk.h"
#include "crypto/luks/luks2-keyslot.h"
#include "crypto/kdf/pbkdf.h"
#include "crypto/base/random.h"
#include "util/base/error.h"
#include "util/base/units.h"

enum { DIGEST_TIME_DIVISOR = 16 }; /* 125 ms of the default 2 s */

typedef struct Request {
    LuksAlgs algs;
    Luks2KdfAlg kdf;
    uint64_t sector_bytes, iter_time_ms;
    uint32_t key_bytes;
    bool detached; /* the payload is at the start of another file */
    SecBuf *password;
} Request;

static void request_clear(Request *r)
{
    secbuf_free(r->password);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Request, request_clear)

static bool take_kdf(OptDict *options, Luks2KdfAlg *alg, GError **errp)
{
    g_autofree char *name = optdict_take(options, "pbkdf");
    g_autoptr(GError) err = NULL;

    *alg = LUKS2_KDF_ARGON2ID;
    if (name && !luks2_kdf_from_name(name, alg)) {
        error_set(errp, "Parameter 'pbkdf' does not accept value '%s'", name);
        return false;
    }
    if (!luks2_kdf_check(&(Luks2Kdf){.alg = *alg}, &err)) {
        /* A weaker one is never taken silently. */
        error_set_code(errp, QB_ERROR_UNSUPPORTED, "%s; 'pbkdf=pbkdf2' works without", err->message);
        return false;
    }
    return true;
}

static bool take_sector_bytes(OptDict *options, uint64_t *bytes, GError **errp)
{
    *bytes = LUKS_SECTOR_BYTES;
    if (!optdict_take_size(options, "sector-size", bytes, errp)) {
        return false;
    }
    if (!is_power_of_2(*bytes) || *bytes < LUKS_SECTOR_BYTES || *bytes > LUKS2_MAX_SECTOR_BYTES) {
        error_set(errp,
                  "Parameter 'sector-size' does not accept value '%" G_GUINT64_FORMAT "': 512, 1024, 2048 or 4096",
                  *bytes);
        return false;
    }
    return true;
}

static bool take_request(OptDict *options, const char *prefix, Request *r, GError **errp)
{
    r->iter_time_ms = CRYPTO_ITER_TIME_MS;
    if (!luks_take_algs(options, &r->algs, errp) || !take_kdf(options, &r->kdf, errp) ||
        !take_sector_bytes(options, &r->sector_bytes, errp) ||
        !optdict_take_bool(options, "detached-header", &r->detached, errp) ||
        !optdict_take_uint(options, "iter-time", UINT64_MAX, &r->iter_time_ms, errp)) {
        return false;
    }
    r->password = crypto_block_take_secret(options, prefix, errp);
    r->algs.sector.sector_bytes = r->sector_bytes;
    r->key_bytes = cipher_key_bytes(r->algs.sector.cipher, r->algs.sector.mode);
    return r->password && sector_cipher_check(&r->algs.sector, errp);
}

size_t crypto_luks_create_sector_bytes(const OptDict *options)
{
    g_autoptr(OptDict) copy = optdict_copy(options);
    uint64_t bytes = LUKS_SECTOR_BYTES;
    bool ok = optdict_take_size(copy, "sector-size", &bytes, NULL);

    g_assert(ok);
    return bytes;
}

static bool init_header(Luks2Header *h, GError **errp)
{
    *h = (Luks2Header){.copy_bytes = LUKS2_MIN_COPY_BYTES, .checksum = HASH_SHA256};
    return random_uuid(h->uuid, errp);
}

/* The volume key and the digest that proves it. */
static SecBuf *make_key(const Request *r, Luks2Digest *d, GError **errp)
{
    g_autoptr(SecBuf) key = secbuf_new(r->key_bytes);
    uint64_t rate;

    *d = (Luks2Digest){.segments = 1, .hash = r->algs.hash, .salt_bytes = LUKS2_SALT_BYTES};
    /* Not below what a reader may ask of a digest. */
    d->digest_bytes = MAX(hash_bytes(d->hash), LUKS_DIGEST_BYTES);
    rate = pbkdf2_rate(d->hash, d->digest_bytes, errp);
    if (!rate || !pbkdf2_iterations_for_time(rate, r->iter_time_ms, DIGEST_TIME_DIVISOR, &d->iterations, errp) ||
        !random_bytes(secbuf_data(key), r->key_bytes, errp) || !random_bytes(d->salt, d->salt_bytes, errp)) {
        return NULL;
    }
    luks2_digest_compute(d, key, d->digest);
    return g_steal_pointer(&key);
}

/* The metadata without a slot. */
static Luks2Meta *make_meta(const Request *r, const Luks2Header *h, const Luks2Digest *d, GError **errp)
{
    g_autofree char *encryption = luks2_cipher_text(&r->algs.sector);
    Luks2Segment data = {.offset = r->detached ? 0 : LUKS2_DEFAULT_DATA_OFFSET,
                         .encryption = encryption,
                         .sector_bytes = r->sector_bytes};
    g_autofree char *text = luks2_meta_new_text(h, &data, d, LUKS2_DEFAULT_DATA_OFFSET - luks2_header_end(h));

    return luks2_meta_parse(text, h, errp);
}

/* What slot 0 will be, its key derivation calibrated. */
static bool plan_slot(const Request *r, const Luks2Meta *m, const Luks2Header *h, Luks2Keyslot *slot, GError **errp)
{
    *slot = (Luks2Keyslot){.priority = LUKS2_PRIORITY_NORMAL, .af_hash = r->algs.hash};
    slot->kdf.alg = r->kdf;
    slot->kdf.hash = r->algs.hash;
    if (!luks2_keyslot_free_id(m, &slot->id, errp) || !luks2_keyslot_place(m, h, r->key_bytes, slot, errp)) {
        return false;
    }
    slot->area.key_bytes = r->key_bytes;
    slot->area.cipher = r->algs.sector;
    slot->area.cipher.sector_bytes = LUKS_SECTOR_BYTES;
    return luks2_kdf_calibrate(&slot->kdf, r->iter_time_ms, slot->area.key_bytes, errp);
}

/* D1 of luks2-disk.h: key material first. What is stored is then read as any other header would be. */
static bool write_volume(Luks2State *s, const Request *r, const Luks2Keyslot *slot, const SecBuf *key,
                         const CryptoIo *io, GError **errp)
{
    g_autofree char *text = NULL;

    if ((io->reserve && !io->reserve(io->opaque, LUKS2_DEFAULT_DATA_OFFSET, errp)) ||
        !luks2_keyslot_seal(slot, r->password, key, io, errp)) {
        return false;
    }
    luks2_meta_put_keyslot(s->meta, slot, s->meta->digests[0].id);
    text = luks2_meta_text(s->meta);
    g_clear_pointer(&s->meta, luks2_meta_free);
    s->meta = luks2_meta_parse(text, &s->header, errp);
    return s->meta && luks2_disk_store(io, &s->header, text, errp);
}

bool luks2_create(CryptoBlock *b, OptDict *options, const char *prefix, const CryptoIo *io, GError **errp)
{
    Luks2State *s = g_new0(Luks2State, 1);
    g_auto(Request) r = {0};
    g_autoptr(SecBuf) key = NULL;
    Luks2Digest digest;
    Luks2Keyslot slot;

    b->state = s;
    if (!take_request(options, prefix, &r, errp) || !init_header(&s->header, errp)) {
        return false;
    }
    key = make_key(&r, &digest, errp);
    s->meta = key ? make_meta(&r, &s->header, &digest, errp) : NULL;
    return s->meta && plan_slot(&r, s->meta, &s->header, &slot, errp) && write_volume(s, &r, &slot, key, io, errp) &&
           luks2_meta_volume(s->meta, &s->volume, errp) && luks2_install_key(b, s, key, errp);
}

bool luks2_measure(OptDict *options, const char *prefix, uint64_t *header_bytes, GError **errp)
{
    g_auto(Request) r = {0};

    *header_bytes = LUKS2_DEFAULT_DATA_OFFSET;
    return take_request(options, prefix, &r, errp);
}
