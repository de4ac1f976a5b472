/* SPDX-License-Identifier: MIT */
/* Status of chains, on layers whose allocation is a string: one character a block of 1024 bytes.
 *   'D' data   'Z' zero   '.' not allocated   'R' data stored raw in the file child at the same offset */
#include "tests/unit/block-fixture.h"

#define UNIT 1024

typedef struct LayerState {
    const char *map;
    char letter;
} LayerState;

static int layer_co_status(BlockNode *node, int64_t offset, int64_t bytes, BlockStatus *st)
{
    const LayerState *l = node->state;
    char kind = l->map[offset / UNIT];
    int64_t end = (offset / UNIT + 1) * UNIT;

    while (end < offset + bytes && l->map[end / UNIT] == kind) {
        end += UNIT;
    }
    st->bytes = MIN(bytes, end - offset);
    switch (kind) {
    case 'D':
        st->flags = BLOCK_STATUS_DATA | BLOCK_STATUS_ALLOCATED;
        break;
    case 'Z':
        st->flags = BLOCK_STATUS_ZERO | BLOCK_STATUS_ALLOCATED;
        break;
    case 'R':
        st->flags = BLOCK_STATUS_DATA | BLOCK_STATUS_ALLOCATED | BLOCK_STATUS_OFFSET | BLOCK_STATUS_RECURSE;
        st->host_off = offset;
        st->file = node->file;
        break;
    default:
        st->flags = 0;
        break;
    }
    return 0;
}

/* Every layer's data is its own letter; asking for what it has not allocated is a bug of the caller. */
static int layer_co_read(BlockNode *node, const BlockRw *rw)
{
    const LayerState *l = node->state;

    for (int64_t i = rw->offset / UNIT; i * UNIT < rw->offset + rw->bytes; i++) {
        ck_assert(l->map[i] == 'D' || !node->backing);
    }
    iovec_memset(rw->iov, rw->iov_off, l->letter, rw->bytes);
    return 0;
}

static const BlockDriver layer_driver = {
    .format_name = "layer",
    .state_bytes = sizeof(LayerState),
    .supports_backing = true,
    .co_read = layer_co_read,
    .co_status = layer_co_status,
};

/* A layer over @backing (taken). */
static BlockNode *layer_new(const char *map, BlockNode *backing, uint32_t align)
{
    BlockNode *node = block_node_new(&layer_driver, 0);

    ((LayerState *)node->state)->map = map;
    ((LayerState *)node->state)->letter = 'a' + (backing ? ((LayerState *)backing->state)->letter - 'a' + 1 : 0);
    node->backing = backing;
    node->limits.request_align = align;
    block_limits_complete(&node->limits);
    block_node_set_length(node, (int64_t)strlen(map) * UNIT);
    return node;
}

/* The whole chain as text: "<start>+<length>:<depth><flags> ". */
static char *describe(BlockNode *node, BlockNode *base)
{
    GString *out = g_string_new(NULL);
    int64_t total = block_getlength(node);
    BlockStatus st;

    for (int64_t at = 0; at < total; at += st.bytes) {
        ck_assert_int_eq(block_co_status_above(node, base, at, total - at, &st), 0);
        ck_assert_int_gt(st.bytes, 0);
        g_string_append_printf(out, "%d+%d:%d%s%s%s%s ", (int)(at / UNIT), (int)(st.bytes / UNIT), st.depth,
                               st.flags & BLOCK_STATUS_ALLOCATED ? "A" : "", st.flags & BLOCK_STATUS_DATA ? "D" : "",
                               st.flags & BLOCK_STATUS_ZERO ? "Z" : "", st.flags & BLOCK_STATUS_EOF ? "E" : "");
    }
    return g_string_free(out, FALSE);
}

START_CO_TEST(single_layer_reports_its_runs)
{
    BlockNode *node = layer_new("DDZZ..D", NULL, 1);
    g_autofree char *text = describe(node, NULL);

    ck_assert_str_eq(text, "0+2:0AD 2+2:0AZ 4+2:0Z 6+1:0ADE ");
    block_co_close(node);
}

START_CO_TEST(first_layer_that_allocates_decides)
{
    BlockNode *base = layer_new("DDDDDD", NULL, 1);
    BlockNode *mid = layer_new("..ZZ..", base, 1);
    BlockNode *top = layer_new("D..D..", mid, 1);
    g_autofree char *text = describe(top, NULL);
    g_autofree char *above_base = describe(top, base);
    g_autofree char *above_mid = describe(top, mid);

    ck_assert_str_eq(text, "0+1:0AD 1+1:2AD 2+1:1AZ 3+1:0AD 4+2:2ADE ");
    ck_assert_str_eq(above_base, "0+1:0AD 1+1:1 2+1:1AZ 3+1:0AD 4+2:1E ");
    ck_assert_str_eq(above_mid, "0+1:0AD 1+2:0 3+1:0AD 4+2:0E ");
    block_co_close(top);
}

START_CO_TEST(past_the_end_of_a_short_layer_is_zero_and_not_allocated)
{
    BlockNode *base = layer_new("D", NULL, 1);
    BlockNode *mid = layer_new("...", base, 1);
    BlockNode *top = layer_new("......", mid, 1);
    g_autofree char *text = describe(top, NULL);

    ck_assert_str_eq(text, "0+1:2AD 1+2:1Z 3+3:0ZE ");
    block_co_close(top);
}

START_CO_TEST(nothing_allocated_anywhere_is_zero_at_the_deepest_layer)
{
    BlockNode *top = layer_new("..", layer_new("..", layer_new("..", NULL, 1), 1), 1);
    g_autofree char *text = describe(top, NULL);

    ck_assert_str_eq(text, "0+2:2ZE ");
    block_co_close(top);
}

