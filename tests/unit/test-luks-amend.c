/* SPDX-License-Identifier: MIT */
/* Changing the key slots of a LUKS1 header: what is done, what is refused, and what a cut at any write leaves. */
#include "crypto/formats/block-open.h"
#include "crypto/luks/luks-format.h"
#include "tests/unit/luks-amend-fixture.h"
#include "util/base/error.h"
#include "util/base/buffer-zero.h"

#define LAST_SLOT_TEXT                                                                                                 \
    "Attempt to erase the only active keyslot 0 which will erase all the data in the image irreversibly - refusing "   \
    "operation"
#define ALL_SLOTS_TEXT                                                                                                 \
    "All the active keyslots match the (old) password that was given and erasing them will erase all the data in the " \
    "image irreversibly - refusing operation"

static void start(void)
{
    define_amend_secrets();
    block = luks_make(&vol, "", NULL);
    ck_assert_ptr_nonnull(block);
    vol.writes = vol.flushes = 0;
}

static bool opens(MemVolume *m, const char *secret)
{
    g_autoptr(CryptoBlock) b = luks_open_with(m, secret, 0, NULL);

    return b != NULL;
}

/* Active slots, bit per slot, as the header on the disk has them. */
static unsigned active_slots(const MemVolume *m)
{
    unsigned set = 0;

    for (size_t i = 0; i < LUKS_SLOTS; i++) {
        const uint8_t *p = m->data + LUKS_OFF_SLOTS + i * LUKS_SLOT_BYTES;
        set |= (unsigned)(p[0] == 0x00 && p[1] == 0xac) << i;
    }
    return set;
}

START_TEST(amend_adds_a_key_to_the_first_free_slot)
{
    do_amend("state=active,new-secret=new", false);
    ck_assert_uint_eq(active_slots(&vol), 3);
    ck_assert(opens(&vol, "pw"));
    ck_assert(opens(&vol, "new"));
    ck_assert(!opens(&vol, "other"));
}
END_TEST

START_TEST(amend_adds_a_key_to_a_chosen_slot)
{
    do_amend("state=active,new-secret=new,keyslot=6", false);
    ck_assert_uint_eq(active_slots(&vol), 0x41);
    ck_assert(opens(&vol, "new"));
}
END_TEST

START_TEST(amend_adds_until_all_slots_are_in_use)
{
    for (int i = 1; i < LUKS_SLOTS; i++) {
        do_amend("state=active,new-secret=new", false);
    }
    assert_refused("state=active,new-secret=other", false, "Can't add a keyslot - all keyslots are in use");
    assert_refused("state=active,new-secret=other", true, "Can't add a keyslot - all keyslots are in use");
    do_amend("state=active,new-secret=other,keyslot=7", true);
    ck_assert(opens(&vol, "other"));
}
END_TEST

START_TEST(amend_erases_by_slot_and_by_password)
{
    do_amend("state=active,new-secret=new", false);
    do_amend("state=active,new-secret=new", false);
    do_amend("state=active,new-secret=other", false);
    do_amend("state=inactive,keyslot=3", false);
    ck_assert(!opens(&vol, "other"));
    do_amend("state=inactive,old-secret=new", false);
    ck_assert(!opens(&vol, "new"));
    ck_assert(opens(&vol, "pw"));
    ck_assert_uint_eq(active_slots(&vol), 1);
}
END_TEST

START_TEST(amend_erases_a_slot_only_when_the_password_matches)
{
    do_amend("state=active,new-secret=new", false);
    assert_refused("state=inactive,keyslot=1,old-secret=pw", true,
                   "Given keyslot 1 doesn't contain the given old password for erase operation");
    assert_refused("state=inactive,keyslot=4,old-secret=pw", false,
                   "Given keyslot 4 doesn't contain the given old password for erase operation");
    do_amend("state=inactive,keyslot=0,old-secret=pw", false);
    ck_assert(!opens(&vol, "pw"));
    ck_assert(opens(&vol, "new"));
}
END_TEST

START_TEST(amend_overwrites_and_clears_an_erased_slot)
{
    const uint8_t *slot = vol.data + LUKS_OFF_SLOTS + LUKS_SLOT_BYTES;
    size_t at = 4096 + 258048;
    static const uint8_t zero[LUKS_SALT_BYTES];

    do_amend("state=active,new-secret=new", false);
    g_autofree uint8_t *before = g_memdup2(vol.data + at, 256000);
    do_amend("state=inactive,keyslot=1", false);
    /* Not one sector of the material is left: 500 chances of one in 2^4096 each. */
    for (size_t i = 0; i < 256000; i += LUKS_SECTOR_BYTES) {
        ck_assert_mem_ne(before + i, vol.data + at + i, LUKS_SECTOR_BYTES);
    }
    ck_assert_mem_eq(slot + LUKS_SLOT_OFF_ITERATIONS, zero, 4);
    ck_assert_mem_eq(slot + LUKS_SLOT_OFF_SALT, zero, LUKS_SALT_BYTES);
}
END_TEST

