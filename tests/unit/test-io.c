/* SPDX-License-Identifier: MIT */
#include "tests/unit/block-fixture.h"
#include "util/base/units.h"

static uint8_t buf[MEM_BYTES];

/* ---- entry checks ---------------------------------------------------------------------------------------------- */

START_CO_TEST(requests_outside_the_image_fail_with_eio)
{
    BlockNode *node = mem_node_new(BLOCK_OPEN_UNMAP, NULL);

    ck_assert_int_eq(block_co_pread(node, MEM_BYTES - 1, buf, 2, 0), -EIO);
    ck_assert_int_eq(block_co_pwrite(node, MEM_BYTES, buf, 1, 0), -EIO);
    ck_assert_int_eq(block_co_pread(node, -1, buf, 1, 0), -EIO);
    ck_assert_int_eq(block_co_pwrite(node, INT64_MAX, buf, 1, 0), -EIO);
    ck_assert_int_eq(block_co_pwrite_zeroes(node, 0, MEM_BYTES + 1, 0), -EIO);
    ck_assert_int_eq(block_co_pdiscard(node, 512, MEM_BYTES), -EIO);
    ck_assert_int_eq(block_co_pread(node, MEM_BYTES, buf, 0, 0), 0);
    ck_assert_int_eq(block_co_pread(node, MEM_BYTES - 1, buf, 1, 0), 0);
    ck_assert_uint_eq(mem_state(node)->writes, 0);
    block_co_close(node);
}

START_CO_TEST(read_only_and_facts_only_nodes_refuse_data_io)
{
    BlockNode *node = mem_node_new(0, NULL);

    node->flags = 0;
    ck_assert_int_eq(block_co_pwrite(node, 0, buf, 1, 0), -EPERM);
    ck_assert_int_eq(block_co_pwrite_zeroes(node, 0, 1, 0), -EPERM);
    ck_assert_int_eq(block_co_pdiscard(node, 0, 512), -EPERM);
    ck_assert_int_eq(block_co_pread(node, 0, buf, 1, 0), 0);
    node->flags = BLOCK_OPEN_RDWR | BLOCK_OPEN_NO_IO;
    ck_assert_int_eq(block_co_pread(node, 0, buf, 1, 0), -EPERM);
    ck_assert_int_eq(block_co_pwrite(node, 0, buf, 1, 0), -EPERM);
    block_co_close(node);
}

START_CO_TEST(growable_node_extends_on_write_and_reads_zeros_past_its_end)
{
    BlockNode *node = mem_node_new(0, NULL);

    node->growable = true;
    block_node_set_length(node, 1024);
    memset(buf, 0xff, 4096);
    ck_assert_int_eq(block_co_pread(node, 512, buf, 1024, 0), 0);
    ck_assert(buffer_is_zero(buf + 512, 512));
    ck_assert_int_eq(block_co_pread(node, 8192, buf, 4096, 0), 0);
    ck_assert(buffer_is_zero(buf, 4096));
    ck_assert_int_eq(block_co_pwrite(node, 5000, buf, 10, 0), 0);
    ck_assert_int_eq(block_getlength(node), 5120);
    block_co_close(node);
}

START_CO_TEST(failed_write_does_not_grow_the_node)
{
    BlockNode *node = mem_node_new(0, NULL);

    node->growable = true;
    block_node_set_length(node, 0);
    mem_state(node)->fail_write = ENOSPC;
    ck_assert_int_eq(block_co_pwrite(node, 0, buf, 4096, 0), -ENOSPC);
    ck_assert_int_eq(block_getlength(node), 0);
    block_co_close(node);
}

/* ---- splitting, flags ------------------------------------------------------------------------------------------ */

START_CO_TEST(large_requests_are_split_to_what_the_driver_takes)
{
    BlockNode *node = mem_node_new(0, &(BlockLimits){.max_transfer = 10000, .request_align = 512});
    static uint8_t back[100000];

    for (size_t i = 0; i < sizeof(buf); i++) {
        buf[i] = i * 7 + (i >> 8);
    }
    ck_assert_int_eq(block_co_pwrite(node, 100, buf, 100000, 0), 0);
    ck_assert_int_eq(mem_state(node)->largest, 9728); /* 10000 cut to whole blocks */
    ck_assert_int_eq(block_co_pread(node, 100, back, 100000, 0), 0);
    ck_assert(memcmp(buf, back, 100000) == 0);
    block_co_close(node);
}

START_CO_TEST(fua_is_emulated_by_a_flush)
{
    BlockNode *node = mem_node_new(0, NULL);

    ck_assert_int_eq(block_co_pwrite(node, 0, buf, 512, 0), 0);
    ck_assert_uint_eq(mem_state(node)->flushes, 0);
    ck_assert_int_eq(block_co_pwrite(node, 0, buf, 512, BLOCK_REQ_FUA), 0);
    ck_assert_uint_eq(mem_state(node)->flushes, 1);
    ck_assert_int_eq(block_co_pwrite_zeroes(node, 0, 512, BLOCK_REQ_FUA), 0);
    ck_assert_uint_eq(mem_state(node)->flushes, 2);
    block_co_close(node);
}