START_CO_TEST(questions_inside_a_block_are_answered_from_whole_blocks)
{
    BlockNode *node = layer_new("DZ", NULL, UNIT);
    BlockStatus st;

    ck_assert_int_eq(block_co_status(node, 1000, 10, &st), 0);
    ck_assert_int_eq(st.bytes, 10);
    ck_assert_int_eq(block_co_status(node, 1000, 100, &st), 0);
    ck_assert_int_eq(st.bytes, 24);
    ck_assert(st.flags & BLOCK_STATUS_DATA);
    block_co_close(node);
}

START_CO_TEST(answers_may_be_finer_than_the_blocks_requests_are_cut_to)
{
    BlockNode *node = layer_new("DZ.D", NULL, 4 * UNIT);
    g_autofree char *text = describe(node, NULL);

    ck_assert_str_eq(text, "0+1:0AD 1+1:0AZ 2+1:0Z 3+1:0ADE ");
    block_co_close(node);
}

START_CO_TEST(question_at_or_past_the_end_is_an_empty_run)
{
    BlockNode *node = layer_new("D", NULL, 1);
    BlockStatus st;

    ck_assert_int_eq(block_co_status(node, UNIT, 10, &st), 0);
    ck_assert_int_eq(st.bytes, 0);
    ck_assert_int_eq(st.flags, BLOCK_STATUS_EOF);
    ck_assert_int_eq(block_co_status_above(node, NULL, 10 * UNIT, 10, &st), 0);
    ck_assert_int_eq(st.bytes, 0);
    block_co_close(node);
}

START_CO_TEST(holes_of_the_file_add_zero_but_the_layer_says_what_is_data)
{
    BlockNode *node = layer_new("RRR", NULL, 1);
    g_autofree char *text = NULL;

    node->file = layer_new("DZD", NULL, 1);
    text = describe(node, NULL);
    ck_assert_str_eq(text, "0+1:0AD 1+1:0ADZ 2+1:0ADE ");
    block_co_close(node);
}

START_CO_TEST(data_past_the_end_of_the_file_is_zero)
{
    BlockNode *node = layer_new("RR", NULL, 1);
    g_autofree char *text = NULL;

    node->file = layer_new("D", NULL, 1);
    text = describe(node, NULL);
    ck_assert_str_eq(text, "0+1:0AD 1+1:0ADZE ");
    block_co_close(node);
}

/* ---- reads that fall through ----------------------------------------------------------------------------------- */

static void check_read_below(BlockNode *node, int64_t offset, int64_t bytes, const char *expected_units)
{
    g_autofree char *buf = g_malloc(bytes);
    g_auto(IoVec) iov;

    memset(buf, '?', bytes);
    iovec_init_buf(&iov, buf, bytes);
    BlockRw rw = {.offset = offset, .bytes = bytes, .iov = &iov};
    ck_assert_int_eq(block_co_read_backing(node, &rw), 0);
    for (int64_t i = 0; i < bytes; i++) {
        char want = expected_units[(offset + i) / UNIT];
        ck_assert_int_eq(buf[i], want == '0' ? 0 : want);
    }
}

START_CO_TEST(fall_through_reads_the_layer_that_decides)
{
    BlockNode *c = layer_new("DDDD", NULL, 1);
    BlockNode *b = layer_new("..DZ..", c, 1);
    BlockNode *a = layer_new("D.......", b, 1);
    BlockNode *top = layer_new("........", a, 1);

    check_read_below(top, 0, 8 * UNIT, "cab00000");
    check_read_below(top, 100, 3 * UNIT, "cab00000");
    block_co_close(top);
}

START_CO_TEST(fall_through_without_a_backing_file_is_zeros)
{
    BlockNode *top = layer_new("..", NULL, 1);

    check_read_below(top, 0, 2 * UNIT, "00");
    block_co_close(top);
}

#define LONG_CHAIN 5000

START_CO_TEST(fall_through_needs_no_stack_for_a_long_chain)
{
    BlockNode *top = layer_new("D", NULL, 1);

    for (int i = 0; i < LONG_CHAIN; i++) {
        top = layer_new(".", top, 1);
        ((LayerState *)top->state)->letter = 'x';
    }
    check_read_below(top, 0, UNIT, "a");
    ck_assert_int_eq(block_co_close(top), 0);
}

static Suite *suite(void)
{
    Suite *s = suite_create("status");
    TCase *tc = tcase_create("status");

    tcase_add_test(tc, single_layer_reports_its_runs);
    tcase_add_test(tc, first_layer_that_allocates_decides);
    tcase_add_test(tc, past_the_end_of_a_short_layer_is_zero_and_not_allocated);
    tcase_add_test(tc, nothing_allocated_anywhere_is_zero_at_the_deepest_layer);
    tcase_add_test(tc, questions_inside_a_block_are_answered_from_whole_blocks);
    tcase_add_test(tc, answers_may_be_finer_than_the_blocks_requests_are_cut_to);
    tcase_add_test(tc, question_at_or_past_the_end_is_an_empty_run);
    tcase_add_test(tc, holes_of_the_file_add_zero_but_the_layer_says_what_is_data);
    tcase_add_test(tc, data_past_the_end_of_the_file_is_zero);
    tcase_add_test(tc, fall_through_reads_the_layer_that_decides);
    tcase_add_test(tc, fall_through_without_a_backing_file_is_zeros);
    tcase_add_test(tc, fall_through_needs_no_stack_for_a_long_chain);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