START_TEST(amend_forced_wipes_an_erased_slot_again)
{
    size_t at = 4096 + 4 * 258048;

    assert_refused("state=inactive,keyslot=4", false, "Given keyslot 4 is already erased (inactive) ");
    do_amend("state=inactive,keyslot=4", true);
    ck_assert(!buffer_is_zero(vol.data + at, 256000));
    ck_assert(opens(&vol, "pw"));
}
END_TEST

START_TEST(amend_keeps_the_last_key_unless_forced)
{
    assert_refused("state=inactive,keyslot=0", false, LAST_SLOT_TEXT);
    assert_refused("state=inactive,keyslot=0,old-secret=pw", false, LAST_SLOT_TEXT);
    assert_refused("state=inactive,old-secret=pw", false, ALL_SLOTS_TEXT);
    do_amend("state=active,new-secret=pw", false);
    assert_refused("state=inactive,old-secret=pw", false, ALL_SLOTS_TEXT);
    do_amend("state=inactive,old-secret=pw", true);
    ck_assert_uint_eq(active_slots(&vol), 0);
    ck_assert(!opens(&vol, "pw"));
}
END_TEST

START_TEST(amend_replaces_an_active_slot_only_when_forced)
{
    assert_refused("state=active,new-secret=new,keyslot=0", false,
                   "Refusing to overwrite active keyslot 0 - please erase it first");
    do_amend("state=active,new-secret=new,keyslot=0", true);
    ck_assert_uint_eq(active_slots(&vol), 1);
    ck_assert(opens(&vol, "new"));
    ck_assert(!opens(&vol, "pw"));
}
END_TEST

START_TEST(amend_refuses_bad_requests_and_changes_nothing)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"new-secret=new", "Parameter 'state' is missing"},
        {"state=on,new-secret=new", "Parameter 'state' does not accept value 'on'"},
        {"state=active", "'new-secret' is required to activate a keyslot"},
        {"state=active,new-secret=new,old-secret=pw", "'old-secret' must not be given when activating keyslots"},
        {"state=active,new-secret=nope", "No secret with id 'nope'"},
        {"state=active,new-secret=new,keyslot=8", "Invalid keyslot 8 specified, must be between 0 and 7"},
        {"state=active,new-secret=new,keyslot=18446744073709551615",
         "Invalid keyslot 18446744073709551615 specified, must be between 0 and 7"},
        {"state=active,new-secret=new,keyslot=x", "Parameter 'keyslot' expects a number"},
        {"state=inactive", "To erase keyslot(s), either explicit keyslot index or the password currently contained in "
                           "them must be given"},
        {"state=inactive,keyslot=0,new-secret=new", "'new-secret' must not be given when erasing keyslots"},
        {"state=inactive,keyslot=0,iter-time=1", "'iter-time' must not be given when erasing keyslots"},
        {"state=inactive,keyslot=8", "Invalid keyslot 8 specified, must be between 0 and 7"},
        {"state=inactive,old-secret=nope", "No secret with id 'nope'"},
        {"state=inactive,old-secret=other", "No keyslots match given (old) password for erase operation"},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        assert_refused(bad[i].text, false, bad[i].message);
        assert_refused(bad[i].text, true, bad[i].message);
    }
}
END_TEST

START_TEST(amend_of_legacy_encryption_is_refused)
{
    g_autoptr(OptDict) o = luks_options("");
    GError *err = NULL;
    CryptoIo io = mem_io(&vol);
    g_autoptr(CryptoBlock) b = crypto_block_open(CRYPTO_FORMAT_QCOW, o, "encrypt.", &io, 0, 0, NULL);

    ck_assert(!amend_on(b, &io, "state=active,new-secret=new", false, &err));
    assert_error(err, "Only LUKS encryption options can be amended");
}
END_TEST

START_TEST(amend_leaves_what_is_behind_the_header)
{
    memset(vol.data + LUKS_HEADER_BYTES, 0x5a, 4096 - LUKS_HEADER_BYTES);
    g_autofree uint8_t *before = g_memdup2(vol.data, 4096);
    do_amend("state=active,new-secret=new", false);
    ck_assert_mem_eq(vol.data + LUKS_HEADER_BYTES, before + LUKS_HEADER_BYTES, 4096 - LUKS_HEADER_BYTES);
}
END_TEST

