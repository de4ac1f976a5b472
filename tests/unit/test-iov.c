/* SPDX-License-Identifier: MIT */
#include "util/base/iov.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/suite.h"
#include "util/base/buffer-zero-int.h"

START_TEST(iovec_keeps_few_elements_inline_and_grows_to_the_heap)
{
    g_auto(IoVec) v;
    char mem[64];

    iovec_init(&v);
    for (int i = 0; i < IOVEC_INLINE; i++) {
        iovec_add(&v, mem + i, 1);
    }
    ck_assert_ptr_eq(v.iov, v.local);
    for (int i = IOVEC_INLINE; i < 64; i++) {
        iovec_add(&v, mem + i, 1);
    }
    ck_assert_ptr_ne(v.iov, v.local);
    ck_assert_int_eq(v.niov, 64);
    ck_assert_uint_eq(v.size, 64);
    for (int i = 0; i < 64; i++) {
        ck_assert_ptr_eq(v.iov[i].iov_base, mem + i);
    }
}
END_TEST

START_TEST(iovec_add_of_zero_bytes_adds_nothing)
{
    g_auto(IoVec) v;

    iovec_init_buf(&v, NULL, 0);
    ck_assert_int_eq(v.niov, 0);
    ck_assert_uint_eq(v.size, 0);
    ck_assert(iovec_is_zero(&v, 0, 0));
    ck_assert_ptr_null(iovec_flat(&v, 0, 0));
}
END_TEST

START_TEST(iovec_reset_keeps_the_heap_array)
{
    g_auto(IoVec) v;
    char mem[16];

    iovec_init(&v);
    for (int i = 0; i < 16; i++) {
        iovec_add(&v, mem + i, 1);
    }
    struct iovec *array = v.iov;
    iovec_reset(&v);
    ck_assert_uint_eq(v.size, 0);
    iovec_add(&v, mem, 16);
    ck_assert_ptr_eq(v.iov, array);
    iovec_destroy(&v);
    iovec_destroy(&v); /* twice is safe */
}
END_TEST

/* A list of pieces of 1, 2, 3, ... bytes with gaps between them, over mem. */
static size_t scatter(IoVec *v, uint8_t *mem, int pieces)
{
    size_t at = 0;

    iovec_init(v);
    for (int i = 1; i <= pieces; i++) {
        iovec_add(v, mem + at, i);
        at += i + 1;
    }
    return v->size;
}

START_TEST(iovec_copies_every_range_both_ways)
{
    g_auto(IoVec) v;
    uint8_t mem[128], model[128], out[128];

    memset(mem, 0xee, sizeof(mem));
    size_t size = scatter(&v, mem, 9);
    for (size_t i = 0; i < size; i++) {
        model[i] = 100 + i;
    }
    iovec_from_buf(&v, 0, model, size);
    for (size_t off = 0; off <= size; off++) {
        for (size_t len = 0; len <= size - off; len++) {
            memset(out, 0, sizeof(out));
            iovec_to_buf(&v, off, out, len);
            ck_assert_mem_eq(out, model + off, len);
            ck_assert_uint_eq(out[len], 0);
        }
    }
    ck_assert_uint_eq(mem[1], 0xee); /* the gap after the first piece */
    ck_assert_uint_eq(mem[4], 0xee);
}
END_TEST

START_TEST(iovec_memset_touches_its_range_alone)
{
    for (size_t off = 0; off <= 45; off++) {
        for (size_t len = 0; len <= 45 - off; len++) {
            g_auto(IoVec) v;
            uint8_t mem[128] = {0}, out[45];
            size_t size = scatter(&v, mem, 9);

            ck_assert_uint_eq(size, 45);
            iovec_memset(&v, off, 7, len);
            iovec_to_buf(&v, 0, out, size);
            for (size_t i = 0; i < size; i++) {
                ck_assert_uint_eq(out[i], i >= off && i < off + len ? 7 : 0);
            }
            ck_assert_uint_eq(mem[1], 0);
        }
    }
}
END_TEST

