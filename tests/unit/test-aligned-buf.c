/* SPDX-License-Identifier: MIT */
#include "util/base/aligned-buf.h"

#include <check.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/unit/suite.h"

static void check_usable(size_t bytes)
{
    g_autoaligned mem = aligned_buf_try_new(bytes);
    uint8_t *buf = mem;

    ck_assert_ptr_nonnull(buf);
    ck_assert_uint_eq((uintptr_t)buf % ALIGNED_BUF_ALIGN, 0);
    memset(buf, 0x5a, bytes);
    ck_assert_uint_eq(buf[0], 0x5a);
    ck_assert_uint_eq(buf[bytes - 1], 0x5a);
}

START_TEST(aligned_buf_is_page_aligned_and_usable_at_every_size)
{
    for (size_t bytes = 1; bytes <= (9u << 20); bytes += bytes / 3 + 1) {
        check_usable(bytes);
        check_usable(bytes); /* from the cache */
    }
    for (int bits = 12; bits <= 23; bits++) {
        for (int d = -1; d <= 1; d++) {
            check_usable(((size_t)1 << bits) + d);
            check_usable(((size_t)3 << (bits - 1)) + d);
        }
    }
}
END_TEST

START_TEST(aligned_buf_gives_a_freed_buffer_out_again)
{
    static const size_t sizes[] = {512, 4096, 65536, 65537, 1 << 20, 2 << 20, 3 << 20, 4 << 20};

    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        void *first = aligned_buf_try_new(sizes[i]);
        aligned_buf_free(first);
        void *second = aligned_buf_try_new(sizes[i]);
        ck_assert_ptr_eq(first, second);
        aligned_buf_free(second);
    }
}
END_TEST

START_TEST(aligned_buf_of_live_buffers_never_overlap)
{
    enum { LIVE = 200, ROUNDS = 20000 };
    static struct {
        uint8_t *mem;
        size_t bytes;
        uint8_t mark;
    } live[LIVE];
    unsigned seed = 1;

    for (int i = 0; i < ROUNDS; i++) {
        int at = rand_r(&seed) % LIVE;
        if (live[at].mem) {
            ck_assert_uint_eq(live[at].mem[0], live[at].mark);
            ck_assert_uint_eq(live[at].mem[live[at].bytes - 1], live[at].mark);
        }
        aligned_buf_free(live[at].mem);
        live[at].bytes = 1 + rand_r(&seed) % (i % 16 ? 70000 : 5000000);
        live[at].mem = aligned_buf_try_new(live[at].bytes);
        live[at].mark = i;
        live[at].mem[0] = live[at].mem[live[at].bytes - 1] = live[at].mark;
    }
    for (int at = 0; at < LIVE; at++) {
        aligned_buf_free(live[at].mem);
    }
    aligned_buf_drain_cache();
}
END_TEST

static size_t mapped_kib(void)
{
    g_autofree char *text = NULL;

    ck_assert(g_file_get_contents("/proc/self/statm", &text, NULL, NULL));
    return (size_t)g_ascii_strtoull(text, NULL, 10) * 4;
}

/* 1 MiB: also what lies behind a buffer counts. */
START_TEST(aligned_buf_cache_is_bounded)
{
    enum { COUNT = 64 };
    void *bufs[COUNT];
    size_t kib = _i == 0 ? 1024 : 4096, before = mapped_kib();

    for (int i = 0; i < COUNT; i++) {
        bufs[i] = aligned_buf_try_new(kib << 10);
        ck_assert_ptr_nonnull(bufs[i]);
    }
    ck_assert_uint_ge(mapped_kib(), before + COUNT * kib);
    for (int i = 0; i < COUNT; i++) {
        aligned_buf_free(bufs[i]);
    }
    ck_assert_uint_le(mapped_kib(), before + ALIGNED_BUF_CACHE_BYTES / 1024 + 4096);
    aligned_buf_drain_cache();
    ck_assert_uint_le(mapped_kib(), before + 4096);
}
END_TEST

