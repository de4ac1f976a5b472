/* SPDX-License-Identifier: MIT */
#include "crypto/cipher/cipher.h"

#include <stdatomic.h>
#include <string.h>

#include "config.h"
#include "crypto/cipher/cipher-int.h"
#include "crypto/cipher/cipher-measure.h"
#include "crypto/cipher/init.h"
#if defined(__x86_64__) || defined(__aarch64__)
#include "crypto/cipher/cipher-vector.h"
#endif
#include "util/base/error.h"
#include "util/base/trace.h"

typedef struct CipherAlgRow {
    const char *name, *family;
    size_t key_bytes, block_bytes;
} CipherAlgRow;

static const CipherAlgRow alg_rows[CIPHER_COUNT] = {
    [CIPHER_AES_128] = {"aes-128", "aes", 16, 16},
    [CIPHER_AES_192] = {"aes-192", "aes", 24, 16},
    [CIPHER_AES_256] = {"aes-256", "aes", 32, 16},
    [CIPHER_SERPENT_128] = {"serpent-128", "serpent", 16, 16},
    [CIPHER_SERPENT_192] = {"serpent-192", "serpent", 24, 16},
    [CIPHER_SERPENT_256] = {"serpent-256", "serpent", 32, 16},
    [CIPHER_TWOFISH_128] = {"twofish-128", "twofish", 16, 16},
    [CIPHER_TWOFISH_192] = {"twofish-192", "twofish", 24, 16},
    [CIPHER_TWOFISH_256] = {"twofish-256", "twofish", 32, 16},
    [CIPHER_CAST5_128] = {"cast5-128", "cast5", 16, 8},
    [CIPHER_3DES] = {"3des", "3des", 24, 8},
    [CIPHER_DES] = {"des", "des", 8, 8},
};

static const char *const mode_names[CIPHER_MODE_COUNT] = {
    [CIPHER_ECB] = "ecb", [CIPHER_CBC] = "cbc", [CIPHER_XTS] = "xts", [CIPHER_CTR] = "ctr"};

/* Best first; the kernel's, which is best for some requests of some ciphers at most, last. */
static const CipherDriver *const rows[] = {
#ifdef __x86_64__
    &cipher_driver_vector_avx512, &cipher_driver_vector_avx2, &cipher_driver_vector_aesni,
#elif defined(__aarch64__)
    &cipher_driver_vector_arm64,
#endif
    &cipher_driver_gnutls,        &cipher_driver_nettle,
#if HAVE_AFALG
    &cipher_driver_afalg,
#endif
};

/* What the self-test of a combination said. Two threads may both run it: they store the same. */
enum { UNTESTED, PASSED, FAILED };
static _Atomic int row_state[G_N_ELEMENTS(rows)][CIPHER_COUNT][CIPHER_MODE_COUNT];

struct Cipher {
    const CipherDriver *driver;
    void *ctx;
    /* A second row for large requests, NULL without, and the bytes from which on it is measured to be faster; [1]
     * encrypts. */
    const CipherDriver *large_driver;
    void *large_ctx;
    size_t large_from[2];
};

const char *cipher_alg_name(CipherAlg alg)
{
    g_assert(alg < CIPHER_COUNT);
    return alg_rows[alg].name;
}

bool cipher_alg_from_name(const char *name, CipherAlg *alg)
{
    for (int i = 0; i < CIPHER_COUNT; i++) {
        if (!strcmp(name, alg_rows[i].name)) {
            *alg = i;
            return true;
        }
    }
    return false;
}

const char *cipher_alg_family(CipherAlg alg)
{
    g_assert(alg < CIPHER_COUNT);
    return alg_rows[alg].family;
}

bool cipher_alg_from_family(const char *family, size_t key_bytes, CipherAlg *alg)
{
    for (int i = 0; i < CIPHER_COUNT; i++) {
        if (!strcmp(family, alg_rows[i].family) && key_bytes == alg_rows[i].key_bytes) {
            *alg = i;
            return true;
        }
    }
    return false;
}

bool cipher_family_known(const char *family)
{
    for (int i = 0; i < CIPHER_COUNT; i++) {
        if (!strcmp(family, alg_rows[i].family)) {
            return true;
        }
    }
    return false;
}

const char *cipher_mode_name(CipherMode mode)
{
    g_assert(mode < CIPHER_MODE_COUNT);
    return mode_names[mode];
}

bool cipher_mode_from_name(const char *name, CipherMode *mode)
{
    for (int i = 0; i < CIPHER_MODE_COUNT; i++) {
        if (!strcmp(name, mode_names[i])) {
            *mode = i;
            return true;
        }
    }
    return false;
}

