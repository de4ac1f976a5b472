/* SPDX-License-Identifier: MIT */
#include "block/filter/fault.h"

#include "tests/unit/block-fixture.h"

static uint8_t buf[65536];

static BlockNode *open_fault(const char *options)
{
    g_autofree char *opts = g_strdup_printf("driver=fault,file.driver=null-co,file.size=64k%s", options);

    return open_opts(opts, BLOCK_OPEN_RDWR | BLOCK_OPEN_UNMAP);
}

START_CO_TEST(nth_write_and_all_after_it_fail)
{
    BlockNode *node = open_fault(",fail-write=3,errno=28");
    int expected[] = {0, 0, -ENOSPC, -ENOSPC};

    for (size_t i = 0; i < G_N_ELEMENTS(expected); i++) {
        ck_assert_int_eq(block_co_pwrite(node, 0, buf, 512, 0), expected[i]);
    }
    ck_assert_int_eq(block_co_pread(node, 0, buf, 512, 0), 0);
    ck_assert_uint_eq(fault_count(node, FAULT_WRITE), 4);
    block_co_close(node);
}

START_CO_TEST(with_once_only_the_nth_fails)
{
    BlockNode *node = open_fault(",fail-read=2,once=on");
    int expected[] = {0, -EIO, 0};

    for (size_t i = 0; i < G_N_ELEMENTS(expected); i++) {
        ck_assert_int_eq(block_co_pread(node, 0, buf, 512, 0), expected[i]);
    }
    block_co_close(node);
}

START_CO_TEST(only_operations_in_the_range_count)
{
    BlockNode *node = open_fault(",fail-write=1,offset=4096,length=512");

    ck_assert_int_eq(block_co_pwrite(node, 0, buf, 4096, 0), 0);
    ck_assert_int_eq(block_co_pwrite(node, 4608, buf, 4096, 0), 0);
    ck_assert_int_eq(block_co_pwrite(node, 0, buf, 4097, 0), -EIO);
    ck_assert_int_eq(block_co_pwrite(node, 4607, buf, 10, 0), -EIO);
    block_co_close(node);
}

START_CO_TEST(flush_zero_discard_and_truncate_fail_too)
{
    BlockNode *node = open_fault(",fail-flush=1,fail-zero=1,fail-discard=1,fail-truncate=1,errno=5");

    ck_assert_int_eq(block_co_pwrite_zeroes(node, 0, 512, 0), -EIO);
    ck_assert_int_eq(block_co_pdiscard(node, 0, 512), -EIO);
    ck_assert(!block_co_truncate(node, 512, BLOCK_PREALLOC_OFF, NULL));
    ck_assert_int_eq(block_co_flush(node), -EIO);
    ck_assert_int_eq(block_co_close(node), -EIO);
}

typedef struct Held {
    BlockNode *node;
    bool done;
} Held;

static void write_once(void *opaque)
{
    Held *h = opaque;

    ck_assert_int_eq(block_co_pwrite(h->node, 0, buf, 512, 0), 0);
    h->done = true;
}

START_CO_TEST(held_operations_wait_until_released)
{
    Held h = {.node = open_fault("")};

    fault_hold(h.node, FAULT_WRITE, true);
    coroutine_enter(coroutine_new(write_once, &h));
    for (int i = 0; i < 10; i++) {
        coroutine_reschedule();
    }
    ck_assert(!h.done);
    ck_assert_uint_eq(fault_held(h.node, FAULT_WRITE), 1);
    fault_hold(h.node, FAULT_WRITE, false);
    while (!h.done) {
        coroutine_reschedule();
    }
    ck_assert_uint_eq(fault_held(h.node, FAULT_WRITE), 0);
    block_co_close(h.node);
}

START_CO_TEST(delay_takes_its_time)
{
    BlockNode *node = open_fault(",delay-ns=20000000");
    int64_t before = clock_monotonic_ns();

    ck_assert_int_eq(block_co_pread(node, 0, buf, 512, 0), 0);
    ck_assert_int_ge(clock_monotonic_ns() - before, 20000000);
    block_co_close(node);
}

START_CO_TEST(errno_must_be_an_error)
{
    ck_assert_open_error(NULL, NULL, "driver=fault,file.driver=null-co,errno=0", 0, "Parameter 'errno' must not be 0");
}

static Suite *suite(void)
{
    Suite *s = suite_create("fault");
    TCase *tc = tcase_create("fault");

    tcase_add_test(tc, nth_write_and_all_after_it_fail);
    tcase_add_test(tc, with_once_only_the_nth_fails);
    tcase_add_test(tc, only_operations_in_the_range_count);
    tcase_add_test(tc, flush_zero_discard_and_truncate_fail_too);
    tcase_add_test(tc, held_operations_wait_until_released);
    tcase_add_test(tc, delay_takes_its_time);
    tcase_add_test(tc, errno_must_be_an_error);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
