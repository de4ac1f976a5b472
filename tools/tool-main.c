/* SPDX-License-Identifier: MIT */
#include "tools/tool-main.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "config.h"
#include "crypto/cipher/init.h"
#include "crypto/secret/secret.h"
#include "tools/report.h"
#include "util/loop/event-loop.h"
#include "util/thread/thread-pool.h"

typedef struct ToolJob {
    ToolFunc *func;
    int argc;
    char **argv;
    int status;
} ToolJob;

static void coroutine_fn tool_entry(void *opaque)
{
    ToolJob *job = opaque;

    job->status = job->func(job->argc, job->argv);
}

/* A standard stream that the caller closed would be the next file opened: reports would go into an image, and commands
 * be read from an event descriptor. Each such number is taken by /dev/null, opened the wrong way round, so that using
 * it still fails with EBADF. */
static bool reserve_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd) {
            return false;
        }
    }
    return true;
}

int tool_run(ToolFunc *func, int argc, char **argv)
{
    ToolJob job = {.func = func, .argc = argc, .argv = argv, .status = EXIT_FAILED};
    g_autoptr(GError) err = NULL;

    if (!reserve_standard_streams()) {
        return EXIT_FAILED; /* there is nowhere to say why */
    }
    signal(SIGPIPE, SIG_IGN); /* the work goes on when the reader of its output went away */
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is a write error: the new file must still be removed */
    if (!crypto_init(&err)) {
        report_gerror(err, "cannot initialize crypto: ");
        return EXIT_FAILED;
    }
    if (!thread_pool_check_env(&err)) {
        report_gerror(err, "cannot start worker threads: ");
        return EXIT_FAILED;
    }
    EventLoop *loop = event_loop_new(EVENT_LOOP_AUTO, &err);
    if (!loop) {
        report_gerror(err, "cannot start the event loop: ");
        return EXIT_FAILED;
    }
    event_loop_run_co(loop, tool_entry, &job);
    event_loop_free(loop);
    thread_pool_shutdown();
    secret_forget_all();
    if (!report_finish_stdout() && job.status == EXIT_OK) {
        job.status = EXIT_FAILED;
    }
    return job.status;
}

void tool_print_version(void)
{
    printf("%s version " TOOL_COMPAT_VERSION " (qblock " QBLOCK_VERSION ")\n", report_tool_name());
}
