/* SPDX-License-Identifier: MIT */
/* Unaligned requests against a driver that takes only whole blocks: every way to write equals a plain memcpy. */
#include "tests/unit/block-fixture.h"

static uint8_t shadow[MEM_BYTES], buf[MEM_BYTES], back[MEM_BYTES];

static void fill(uint8_t *p, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++) {
        seed = seed * 1103515245 + 12345;
        p[i] = seed >> 16;
    }
}

static void check_random_ops(uint32_t align, int64_t max_transfer)
{
    BlockNode *node = mem_node_new(0, &(BlockLimits){.request_align = align, .max_transfer = max_transfer});
    MemState *m = mem_state(node);
    GRand *rnd = g_rand_new_with_seed(align);

    fill(m->data, MEM_BYTES, 1);
    memcpy(shadow, m->data, MEM_BYTES);
    for (int i = 0; i < 500; i++) {
        int64_t off = g_rand_int_range(rnd, 0, MEM_BYTES);
        int64_t bytes = g_rand_int_range(rnd, 1, MIN(MEM_BYTES - off, 3 * (int64_t)align + 2) + 1);
        if (g_rand_boolean(rnd)) {
            fill(buf, bytes, i);
            ck_assert_int_eq(block_co_pwrite(node, off, buf, bytes, 0), 0);
            memcpy(shadow + off, buf, bytes);
        } else {
            ck_assert_int_eq(block_co_pread(node, off, back, bytes, 0), 0);
            ck_assert(memcmp(back, shadow + off, bytes) == 0);
        }
    }
    ck_assert(memcmp(shadow, m->data, MEM_BYTES) == 0);
    g_rand_free(rnd);
    block_co_close(node);
}

START_CO_TEST(unaligned_requests_equal_a_copy_in_memory)
{
    check_random_ops(512, 0);
    check_random_ops(4096, 0);
    check_random_ops(65536, 0);
}

START_CO_TEST(unaligned_requests_split_to_the_largest_transfer_equal_a_copy_in_memory)
{
    check_random_ops(512, 512);
    check_random_ops(4096, 8192);
}

START_CO_TEST(request_within_one_block_reads_it_once)
{
    BlockNode *node = mem_node_new(0, &(BlockLimits){.request_align = 4096});

    ck_assert_int_eq(block_co_pwrite(node, 100, buf, 200, 0), 0);
    ck_assert_uint_eq(mem_state(node)->reads, 1);
    ck_assert_uint_eq(mem_state(node)->writes, 1);
    block_co_close(node);
}

START_CO_TEST(write_with_an_aligned_end_reads_only_the_head)
{
    BlockNode *node = mem_node_new(0, &(BlockLimits){.request_align = 4096});

    ck_assert_int_eq(block_co_pwrite(node, 100, buf, 8192 - 100, 0), 0);
    ck_assert_uint_eq(mem_state(node)->reads, 1);
    ck_assert_uint_eq(mem_state(node)->writes, 1);
    block_co_close(node);
}

START_CO_TEST(aligned_request_is_neither_read_nor_copied)
{
    BlockNode *node = mem_node_new(0, &(BlockLimits){.request_align = 4096});

    ck_assert_int_eq(block_co_pwrite(node, 4096, buf, 8192, 0), 0);
    ck_assert_uint_eq(mem_state(node)->reads, 0);
    block_co_close(node);
}

START_CO_TEST(scattered_memory_is_padded_in_place)
{
    BlockNode *node = mem_node_new(0, &(BlockLimits){.request_align = 512});
    g_auto(IoVec) iov;

    fill(buf, 4096, 3);
    iovec_init(&iov);
    for (int i = 0; i < 20; i++) {
        iovec_add(&iov, buf + i * 100, 100);
    }
    BlockRw rw = {.offset = 1001, .bytes = 1500, .iov = &iov, .iov_off = 250};
    ck_assert_int_eq(block_co_rw_write(node, &rw), 0);
    ck_assert(memcmp(mem_state(node)->data + 1001, buf + 250, 1500) == 0);
    ck_assert_int_eq(mem_state(node)->data[1000], 0);
    ck_assert_int_eq(mem_state(node)->data[2501], 0);
    block_co_close(node);
}

/* ---- neighbours in one block ----------------------------------------------------------------------------------- */

#define WRITERS 64

typedef struct Writer {
    BlockNode *node;
    int index;
    int *left;
} Writer;

/* Each writer owns one byte of every block; a lost update of a neighbour would show at the end. */
static void write_own_bytes(void *opaque)
{
    Writer *w = opaque;
    uint8_t byte = w->index + 1;

    for (int block = 0; block < 16; block++) {
        ck_assert_int_eq(block_co_pwrite(w->node, block * 512 + w->index, &byte, 1, 0), 0);
    }
    --*w->left;
}

START_CO_TEST(neighbours_in_one_block_do_not_undo_each_other)
{
    BlockNode *node = mem_node_new(0, &(BlockLimits){.request_align = 512});
    Writer writers[WRITERS];
    int left = WRITERS;

    mem_state(node)->yields = true;
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (Writer){node, i, &left};
        coroutine_enter(coroutine_new(write_own_bytes, &writers[i]));
    }
    while (left > 0) {
        coroutine_reschedule();
    }
    for (int block = 0; block < 16; block++) {
        for (int i = 0; i < WRITERS; i++) {
            ck_assert_int_eq(mem_state(node)->data[block * 512 + i], i + 1);
        }
    }
    block_co_close(node);
}

static Suite *suite(void)
{
    Suite *s = suite_create("io-pad");
    TCase *tc = tcase_create("io-pad");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, unaligned_requests_equal_a_copy_in_memory);
    tcase_add_test(tc, unaligned_requests_split_to_the_largest_transfer_equal_a_copy_in_memory);
    tcase_add_test(tc, request_within_one_block_reads_it_once);
    tcase_add_test(tc, write_with_an_aligned_end_reads_only_the_head);
    tcase_add_test(tc, aligned_request_is_neither_read_nor_copied);
    tcase_add_test(tc, scattered_memory_is_padded_in_place);
    tcase_add_test(tc, neighbours_in_one_block_do_not_undo_each_other);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
