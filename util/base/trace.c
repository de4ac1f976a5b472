/* SPDX-License-Identifier: MIT */
#include "util/base/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "util/base/pthread-guard.h"
#include "util/base/error.h"
#include "util/base/clock.h"

uint32_t trace_mask;

static const char *const group_names[TRACE_GROUPS] = {
    [TRACE_UTIL] = "util",   [TRACE_CRYPTO] = "crypto", [TRACE_BLOCK] = "block", [TRACE_FILE] = "file",
    [TRACE_QCOW2] = "qcow2", [TRACE_TOOL] = "tool",     [TRACE_NBD] = "nbd",
};

/* Set up by trace_option() before the threads that trace; @lock orders late changes with lines in the making. */
static struct {
    pthread_mutex_t lock;
    GPtrArray *patterns; /* "group" or "group:event" globs */
    int fd;
} out = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = STDERR_FILENO};

/* --- which events --- */

static bool event_is_enabled_locked(TraceGroup group, const char *event)
{
    g_autofree char *full = g_strdup_printf("%s:%s", group_names[group], event);

    for (guint i = 0; i < out.patterns->len; i++) {
        const char *pattern = g_ptr_array_index(out.patterns, i);
        const char *subject = strchr(pattern, ':') ? full : group_names[group];

        /* A glob without a colon may also mean the event alone: "meta_*". */
        if (fnmatch(pattern, subject, 0) == 0 || fnmatch(pattern, event, 0) == 0) {
            return true;
        }
    }
    return false;
}

/* The groups in which @pattern may match some event. */
static uint32_t groups_of_pattern(const char *pattern)
{
    const char *colon = strchr(pattern, ':');
    g_autofree char *group = colon ? g_strndup(pattern, (gsize)(colon - pattern)) : g_strdup(pattern);
    uint32_t mask = 0;

    for (unsigned i = 0; i < TRACE_GROUPS; i++) {
        if (fnmatch(group, group_names[i], 0) == 0) {
            mask |= 1u << i;
        }
    }
    return mask || colon ? mask : (1u << TRACE_GROUPS) - 1;
}

static bool add_pattern(const char *pattern, GError **errp)
{
    uint32_t mask = groups_of_pattern(pattern);

    if (!*pattern || !mask) {
        error_set(errp, "Trace pattern '%s' matches no group of events", pattern);
        return false;
    }
    PTHREAD_GUARD(&out.lock);
    if (!out.patterns) {
        out.patterns = g_ptr_array_new_with_free_func(g_free);
    }
    g_ptr_array_add(out.patterns, g_strdup(pattern));
    trace_mask |= mask;
    return true;
}

/* One pattern a line; empty lines and those that start with '#' say nothing. */
static bool add_patterns_of_file(const char *name, GError **errp)
{
    g_autofree char *text = NULL;
    g_autoptr(GError) err = NULL;

    if (!g_file_get_contents(name, &text, NULL, &err)) {
        error_set(errp, "Could not read the trace events file '%s': %s", name, err->message);
        return false;
    }
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; line++) {
        g_strstrip(*line);
        if (**line && **line != '#' && !add_pattern(*line, errp)) {
            return false;
        }
    }
    return true;
}

/* --- where to --- */

static bool set_file(const char *name, GError **errp)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);

    if (fd < 0) {
        error_set_errno(errp, errno, "Could not open the trace file '%s'", name);
        return false;
    }
    PTHREAD_GUARD(&out.lock);
    if (out.fd != STDERR_FILENO) {
        close(out.fd);
    }
    out.fd = fd;
    return true;
}

void trace_print(TraceGroup group, const char *event, const char *fmt, ...)
{
    int64_t now_ns = clock_monotonic_ns();
    int saved_errno = errno;
    va_list ap;

    va_start(ap, fmt);
    g_autofree char *text = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    g_autofree char *line = g_strdup_printf("%" PRId64 ".%06" PRId64 " %d %s:%s %s\n", now_ns / 1000000000,
                                            now_ns / 1000 % 1000000, (int)gettid(), group_names[group], event, text);
    {
        PTHREAD_GUARD(&out.lock);
        if (event_is_enabled_locked(group, event)) {
            /* One write, so that lines of several threads and processes stay whole. Nobody to tell of a full disk. */
            ssize_t ret = write(out.fd, line, strlen(line));
            (void)ret;
        }
    }
    errno = saved_errno;
}

/* --- the option --- */

static void print_groups(void)
{
    for (unsigned i = 0; i < TRACE_GROUPS; i++) {
        printf("%s\n", group_names[i]);
    }
}

static bool apply_element(const char *element, bool first, GError **errp)
{
    if (g_str_has_prefix(element, "enable=")) {
        return add_pattern(element + strlen("enable="), errp);
    }
    if (g_str_has_prefix(element, "file=")) {
        return set_file(element + strlen("file="), errp);
    }
    if (g_str_has_prefix(element, "events=")) {
        return add_patterns_of_file(element + strlen("events="), errp);
    }
    if (first && !strchr(element, '=')) {
        return add_pattern(element, errp);
    }
    error_set(errp, "Invalid parameter '%s' in the trace option", element);
    return false;
}

bool trace_option(const char *arg, GError **errp)
{
    g_auto(GStrv) elements = g_strsplit(arg, ",", -1);

    if (!strcmp(arg, "help")) {
        print_groups();
        return true;
    }
    if (!*arg) {
        error_set(errp, "Trace pattern '' matches no group of events");
        return false;
    }
    for (char **element = elements; *element; element++) {
        if (!apply_element(*element, element == elements, errp)) {
            return false;
        }
    }
    return true;
}
