/* SPDX-License-Identifier: MIT */
/* Changing the key slots of a LUKS2 volume: what is done, what is refused, and what a cut at any write leaves. */
#include "crypto/luks/luks2-int.h"
#include "tests/unit/luks-amend-fixture.h"
#include "tests/unit/luks2-fixture.h"
#include "util/thread/thread-pool.h"

static void start(void)
{
    define_amend_secrets();
    block = luks2_make_pbkdf2(&vol, "iter-time=0", NULL);
    ck_assert_ptr_nonnull(block);
}

static bool opens(const char *secret)
{
    g_autoptr(CryptoBlock) b = luks2_open_with(&vol, secret, 0, NULL);

    return b != NULL;
}

/* Slots in the header on the disk, bit per id. */
static uint32_t slots_on_disk(void)
{
    g_autoptr(CryptoBlock) b = luks2_open_with(&vol, NULL, CRYPTO_OPEN_NO_IO, NULL);
    const Luks2State *s = b->state;
    uint32_t set = 0;

    for (size_t i = 0; i < s->meta->keyslot_count; i++) {
        set |= UINT32_C(1) << s->meta->keyslots[i].id;
    }
    return set;
}

START_TEST(amend_adds_to_the_first_free_or_a_chosen_slot)
{
    do_amend("state=active,new-secret=new", false);
    do_amend("state=active,new-secret=other,keyslot=31", false);
    ck_assert_uint_eq(slots_on_disk(), 0x80000003);
    ck_assert(opens("pw") && opens("new") && opens("other"));
}
END_TEST

START_TEST(amend_adds_until_all_slots_are_in_use)
{
    for (int i = 1; i < LUKS2_MAX_IDS; i++) {
        do_amend("state=active,new-secret=new", false);
    }
    ck_assert_uint_eq(slots_on_disk(), UINT32_MAX);
    assert_refused("state=active,new-secret=other", true, "Can't add a keyslot - all keyslots are in use");
    do_amend("state=active,new-secret=other,keyslot=31", true);
    ck_assert(opens("other") && opens("pw"));
}
END_TEST

START_TEST(amend_erases_by_slot_and_by_password)
{
    do_amend("state=active,new-secret=new", false);
    do_amend("state=active,new-secret=other", false);
    do_amend("state=active,new-secret=new", false);
    do_amend("state=inactive,keyslot=2", false);
    ck_assert(!opens("other"));
    do_amend("state=inactive,old-secret=new", false);
    ck_assert(!opens("new") && opens("pw"));
    ck_assert_uint_eq(slots_on_disk(), 1);
    do_amend("state=active,new-secret=new", false);
    do_amend("state=inactive,keyslot=0,old-secret=pw", false);
    ck_assert(!opens("pw") && opens("new"));
}
END_TEST

START_TEST(amend_replaces_the_only_slot_when_forced)
{
    const Luks2State *s = block->state;
    Luks2Area old = s->meta->keyslots[0].area;
    g_autofree uint8_t *material = g_memdup2(vol.data + old.offset, old.bytes);

    do_amend("state=active,new-secret=new,keyslot=0", true);
    ck_assert_uint_eq(slots_on_disk(), 1);
    ck_assert(opens("new") && !opens("pw"));
    for (uint64_t at = 0; at < old.bytes; at += 512) {
        ck_assert_mem_ne(vol.data + old.offset + at, material + at, 512);
    }
}
END_TEST

START_TEST(amend_refuses_what_would_lose_the_data)
{
    assert_refused("state=inactive,keyslot=0", false,
                   "Attempt to erase the only active keyslot 0 which will erase all the data in the image irreversibly "
                   "- refusing operation");
    assert_refused("state=inactive,old-secret=pw", false,
                   "All the active keyslots match the (old) password that was given and erasing them will erase all "
                   "the data in the image irreversibly - refusing operation");
    assert_refused("state=active,new-secret=new,keyslot=0", false,
                   "Refusing to overwrite active keyslot 0 - please erase it first");
    assert_refused("state=inactive,keyslot=32", true, "Invalid keyslot 32 specified, must be between 0 and 31");
    assert_refused("state=inactive,keyslot=5", true, "Given keyslot 5 is already erased (inactive) ");
    assert_refused("state=inactive,keyslot=0,old-secret=new", true,
                   "Given keyslot 0 doesn't contain the given old password for erase operation");
    assert_refused("state=inactive,keyslot=5,old-secret=pw", true,
                   "Given keyslot 5 doesn't contain the given old password for erase operation");
    assert_refused("state=inactive,old-secret=new", true, "No keyslots match given (old) password for erase operation");
    do_amend("state=inactive,keyslot=0", true);
    ck_assert_uint_eq(slots_on_disk(), 0);
    ck_assert(!opens("pw"));
}
END_TEST

