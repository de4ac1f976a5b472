/* SPDX-License-Identifier: MIT */
/* Check and repair: each damage of qcow2 sheet section 18 is found, counted and mended, and the data stays.
 *
 * Damaged images: 4 MiB disk, first MiB filled with the cluster's number. Clusters: 1 refcount table, 2 refcount block,
 * 3 L1, 4 L2, 5..20 data. */
#include "tests/unit/qcow2-fixture.h"

#include <unistd.h>

enum {
    REFTABLE = CLUSTER,
    REFBLOCK = 2 * CLUSTER,
    L1 = 3 * CLUSTER,
    L2 = 4 * CLUSTER,
    DATA = 5 * CLUSTER,
    FILLED = 16
};
#define COPIED QCOW2_OFLAG_COPIED

static char *dir, *image;

static void setup(void)
{
    dir = scratch_dir();
    image = g_build_filename(dir, "image.qcow2", NULL);
}

static void teardown(void)
{
    g_clear_pointer(&image, g_free);
    g_clear_pointer(&dir, scratch_free);
}

static void make_filled(void)
{
    create_image(image, "size=4M");
    BlockNode *node = open_image(image, NULL, BLOCK_OPEN_RDWR);
    for (unsigned i = 0; i < FILLED; i++) {
        fill(node, i * CLUSTER, CLUSTER, i + 1);
    }
    close_image(node);
}

static BlockCheckResult check_once(unsigned fix, int expected)
{
    BlockNode *node = open_image(image, NULL, BLOCK_OPEN_CHECK | (fix ? BLOCK_OPEN_RDWR : 0));
    BlockCheckResult res = {0};

    ck_assert_int_eq(block_co_check(node, &res, fix), expected);
    close_image(node);
    return res;
}

/* One number in the file, and what check says to it. */
typedef struct Damage {
    const char *name;
    uint64_t at;
    unsigned bytes; /* 2 or 8 */
    uint64_t value;
    int64_t corruptions, leaks;
    bool data_lost; /* cluster 2 of the disk is not what it was */
    bool stays;     /* repair cannot decide */
} Damage;

static const Damage damages[] = {
    {"leak", L2 + 3 * 8, 8, 0, 0, 1, .data_lost = true},
    {"refcount too high", REFBLOCK + 2 * 7, 2, 2, 1, 1},
    {"refcount lost", REFBLOCK + 2 * 7, 2, 0, 2, 0},
    {"two entries, one cluster", L2 + 8, 8, DATA | COPIED, 1, 1, .data_lost = true},
    {"COPIED missing in L2", L2 + 2 * 8, 8, DATA + 2 * CLUSTER, 1, 0},
    {"COPIED missing in L1", L1, 8, L2, 1, 0},
    {"reserved bit in L1", L1, 8, L2 | COPIED | (UINT64_C(1) << 60), 1, 0, .stays = true},
    {"reserved bit in L2", L2 + 2 * 8, 8, (DATA + 2 * CLUSTER) | COPIED | (UINT64_C(1) << 60), 1, 0, .stays = true},
    {"unaligned L1 entry", L1, 8, (L2 + 512) | COPIED, 1, 15, .data_lost = true, .stays = true},
    {"L2 table behind the file", L1, 8, (UINT64_C(1) << 40) | COPIED, 2, 17, .data_lost = true, .stays = true},
    {"unaligned data", L2 + 2 * 8, 8, (DATA + 2 * CLUSTER + 512) | COPIED, 2, 0, .data_lost = true, .stays = true},
    {"unaligned zero cluster", L2 + 2 * 8, 8, (DATA + 2 * CLUSTER + 512) | COPIED | 1, 2, 0, .data_lost = true},
    {"data behind the file", L2 + 2 * 8, 8, (UINT64_C(1) << 40) | COPIED, 2, 1, .data_lost = true, .stays = true},
    {"compressed and COPIED", L2 + 2 * 8, 8, COPIED | (UINT64_C(1) << 62) | (DATA + 2 * CLUSTER), 1, 0,
     .data_lost = true, .stays = true},
    {"refcount table entry lost", REFTABLE, 8, 0, 37, 0},
    {"refcount table entry unaligned", REFTABLE, 8, REFBLOCK + 512, 38, 0},
    {"reserved bit in the refcount table", REFTABLE, 8, REFBLOCK | 1, 1, 1},
    {"refcount block behind the file", REFTABLE + 8, 8, UINT64_C(1) << 40, 1, 0},
    {"refcount block twice", REFTABLE + 8, 8, REFBLOCK, 2, 0},
    {"refcount of the header lost", REFBLOCK, 2, 0, 1, 0},
    {"refcount of the refcount table lost", REFBLOCK + 2, 2, 0, 1, 0},
    {"refcount of the refcount block lost", REFBLOCK + 4, 2, 0, 1, 0},
    {"refcount table on data", 48, 8, DATA, -1, -1},
    {"refcount table behind the file", 48, 8, UINT64_C(1) << 40, 37, 0},
};

