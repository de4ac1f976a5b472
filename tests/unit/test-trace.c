/* SPDX-License-Identifier: MIT */
#include <check.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/suite.h"
#include "util/base/trace.h"

#define LOG "test-trace.log"

/* Each test runs in a process of its own, so options do not add up. */
static void start(const char *patterns)
{
    g_autofree char *arg = g_strdup_printf("%s,file=" LOG, patterns);
    GError *err = NULL;

    ck_assert_msg(trace_option(arg, &err), "%s", err ? err->message : "");
}

static char *log_text(void)
{
    char *text = NULL;

    ck_assert(g_file_get_contents(LOG, &text, NULL, NULL));
    unlink(LOG);
    return text;
}

static void emit(void)
{
    trace(TRACE_QCOW2, "alloc", "req=%u guest=0x%" PRIx64, 7u, UINT64_C(0x10000));
    trace(TRACE_QCOW2, "link", "req=%u", 7u);
    trace(TRACE_CRYPTO, "cipher", "n=%d", 1);
}

START_TEST(event_prints_one_line_with_group_event_and_fields)
{
    double seconds;
    int tid;
    int end = 0;

    start("qcow2:alloc");
    emit();
    g_autofree char *text = log_text();
    ck_assert_int_eq(sscanf(text, "%lf %d qcow2:alloc req=7 guest=0x10000\n%n", &seconds, &tid, &end), 2);
    ck_assert_int_eq(end, (int)strlen(text));
    ck_assert_int_eq(tid, gettid());
}
END_TEST

START_TEST(patterns_choose_groups_events_and_globs)
{
    static const struct {
        const char *arg;
        bool alloc, link, cipher;
    } cases[] = {
        {"qcow2", true, true, false},     {"enable=qcow2", true, true, false},
        {"qcow2:a*", true, false, false}, {"q*:link", false, true, false},
        {"*", true, true, true},          {"c*:*", false, false, true},
        {"al*", true, false, false},      {"qcow2:link,enable=crypto", false, true, true},
        {"tool", false, false, false},
    };

    start(cases[_i].arg);
    emit();
    g_autofree char *text = log_text();
    ck_assert_int_eq(strstr(text, "qcow2:alloc ") != NULL, cases[_i].alloc);
    ck_assert_int_eq(strstr(text, "qcow2:link ") != NULL, cases[_i].link);
    ck_assert_int_eq(strstr(text, "crypto:cipher ") != NULL, cases[_i].cipher);
}
END_TEST

START_TEST(events_file_lists_patterns)
{
    ck_assert(g_file_set_contents("test-trace.events", "# which\n\n qcow2:link\n", -1, NULL));
    start("crypto,events=test-trace.events");
    unlink("test-trace.events");
    emit();
    g_autofree char *text = log_text();
    ck_assert_ptr_null(strstr(text, "qcow2:alloc "));
    ck_assert_ptr_nonnull(strstr(text, "qcow2:link "));
    ck_assert_ptr_nonnull(strstr(text, "crypto:cipher "));
}
END_TEST

START_TEST(bad_options_are_named)
{
    static const char *const args[] = {"nosuch:event", "", "qcow2,foo=bar", "events=/nonexistent",
                                       "*,file=/nonexistent/x"};
    static const char *const names[] = {"nosuch:event", "''", "foo=bar", "/nonexistent", "/nonexistent/x"};
    GError *err = NULL;

    ck_assert(!trace_option(args[_i], &err));
    ck_assert_ptr_nonnull(err);
    ck_assert_ptr_nonnull(strstr(err->message, names[_i]));
    g_error_free(err);
}
END_TEST

START_TEST(nothing_is_traced_without_an_option)
{
    ck_assert_uint_eq(trace_mask, 0);
}
END_TEST

static void *emits_many(void *arg)
{
    for (int i = 0; i < 500; i++) {
        trace(TRACE_TOOL, "many", "text=%s", "abcdefghijklmnopqrstuvwxyz");
    }
    return NULL;
}

START_TEST(lines_of_several_threads_stay_whole)
{
    pthread_t t[4];
    int lines = 0;

    start("tool");
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(pthread_create(&t[i], NULL, emits_many, NULL), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(t[i], NULL);
    }
    g_autofree char *text = log_text();
    g_auto(GStrv) split = g_strsplit(text, "\n", -1);
    for (char **line = split; *line && **line; line++) {
        ck_assert(g_str_has_suffix(*line, " tool:many text=abcdefghijklmnopqrstuvwxyz"));
        lines++;
    }
    ck_assert_int_eq(lines, 2000);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("trace");
    TCase *tc = tcase_create("trace");

    tcase_add_test(tc, event_prints_one_line_with_group_event_and_fields);
    tcase_add_loop_test(tc, patterns_choose_groups_events_and_globs, 0, 9);
    tcase_add_test(tc, events_file_lists_patterns);
    tcase_add_loop_test(tc, bad_options_are_named, 0, 5);
    tcase_add_test(tc, nothing_is_traced_without_an_option);
    tcase_add_test(tc, lines_of_several_threads_stay_whole);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