START_CO_TEST(writethrough_node_flushes_every_write)
{
    BlockNode *node = mem_node_new(BLOCK_OPEN_WRITETHROUGH, NULL);

    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(block_co_pwrite(node, 0, buf, 512, 0), 0);
    }
    ck_assert_uint_eq(mem_state(node)->flushes, 3);
    block_co_close(node);
}

START_CO_TEST(unsafe_node_never_flushes)
{
    BlockNode *node = mem_node_new(BLOCK_OPEN_NO_FLUSH, NULL);

    ck_assert_int_eq(block_co_pwrite(node, 0, buf, 512, BLOCK_REQ_FUA), 0);
    ck_assert_int_eq(block_co_flush(node), 0);
    ck_assert_uint_eq(mem_state(node)->flushes, 0);
    block_co_close(node);
}

START_CO_TEST(flush_without_writes_since_the_last_one_is_free)
{
    BlockNode *node = mem_node_new(0, NULL);

    ck_assert_int_eq(block_co_flush(node), 0);
    ck_assert_uint_eq(mem_state(node)->flushes, 0);
    ck_assert_int_eq(block_co_pwrite(node, 0, buf, 512, 0), 0);
    ck_assert_int_eq(block_co_flush(node), 0);
    ck_assert_int_eq(block_co_flush(node), 0);
    ck_assert_uint_eq(mem_state(node)->flushes, 1);
    block_co_close(node);
}

START_CO_TEST(failed_flush_is_tried_again_and_reported_by_close)
{
    BlockNode *node = mem_node_new(0, NULL);

    mem_state(node)->fail_flush = EIO;
    ck_assert_int_eq(block_co_pwrite(node, 0, buf, 512, 0), 0);
    ck_assert_int_eq(block_co_flush(node), -EIO);
    ck_assert_int_eq(block_co_flush(node), -EIO);
    ck_assert_uint_eq(mem_state(node)->flushes, 2);
    ck_assert_int_eq(block_co_close(node), -EIO);
}

START_CO_TEST(failed_write_still_needs_a_flush)
{
    BlockNode *node = mem_node_new(0, NULL);

    mem_state(node)->fail_write = EIO;
    ck_assert_int_eq(block_co_pwrite(node, 0, buf, 512, 0), -EIO);
    ck_assert_int_eq(block_co_flush(node), 0);
    ck_assert_uint_eq(mem_state(node)->flushes, 1);
    block_co_close(node);
}

START_CO_TEST(compressed_write_is_refused_where_the_driver_cannot)
{
    BlockNode *node = mem_node_new(0, NULL);

    ck_assert_int_eq(block_co_pwrite(node, 0, buf, 512, BLOCK_REQ_COMPRESSED), -ENOTSUP);
    block_co_close(node);
}

/* ---- zeroes and discards --------------------------------------------------------------------------------------- */

static const BlockLimits coarse = {.request_align = 512, .zero_align = 4096, .discard_align = 4096, .max_zero = 16384};

START_CO_TEST(zero_write_gives_the_driver_whole_granules_and_writes_the_rest)
{
    BlockNode *node = mem_node_new(0, &coarse);
    MemState *m = mem_state(node);

    memset(m->data, 0x5a, MEM_BYTES);
    ck_assert_int_eq(block_co_pwrite_zeroes(node, 1000, 100000, 0), 0);
    ck_assert(buffer_is_zero(m->data + 1000, 100000));
    ck_assert_int_eq(m->data[999], 0x5a);
    ck_assert_int_eq(m->data[101000], 0x5a);
    ck_assert_uint_eq(m->zeroes, 6); /* 94208 bytes in pieces of at most 16384 */
    ck_assert_int_le(m->largest, 16384);
    block_co_close(node);
}

START_CO_TEST(zero_write_inside_one_block_keeps_the_rest_of_it)
{
    BlockNode *node = mem_node_new(0, &coarse);
    MemState *m = mem_state(node);

    memset(m->data, 0x5a, MEM_BYTES);
    ck_assert_int_eq(block_co_pwrite_zeroes(node, 5, 7, 0), 0);
    ck_assert_int_eq(m->data[4], 0x5a);
    ck_assert(buffer_is_zero(m->data + 5, 7));
    ck_assert_int_eq(m->data[12], 0x5a);
    block_co_close(node);
}

START_CO_TEST(zero_write_falls_back_to_data_unless_told_not_to)
{
    BlockNode *node = mem_node_new(0, NULL);
    MemState *m = mem_state(node);

    m->refuses_zeroes = true;
    memset(m->data, 0x5a, MEM_BYTES);
    ck_assert_int_eq(block_co_pwrite_zeroes(node, 0, MEM_BYTES, BLOCK_REQ_NO_FALLBACK), -ENOTSUP);
    ck_assert_int_eq(m->data[0], 0x5a);
    ck_assert_int_eq(block_co_pwrite_zeroes(node, 3, MEM_BYTES - 3, 0), 0);
    ck_assert_int_eq(m->data[2], 0x5a);
    ck_assert(buffer_is_zero(m->data + 3, MEM_BYTES - 3));
    block_co_close(node);
}