static void damage(const Damage *d)
{
    make_filled();
    if (d->bytes == 2) {
        poke_u16(image, d->at, d->value);
    } else {
        poke_u64(image, d->at, d->value);
    }
}

static void assert_data(const Damage *d)
{
    BlockNode *node = open_image(image, NULL, 0);

    for (unsigned i = 0; i < FILLED && !d->data_lost; i++) {
        assert_filled(node, i * CLUSTER, CLUSTER, i + 1);
    }
    close_image(node);
}

static void find_one(void *opaque)
{
    const Damage *d = opaque;

    damage(d);
    BlockCheckResult res = check_once(0, 0);
    ck_assert_int_eq(res.check_errors, 0);
    if (d->corruptions >= 0) {
        ck_assert_msg(res.corruptions == d->corruptions && res.leaks == d->leaks,
                      "%s: %" PRId64 " corruptions, %" PRId64 " leaks", d->name, res.corruptions, res.leaks);
    } else {
        ck_assert_int_gt(res.corruptions, 0);
    }
}

START_TEST(each_damage_is_found)
{
    run_on_fresh_loop(find_one, (void *)&damages[_i]);
}
END_TEST

static void repair_one(void *opaque)
{
    const Damage *d = opaque;

    damage(d);
    BlockCheckResult res = check_once(BLOCK_FIX_LEAKS | BLOCK_FIX_ERRORS, 0);
    ck_assert_msg((res.corruptions > 0) == d->stays, "%s: %" PRId64 " corruptions stay", d->name, res.corruptions);
    ck_assert_msg(d->stays || res.corruptions_fixed + res.leaks_fixed > 0, "%s", d->name);
    BlockCheckResult again = check_once(0, 0);
    ck_assert_msg((again.corruptions > 0) == d->stays && again.leaks == 0,
                  "%s: %" PRId64 " corruptions, %" PRId64 " leaks again", d->name, again.corruptions, again.leaks);
    assert_data(d);
}

START_TEST(each_damage_is_repaired_as_far_as_can_be)
{
    run_on_fresh_loop(repair_one, (void *)&damages[_i]);
}
END_TEST

START_CO_TEST(a_repaired_image_can_be_written)
{
    damage(&damages[14]); /* refcounts lost */
    check_once(BLOCK_FIX_LEAKS | BLOCK_FIX_ERRORS, 0);
    BlockNode *node = open_image(image, NULL, BLOCK_OPEN_RDWR);
    fill(node, 2 * MIB, 2 * MIB, 0x77);
    for (unsigned i = 0; i < FILLED; i++) {
        assert_filled(node, i * CLUSTER, CLUSTER, i + 1);
    }
    close_image(node);
    ck_assert_int_eq(count_problems(image), 0);
}