/* ---- cuts ------------------------------------------------------------------------------------------------------ */

/* A disk with a cache that it loses: writes since the last flush reach it or not. The n-th write does not return. */
typedef struct CutVolume {
    MemVolume seen;  /* what the host reads back */
    uint8_t *stable; /* what a flush has put down */
    GArray *pending; /* of Write: not flushed yet */
    int cut_at, writes;
} CutVolume;

typedef struct Write {
    uint64_t offset;
    size_t bytes;
    uint8_t *data;
} Write;

static void write_clear(void *p)
{
    g_free(((Write *)p)->data);
}

static int cut_read(void *opaque, uint64_t offset, void *buf, size_t bytes)
{
    return mem_read(&((CutVolume *)opaque)->seen, offset, buf, bytes);
}

static int cut_write(void *opaque, uint64_t offset, const void *buf, size_t bytes)
{
    CutVolume *c = opaque;
    Write w = {offset, bytes, g_memdup2(buf, bytes)};

    g_array_append_val(c->pending, w);
    if (++c->writes >= c->cut_at) {
        return -EIO;
    }
    return mem_write(&c->seen, offset, buf, bytes);
}

static int cut_flush(void *opaque)
{
    CutVolume *c = opaque;

    if (c->writes >= c->cut_at) {
        return -EIO;
    }
    memcpy(c->stable, c->seen.data, c->seen.size);
    g_array_set_size(c->pending, 0);
    return 0;
}

/* Every state the disk can be in after the power went: each subset of the pending writes, and of each write its first
 * half, its second half or all of it (of the header: sectors). At least one of the secrets must open each. */
static void check_states(const CutVolume *c, const char *const *secrets)
{
    unsigned n = c->pending->len;
    unsigned states = 1;

    ck_assert_uint_le(n, 3);
    for (unsigned i = 0; i < n; i++) {
        states *= 4;
    }
    for (unsigned state = 0; state < states; state++) {
        g_autofree uint8_t *disk = g_memdup2(c->stable, c->seen.size);
        MemVolume m = {.data = disk, .size = c->seen.size};
        bool ok = false;

        for (unsigned i = 0, left = state; i < n; i++, left /= 4) {
            const Write *w = &g_array_index(c->pending, Write, i);
            size_t half = MIN(w->bytes, w->bytes <= 4096 ? LUKS_SECTOR_BYTES : w->bytes / 2);
            size_t from = left % 4 == 2 ? half : 0;
            size_t to = left % 4 == 0 ? 0 : left % 4 == 1 ? half : w->bytes;

            memcpy(disk + w->offset + from, w->data + from, to - from);
        }
        for (size_t i = 0; secrets[i] && !ok; i++) {
            ok = opens(&m, secrets[i]);
        }
        ck_assert_msg(ok, "cut at write %d, state %u of %u: nothing opens the volume", c->cut_at, state, states);
    }
}

/* @before: done without a cut. @text is cut at every write. The number of writes it has. */
static int cut_everywhere(const char *const *before, const char *text, bool force, const char *const *secrets)
{
    for (size_t i = 0; before[i]; i++) {
        do_amend(before[i], false);
    }
    for (int n = 1;; n++) {
        CutVolume c = {.cut_at = n, .pending = g_array_new(FALSE, FALSE, sizeof(Write))};
        CryptoIo io = {.read = cut_read, .write = cut_write, .flush = cut_flush, .opaque = &c};
        g_autoptr(CryptoBlock) b = luks_open_with(&vol, "pw", 0, NULL);

        g_array_set_clear_func(c.pending, write_clear);
        c.seen = (MemVolume){.data = g_memdup2(vol.data, vol.size), .size = vol.size};
        c.stable = g_memdup2(vol.data, vol.size);
        bool done = amend_on(b, &io, text, force, NULL);
        check_states(&c, secrets);
        ck_assert_int_eq(done, c.writes < n);
        if (done) {
            ck_assert_uint_eq(c.pending->len, 0); /* nothing is left in the cache */
            ck_assert_mem_eq(c.stable, c.seen.data, c.seen.size);
        }
        g_array_free(c.pending, TRUE);
        g_free(c.seen.data);
        g_free(c.stable);
        if (done) {
            return c.writes;
        }
    }
}

static const char *const no_amend[] = {NULL};

START_TEST(amend_cut_while_adding_keeps_the_old_key)
{
    ck_assert_int_eq(cut_everywhere(no_amend, "state=active,new-secret=new", false, (const char *[]){"pw", NULL}), 2);
}
END_TEST

START_TEST(amend_cut_while_adding_to_a_slot_across_sectors_keeps_the_old_key)
{
    /* Slot 6 lies across the header's first sector boundary. */
    cut_everywhere(no_amend, "state=active,new-secret=new,keyslot=6", false, (const char *[]){"pw", NULL});
}
END_TEST