START_TEST(iovec_slices_equal_the_range_they_were_cut_from)
{
    g_auto(IoVec) v;
    uint8_t mem[128], a[64], b[64];
    size_t size = scatter(&v, mem, 9);

    for (size_t i = 0; i < sizeof(mem); i++) {
        mem[i] = i;
    }
    for (size_t off = 0; off <= size; off++) {
        for (size_t len = 0; len <= size - off; len++) {
            g_auto(IoVec) part;

            iovec_init(&part);
            iovec_add_slice(&part, &v, off, len);
            ck_assert_uint_eq(part.size, len);
            iovec_to_buf(&v, off, a, len);
            iovec_to_buf(&part, 0, b, len);
            ck_assert_mem_eq(a, b, len);
        }
    }
}
END_TEST

START_TEST(iovec_is_zero_sees_one_byte_in_any_piece)
{
    g_auto(IoVec) v;
    uint8_t mem[128] = {0};
    const uint8_t one = 1, zero = 0;
    size_t size = scatter(&v, mem, 9);

    mem[1] = 1; /* a gap does not count */
    ck_assert(iovec_is_zero(&v, 0, size));
    for (size_t i = 0; i < size; i++) {
        iovec_from_buf(&v, i, &one, 1);
        ck_assert(!iovec_is_zero(&v, 0, size));
        ck_assert(iovec_is_zero(&v, 0, i));
        ck_assert(iovec_is_zero(&v, i + 1, size - i - 1));
        iovec_from_buf(&v, i, &zero, 1);
    }
}
END_TEST

START_TEST(iovec_flat_joins_neighbours_and_refuses_gaps)
{
    g_auto(IoVec) v;
    uint8_t mem[64];

    iovec_init(&v);
    iovec_add(&v, mem, 10);
    iovec_add(&v, mem + 10, 10);
    iovec_add(&v, mem + 30, 10);
    ck_assert_ptr_eq(iovec_flat(&v, 3, 4), mem + 3);
    ck_assert_ptr_eq(iovec_flat(&v, 3, 17), mem + 3);
    ck_assert_ptr_eq(iovec_flat(&v, 20, 10), mem + 30);
    ck_assert_ptr_null(iovec_flat(&v, 3, 18));
}
END_TEST

START_TEST(iovec_is_aligned_checks_the_addresses_and_lengths_of_the_range)
{
    g_auto(IoVec) v;
    _Alignas(64) uint8_t mem[256];

    iovec_init(&v);
    iovec_add(&v, mem, 64);
    iovec_add(&v, mem + 128, 32);
    iovec_add(&v, mem + 192, 16);
    ck_assert(iovec_is_aligned(&v, 0, 112, 16));
    ck_assert(!iovec_is_aligned(&v, 0, 112, 32)); /* the last length */
    ck_assert(iovec_is_aligned(&v, 0, 96, 32));
    ck_assert(!iovec_is_aligned(&v, 8, 56, 16)); /* the first address */
    ck_assert(iovec_is_aligned(&v, 8, 56, 8));
}
END_TEST

enum { ZERO_MAX_BYTES = 4200, ZERO_MAX_OFFSET = 64 };

/* Buffers of exactly the size, so that the address sanitizer sees a read outside. */
START_TEST(buffer_is_zero_reads_nothing_outside_the_buffer)
{
    for (size_t len = 0; len <= 700; len++) {
        uint8_t *mem = malloc(len ? len : 1);

        memset(mem, 0, len);
        ck_assert(buffer_is_zero(mem, len));
        for (const ZeroRow *row = buffer_zero_rows; len >= ZERO_SCAN_MIN_BYTES && row->name; row++) {
            ck_assert(!row->available() || row->scan(mem, len));
        }
        free(mem);
    }
}
END_TEST

