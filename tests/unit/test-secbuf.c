/* SPDX-License-Identifier: MIT */
#include "util/base/secbuf.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/unit/suite.h"

START_TEST(secbuf_is_zeroed_at_every_size)
{
    for (size_t bytes = 0; bytes <= 70000; bytes += bytes / 5 + 1) {
        g_autoptr(SecBuf) b = secbuf_new(bytes);

        ck_assert_ptr_nonnull(secbuf_data(b));
        ck_assert_uint_eq(secbuf_size(b), bytes);
        for (size_t i = 0; i < bytes; i++) {
            ck_assert_uint_eq(secbuf_data(b)[i], 0);
        }
        memset(secbuf_data(b), 0xff, bytes); /* a later one of this slot must not see it */
    }
}
END_TEST

START_TEST(secbuf_copy_holds_the_data)
{
    g_autoptr(SecBuf) b = secbuf_new_copy("secret", 6);
    g_autoptr(SecBuf) empty = secbuf_new_copy(NULL, 0);

    ck_assert_uint_eq(secbuf_size(b), 6);
    ck_assert_mem_eq(secbuf_data(b), "secret", 6);
    ck_assert_uint_eq(secbuf_size(empty), 0);
}
END_TEST

#if !defined(__SANITIZE_ADDRESS__) && !defined(QBLOCK_ASAN)
START_TEST(secbuf_free_wipes_a_pooled_secret)
{
    SecBuf *other = secbuf_new(32); /* keeps the page mapped */
    SecBuf *b = secbuf_new_copy("0123456789abcdef", 16);
    const volatile uint8_t *mem = secbuf_data(b);

    secbuf_free(b);
    for (int i = 0; i < 16; i++) {
        ck_assert_uint_eq(mem[i], 0);
    }
    secbuf_free(other);
}
END_TEST
#endif

START_TEST(secbuf_truncate_wipes_what_it_cuts)
{
    g_autoptr(SecBuf) b = secbuf_new_copy("abcdef", 6);

    secbuf_truncate(b, 3);
    ck_assert_uint_eq(secbuf_size(b), 3);
    ck_assert_mem_eq(secbuf_data(b), "abc", 3);
#if !defined(__SANITIZE_ADDRESS__)
    ck_assert_mem_eq(secbuf_data(b) + 3, "\0\0\0", 3);
#endif
}
END_TEST

/* "VmFlags:" of the mapping that holds @p has "dd" (not dumped), and @flag. */
static bool mapping_has_flag(const void *p, const char *flag)
{
    FILE *f = fopen("/proc/self/smaps", "r");
    char line[512];
    unsigned long from, to;
    bool inside = false, found = false;

    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof(line), f)) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2) {
            inside = (uintptr_t)p >= from && (uintptr_t)p < to;
        } else if (inside && g_str_has_prefix(line, "VmFlags:")) {
            found = strstr(line, flag) != NULL;
        }
    }
    fclose(f);
    return found;
}

START_TEST(secbuf_memory_is_kept_out_of_core_dumps)
{
    g_autoptr(SecBuf) small = secbuf_new(32);
    g_autoptr(SecBuf) large = secbuf_new(50000);

    ck_assert(mapping_has_flag(secbuf_data(small), " dd"));
    ck_assert(mapping_has_flag(secbuf_data(large), " dd"));
}
END_TEST

static size_t locked_kib(void)
{
    g_autofree char *text = NULL;

    ck_assert(g_file_get_contents("/proc/self/status", &text, NULL, NULL));
    const char *at = strstr(text, "VmLck:");
    return at ? g_ascii_strtoull(at + 6, NULL, 10) : 0;
}

START_TEST(secbuf_pools_a_hundred_secrets_in_few_pages)
{
    SecBuf *b[100];
    size_t before = locked_kib();

    for (int i = 0; i < 100; i++) {
        b[i] = secbuf_new(64);
        secbuf_data(b[i])[0] = i;
    }
    ck_assert_uint_le(locked_kib(), before + 8);
    for (int i = 0; i < 100; i++) {
        ck_assert_uint_eq(secbuf_data(b[i])[0], i);
        secbuf_free(b[i]);
    }
}
END_TEST

START_TEST(secbuf_too_large_for_the_system_is_null)
{
    ck_assert_ptr_null(secbuf_new(SIZE_MAX));
    ck_assert_ptr_null(secbuf_new(SIZE_MAX / 2));
    ck_assert_ptr_null(secbuf_new_copy("x", SIZE_MAX / 2));
    secbuf_free(NULL);
}
END_TEST

START_TEST(mem_equal_consttime_sees_every_bit)
{
    uint8_t a[33], b[33];

    memset(a, 0x3c, sizeof(a));
    memcpy(b, a, sizeof(b));
    ck_assert(mem_equal_consttime(a, b, sizeof(a)));
    ck_assert(mem_equal_consttime(NULL, NULL, 0));
    for (int bit = 0; bit < 33 * 8; bit++) {
        b[bit / 8] ^= 1u << (bit % 8);
        ck_assert(!mem_equal_consttime(a, b, sizeof(a)));
        b[bit / 8] ^= 1u << (bit % 8);
    }
}
END_TEST

static void *churn(void *arg)
{
    unsigned seed = GPOINTER_TO_UINT(arg);
    SecBuf *live[16] = {NULL};

    for (int i = 0; i < 20000; i++) {
        int at = rand_r(&seed) % 16;
        if (live[at]) {
            g_assert(secbuf_size(live[at]) == 0 || secbuf_data(live[at])[0] == GPOINTER_TO_UINT(arg));
        }
        secbuf_free(live[at]);
        live[at] = secbuf_new(rand_r(&seed) % 1100);
        memset(secbuf_data(live[at]), GPOINTER_TO_UINT(arg), secbuf_size(live[at]));
    }
    for (int at = 0; at < 16; at++) {
        secbuf_free(live[at]);
    }
    return NULL;
}

START_TEST(secbuf_pool_serves_several_threads)
{
    pthread_t t[4];

    for (unsigned i = 0; i < 4; i++) {
        ck_assert_int_eq(pthread_create(&t[i], NULL, churn, GUINT_TO_POINTER(i + 1)), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(t[i], NULL);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("secbuf");
    TCase *tc = tcase_create("all");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, secbuf_is_zeroed_at_every_size);
    tcase_add_test(tc, secbuf_copy_holds_the_data);
#if !defined(__SANITIZE_ADDRESS__) && !defined(QBLOCK_ASAN)
    tcase_add_test(tc, secbuf_free_wipes_a_pooled_secret);
#endif
    tcase_add_test(tc, secbuf_truncate_wipes_what_it_cuts);
    tcase_add_test(tc, secbuf_memory_is_kept_out_of_core_dumps);
    tcase_add_test(tc, secbuf_pools_a_hundred_secrets_in_few_pages);
    tcase_add_test(tc, secbuf_too_large_for_the_system_is_null);
    tcase_add_test(tc, mem_equal_consttime_sees_every_bit);
    tcase_add_test(tc, secbuf_pool_serves_several_threads);
    suite_add_tcase(s, tc);

    return run_suite(s);
}