size_t cipher_key_bytes(CipherAlg alg, CipherMode mode)
{
    g_assert(alg < CIPHER_COUNT);
    return alg_rows[alg].key_bytes * (mode == CIPHER_XTS ? 2 : 1);
}

size_t cipher_block_bytes(CipherAlg alg)
{
    g_assert(alg < CIPHER_COUNT);
    return alg_rows[alg].block_bytes;
}

static bool row_available(const CipherDriver *d)
{
    return !d->available || d->available();
}

const char *cipher_row_name_at(size_t i)
{
    for (size_t k = 0; k < G_N_ELEMENTS(rows); k++) {
        if (row_available(rows[k]) && i-- == 0) {
            return rows[k]->name;
        }
    }
    return NULL;
}

/* The row that was asked for, or NULL. */
static const char *forced_row(void)
{
    const char *env = g_getenv("QBLOCK_CIPHER");

    return env && *env ? env : NULL;
}

/* "vector" stands for every "vector-..." row. */
static bool row_is_forced(const CipherDriver *d, const char *forced)
{
    size_t len = strlen(forced);

    return !strncmp(d->name, forced, len) && (d->name[len] == '\0' || d->name[len] == '-');
}

/* Row @i may be used for the combination; the first question runs its known answers. */
static bool row_passes(size_t i, CipherAlg alg, CipherMode mode)
{
    _Atomic int *state = &row_state[i][alg][mode];

    if (!rows[i]->supports(alg, mode)) {
        return false;
    }
    if (atomic_load(state) == UNTESTED) {
        g_autoptr(GError) err = NULL;
        bool passed = row_available(rows[i]) && cipher_driver_self_test(rows[i], alg, mode, &err);

        if (err) {
            trace(TRACE_CRYPTO, "cipher-self-test", "%s", err->message);
        }
        atomic_store(state, passed ? PASSED : FAILED);
    }
    return atomic_load(state) == PASSED;
}

/* The best row for a combination, or NULL. @skip: that many hits are passed over. */
static const CipherDriver *find_row(CipherAlg alg, CipherMode mode, size_t skip)
{
    const char *forced = forced_row();

    for (int pass = forced ? 0 : 1; pass < 2; pass++) {
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
            bool is_forced = forced && row_is_forced(rows[i], forced);
            if (is_forced == (pass == 0) && row_passes(i, alg, mode) && skip-- == 0) {
                return rows[i];
            }
        }
    }
    return NULL;
}

bool cipher_supported(CipherAlg alg, CipherMode mode)
{
    return crypto_init(NULL) && find_row(alg, mode, 0);
}

bool cipher_check_supported(CipherAlg alg, CipherMode mode, GError **errp)
{
    if (!crypto_init(errp)) {
        return false;
    }
    if (find_row(alg, mode, 0)) {
        return true;
    }
    if (find_row(alg, CIPHER_CBC, 0)) {
        error_set_code(errp, QB_ERROR_UNSUPPORTED, "Unsupported cipher mode %s", cipher_mode_name(mode));
    } else {
        error_set_code(errp, QB_ERROR_UNSUPPORTED, "Algorithm '%s' not supported", cipher_alg_name(alg));
    }
    return false;
}

static Cipher *cipher_new_from_driver(const CipherDriver *d, CipherAlg alg, CipherMode mode, const uint8_t *key,
                                      size_t key_len, GError **errp)
{
    void *ctx;
    Cipher *c;

    if (key_len != cipher_key_bytes(alg, mode)) {
        error_set_code(errp, QB_ERROR_UNSUPPORTED, "Algorithm '%s' with key size %zu bytes not supported",
                       cipher_alg_name(alg), key_len);
        return NULL;
    }
    ctx = d->ctx_new(alg, mode, key, key_len, errp);
    if (!ctx) {
        return NULL;
    }
    c = g_new0(Cipher, 1);
    c->driver = d;
    c->ctx = ctx;
    return c;
}

#if HAVE_AFALG
/* The kernel's row, where it is there and some request is faster by it. A row that was asked for is left alone. */
static void add_row_for_large(Cipher *c, CipherAlg alg, CipherMode mode, const uint8_t *key, size_t key_len)
{
    /* 0 = not measured yet. Two threads may both measure: no harm. */
    static _Atomic size_t from[CIPHER_COUNT][CIPHER_MODE_COUNT][2];
    const size_t kernel = G_N_ELEMENTS(rows) - 1;

    if (forced_row() || c->driver == rows[kernel] || !row_passes(kernel, alg, mode)) {
        return;
    }
    for (int encrypt = 0; encrypt < 2; encrypt++) {
        _Atomic size_t *bytes = &from[alg][mode][encrypt];

        if (atomic_load(bytes) == 0) {
            atomic_store(bytes, cipher_measure_crossover(c->driver, rows[kernel], alg, mode, encrypt));
            trace(TRACE_CRYPTO, "cipher-large", "alg=%s-%s %s row=%s from=%zd", cipher_alg_name(alg),
                  cipher_mode_name(mode), encrypt ? "encrypt" : "decrypt", rows[kernel]->name,
                  (ssize_t)atomic_load(bytes)); /* -1: never */
        }
        c->large_from[encrypt] = atomic_load(bytes);
    }
    if (MIN(c->large_from[0], c->large_from[1]) != CIPHER_NEVER) {
        c->large_ctx = rows[kernel]->ctx_new(alg, mode, key, key_len, NULL);
        c->large_driver = c->large_ctx ? rows[kernel] : NULL;
    }
}
#else
static void add_row_for_large(Cipher *c, CipherAlg alg, CipherMode mode, const uint8_t *key, size_t key_len) {}
#endif