START_TEST(buffer_is_zero_ignores_what_lies_outside)
{
    uint8_t *mem = g_malloc(ZERO_MAX_BYTES + 2 * ZERO_MAX_OFFSET);

    for (size_t len = 0; len <= ZERO_MAX_BYTES; len++) {
        for (size_t off = 0; off <= ZERO_MAX_OFFSET; off++) {
            memset(mem, 0xff, ZERO_MAX_BYTES + 2 * ZERO_MAX_OFFSET);
            memset(mem + off, 0, len);
            ck_assert(buffer_is_zero(mem + off, len));
        }
    }
    g_free(mem);
}
END_TEST

/* Every position for short ranges; at the edges, around each vector step and at a stride with no common factor for
 * long. */
static bool position_matters(size_t pos, size_t len)
{
    return len <= 600 || pos < 70 || pos + 70 > len || pos % 61 == 0 || pos % 64 == 63;
}

START_TEST(buffer_is_zero_finds_one_set_byte_anywhere)
{
    uint8_t *mem = g_malloc0(ZERO_MAX_BYTES + 2 * ZERO_MAX_OFFSET);

    for (size_t len = 1; len <= ZERO_MAX_BYTES; len += len < 1100 ? 1 : 13) {
        for (size_t off = 0; off <= ZERO_MAX_OFFSET; off += len < 300 ? 1 : 7) {
            for (size_t pos = 0; pos < len; pos++) {
                if (!position_matters(pos, len)) {
                    continue;
                }
                mem[off + pos] = 1u << (pos % 8);
                bool found = !buffer_is_zero(mem + off, len);
                mem[off + pos] = 0;
                if (!found) {
                    ck_abort_msg("length %zu offset %zu byte %zu", len, off, pos);
                }
            }
        }
    }
    g_free(mem);
}
END_TEST

START_TEST(buffer_is_zero_rows_agree)
{
    uint8_t *mem = g_malloc0(ZERO_MAX_BYTES);
    int rows = 0;

    for (const ZeroRow *row = buffer_zero_rows; row->name; row++) {
        if (!row->available()) {
            continue;
        }
        rows++;
        for (size_t len = ZERO_SCAN_MIN_BYTES; len <= 2000; len++) {
            ck_assert(row->scan(mem, len));
            for (size_t pos = 0; pos < len; pos += len < 600 ? 1 : 31) {
                mem[pos] = 0x80;
                bool zero = row->scan(mem, len);
                mem[pos] = 0;
                if (zero) {
                    ck_abort_msg("%s length %zu byte %zu", row->name, len, pos);
                }
            }
        }
    }
    ck_assert_int_ge(rows, 1);
    g_free(mem);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("iov");
    TCase *tc = tcase_create("lists");
    TCase *zero = tcase_create("zero");

    tcase_add_test(tc, iovec_keeps_few_elements_inline_and_grows_to_the_heap);
    tcase_add_test(tc, iovec_add_of_zero_bytes_adds_nothing);
    tcase_add_test(tc, iovec_reset_keeps_the_heap_array);
    tcase_add_test(tc, iovec_copies_every_range_both_ways);
    tcase_add_test(tc, iovec_memset_touches_its_range_alone);
    tcase_add_test(tc, iovec_slices_equal_the_range_they_were_cut_from);
    tcase_add_test(tc, iovec_is_zero_sees_one_byte_in_any_piece);
    tcase_add_test(tc, iovec_flat_joins_neighbours_and_refuses_gaps);
    tcase_add_test(tc, iovec_is_aligned_checks_the_addresses_and_lengths_of_the_range);
    suite_add_tcase(s, tc);
    tcase_set_timeout(zero, 120);
    tcase_add_test(zero, buffer_is_zero_reads_nothing_outside_the_buffer);
    tcase_add_test(zero, buffer_is_zero_ignores_what_lies_outside);
    tcase_add_test(zero, buffer_is_zero_finds_one_set_byte_anywhere);
    tcase_add_test(zero, buffer_is_zero_rows_agree);
    suite_add_tcase(s, zero);

    return run_suite(s);
}
