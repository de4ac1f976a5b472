/* SPDX-License-Identifier: MIT */
/* A new LUKS1 header with one key slot (LUKS sheet section 4). */
#include "crypto/luks/luks-int.h"

#include <string.h>

#include "crypto/luks/luks-keyslot.h"
#include "crypto/kdf/pbkdf.h"
#include "crypto/base/random.h"
#include "util/base/error.h"
#include "util/base/units.h"

enum {
    DIGEST_TIME_DIVISOR = 8, /* the digest gets an eighth of the time of a slot */
};

const OptDesc crypto_luks_create_opts[] = {CRYPTO_LUKS_CREATE_OPTS(""), {NULL}};

static bool bad_value(const char *option, const char *value, GError **errp)
{
    error_set(errp, "Parameter '%s' does not accept value '%s'", option, value);
    return false;
}

static bool take_hash(OptDict *options, const char *option, HashAlg *hash, bool *given, GError **errp)
{
    g_autofree char *value = optdict_take(options, option);

    *given = value;
    if (value && !hash_from_name(value, hash)) {
        return bad_value(option, value, errp);
    }
    if (value && *hash == HASH_MD5) {
        error_set(errp, "Parameter '%s' does not accept value '%s', which is only for opening old volumes", option,
                  value);
        return false;
    }
    return true;
}

bool luks_take_algs(OptDict *options, LuksAlgs *algs, GError **errp)
{
    SectorCipherSpec *s = &algs->sector;
    g_autofree char *cipher = optdict_take(options, "cipher-alg");
    g_autofree char *mode = optdict_take(options, "cipher-mode");
    g_autofree char *ivgen = optdict_take(options, "ivgen-alg");
    bool given;

    *algs = (LuksAlgs){.sector = {CIPHER_AES_256, CIPHER_XTS, IVGEN_PLAIN64, HASH_SHA256, LUKS_SECTOR_BYTES},
                       .hash = HASH_SHA256};
    if (cipher && !cipher_alg_from_name(cipher, &s->cipher)) {
        return bad_value("cipher-alg", cipher, errp);
    }
    if (mode && !cipher_mode_from_name(mode, &s->mode)) {
        return bad_value("cipher-mode", mode, errp);
    }
    if (ivgen && !ivgen_from_name(ivgen, &s->ivgen)) {
        return bad_value("ivgen-alg", ivgen, errp);
    }
    if (!take_hash(options, "ivgen-hash-alg", &s->ivgen_hash, &algs->has_ivgen_hash, errp) ||
        !take_hash(options, "hash-alg", &algs->hash, &given, errp)) {
        return false;
    }
    algs->has_ivgen_hash |= ivgen_needs_hash(s->ivgen);
    return true;
}

static bool choose_iterations(LuksHeader *h, const LuksAlgs *algs, uint64_t iter_time_ms, uint32_t *slot_iterations,
                              GError **errp)
{
    uint64_t digest_rate = pbkdf2_rate(algs->hash, LUKS_DIGEST_BYTES, errp);
    uint64_t slot_rate = digest_rate ? pbkdf2_rate(algs->hash, h->key_bytes, errp) : 0;

    return slot_rate &&
           pbkdf2_iterations_for_time(digest_rate, iter_time_ms, DIGEST_TIME_DIVISOR, &h->digest_iterations, errp) &&
           pbkdf2_iterations_for_time(slot_rate, iter_time_ms, 1, slot_iterations, errp);
}

/* Master key, salt, digest and UUID. */
static SecBuf *make_key(LuksHeader *h, const LuksAlgs *algs, GError **errp)
{
    g_autoptr(SecBuf) key = secbuf_new(h->key_bytes);
    G_STATIC_ASSERT(UUID_TEXT_BYTES <= LUKS_UUID_BYTES);

    if (!random_bytes(secbuf_data(key), h->key_bytes, errp) || !random_bytes(h->digest_salt, LUKS_SALT_BYTES, errp) ||
        !random_uuid(h->uuid, errp)) {
        return NULL;
    }
    luks_key_digest(h, algs, key, h->digest);
    return g_steal_pointer(&key);
}

bool luks_write_header(const LuksHeader *h, size_t bytes, const CryptoIo *io, GError **errp)
{
    uint8_t area[LUKS_HEADER_AREA_BYTES] = {0};
    int ret;

    g_assert(bytes >= LUKS_HEADER_BYTES && bytes <= sizeof(area));
    luks_header_encode(h, area);
    ret = io->write(io->opaque, 0, area, bytes);
    if (ret == 0 && io->flush) {
        ret = io->flush(io->opaque);
    }
    if (ret < 0) {
        error_set_errno(errp, -ret, "Unable to write LUKS header");
        return false;
    }
    return true;
}

/* Key material first, then the header that says it is there. */
static bool write_volume(LuksState *s, const SecBuf *password, const SecBuf *key, uint32_t iterations,
                         const CryptoIo *io, GError **errp)
{
    LuksHeader *h = &s->header;
    uint64_t area_bytes = (uint64_t)luks_payload_sector(h->key_bytes) * LUKS_SECTOR_BYTES;

    return (!io->reserve || io->reserve(io->opaque, area_bytes, errp)) &&
           luks_keyslot_seal(h, &s->algs, 0, password, key, iterations, io, errp) &&
           luks_write_header(h, LUKS_HEADER_AREA_BYTES, io, errp);
}

bool luks_create(CryptoBlock *b, OptDict *options, const char *prefix, const CryptoIo *io, GError **errp)
{
    LuksState *s = g_new0(LuksState, 1);
    LuksHeader *h = &s->header;
    uint64_t iter_time_ms = CRYPTO_ITER_TIME_MS;
    uint32_t iterations;
    bool detached = false;
    g_autoptr(SecBuf) password = NULL;
    g_autoptr(SecBuf) key = NULL;

    b->state = s;
    if (!luks_take_algs(options, &s->algs, errp) || !optdict_take_bool(options, "detached-header", &detached, errp) ||
        !optdict_take_uint(options, "iter-time", UINT64_MAX, &iter_time_ms, errp)) {
        return false;
    }
    password = crypto_block_take_secret(options, prefix, errp);
    if (!password || !sector_cipher_check(&s->algs.sector, errp)) {
        return false;
    }
    luks_header_init(h, cipher_key_bytes(s->algs.sector.cipher, s->algs.sector.mode));
    if (detached) {
        h->payload_sector = 0; /* at the start of another file */
    }
    if (!luks_names_store(&s->algs, h, errp) || !choose_iterations(h, &s->algs, iter_time_ms, &iterations, errp)) {
        return false;
    }
    key = make_key(h, &s->algs, errp);
    return key && write_volume(s, password, key, iterations, io, errp) && luks_install_key(b, s, key, errp);
}

bool luks_measure(OptDict *options, const char *prefix, uint64_t *header_bytes, GError **errp)
{
    LuksAlgs algs;
    g_autoptr(SecBuf) password = NULL;

    if (!luks_take_algs(options, &algs, errp)) {
        return false;
    }
    password = crypto_block_take_secret(options, prefix, errp);
    if (!password || !sector_cipher_check(&algs.sector, errp)) {
        return false;
    }
    *header_bytes =
        (uint64_t)luks_payload_sector(cipher_key_bytes(algs.sector.cipher, algs.sector.mode)) * LUKS_SECTOR_BYTES;
    return true;
}
