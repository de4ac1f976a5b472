/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "block/qcow2/state/qcow2-cache.h"
#include "tests/unit/loop-fixture.h"
#include "util/base/endian.h"
#include "util/loop/loop-team.h"

enum { TABLE = 4096, TABLES = 64 };

typedef void CacheBody(Qcow2Cache *c, BlockNode *file);

static char *path;
static CacheBody *body;
static unsigned open_flags, limit_tables;

/* A file of TABLES tables, each of which starts with its number. */
static void make_file(void)
{
    uint8_t table[TABLE] = {0};
    int fd = g_file_open_tmp("qcow2-cache-XXXXXX", &path, NULL);

    ck_assert_int_ge(fd, 0);
    for (uint64_t i = 0; i < TABLES; i++) {
        store_be64(table, i);
        ck_assert_int_eq(write(fd, table, TABLE), TABLE);
    }
    close(fd);
}

static void remove_file(void)
{
    unlink(path);
    g_free(path);
}

static uint64_t number_on_disk(uint64_t i)
{
    uint8_t raw[8];
    FILE *f = fopen(path, "rb");

    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fseek(f, i * TABLE, SEEK_SET), 0);
    ck_assert_int_eq(fread(raw, 1, 8, f), 8);
    fclose(f);
    return load_be64(raw);
}

static void coroutine_fn in_cache(void *opaque)
{
    GError *err = NULL;
    BlockNode *file = block_co_open(path, "file", NULL, open_flags, &err);

    ck_assert_msg(file != NULL, "%s", err ? err->message : "");
    Qcow2Cache *c = qcow2_cache_new(file, TABLE, (uint64_t)limit_tables * TABLE);
    body(c, file);
    qcow2_cache_free(c);
    block_co_close(file);
}

static void with_cache(unsigned limit, unsigned flags, CacheBody *b)
{
    body = b;
    limit_tables = limit;
    open_flags = flags;
    run_on_fresh_loop(in_cache, NULL);
}

static void *get(Qcow2Cache *c, uint64_t i)
{
    void *table = NULL;

    ck_assert_int_eq(qcow2_cache_get(c, i * TABLE, &table), 0);
    return table;
}

static void *peek(Qcow2Cache *c, uint64_t i)
{
    qcow2_cache_lock(c);
    void *table = qcow2_cache_peek_locked(c, i * TABLE);
    qcow2_cache_unlock(c);
    return table;
}

static void touch(Qcow2Cache *c, uint64_t i)
{
    void *table = get(c, i);

    qcow2_cache_put(c, &table);
}

/* Replace the number of table @i. */
static void renumber(Qcow2Cache *c, uint64_t i, uint64_t number)
{
    void *table = get(c, i);

    store_be64(table, number);
    qcow2_cache_mark_dirty(c, table);
    qcow2_cache_put(c, &table);
}

static void hits_body(Qcow2Cache *c, BlockNode *file)
{
    ck_assert_ptr_null(peek(c, 3));
    void *a = get(c, 3), *b = get(c, 3);
    ck_assert_ptr_eq(a, b);
    ck_assert_ptr_eq(peek(c, 3), a);
    ck_assert_uint_eq(load_be64(a), 3);
    qcow2_cache_put(c, &a);
    ck_assert_ptr_null(a);
    qcow2_cache_put(c, &b);
}

START_TEST(a_table_is_read_once_and_shared)
{
    with_cache(8, 0, hits_body);
}
END_TEST

static void past_end_body(Qcow2Cache *c, BlockNode *file)
{
    static const uint8_t zeros[TABLE];
    void *table = get(c, TABLES + 5);

    ck_assert_mem_eq(table, zeros, TABLE);
    qcow2_cache_put(c, &table);
}

START_TEST(a_table_past_the_end_of_the_file_is_zeros)
{
    with_cache(8, 0, past_end_body);
}
END_TEST

static void lru_body(Qcow2Cache *c, BlockNode *file)
{
    void *pinned = get(c, 0);

    for (uint64_t i = 1; i < 4; i++) {
        touch(c, i);
    }
    ck_assert_ptr_nonnull(peek(c, 1)); /* makes 2 the oldest */
    touch(c, 4);
    ck_assert_ptr_null(peek(c, 2));
    ck_assert_ptr_nonnull(peek(c, 1));
    for (uint64_t i = 10; i < 30; i++) {
        touch(c, i);
    }
    ck_assert_ptr_eq(peek(c, 0), pinned);
    qcow2_cache_put(c, &pinned);
}

START_TEST(the_oldest_clean_table_goes_first_and_pinned_ones_stay)
{
    with_cache(4, 0, lru_body);
}
END_TEST

