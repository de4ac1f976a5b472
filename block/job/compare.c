/* SPDX-License-Identifier: MIT */
#include "block/job/compare.h"

#include <errno.h>
#include <string.h>

#include "util/base/aligned-buf.h"
#include "util/coroutine/co-lock.h"
#include "util/loop/loop-team.h"
#include "util/base/units.h"

#define COMPARE_MAX_UNIFORM_BYTES GIB

typedef struct StatusRun {
    int64_t start, end;
    unsigned flags;
} StatusRun;

typedef struct CompareJob {
    /* fixed */
    const BlockCompareOptions *opts;
    int64_t len[2], total; /* total = the longer */

    /* under guard */
    CoMutex guard;
    int64_t cursor;
    StatusRun run[2];
    BlockCompareResult *res; /* the verdict with the lowest offset so far */
} CompareJob;

typedef struct CompareWindow {
    int64_t offset, bytes;
    bool zero[2]; /* known to read as zeros, or past the end */
} CompareWindow;

static void coroutine_fn job_verdict(CompareJob *job, BlockCompareResult r)
{
    CO_MUTEX_GUARD(&job->guard);

    if (job->res->verdict == BLOCK_COMPARE_EQUAL || r.offset < job->res->offset) {
        *job->res = r;
    }
}

/* Make run[@i] the status run around the cursor. Guard held. */
static int coroutine_fn load_run(CompareJob *job, int i)
{
    StatusRun *run = &job->run[i];
    BlockStatus st;

    if (job->cursor >= run->start && job->cursor < run->end) {
        return 0;
    }
    if (job->cursor >= job->len[i]) {
        *run = (StatusRun){.start = job->cursor, .end = job->total, .flags = BLOCK_STATUS_ZERO};
        return 0;
    }
    int ret = block_co_status_above(job->opts->nodes[i], NULL, job->cursor, job->len[i] - job->cursor, &st);
    if (ret < 0) {
        return ret;
    }
    g_assert(st.bytes > 0);
    *run = (StatusRun){.start = job->cursor, .end = MIN(job->cursor + st.bytes, job->len[i]), .flags = st.flags};
    return 0;
}

static bool strict_mismatch(const CompareJob *job)
{
    const unsigned mask = BLOCK_STATUS_DATA | BLOCK_STATUS_ALLOCATED;

    return job->opts->strict && job->cursor < MIN(job->len[0], job->len[1]) &&
           (job->run[0].flags & mask) != (job->run[1].flags & mask);
}

/* The next window both nodes have one status for. False at the end or after a verdict. */
static bool coroutine_fn next_window(CompareJob *job, CompareWindow *win)
{
    co_mutex_lock(&job->guard);
    bool more = job->res->verdict == BLOCK_COMPARE_EQUAL && job->cursor < job->total;
    BlockCompareResult r = {.offset = job->cursor};

    for (int i = 0; more && i < 2; i++) {
        r.err = load_run(job, i);
        if (r.err < 0) {
            r.verdict = BLOCK_COMPARE_STATUS_ERROR;
            r.which = i;
            break;
        }
    }
    if (more && r.verdict == BLOCK_COMPARE_EQUAL && strict_mismatch(job)) {
        r.verdict = BLOCK_COMPARE_STATUS;
    }
    if (more && r.verdict == BLOCK_COMPARE_EQUAL) {
        int64_t end = MIN(job->run[0].end, job->run[1].end);
        win->zero[0] = job->run[0].flags & BLOCK_STATUS_ZERO;
        win->zero[1] = job->run[1].flags & BLOCK_STATUS_ZERO;
        int64_t most = win->zero[0] && win->zero[1] ? COMPARE_MAX_UNIFORM_BYTES : COMPARE_WINDOW_BYTES;
        win->offset = job->cursor;
        win->bytes = MIN(end - job->cursor, most);
        job->cursor += win->bytes;
    }
    co_mutex_unlock(&job->guard);
    if (r.verdict != BLOCK_COMPARE_EQUAL) {
        job_verdict(job, r);
        return false;
    }
    return more;
}

/* Offset of the first 512-byte unit that differs (@b NULL: is not zero); @bytes if none. */
static size_t first_difference(const uint8_t *a, const uint8_t *b, size_t bytes)
{
    for (size_t pos = 0; pos < bytes; pos += SECTOR_SIZE) {
        size_t n = MIN((size_t)SECTOR_SIZE, bytes - pos);
        if (b ? memcmp(a + pos, b + pos, n) != 0 : !buffer_is_zero(a + pos, n)) {
            return pos;
        }
    }
    return bytes;
}

static bool windows_equal(const uint8_t *a, const uint8_t *b, size_t bytes)
{
    return b ? memcmp(a, b, bytes) == 0 : buffer_is_zero(a, bytes);
}

static void coroutine_fn compare_window(CompareJob *job, const CompareWindow *win, uint8_t *const buf[2])
{
    const uint8_t *have[2] = {NULL, NULL};
    int n = 0;

    for (int i = 0; i < 2; i++) {
        if (win->zero[i]) {
            continue;
        }
        int ret = block_co_pread(job->opts->nodes[i], win->offset, buf[i], win->bytes, BLOCK_REQ_OWN_BUFFER);
        if (ret < 0) {
            job_verdict(job, (BlockCompareResult){BLOCK_COMPARE_READ_ERROR, win->offset, i, ret});
            return;
        }
        have[n++] = buf[i];
    }
    if (n && !windows_equal(have[0], have[1], win->bytes)) {
        int64_t off = win->offset + first_difference(have[0], have[1], win->bytes);
        job_verdict(job, (BlockCompareResult){BLOCK_COMPARE_CONTENT, off, 0, 0});
    }
}

static void coroutine_fn compare_worker(void *opaque, unsigned idx)
{
    CompareJob *job = opaque;
    g_autoaligned buf0 = aligned_buf_try_new(COMPARE_WINDOW_BYTES);
    g_autoaligned buf1 = aligned_buf_try_new(COMPARE_WINDOW_BYTES);
    CompareWindow win;

    if (!buf0 || !buf1) {
        job_verdict(job, (BlockCompareResult){BLOCK_COMPARE_READ_ERROR, 0, 0, -ENOMEM});
        return;
    }
    while (next_window(job, &win)) {
        compare_window(job, &win, (uint8_t *const[2]){buf0, buf1});
        if (job->opts->progress) {
            progress_add(job->opts->progress, win.bytes);
        }
    }
}

void coroutine_fn block_co_compare(const BlockCompareOptions *opts, BlockCompareResult *res)
{
    unsigned cpus = g_get_num_processors();
    CompareJob job = {.opts = opts, .res = res};

    *res = (BlockCompareResult){.verdict = BLOCK_COMPARE_EQUAL};
    for (int i = 0; i < 2; i++) {
        job.len[i] = block_getlength(opts->nodes[i]);
        job.total = MAX(job.total, job.len[i]);
    }
    co_mutex_init(&job.guard);
    unsigned workers = opts->workers ? opts->workers : 2 * cpus;
    g_autoptr(LoopTeam) team = loop_team_new(MIN(cpus, workers));
    loop_team_run(team, workers, compare_worker, &job);
    co_mutex_destroy(&job.guard);
}
