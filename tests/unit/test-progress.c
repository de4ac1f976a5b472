/* SPDX-License-Identifier: MIT */
/* The bytes are those that the reference's "convert -p" writes to a pipe, and to stderr on SIGUSR1 (10.0.2). */
#include "util/output/progress.h"

#include <check.h>
#include <glib.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/suite.h"
#include "util/base/units.h"

/* Run @func with stdout and stderr in files; what came out. Caller frees. */
static char *captured(int fd, void (*func)(void))
{
    g_autofree char *path = NULL;
    char *text = NULL;
    int file = g_file_open_tmp("qblock-progress-XXXXXX", &path, NULL);
    int saved;

    ck_assert_int_ge(file, 0);
    fflush(stdout);
    saved = dup(fd);
    dup2(file, fd);
    func();
    fflush(stdout);
    dup2(saved, fd);
    close(saved);
    close(file);
    ck_assert(g_file_get_contents(path, &text, NULL, NULL));
    unlink(path);
    return text;
}

static void short_job(void)
{
    Progress *p = progress_new(true, 20 * MIB);

    for (int i = 0; i < 10; i++) {
        progress_add(p, 2 * MIB);
    }
    progress_done(p);
    progress_end(p);
}

START_TEST(a_short_job_prints_what_the_reference_prints)
{
    g_autofree char *text = captured(STDOUT_FILENO, short_job);

    ck_assert_str_eq(text, "    (0.00/100%)\r    (10.00/100%)\r    (20.00/100%)\r    (30.00/100%)\r    (40.00/100%)\r"
                           "    (50.00/100%)\r    (60.00/100%)\r    (70.00/100%)\r    (80.00/100%)\r    (90.00/100%)\r"
                           "    (100.00/100%)\r    (100.00/100%)\r\n");
}
END_TEST

static void empty_job(void)
{
    Progress *p = progress_new(true, 0);

    progress_done(p);
    progress_end(p);
}

START_TEST(an_empty_job_goes_from_0_to_100)
{
    g_autofree char *text = captured(STDOUT_FILENO, empty_job);

    ck_assert_str_eq(text, "    (0.00/100%)\r    (100.00/100%)\r\n");
}
END_TEST

static void failed_job(void)
{
    Progress *p = progress_new(true, 1000);

    progress_add(p, 400);
    progress_end(p);
}

START_TEST(a_failed_job_stops_where_it_was)
{
    g_autofree char *text = captured(STDOUT_FILENO, failed_job);

    ck_assert_str_eq(text, "    (0.00/100%)\r    (40.00/100%)\r\n");
}
END_TEST

/* 200 MB by 64 KiB: 3052 steps, a line only for each whole percent more than the last one shown. */
static void fine_job(void)
{
    Progress *p = progress_new(true, 200000000);

    for (int64_t left = 200000000; left > 0; left -= 65536) {
        progress_add(p, MIN(left, 65536));
    }
    progress_done(p);
    progress_end(p);
}

START_TEST(lines_come_at_steps_of_at_least_one_percent)
{
    g_autofree char *text = captured(STDOUT_FILENO, fine_job);
    g_auto(GStrv) lines = g_strsplit(text, "\r", -1);
    guint count = g_strv_length(lines);
    double last = -1;

    ck_assert_uint_ge(count, 90);
    ck_assert_uint_le(count, 104);
    for (guint i = 0; i + 1 < count; i++) {
        double v = -1;
        ck_assert_int_eq(sscanf(lines[i], "    (%lf/100%%)", &v), 1);
        ck_assert(v >= last + 0.9949 || v == 100.0);
        last = v;
    }
    ck_assert_str_eq(lines[count - 1], "\n");
}
END_TEST

static void signalled_job(void)
{
    Progress *p = progress_new(false, 200000000);

    raise(SIGUSR1);
    progress_add(p, 35660000);
    raise(SIGUSR1);
    progress_add(p, 200000000);
    raise(SIGUSR1);
    progress_end(p);
    raise(SIGUSR1); /* nothing to report, and no longer deadly */
}

START_TEST(each_sigusr1_is_one_line_on_stderr)
{
    g_autofree char *text = captured(STDERR_FILENO, signalled_job);

    ck_assert_str_eq(text, "    (0.00/100%)\n    (17.83/100%)\n    (100.00/100%)\n");
}
END_TEST

START_TEST(sigusr1_prints_nothing_on_stdout)
{
    g_autofree char *text = captured(STDOUT_FILENO, signalled_job);

    ck_assert_str_eq(text, "");
}
END_TEST

static void signalled_job_with_line(void)
{
    Progress *p = progress_new(true, 100);

    raise(SIGUSR1);
    progress_end(p);
}

START_TEST(sigusr1_adds_nothing_to_a_job_with_a_progress_line)
{
    g_autofree char *err = captured(STDERR_FILENO, signalled_job_with_line);
    g_autofree char *out = captured(STDOUT_FILENO, signalled_job_with_line);

    ck_assert_str_eq(err, "");
    ck_assert_str_eq(out, "    (0.00/100%)\r\n");
}
END_TEST

static void *add_many(void *p)
{
    for (int i = 0; i < 100000; i++) {
        progress_add(p, 1);
    }
    return NULL;
}

static void threaded_job(void)
{
    Progress *p = progress_new(true, 400000);
    pthread_t t[4];

    for (int i = 0; i < 4; i++) {
        pthread_create(&t[i], NULL, add_many, p);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(t[i], NULL);
    }
    progress_end(p);
}

START_TEST(several_threads_add_up_to_one_rising_line)
{
    g_autofree char *text = captured(STDOUT_FILENO, threaded_job);
    g_auto(GStrv) lines = g_strsplit(text, "\r", -1);
    double last = -1;

    for (guint i = 0; i + 1 < g_strv_length(lines); i++) {
        double v = -1;
        ck_assert_int_eq(sscanf(lines[i], "    (%lf/100%%)", &v), 1);
        ck_assert(v > last);
        last = v;
    }
    ck_assert(last == 100.0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("progress");
    TCase *tc = tcase_create("all");

    tcase_add_test(tc, a_short_job_prints_what_the_reference_prints);
    tcase_add_test(tc, an_empty_job_goes_from_0_to_100);
    tcase_add_test(tc, a_failed_job_stops_where_it_was);
    tcase_add_test(tc, lines_come_at_steps_of_at_least_one_percent);
    tcase_add_test(tc, each_sigusr1_is_one_line_on_stderr);
    tcase_add_test(tc, sigusr1_prints_nothing_on_stdout);
    tcase_add_test(tc, sigusr1_adds_nothing_to_a_job_with_a_progress_line);
    tcase_add_test(tc, several_threads_add_up_to_one_rising_line);
    suite_add_tcase(s, tc);

    return run_suite(s);
}
