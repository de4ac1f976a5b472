/* SPDX-License-Identifier: MIT */
/* After a volume is closed, no key and no passphrase is left anywhere in the process's memory, whether it was used, its
 * key slots were changed or it was not opened at all. While it is open, none is where a core dump would hold it. */
#include "config.h"
#include "crypto/formats/block-open.h"
#include "crypto/volume/block-int.h"
#include "crypto/hash/hash.h"
#include "crypto/luks/luks-int.h"
#include "crypto/luks/luks2-int.h"
#include "crypto/luks/luks2-kdf.h"
#include "crypto/kdf/pbkdf.h"
#include "crypto/cipher/sector-cipher.h"
#include "tests/unit/key-scan.h"
#include "tests/unit/luks2-fixture.h"

enum { THREADS = 4 };

typedef struct Variant {
    CryptoFormat format; /* CRYPTO_FORMAT_LUKS or _LUKS2 */
    const char *options;
    const char *row; /* of QBLOCK_CIPHER; NULL: the machine's own choice */
} Variant;

static const Variant variants[] = {
    {CRYPTO_FORMAT_LUKS, "iter-time=10", NULL},
    {CRYPTO_FORMAT_LUKS, "iter-time=10", "gnutls"},
    {CRYPTO_FORMAT_LUKS, "iter-time=10", "nettle"},
    {CRYPTO_FORMAT_LUKS, "cipher-mode=cbc,ivgen-alg=essiv", NULL},
    {CRYPTO_FORMAT_LUKS, "cipher-mode=cbc,ivgen-alg=essiv", "gnutls"},
    {CRYPTO_FORMAT_LUKS, "cipher-alg=serpent-256", NULL},
    {CRYPTO_FORMAT_LUKS, "cipher-alg=twofish-256,cipher-mode=cbc,ivgen-alg=essiv", NULL},
    {CRYPTO_FORMAT_LUKS2, "pbkdf=pbkdf2,iter-time=10", NULL},
    {CRYPTO_FORMAT_LUKS2, "pbkdf=pbkdf2,iter-time=10", "gnutls"},
    {CRYPTO_FORMAT_LUKS2, "pbkdf=pbkdf2,hash-alg=sha512,cipher-mode=cbc,ivgen-alg=essiv,sector-size=4096", NULL},
#if HAVE_ARGON2
    {CRYPTO_FORMAT_LUKS2, "pbkdf=argon2id,iter-time=10", NULL},
    {CRYPTO_FORMAT_LUKS2, "pbkdf=argon2i,iter-time=10", "nettle"},
#endif
};

/* ---- what is looked for: in a child ----------------------------------------------------------------------------- */

/* What opening a slot computes on the way: its key, and the stripes of the material at @at. */
static void remember_material(const MemVolume *m, uint64_t at, const SectorCipherSpec *spec, const uint8_t *slot_key,
                              uint32_t slot_key_bytes, uint32_t key_bytes)
{
    g_autofree uint8_t *material = g_malloc(luks_material_bytes(key_bytes));
    g_autoptr(SectorCipher) sc = sector_cipher_new(spec, slot_key, slot_key_bytes, NULL);

    g_assert(sector_cipher_decrypt(sc, 0, m->data + at, material, luks_material_bytes(key_bytes)) == 0);
    remember("key of the slot", slot_key, slot_key_bytes);
    remember("first stripe", material, MIN(key_bytes, 32));
    remember("last stripe", material + (LUKS_STRIPES - 1) * (size_t)key_bytes, MIN(key_bytes, 32));
}

static void remember_luks_slot(const MemVolume *m, const LuksState *s, int i, const char *pass)
{
    const LuksSlot *slot = &s->header.slots[i];
    uint8_t slot_key[LUKS_MAX_KEY_BYTES];

    g_assert(slot->active);
    pbkdf2_derive(s->algs.hash, pass, PASS_BYTES, slot->salt, LUKS_SALT_BYTES, slot->iterations, slot_key,
                  s->header.key_bytes);
    remember_material(m, (uint64_t)slot->material_sector * LUKS_SECTOR_BYTES, &s->algs.sector, slot_key,
                      s->header.key_bytes, s->header.key_bytes);
}