/* The file was cut; the guest's clusters behind its end come back as zeros and stay the guest's alone. */
START_CO_TEST(new_refcounts_keep_off_clusters_behind_the_end_that_are_referred_to)
{
    make_filled();
    ck_assert_int_eq(truncate(image, DATA + 2 * CLUSTER), 0);
    poke_u64(image, CLUSTER, 0); /* the refcount table */
    /* The new tables make the file longer than all of them: that is not left to a second run. */
    ck_assert_int_eq(check_once(BLOCK_FIX_LEAKS | BLOCK_FIX_ERRORS, 0).corruptions, 0);
    ck_assert_int_eq(count_problems(image), 0);
    BlockNode *node = open_image(image, NULL, BLOCK_OPEN_RDWR);
    assert_filled(node, 0, CLUSTER, 1);
    assert_filled(node, CLUSTER, CLUSTER, 2);
    assert_filled(node, 2 * CLUSTER, (FILLED - 2) * CLUSTER, 0);
    fill(node, 0, FILLED * CLUSTER, 0x55);
    close_image(node);
    ck_assert_int_eq(count_problems(image), 0);
}

START_CO_TEST(one_repair_suffices_where_references_behind_the_end_have_no_refcount_block)
{
    create_image(image, "size=4M,cluster_size=512");
    BlockNode *node = open_image(image, NULL, BLOCK_OPEN_RDWR);
    fill(node, 0, 2 * MIB, 0x33);
    close_image(node);
    ck_assert_int_eq(truncate(image, MIB), 0);
    poke_u64(image, file_u64(image, 48), 0);
    BlockCheckResult res = check_once(BLOCK_FIX_LEAKS | BLOCK_FIX_ERRORS, 0);
    ck_assert_int_eq(res.corruptions + res.leaks + res.check_errors, 0);
    ck_assert_int_gt(res.corruptions_fixed, 0);
    ck_assert_int_eq(count_problems(image), 0);
    node = open_image(image, NULL, BLOCK_OPEN_RDWR);
    assert_filled(node, 0, MIB / 2, 0x33);
    fill(node, 0, 4 * MIB, 0x34);
    close_image(node);
    ck_assert_int_eq(count_problems(image), 0);
}

START_CO_TEST(the_same_node_can_be_checked_repaired_and_written)
{
    damage(&damages[3]);
    BlockNode *node = open_image(image, NULL, BLOCK_OPEN_RDWR);
    BlockCheckResult res = {0};
    ck_assert_int_eq(block_co_check(node, &res, BLOCK_FIX_LEAKS | BLOCK_FIX_ERRORS), 0);
    fill(node, 0, CLUSTER, 0x99); /* shared: must be copied */
    assert_filled(node, CLUSTER, CLUSTER, 1);
    assert_filled(node, 0, CLUSTER, 0x99);
    fill(node, CLUSTER, CLUSTER, 0x9a); /* still without COPIED */
    assert_filled(node, 0, CLUSTER, 0x99);
    close_image(node);
    ck_assert_int_eq(count_problems(image), 0);
}

START_CO_TEST(fixing_leaks_only_does_not_rebuild)
{
    damage(&damages[2]);
    check_once(BLOCK_FIX_LEAKS, -EIO);
    ck_assert_int_eq(check_once(0, 0).corruptions, 2);
}

START_CO_TEST(statistics_count_the_active_tables)
{
    make_filled();
    poke_u64(image, L2 + 3 * 8, 1);                                          /* plain zero */
    poke_u64(image, L2 + 8 * 8, (UINT64_C(1) << 62) | (DATA + 8 * CLUSTER)); /* compressed */
    BlockCheckResult res = check_once(0, 0);
    ck_assert_int_eq(res.total_clusters, 64);
    ck_assert_int_eq(res.allocated_clusters, 15);
    ck_assert_int_eq(res.compressed_clusters, 1);
    ck_assert_int_eq(res.fragmented_clusters, 3);
    ck_assert_int_eq(res.image_end_offset, 21 * CLUSTER);
}