/* Does the mapping that @buf lies in reach over a whole huge page from there, and is that wished for? */
static bool has_huge_page(const void *buf)
{
    g_autofree char *text = NULL;
    bool inside = false;

    ck_assert(g_file_get_contents("/proc/self/smaps", &text, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **l = lines; *l; l++) {
        unsigned long start, end;

        if (sscanf(*l, "%lx-%lx ", &start, &end) == 2) {
            inside = (uintptr_t)buf >= start && (uintptr_t)buf + (2 << 20) <= end;
        } else if (inside && g_str_has_prefix(*l, "VmFlags:")) {
            return strstr(*l, " hg");
        }
    }
    return false;
}

START_TEST(aligned_buf_of_a_mib_has_a_huge_page)
{
    g_autoaligned small = aligned_buf_try_new(512 << 10);
    g_autoaligned big = aligned_buf_try_new(1 << 20);
    g_autoaligned odd = aligned_buf_try_new((5 << 20) + 1);

    ck_assert(!has_huge_page(small));
    if (!g_file_test("/sys/kernel/mm/transparent_hugepage", G_FILE_TEST_IS_DIR)) {
        return; /* a kernel without */
    }
    ck_assert_uint_eq((uintptr_t)big % (2 << 20), 0);
    ck_assert(has_huge_page(big));
    ck_assert(has_huge_page((char *)odd + (4 << 20)));
}
END_TEST

START_TEST(aligned_buf_cache_follows_the_size_in_use)
{
    void *small[4096];

    for (int i = 0; i < 4096; i++) {
        small[i] = aligned_buf_try_new(4096);
    }
    for (int i = 0; i < 4096; i++) {
        aligned_buf_free(small[i]); /* fills the cache */
    }
    void *big = aligned_buf_try_new(1 << 20);
    aligned_buf_free(big);
    void *again = aligned_buf_try_new(1 << 20);
    ck_assert_ptr_eq(big, again);
    aligned_buf_free(again);
}
END_TEST

START_TEST(aligned_buf_answers_null_when_there_is_no_memory)
{
    ck_assert_ptr_null(aligned_buf_try_new(SIZE_MAX));
    ck_assert_ptr_null(aligned_buf_try_new(SIZE_MAX - 4096));
    ck_assert_ptr_null(aligned_buf_try_new(SIZE_MAX / 2));
    aligned_buf_free(NULL);
}
END_TEST

static void *free_here(void *buf)
{
    aligned_buf_free(buf);
    return aligned_buf_try_new(3 << 20);
}

START_TEST(aligned_buf_may_be_freed_by_another_thread_which_then_ends)
{
    aligned_buf_free(aligned_buf_try_new(3 << 20));
    size_t before = mapped_kib();

    for (int i = 0; i < 40; i++) {
        pthread_t t;
        void *buf = aligned_buf_try_new(3 << 20);

        ck_assert_int_eq(pthread_create(&t, NULL, free_here, buf), 0);
        ck_assert_int_eq(pthread_join(t, &buf), 0);
        aligned_buf_free(buf);
    }
    /* Caches of ended threads are gone: 40 of them would be 120 MiB. (Arenas and stacks of libc are not ours.) */
    ck_assert_uint_le(mapped_kib(), before + (100u << 10));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("aligned-buf");
    TCase *tc = tcase_create("all");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, aligned_buf_is_page_aligned_and_usable_at_every_size);
    tcase_add_test(tc, aligned_buf_gives_a_freed_buffer_out_again);
    tcase_add_test(tc, aligned_buf_of_live_buffers_never_overlap);
    tcase_add_loop_test(tc, aligned_buf_cache_is_bounded, 0, 2);
    tcase_add_test(tc, aligned_buf_of_a_mib_has_a_huge_page);
    tcase_add_test(tc, aligned_buf_cache_follows_the_size_in_use);
    tcase_add_test(tc, aligned_buf_answers_null_when_there_is_no_memory);
    tcase_add_test(tc, aligned_buf_may_be_freed_by_another_thread_which_then_ends);
    suite_add_tcase(s, tc);

    return run_suite(s);
}