START_CO_TEST(discard_leaves_the_edges_alone)
{
    BlockNode *node = mem_node_new(BLOCK_OPEN_UNMAP, &coarse);
    MemState *m = mem_state(node);

    ck_assert_int_eq(block_co_pdiscard(node, 100, 12000), 0);
    ck_assert_int_eq(m->data[4095], 0);
    ck_assert_int_eq(m->data[4096], 0xdd);
    ck_assert_int_eq(m->data[8191], 0xdd);
    ck_assert_int_eq(m->data[8192], 0);
    ck_assert_int_eq(block_co_pdiscard(node, 4097, 4095), 0);
    ck_assert_uint_eq(m->discards, 1);
    block_co_close(node);
}

START_CO_TEST(discard_without_unmap_does_nothing)
{
    BlockNode *node = mem_node_new(0, &coarse);

    ck_assert_int_eq(block_co_pdiscard(node, 0, MEM_BYTES), 0);
    ck_assert_uint_eq(mem_state(node)->discards, 0);
    block_co_close(node);
}

START_CO_TEST(detect_zeroes_turns_zero_data_into_a_zero_write)
{
    BlockNode *node = mem_node_new(0, NULL);
    MemState *m = mem_state(node);

    node->detect_zeroes = BLOCK_DETECT_ZEROES_ON;
    memset(buf, 0, 4096);
    memset(m->data, 0x5a, 4096);
    ck_assert_int_eq(block_co_pwrite(node, 0, buf, 4096, 0), 0);
    ck_assert_uint_eq(m->zeroes, 1);
    ck_assert_uint_eq(m->writes, 0);
    ck_assert(buffer_is_zero(m->data, 4096));
    buf[17] = 1;
    ck_assert_int_eq(block_co_pwrite(node, 0, buf, 4096, 0), 0);
    ck_assert_uint_eq(m->writes, 1);
    block_co_close(node);
}

/* ---- placement hooks ------------------------------------------------------------------------------------------- */

static void count_call(void *opaque)
{
    (*(int *)opaque)++;
}

static void coroutine_fn no_turn(void *opaque) {}

/* Nothing is allocated here, so no turn is waited for, unless a request is cut in pieces: then before the first. */
START_CO_TEST(a_turn_ends_once_on_success_and_on_every_failure)
{
    BlockNode *node = mem_node_new(0, &(BlockLimits){.max_transfer = 4096});
    g_auto(IoVec) iov;
    struct {
        int64_t offset;
        int fail;
        unsigned flags;
        int ret;
    } cases[] = {
        {0, 0, 0, 0}, {MEM_BYTES, 0, 0, -EIO}, {0, ENOSPC, 0, -ENOSPC}, {0, 0, BLOCK_REQ_COMPRESSED, -ENOTSUP}};

    iovec_init_buf(&iov, buf, 16384);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        int placed = 0;
        BlockPlace place = {.wait = no_turn, .placed = count_call, .opaque = &placed};
        BlockRw rw = {.offset = cases[i].offset, .bytes = 16384, .iov = &iov, .flags = cases[i].flags, .place = &place};
        mem_state(node)->fail_write = cases[i].fail;
        ck_assert_int_eq(block_co_rw_write(node, &rw), cases[i].ret);
        ck_assert_int_eq(placed, 1);
        ck_assert(place.placed_done);
    }
    block_co_close(node);
}

static Suite *suite(void)
{
    Suite *s = suite_create("io");
    TCase *tc = tcase_create("io");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, requests_outside_the_image_fail_with_eio);
    tcase_add_test(tc, read_only_and_facts_only_nodes_refuse_data_io);
    tcase_add_test(tc, growable_node_extends_on_write_and_reads_zeros_past_its_end);
    tcase_add_test(tc, failed_write_does_not_grow_the_node);
    tcase_add_test(tc, large_requests_are_split_to_what_the_driver_takes);
    tcase_add_test(tc, fua_is_emulated_by_a_flush);
    tcase_add_test(tc, writethrough_node_flushes_every_write);
    tcase_add_test(tc, unsafe_node_never_flushes);
    tcase_add_test(tc, flush_without_writes_since_the_last_one_is_free);
    tcase_add_test(tc, failed_flush_is_tried_again_and_reported_by_close);
    tcase_add_test(tc, failed_write_still_needs_a_flush);
    tcase_add_test(tc, compressed_write_is_refused_where_the_driver_cannot);
    tcase_add_test(tc, zero_write_gives_the_driver_whole_granules_and_writes_the_rest);
    tcase_add_test(tc, zero_write_inside_one_block_keeps_the_rest_of_it);
    tcase_add_test(tc, zero_write_falls_back_to_data_unless_told_not_to);
    tcase_add_test(tc, discard_leaves_the_edges_alone);
    tcase_add_test(tc, discard_without_unmap_does_nothing);
    tcase_add_test(tc, detect_zeroes_turns_zero_data_into_a_zero_write);
    tcase_add_test(tc, a_turn_ends_once_on_success_and_on_every_failure);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
