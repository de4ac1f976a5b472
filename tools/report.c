/* SPDX-License-Identifier: MIT */
#include "tools/report.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "util/output/progress.h"

static const char *tool_name = "qblock"; /* set once at start, before there is a second thread */

void report_init(const char *name)
{
    tool_name = name;
}

const char *report_tool_name(void)
{
    return tool_name;
}

/* Why standard output could not be written: the first flush that failed, 0 = none did. */
static _Atomic int flush_errno;

void report_flush_stdout(void)
{
    if (fflush(stdout) != 0 && flush_errno == 0) {
        flush_errno = errno;
    }
}

static void print_line(const char *kind, const char *message)
{
    report_flush_stdout();
    fprintf(stderr, "%s: %s%s\n", tool_name, kind, message);
}

void report_error(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    g_autofree char *message = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    print_line("", message);
}

void report_warning(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    g_autofree char *message = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    print_line("warning: ", message);
}

void report_notice(const char *text)
{
    report_flush_stdout();
    fprintf(stderr, "%s\n", text);
}

void report_gerror(const GError *err, const char *prefix, ...)
{
    va_list ap;

    va_start(ap, prefix);
    g_autofree char *head = g_strdup_vprintf(prefix, ap);
    va_end(ap);
    print_line(head, err->message);
}

int report_usage(const char *cmd, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    g_autofree char *message = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    print_line("", message);
    report_usage_hint(cmd);
    return EXIT_FAILED;
}

void report_usage_hint(const char *cmd)
{
    fprintf(stderr, "Try '%s%s%s --help' for more info\n", tool_name, cmd ? " " : "", cmd ? cmd : "");
}

int report_unsupported(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    g_autofree char *what = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    report_error("%s is not supported by this build yet", what);
    return EXIT_FAILED;
}

/* Why a part of standard output is lost. Where the C library flushed by itself nobody kept the reason. */
static int lost_reason(void)
{
    struct pollfd reader = {.fd = STDOUT_FILENO, .events = POLLOUT};
    int reason = progress_stdout_errno(); /* a progress line comes first */

    if (reason == 0) {
        reason = flush_errno;
    }
    if (reason != 0) {
        return reason;
    }
    return poll(&reader, 1, 0) == 1 && (reader.revents & POLLERR) ? EPIPE : EIO;
}

bool report_finish_stdout(void)
{
    static bool is_reported;

    report_flush_stdout();
    if (!ferror(stdout)) {
        return true;
    }
    int reason = lost_reason();
    if (reason == EPIPE) {
        return true; /* the reader left with what it wanted: "| head" */
    }
    if (!is_reported) {
        report_error("Could not write to standard output: %s", g_strerror(reason));
        is_reported = true;
    }
    return false;
}