START_CO_TEST(every_refcount_width_and_cluster_size_is_rebuilt)
{
    for (unsigned bits = 9; bits <= 21; bits += 3) {
        for (unsigned width = 1; width <= 64; width *= 2) {
            g_autofree char *options = g_strdup_printf("size=3M,cluster_size=%u,refcount_bits=%u", 1u << bits, width);

            create_image(image, options);
            BlockNode *node = open_image(image, NULL, BLOCK_OPEN_RDWR);
            fill(node, 100, 2 * MIB, 0x5a);
            close_image(node);
            poke_u64(image, file_u64(image, 48), 0);
            check_once(BLOCK_FIX_LEAKS | BLOCK_FIX_ERRORS, 0);
            ck_assert_msg(count_problems(image) == 0, "%s", options);
            node = open_image(image, NULL, BLOCK_OPEN_RDWR);
            assert_filled(node, 100, 2 * MIB, 0x5a);
            fill(node, 2 * MIB, MIB, 0x5b);
            close_image(node);
            ck_assert_msg(count_problems(image) == 0, "%s", options);
        }
    }
}

START_CO_TEST(an_encrypted_image_keeps_its_key_area)
{
    create_image(image, "size=4M,encrypt.format=luks,encrypt.key-secret=s,encrypt.iter-time=1");
    poke_u64(image, file_u64(image, 48), 0);
    BlockNode *node = open_image(image, "encrypt.key-secret=s", BLOCK_OPEN_RDWR | BLOCK_OPEN_CHECK);
    BlockCheckResult res = {0};
    ck_assert_int_eq(block_co_check(node, &res, BLOCK_FIX_LEAKS | BLOCK_FIX_ERRORS), 0);
    close_image(node);
    node = open_image(image, "encrypt.key-secret=s", BLOCK_OPEN_RDWR);
    fill(node, 0, 4 * MIB, 0x42);
    close_image(node);
    node = open_image(image, "encrypt.key-secret=s", 0);
    assert_filled(node, 0, 4 * MIB, 0x42);
    res = (BlockCheckResult){0};
    ck_assert_int_eq(block_co_check(node, &res, 0), 0);
    ck_assert_int_eq(res.corruptions + res.leaks, 0);
    close_image(node);
}

START_CO_TEST(a_huge_sparse_file_is_checked_in_no_time)
{
    make_filled();
    ck_assert_int_eq(truncate(image, INT64_C(1) << 43), 0);
    gint64 start = g_get_monotonic_time();
    BlockCheckResult res = check_once(0, 0);
    ck_assert_int_lt(g_get_monotonic_time() - start, 5 * G_USEC_PER_SEC);
    ck_assert_int_eq(res.corruptions + res.leaks, 0);
}

START_CO_TEST(more_clusters_than_the_limit_are_refused)
{
    create_image(image, "size=1M,cluster_size=512");
    ck_assert_int_eq(truncate(image, INT64_C(1) << 41), 0);
    check_once(0, -EFBIG);
}

int main(void)
{
    Suite *s = suite_create("qcow2-check");
    TCase *tc = tcase_create("all");
    g_autoptr(OptDict) secret = optdict_parse_keyval("id=s,data=abc", NULL, NULL);

    if (!crypto_init(NULL) || !secret_add(secret, NULL)) {
        return EXIT_FAILURE;
    }
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, each_damage_is_found, 0, G_N_ELEMENTS(damages));
    tcase_add_loop_test(tc, each_damage_is_repaired_as_far_as_can_be, 0, G_N_ELEMENTS(damages));
    tcase_add_test(tc, a_repaired_image_can_be_written);
    tcase_add_test(tc, new_refcounts_keep_off_clusters_behind_the_end_that_are_referred_to);
    tcase_add_test(tc, one_repair_suffices_where_references_behind_the_end_have_no_refcount_block);
    tcase_add_test(tc, the_same_node_can_be_checked_repaired_and_written);
    tcase_add_test(tc, fixing_leaks_only_does_not_rebuild);
    tcase_add_test(tc, statistics_count_the_active_tables);
    tcase_add_test(tc, every_refcount_width_and_cluster_size_is_rebuilt);
    tcase_add_test(tc, an_encrypted_image_keeps_its_key_area);
    tcase_add_test(tc, a_huge_sparse_file_is_checked_in_no_time);
    tcase_add_test(tc, more_clusters_than_the_limit_are_refused);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