/* I1 of luks2-amend.c: cut at any write, some password opens it; and amending goes on from there. */
typedef struct Cut {
    const char *text, *before, *after;
    bool force;
} Cut;

static const Cut cuts[] = {
    {"state=active,new-secret=new", "pw", "new", false},
    {"state=active,new-secret=new,keyslot=0", "pw", "new", true},
    {"state=inactive,keyslot=0", "other", "other", false},
    {"state=inactive,old-secret=pw", "other", "other", false},
};

START_TEST(a_cut_at_any_write_leaves_a_key)
{
    const Cut *c = &cuts[_i];
    bool done = false;
    int n = 1;

    for (; !done; n++) {
        stop();
        start();
        if (g_str_equal(c->before, "other")) {
            do_amend("state=active,new-secret=other", false);
        }
        vol.fail_write = vol.writes + n;
        done = amend(c->text, c->force, NULL);
        vol.fail_write = 0;
        ck_assert_msg(opens(c->before) || opens(c->after), "%s cut at write %d", c->text, n);
    }
    ck_assert(opens(c->after));
    ck_assert_int_gt(n, 7); /* six writes of a header, and the key material or its wiping */
}
END_TEST

/* What cryptsetup put there stays. */
START_TEST(amend_keeps_tokens_and_other_kinds_of_slot)
{
    static const char token[] = "\"tokens\":{\"0\":{\"type\":\"x\",\"keyslots\":[\"1\"],\"deep\":[{\"y\":null}]}}";
    Luks2State *s = block->state;
    g_autofree char *text = luks2_meta_text(s->meta), *with = NULL;
    g_autoptr(CryptoBlock) again = NULL;

    do_amend("state=active,new-secret=new", false);
    g_free(text);
    text = luks2_meta_text(s->meta);
    g_autofree char *half = luks2_edit_text(text, "\"tokens\":{}", token);
    with = luks2_edit_text(half, "\"keyslots\":{", "\"keyslots\":{\"7\":{\"type\":\"x\\u001b\"},");
    luks2_meta_free(s->meta);
    s->meta = luks2_meta_parse(with, &s->header, NULL);
    ck_assert(luks2_meta_volume(s->meta, &s->volume, NULL));
    do_amend("state=active,new-secret=other", false);
    do_amend("state=inactive,keyslot=1", false);
    assert_refused("state=inactive,keyslot=7", true,
                   "Keyslot 7 of type 'x\\033' does not belong to the data and is left alone");
    assert_refused("state=active,new-secret=new,keyslot=7", true,
                   "Keyslot 7 of type 'x\\033' does not belong to the data and is left alone");
    again = luks2_open_with(&vol, "other", 0, NULL);
    ck_assert_ptr_nonnull(again);
    g_free(text);
    text = luks2_meta_text(((Luks2State *)again->state)->meta);
    ck_assert_ptr_nonnull(strstr(text, "\"tokens\":{\"0\":{\"type\":\"x\",\"keyslots\":[],\"deep\":[{\"y\":null}]}}"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("luks2-amend");
    TCase *t = tcase_create("luks2-amend");
    int ret;

    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, start, stop);
    tcase_add_test(t, amend_adds_to_the_first_free_or_a_chosen_slot);
    tcase_add_test(t, amend_adds_until_all_slots_are_in_use);
    tcase_add_test(t, amend_erases_by_slot_and_by_password);
    tcase_add_test(t, amend_replaces_the_only_slot_when_forced);
    tcase_add_test(t, amend_refuses_what_would_lose_the_data);
    tcase_add_loop_test(t, a_cut_at_any_write_leaves_a_key, 0, G_N_ELEMENTS(cuts));
    tcase_add_test(t, amend_keeps_tokens_and_other_kinds_of_slot);
    suite_add_tcase(s, t);
    ret = run_suite(s);
    thread_pool_shutdown();
    return ret;
}