START_TEST(amend_cut_while_erasing_keeps_the_other_key)
{
    static const char *const before[] = {"state=active,new-secret=new", "state=active,new-secret=other", NULL};

    ck_assert_int_eq(cut_everywhere(before, "state=inactive,keyslot=0", false, (const char *[]){"new", NULL}), 2);
}
END_TEST

START_TEST(amend_cut_while_erasing_several_keeps_the_other_key)
{
    static const char *const before[] = {"state=active,new-secret=new", "state=active,new-secret=new,keyslot=6",
                                         "state=active,new-secret=new,keyslot=7", NULL};

    ck_assert_int_eq(cut_everywhere(before, "state=inactive,old-secret=new", false, (const char *[]){"pw", NULL}), 4);
}
END_TEST

START_TEST(amend_cut_while_replacing_the_only_key_leaves_the_old_or_the_new)
{
    cut_everywhere(no_amend, "state=active,new-secret=new,keyslot=0", true, (const char *[]){"pw", "new", NULL});
}
END_TEST

START_TEST(amend_cut_while_replacing_one_of_two_keeps_the_other)
{
    static const char *const before[] = {"state=active,new-secret=other", NULL};

    cut_everywhere(before, "state=active,new-secret=new,keyslot=0", true, (const char *[]){"other", NULL});
}
END_TEST

START_TEST(amend_that_failed_can_be_done_again)
{
    for (int n = 1; n <= 2; n++) {
        GError *err = NULL;

        vol.writes = 0;
        vol.fail_write = n;
        ck_assert(!amend("state=active,new-secret=new", false, &err));
        ck_assert_int_eq(error_errno(err), ENOSPC);
        g_clear_error(&err);
    }
    vol.fail_write = 0;
    do_amend("state=active,new-secret=new", false);
    ck_assert_uint_eq(active_slots(&vol), 3);
    do_amend("state=inactive,keyslot=0", false);
    ck_assert(opens(&vol, "new"));
}
END_TEST

START_TEST(amend_tells_of_material_that_was_not_overwritten)
{
    GError *err = NULL;

    do_amend("state=active,new-secret=new", false);
    vol.writes = 0;
    vol.fail_write = 2;
    ck_assert(!amend("state=inactive,keyslot=1", false, &err));
    assert_error(err, "Keyslot 1 is erased, but its key material could not be overwritten: No space left on device");
    ck_assert(!opens(&vol, "new"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("luks-amend");
    TCase *tc = tcase_create("slots"), *cuts = tcase_create("cuts");

    tcase_add_checked_fixture(tc, start, stop);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, amend_adds_a_key_to_the_first_free_slot);
    tcase_add_test(tc, amend_adds_a_key_to_a_chosen_slot);
    tcase_add_test(tc, amend_adds_until_all_slots_are_in_use);
    tcase_add_test(tc, amend_erases_by_slot_and_by_password);
    tcase_add_test(tc, amend_erases_a_slot_only_when_the_password_matches);
    tcase_add_test(tc, amend_overwrites_and_clears_an_erased_slot);
    tcase_add_test(tc, amend_forced_wipes_an_erased_slot_again);
    tcase_add_test(tc, amend_keeps_the_last_key_unless_forced);
    tcase_add_test(tc, amend_replaces_an_active_slot_only_when_forced);
    tcase_add_test(tc, amend_refuses_bad_requests_and_changes_nothing);
    tcase_add_test(tc, amend_of_legacy_encryption_is_refused);
    tcase_add_test(tc, amend_leaves_what_is_behind_the_header);
    tcase_add_test(tc, amend_that_failed_can_be_done_again);
    tcase_add_test(tc, amend_tells_of_material_that_was_not_overwritten);
    suite_add_tcase(s, tc);
    tcase_add_checked_fixture(cuts, start, stop);
    tcase_set_timeout(cuts, 120);
    tcase_add_test(cuts, amend_cut_while_adding_keeps_the_old_key);
    tcase_add_test(cuts, amend_cut_while_adding_to_a_slot_across_sectors_keeps_the_old_key);
    tcase_add_test(cuts, amend_cut_while_erasing_keeps_the_other_key);
    tcase_add_test(cuts, amend_cut_while_erasing_several_keeps_the_other_key);
    tcase_add_test(cuts, amend_cut_while_replacing_the_only_key_leaves_the_old_or_the_new);
    tcase_add_test(cuts, amend_cut_while_replacing_one_of_two_keeps_the_other);
    suite_add_tcase(s, cuts);
    return run_suite(s);
}
