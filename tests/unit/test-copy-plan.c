/* SPDX-License-Identifier: MIT */
#include "block/core/copy-plan.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/suite.h"

#define WINDOW (64u << 10)

static uint8_t buf[WINDOW];

/* The plan's runs as text: "d4096 z8192 s512". */
static const char *runs(const CopyPlan *p, size_t window)
{
    static char text[512];
    CopyRun run;
    size_t len = 0;

    text[0] = 0;
    for (size_t pos = 0; copy_plan_next(p, pos, window, &run); pos = run.start + run.bytes) {
        len += snprintf(text + len, sizeof(text) - len, "%s%c%zu", len ? " " : "", "szd"[run.kind], run.bytes);
    }
    return text;
}

START_TEST(a_window_starts_as_skip)
{
    CopyPlan p;

    copy_plan_init(&p, WINDOW, 4096, 0);
    copy_plan_reset(&p, WINDOW);
    copy_plan_settle(&p);
    ck_assert_str_eq(runs(&p, WINDOW), "s65536");
    copy_plan_destroy(&p);
}
END_TEST

START_TEST(zeros_found_in_data_are_left_out)
{
    CopyPlan p;

    memset(buf, 0, sizeof(buf));
    buf[8192] = 1;
    copy_plan_init(&p, WINDOW, 4096, 0);
    copy_plan_reset(&p, WINDOW);
    copy_plan_mark(&p, 0, WINDOW, COPY_DATA);
    copy_plan_find_zeros(&p, buf, 0, WINDOW, WINDOW);
    copy_plan_settle(&p);
    ck_assert_str_eq(runs(&p, WINDOW), "z8192 d4096 z53248");
    copy_plan_destroy(&p);
}
END_TEST

START_TEST(zeros_shorter_than_the_sparse_size_are_written_with_their_neighbours)
{
    CopyPlan p;

    memset(buf, 1, sizeof(buf));
    memset(buf + 4096, 0, 4096);
    memset(buf + 32768, 0, 16384);
    copy_plan_init(&p, WINDOW, 16384, 0);
    copy_plan_reset(&p, WINDOW);
    copy_plan_mark(&p, 0, WINDOW, COPY_DATA);
    copy_plan_find_zeros(&p, buf, 0, WINDOW, WINDOW);
    copy_plan_settle(&p);
    ck_assert_str_eq(runs(&p, WINDOW), "d32768 z16384 d16384");
    copy_plan_destroy(&p);
}
END_TEST

START_TEST(sparse_size_zero_writes_everything)
{
    CopyPlan p;

    memset(buf, 0, sizeof(buf));
    copy_plan_init(&p, WINDOW, 0, 0);
    copy_plan_reset(&p, WINDOW);
    copy_plan_mark(&p, 0, 4096, COPY_ZERO);
    copy_plan_mark(&p, 4096, WINDOW - 4096, COPY_DATA);
    copy_plan_find_zeros(&p, buf, 0, WINDOW, WINDOW);
    copy_plan_settle(&p);
    ck_assert_str_eq(runs(&p, WINDOW), "d65536");
    copy_plan_destroy(&p);
}
END_TEST

START_TEST(data_is_rounded_to_target_clusters_over_zeros_but_not_over_the_backing_files_part)
{
    CopyPlan p;

    copy_plan_init(&p, WINDOW, 4096, 16384);
    copy_plan_reset(&p, WINDOW);
    copy_plan_mark(&p, 0, 16384, COPY_ZERO);
    copy_plan_mark(&p, 4096, 4096, COPY_DATA);
    copy_plan_mark(&p, 36864, 4096, COPY_DATA); /* the rest of its cluster is skip */
    copy_plan_settle(&p);
    ck_assert_str_eq(runs(&p, WINDOW), "d16384 s20480 d4096 s24576");
    copy_plan_destroy(&p);
}
END_TEST

START_TEST(whole_clusters_can_be_asked_for)
{
    CopyPlan p;

    copy_plan_init(&p, WINDOW, 4096, 16384);
    copy_plan_reset(&p, WINDOW);
    copy_plan_mark(&p, 36864, 4096, COPY_DATA);
    copy_plan_fill_clusters(&p);
    copy_plan_settle(&p);
    ck_assert_str_eq(runs(&p, WINDOW), "s32768 d16384 s16384");
    copy_plan_destroy(&p);
}
END_TEST

START_TEST(small_clusters_make_small_units)
{
    CopyPlan p;

    memset(buf, 0, sizeof(buf));
    buf[1000] = 1;
    copy_plan_init(&p, WINDOW, 4096, 512);
    copy_plan_reset(&p, 4096);
    copy_plan_mark(&p, 0, 4096, COPY_DATA);
    copy_plan_find_zeros(&p, buf, 0, 4096, 4096);
    ck_assert_str_eq(runs(&p, 4096), "z512 d512 z3072");
    copy_plan_settle(&p); /* shorter than the sparse size: all data */
    ck_assert_str_eq(runs(&p, 4096), "d4096");
    copy_plan_destroy(&p);
}
END_TEST

START_TEST(a_short_last_unit_ends_the_last_run)
{
    CopyPlan p;

    memset(buf, 1, sizeof(buf));
    copy_plan_init(&p, WINDOW, 4096, 0);
    copy_plan_reset(&p, 4096 + 512);
    copy_plan_mark(&p, 0, 4096 + 512, COPY_DATA);
    copy_plan_find_zeros(&p, buf, 0, 4096 + 512, 4096 + 512);
    copy_plan_settle(&p);
    ck_assert_str_eq(runs(&p, 4096 + 512), "d4608");
    copy_plan_destroy(&p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("copy-plan");
    TCase *tc = tcase_create("plan");

    tcase_add_test(tc, a_window_starts_as_skip);
    tcase_add_test(tc, zeros_found_in_data_are_left_out);
    tcase_add_test(tc, zeros_shorter_than_the_sparse_size_are_written_with_their_neighbours);
    tcase_add_test(tc, sparse_size_zero_writes_everything);
    tcase_add_test(tc, data_is_rounded_to_target_clusters_over_zeros_but_not_over_the_backing_files_part);
    tcase_add_test(tc, whole_clusters_can_be_asked_for);
    tcase_add_test(tc, small_clusters_make_small_units);
    tcase_add_test(tc, a_short_last_unit_ends_the_last_run);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