static void dirty_body(Qcow2Cache *c, BlockNode *file)
{
    for (uint64_t i = 0; i < 10; i++) {
        renumber(c, i, 100 + i);
    }
    for (uint64_t i = 20; i < 40; i++) {
        touch(c, i);
    }
    ck_assert(qcow2_cache_is_dirty(c));
    for (uint64_t i = 0; i < 10; i++) {
        ck_assert_uint_eq(number_on_disk(i), i);
        ck_assert_uint_eq(load_be64(peek(c, i)), 100 + i);
    }
    ck_assert_int_eq(qcow2_cache_write_dirty(c), 0);
    ck_assert(!qcow2_cache_is_dirty(c));
    for (uint64_t i = 0; i < 10; i++) {
        ck_assert_uint_eq(number_on_disk(i), 100 + i);
    }
    ck_assert_uint_eq(number_on_disk(10), 10);
}

START_TEST(dirty_tables_stay_until_they_are_written)
{
    with_cache(4, BLOCK_OPEN_RDWR, dirty_body);
}
END_TEST

static void pressure_body(Qcow2Cache *c, BlockNode *file)
{
    for (uint64_t i = 0; i < 8; i++) {
        renumber(c, i, i);
    }
    ck_assert(!qcow2_cache_pressure(c));
    renumber(c, 8, 8);
    ck_assert(qcow2_cache_pressure(c));
    ck_assert_int_eq(qcow2_cache_write_dirty(c), 0);
    ck_assert(!qcow2_cache_pressure(c));
}

START_TEST(more_than_half_dirty_is_pressure)
{
    with_cache(16, BLOCK_OPEN_RDWR, pressure_body);
}
END_TEST

static void failed_write_body(Qcow2Cache *c, BlockNode *file)
{
    renumber(c, 1, 7);
    renumber(c, 5, 7);
    ck_assert_int_lt(qcow2_cache_write_dirty(c), 0);
    ck_assert(qcow2_cache_is_dirty(c));
    ck_assert_uint_eq(load_be64(peek(c, 1)), 7);
    qcow2_cache_drop(c, 1 * TABLE);
    qcow2_cache_drop(c, 5 * TABLE);
    ck_assert(!qcow2_cache_is_dirty(c));
}

START_TEST(a_failed_write_leaves_tables_dirty)
{
    with_cache(8, 0, failed_write_body);
}
END_TEST

static void drop_body(Qcow2Cache *c, BlockNode *file)
{
    void *old = get(c, 6), *new;

    store_be64(old, 66);
    qcow2_cache_mark_dirty(c, old);
    qcow2_cache_drop(c, 6 * TABLE);
    ck_assert(!qcow2_cache_is_dirty(c));
    ck_assert_ptr_null(peek(c, 6));
    ck_assert_uint_eq(load_be64(old), 66); /* still ours while pinned */
    ck_assert_int_eq(qcow2_cache_get_new(c, 6 * TABLE, &new), 0);
    ck_assert_ptr_ne(new, old);
    ck_assert_uint_eq(load_be64(new), 0);
    ck_assert(qcow2_cache_is_dirty(c));
    qcow2_cache_put(c, &old);
    ck_assert_ptr_eq(peek(c, 6), new);
    qcow2_cache_put(c, &new);
    ck_assert_int_eq(qcow2_cache_write_dirty(c), 0);
    ck_assert_uint_eq(number_on_disk(6), 0);
}

START_TEST(a_dropped_table_lives_on_only_for_who_pins_it)
{
    with_cache(8, BLOCK_OPEN_RDWR, drop_body);
}
END_TEST

static void get_forever(void *opaque, unsigned idx)
{
    Qcow2Cache *c = opaque;
    g_autoptr(GRand) rand = g_rand_new_with_seed(idx);

    for (int i = 0; i < 3000; i++) {
        uint64_t n = g_rand_int_range(rand, 0, TABLES);
        void *table = get(c, n);
        if (load_be64(table) != n) {
            ck_abort_msg("table %" PRIu64 " holds %" PRIu64, n, load_be64(table));
        }
        if (i % 16 == 0) {
            coroutine_reschedule();
        }
        qcow2_cache_put(c, &table);
    }
}

static void stress_body(Qcow2Cache *c, BlockNode *file)
{
    LoopTeam *team = loop_team_new(4);

    loop_team_run(team, 16, get_forever, c);
    loop_team_free(team);
}

START_TEST(tables_read_from_four_loops_are_the_right_ones)
{
    with_cache(6, 0, stress_body);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("qcow2-cache");
    TCase *tc = tcase_create("cache");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, make_file, remove_file);
    tcase_add_test(tc, a_table_is_read_once_and_shared);
    tcase_add_test(tc, a_table_past_the_end_of_the_file_is_zeros);
    tcase_add_test(tc, the_oldest_clean_table_goes_first_and_pinned_ones_stay);
    tcase_add_test(tc, dirty_tables_stay_until_they_are_written);
    tcase_add_test(tc, more_than_half_dirty_is_pressure);
    tcase_add_test(tc, a_failed_write_leaves_tables_dirty);
    tcase_add_test(tc, a_dropped_table_lives_on_only_for_who_pins_it);
    tcase_add_test(tc, tables_read_from_four_loops_are_the_right_ones);
    suite_add_tcase(suite, tc);

    return run_suite(suite);
}