Cipher *cipher_new(CipherAlg alg, CipherMode mode, const uint8_t *key, size_t key_len, GError **errp)
{
    g_autoptr(GError) err = NULL;
    const CipherDriver *d;

    if (!cipher_check_supported(alg, mode, errp)) {
        return NULL;
    }
    /* A library may refuse a key that another takes (weak keys, its own policy): try them in turn. */
    for (size_t i = 0; (d = find_row(alg, mode, i)); i++) {
        g_clear_error(&err);
        Cipher *c = cipher_new_from_driver(d, alg, mode, key, key_len, &err);
        if (c) {
            add_row_for_large(c, alg, mode, key, key_len);
            return c;
        }
    }
    g_propagate_error(errp, g_steal_pointer(&err));
    return NULL;
}

Cipher *cipher_new_from_row(const char *row, CipherAlg alg, CipherMode mode, const uint8_t *key, size_t key_len,
                            GError **errp)
{
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (!strcmp(row, rows[i]->name) && row_available(rows[i]) && rows[i]->supports(alg, mode)) {
            return cipher_new_from_driver(rows[i], alg, mode, key, key_len, errp);
        }
    }
    error_set(errp, "No cipher row '%s' for %s-%s", row, cipher_alg_name(alg), cipher_mode_name(mode));
    return NULL;
}

void cipher_free(Cipher *c)
{
    if (c) {
        c->driver->ctx_free(c->ctx);
        if (c->large_driver) {
            c->large_driver->ctx_free(c->large_ctx);
        }
        g_free(c);
    }
}

const char *cipher_row(const Cipher *c)
{
    return c->driver->name;
}

int cipher_encrypt_sectors(Cipher *c, uint8_t *ivs, size_t sector_bytes, size_t count, const uint8_t *in, uint8_t *out)
{
    if (c->large_driver && sector_bytes * count >= c->large_from[1]) {
        return c->large_driver->encrypt(c->large_ctx, ivs, sector_bytes, count, in, out);
    }
    return c->driver->encrypt(c->ctx, ivs, sector_bytes, count, in, out);
}

int cipher_decrypt_sectors(Cipher *c, uint8_t *ivs, size_t sector_bytes, size_t count, const uint8_t *in, uint8_t *out)
{
    if (c->large_driver && sector_bytes * count >= c->large_from[0]) {
        return c->large_driver->decrypt(c->large_ctx, ivs, sector_bytes, count, in, out);
    }
    return c->driver->decrypt(c->ctx, ivs, sector_bytes, count, in, out);
}

/* A row that was asked for and cannot be had is an error: what is measured or tested would not be what it says. All
 * rows do AES, so that tells. */
static bool check_forced(GError **errp)
{
    const char *forced = forced_row();
    g_autoptr(GString) usable = g_string_new(NULL);
    const char *name;
    bool known = false;

    if (!forced) {
        return true;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        bool is_forced = row_is_forced(rows[i], forced);

        known |= is_forced;
        if (is_forced && (row_passes(i, CIPHER_AES_256, CIPHER_XTS) || row_passes(i, CIPHER_AES_256, CIPHER_CBC))) {
            return true;
        }
    }
    for (size_t i = 0; (name = cipher_row_name_at(i)); i++) {
        g_string_append_printf(usable, "%s%s", i > 0 ? ", " : "", name);
    }
    error_set(errp, "QBLOCK_CIPHER=%s %s (there are %s)", forced,
              known ? "cannot be used on this machine" : "is no row of ciphers", usable->str);
    return false;
}

bool cipher_self_test(GError **errp)
{
    if (!check_forced(errp)) {
        return false;
    }
    if (!find_row(CIPHER_AES_256, CIPHER_XTS, 0) || !find_row(CIPHER_AES_256, CIPHER_CBC, 0)) {
        error_set(errp, "No AES implementation passed its self-test");
        return false;
    }
    return true;
}