static void remember_luks2_slot(const MemVolume *m, const Luks2State *s, int i, const char *pass)
{
    const Luks2Keyslot *slot = &s->meta->keyslots[i];
    g_autoptr(SecBuf) password = secbuf_new_copy(pass, PASS_BYTES);
    uint8_t slot_key[LUKS_MAX_KEY_BYTES];

    g_assert((size_t)i < s->meta->keyslot_count);
    g_assert(luks2_kdf_derive(&slot->kdf, password, slot_key, slot->area.key_bytes, NULL));
    remember_material(m, slot->area.offset, &slot->area.cipher, slot_key, slot->area.key_bytes, slot->key_bytes);
}

static void remember_slot(const MemVolume *m, const CryptoBlock *b, int i, const char *pass)
{
    if (b->format == CRYPTO_FORMAT_LUKS2) {
        remember_luks2_slot(m, b->state, i, pass);
    } else {
        remember_luks_slot(m, b->state, i, pass);
    }
}

static void make_volume(const void *arg)
{
    const Variant *v = arg;
    MemVolume m = {0};
    char pass[PASS_BYTES + 1], other[PASS_BYTES + 1];
    uint8_t essiv_key[HASH_MAX_BYTES];

    make_passphrase(0, "pw", pass);
    make_passphrase(1, "other", other);
    CryptoBlock *b = (v->format == CRYPTO_FORMAT_LUKS2 ? luks2_make : luks_make)(&m, v->options, NULL);
    const SecBuf *key = cipher_slots_key(b->slots);
    remember("master key", secbuf_data(key), secbuf_size(key));
    hash_compute(HASH_SHA256, secbuf_data(key), secbuf_size(key), essiv_key);
    remember("key of the IVs", essiv_key, hash_bytes(HASH_SHA256));
    remember_slot(&m, b, 0, pass);
    share_volume(&m);
}

/* The slot that the parent has added. */
static void remember_added(const void *arg)
{
    MemVolume m = shared_volume();
    char other[PASS_BYTES + 1];

    read_passphrase(1, other);
    remember_slot(&m, arg, 1, other);
}

/* The legacy kind has no header: the passphrase is the key. */
static void make_legacy(const void *arg)
{
    char pass[PASS_BYTES + 1];

    make_passphrase(0, "pw", pass);
}

/* ---- what is done meanwhile ------------------------------------------------------------------------------------ */

static gpointer use_volume(gpointer opaque)
{
    g_autofree uint8_t *buf = g_malloc0(65536);

    ck_assert_int_eq(crypto_block_encrypt(opaque, 0, buf, buf, 65536), 0);
    ck_assert_int_eq(crypto_block_decrypt(opaque, 0, buf, buf, 65536), 0);
    return NULL;
}

static void use_in_threads(CryptoBlock *b)
{
    GThread *threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        threads[i] = g_thread_new("user", use_volume, b);
    }
    use_volume(b);
    for (int i = 0; i < THREADS; i++) {
        g_thread_join(threads[i]);
    }
}

static bool amend(CryptoBlock *b, MemVolume *m, const char *text)
{
    g_autoptr(OptDict) options = optdict_parse_keyval(text, NULL, NULL);
    CryptoIo io = mem_io(m);

    return crypto_block_amend(b, options, &io, false, NULL);
}

static CryptoBlock *open_legacy(void)
{
    g_autoptr(OptDict) o = optdict_parse_keyval("key-secret=pw", NULL, NULL);
    CryptoIo io = {0};

    return crypto_block_open(CRYPTO_FORMAT_QCOW, o, "", &io, 0, 0, NULL);
}

static void begin(const Variant *v)
{
    if (v->row) {
        g_setenv("QBLOCK_CIPHER", v->row, TRUE);
    }
    run_child(make_volume, v);
    ck_assert_uint_eq(scan_memory(SCAN_ALL, true), 0); /* nothing where nothing is */
}

/* ---- tests ----------------------------------------------------------------------------------------------------- */

