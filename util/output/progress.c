/* SPDX-License-Identifier: MIT */
#include "util/output/progress.h"

#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "util/base/number.h"

enum {
    ALL_DONE = 10000, /* hundredths of a percent */
    STEP = 100,
    LINE_BYTES = 64,
    TAIL_COLUMNS = 32, /* of rate and time left; padded, so that a longer one before is covered */
};
#define NS_PER_SECOND INT64_C(1000000000)

struct Progress {
    /* fixed */
    bool enabled, on_terminal;
    int64_t start_ns;

    /* atomic; read by the signal handler too */
    _Atomic uint64_t total, done;
    _Atomic unsigned next_shown; /* hundredths from which on a line is due */

    pthread_mutex_t lock; /* one line at a time; guards the rest */
    int64_t shown_ns;
};

/* What SIGUSR1 reports. The handler may run on any thread while a job ends on another: the job waits until no handler
 * runs that could have seen it. */
static struct {
    _Atomic(Progress *) current;
    _Atomic int handlers;
} report;

static _Atomic int stdout_errno; /* why standard output was lost, the first reason only */

static void flush_stdout(void)
{
    int none = 0;

    if (fflush(stdout) != 0) {
        atomic_compare_exchange_strong(&stdout_errno, &none, errno);
    }
}

int progress_stdout_errno(void)
{
    return atomic_load(&stdout_errno);
}

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * NS_PER_SECOND + t.tv_nsec;
}

static unsigned hundredths(Progress *p)
{
    uint64_t total = atomic_load(&p->total), done = atomic_load(&p->done);

    if (done >= total) {
        return ALL_DONE;
    }
    return (unsigned)(((unsigned __int128)done * ALL_DONE + total / 2) / total);
}

/* "    (12.34/100%)" and @end. Safe in a signal handler: no stdio. Returns its length. */
static size_t format_line(char line[static LINE_BYTES], unsigned value, char end)
{
    char digits[16];
    size_t n = 0, at = 0;

    for (unsigned v = value; n < 3 || v > 0; v /= 10) {
        digits[n++] = (char)('0' + v % 10);
    }
    memcpy(line, "    (", 5);
    for (at = 5; n > 0;) {
        line[at++] = digits[--n];
        if (n == 2) {
            line[at++] = '.';
        }
    }
    memcpy(line + at, "/100%)", 6);
    line[at + 6] = end;
    return at + 7;
}

static void on_sigusr1(int sig)
{
    int saved_errno = errno;

    atomic_fetch_add(&report.handlers, 1);
    Progress *p = atomic_load(&report.current);
    if (p && !p->enabled) {
        char line[LINE_BYTES];
        size_t bytes = format_line(line, hundredths(p), '\n');
        (void)!write(STDERR_FILENO, line, bytes);
    }
    atomic_fetch_sub(&report.handlers, 1);
    errno = saved_errno;
}

static void install_handler(void)
{
    struct sigaction sa = {.sa_handler = on_sigusr1, .sa_flags = SA_RESTART};

    sigemptyset(&sa.sa_mask);
    sigaction(SIGUSR1, &sa, NULL);
}

/* "  123 MiB/s, 0:42 left"; when all is done the time it took instead. */
static void format_tail(const Progress *p, uint64_t done, uint64_t total, int64_t elapsed_ns,
                        char tail[static LINE_BYTES])
{
    double seconds = (double)elapsed_ns / NS_PER_SECOND;

    tail[0] = '\0';
    if (done == 0 || seconds < 0.1) {
        return;
    }
    double rate = (double)done / seconds;
    bool is_done = done >= total;
    double shown = is_done ? seconds : (double)(total - done) / rate;
    g_autofree char *speed = number_format_size((uint64_t)rate);
    long whole = (long)MIN(shown, 359999.0);
    g_snprintf(tail, LINE_BYTES, "  %s/s, %s%ld:%02ld%s", speed, is_done ? "took " : "", whole / 60, whole % 60,
               is_done ? "" : " left");
}

/* Print the line of now; p->lock held. */
static void show_locked(Progress *p)
{
    char line[LINE_BYTES], tail[LINE_BYTES];
    unsigned value = hundredths(p);
    size_t bytes = format_line(line, value, '\r');

    p->shown_ns = now_ns();
    atomic_store(&p->next_shown, value == ALL_DONE ? UINT32_MAX : MIN(value + STEP, ALL_DONE));
    if (p->on_terminal) {
        format_tail(p, atomic_load(&p->done), atomic_load(&p->total), p->shown_ns - p->start_ns, tail);
        printf("%.*s%-*s\r", (int)bytes - 1, line, TAIL_COLUMNS, tail);
    } else {
        fwrite(line, 1, bytes, stdout);
    }
    flush_stdout();
}

static void show(Progress *p)
{
    pthread_mutex_lock(&p->lock);
    show_locked(p);
    pthread_mutex_unlock(&p->lock);
}

Progress *progress_new(bool enabled, uint64_t total)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    Progress *p = g_new0(Progress, 1);

    p->enabled = enabled;
    p->on_terminal = enabled && isatty(STDOUT_FILENO);
    p->start_ns = now_ns();
    atomic_init(&p->total, total);
    pthread_mutex_init(&p->lock, NULL);
    atomic_store(&report.current, p);
    pthread_once(&once, install_handler);
    if (enabled) {
        char line[LINE_BYTES];
        fwrite(line, 1, format_line(line, 0, '\r'), stdout); /* 0 even when there is nothing to do */
        flush_stdout();
        atomic_store(&p->next_shown, STEP);
    }
    return p;
}

void progress_set_total(Progress *p, uint64_t total)
{
    atomic_store(&p->total, total);
}

void progress_add(Progress *p, uint64_t done)
{
    if (!p) {
        return;
    }
    atomic_fetch_add(&p->done, done);
    if (!p->enabled || hundredths(p) < atomic_load(&p->next_shown)) {
        return;
    }
    pthread_mutex_lock(&p->lock);
    if (hundredths(p) >= atomic_load(&p->next_shown)) { /* nobody else has shown it meanwhile */
        show_locked(p);
    }
    pthread_mutex_unlock(&p->lock);
}

void progress_done(Progress *p)
{
    if (!p) {
        return;
    }
    atomic_store(&p->done, atomic_load(&p->total));
    if (p->enabled) {
        show(p);
    }
}

void progress_end(Progress *p)
{
    Progress *expected = p;

    if (!p) {
        return;
    }
    atomic_compare_exchange_strong(&report.current, &expected, NULL);
    while (atomic_load(&report.handlers) > 0) {
        sched_yield();
    }
    if (p->enabled) {
        putchar('\n');
        flush_stdout();
    }
    pthread_mutex_destroy(&p->lock);
    g_free(p);
}