START_TEST(closing_leaves_no_key_and_no_passphrase)
{
    MemVolume m;

    begin(&variants[_i]);
    m = shared_volume();
    add_secret_object("pw", 0);
    add_secret_object("other", 1);
    CryptoBlock *b = luks2_open_with(&m, "pw", 0, NULL);
    ck_assert_ptr_nonnull(b);
    use_in_threads(b);
    ck_assert(amend(b, &m, "state=active,new-secret=other,iter-time=10"));
    run_child(remember_added, b);
    ck_assert(!amend(b, &m, "state=inactive,keyslot=0,old-secret=other")); /* not in that one */
    ck_assert(amend(b, &m, "state=inactive,old-secret=pw"));
    ck_assert_uint_gt(scan_memory(SCAN_ALL, false), 4); /* it sees what is there */
    crypto_block_free(b);
    secret_forget_all();
    ck_assert_uint_eq(scan_memory(SCAN_ALL, true), 0);
}
END_TEST

START_TEST(a_wrong_passphrase_leaves_nothing_either)
{
    MemVolume m;

    begin(&variants[_i]);
    m = shared_volume();
    add_secret_object("other", 1);
    ck_assert_ptr_null(luks2_open_with(&m, "other", 0, NULL));
    ck_assert_uint_gt(scan_memory(SCAN_ALL, false), 0); /* the registry's own */
    secret_forget_all();
    ck_assert_uint_eq(scan_memory(SCAN_ALL, true), 0);
}
END_TEST

/* The gnutls library keeps key schedules in memory of its own. */
START_TEST(a_core_dump_of_an_open_volume_would_hold_no_key)
{
    const Variant *v = &variants[_i];
    MemVolume m;

    if (v->row && !strcmp(v->row, "gnutls")) {
        return;
    }
    begin(v);
    m = shared_volume();
    add_secret_object("pw", 0);
    add_secret_object("other", 1);
    CryptoBlock *b = luks2_open_with(&m, "pw", 0, NULL);
    use_in_threads(b);
    ck_assert(amend(b, &m, "state=active,new-secret=other,iter-time=10"));
    run_child(remember_added, b);
    ck_assert_uint_gt(scan_memory(SCAN_ALL, false), 4);
    ck_assert_uint_eq(scan_memory(SCAN_DUMPED, true), 0);
    crypto_block_free(b);
    secret_forget_all();
}
END_TEST

START_TEST(closing_a_legacy_image_leaves_no_passphrase)
{
    static const char *const rows[] = {NULL, "gnutls", "nettle"};

    if (rows[_i]) {
        g_setenv("QBLOCK_CIPHER", rows[_i], TRUE);
    }
    run_child(make_legacy, NULL);
    ck_assert_uint_eq(scan_memory(SCAN_ALL, true), 0);
    add_secret_object("pw", 0);
    CryptoBlock *b = open_legacy();
    use_in_threads(b);
    secret_forget_all();
    ck_assert_uint_gt(scan_memory(SCAN_ALL, false), 0); /* the cipher's own */
    crypto_block_free(b);
    ck_assert_uint_eq(scan_memory(SCAN_ALL, true), 0);
}
END_TEST

/* The text of data= is the caller's; the key=value parser keeps no copy. (The JSON library does, in memory it has
 * freed: one more reason for file=.) */
START_TEST(a_secret_in_the_options_is_left_only_where_the_caller_has_it)
{
    char *text = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    run_child(make_legacy, NULL);
    strcpy(text, "secret,id=pw,data=");
    read_passphrase(0, text + strlen(text));
    ck_assert(secret_add_object(text, NULL));
    munmap(text, 4096);
    ck_assert_uint_gt(scan_memory(SCAN_ALL, false), 0); /* the registry's own */
    secret_forget_all();
    ck_assert_uint_eq(scan_memory(SCAN_ALL, true), 0);
}
END_TEST

int main(void)
{
    if (!key_scan_possible()) {
        return 77;
    }
    Suite *s = suite_create("key-wipe");
    TCase *tc = tcase_create("memory");

    tcase_add_checked_fixture(tc, key_scan_start, key_scan_stop);
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, closing_leaves_no_key_and_no_passphrase, 0, G_N_ELEMENTS(variants));
    tcase_add_loop_test(tc, a_wrong_passphrase_leaves_nothing_either, 0, G_N_ELEMENTS(variants));
    tcase_add_loop_test(tc, a_core_dump_of_an_open_volume_would_hold_no_key, 0, G_N_ELEMENTS(variants));
    tcase_add_loop_test(tc, closing_a_legacy_image_leaves_no_passphrase, 0, 3);
    tcase_add_test(tc, a_secret_in_the_options_is_left_only_where_the_caller_has_it);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
