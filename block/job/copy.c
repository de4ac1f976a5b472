/* SPDX-License-Identifier: MIT */
#include "block/job/copy.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "block/job/copy-order.h"
#include "block/core/copy-plan.h"
#include "util/base/aligned-buf.h"
#include "util/coroutine/co-lock.h"
#include "util/loop/loop-team.h"
#include "util/base/trace.h"
#include "util/base/units.h"

/* Data runs nearer than this are read in one go. */
#define COPY_READ_GAP_BYTES    (64u << 10)
/* Longest run handled without looking at its bytes, so that progress moves and errors have a place. */
#define COPY_MAX_UNIFORM_BYTES GIB

typedef struct CopyJob {
    /* fixed */
    const BlockCopyOptions *opts;
    int64_t total;
    size_t window_bytes, cluster_bytes;

    /* under guard: where the next window starts, and the status run it lies in */
    CoMutex guard;
    int64_t cursor;
    uint64_t next_seq;
    int64_t run_start, run_end;
    CopyKind run_kind;
    int ret; /* first error; also read without the guard, as a hint to stop */
    BlockCopyError *err;

    CopyOrder order; /* locked inside */
} CopyJob;

/* What one worker does next. */
typedef struct CopyWindow {
    CopyJob *job;
    uint64_t seq;
    int64_t offset, bytes;
    bool uniform; /* all of it is @kind; no plan */
    CopyKind kind;
    unsigned to_place; /* data runs not yet placed; this worker only */
} CopyWindow;

typedef struct CopyWorker {
    CopyJob *job;
    uint8_t *buf; /* window_bytes; of the window under way */
    CopyPlan plan;
    CopyWindow win;
} CopyWorker;

int64_t block_copy_total(BlockNode *const *sources, size_t n_sources)
{
    int64_t total = 0;

    for (size_t i = 0; i < n_sources; i++) {
        total += block_getlength(sources[i]);
    }
    return total;
}

/* The source that holds @offset, and the offset inside it. */
static BlockNode *source_at(const CopyJob *job, int64_t offset, int64_t *inside, int64_t *left)
{
    for (size_t i = 0; i < job->opts->n_sources; i++) {
        int64_t len = block_getlength(job->opts->sources[i]);
        if (offset < len) {
            *inside = offset;
            *left = len - offset;
            return job->opts->sources[i];
        }
        offset -= len;
    }
    g_assert_not_reached();
}

static void job_fail_locked(CopyJob *job, BlockCopyStage stage, int64_t offset, int ret)
{
    if (!job->ret) {
        __atomic_store_n(&job->ret, ret, __ATOMIC_RELAXED);
        *job->err = (BlockCopyError){.stage = stage, .offset = offset};
    }
}

static void coroutine_fn job_fail(CopyJob *job, BlockCopyStage stage, int64_t offset, int ret)
{
    CO_MUTEX_GUARD(&job->guard);

    job_fail_locked(job, stage, offset, ret);
}

/* ---- finding out what comes next ------------------------------------------------------------------------------- */

/* What @src does not decide is left to the target's backing file, but where the target has something of its own over
 * it: that is overwritten by what the whole chain of @src holds. Cuts *@st to one of the two. */
static int coroutine_fn leave_or_cover(const CopyJob *job, BlockNode *src, int64_t inside, int64_t offset,
                                       BlockStatus *st, CopyKind *kind)
{
    BlockStatus own;
    int ret = block_co_status(job->opts->target, offset, st->bytes, &own);

    if (ret < 0) {
        return ret;
    }
    st->bytes = MIN(st->bytes, own.bytes);
    *kind = COPY_SKIP;
    if (own.flags & BLOCK_STATUS_ALLOCATED) {
        ret = block_co_status_above(src, NULL, inside, st->bytes, st);
        *kind = st->flags & BLOCK_STATUS_ZERO ? COPY_ZERO : COPY_DATA;
    }
    return ret;
}

/* The run of @src at @inside, which is @offset of the target. */
static int coroutine_fn find_run(const CopyJob *job, BlockNode *src, int64_t inside, int64_t left, int64_t offset,
                                 BlockStatus *st, CopyKind *kind)
{
    int ret = block_co_status_above(src, job->opts->source_base, inside, left, st);

    if (ret < 0) {
        return ret;
    }
    if (!(st->flags & BLOCK_STATUS_ALLOCATED) && job->opts->target_has_backing) {
        return leave_or_cover(job, src, inside, offset, st, kind);
    }
    *kind = st->flags & BLOCK_STATUS_ZERO ? COPY_ZERO : COPY_DATA;
    return 0;
}

/* Make job->run_* the status run around @offset; a failure is noted. Guard held. */
static int coroutine_fn load_run(CopyJob *job, int64_t offset)
{
    int64_t inside, left;
    BlockStatus st;
    CopyKind kind;

    if (offset >= job->run_start && offset < job->run_end) {
        return 0;
    }
    BlockNode *src = source_at(job, offset, &inside, &left);
    int ret = find_run(job, src, inside, left, offset, &st, &kind);
    if (ret < 0) {
        job_fail_locked(job, BLOCK_COPY_STATUS, inside, ret);
        return ret;
    }
    g_assert(st.bytes > 0);
    job->run_start = offset;
    job->run_end = offset + MIN(st.bytes, left);
    job->run_kind = kind;
    return 0;
}

/* Guard held; job->cursor is inside the current run. A run of zeros or skips that reaches past the window is taken
 * whole, up to a window boundary. */
static bool take_uniform(CopyJob *job, CopyWindow *win)
{
    int64_t end = job->run_end == job->total ? job->total : (int64_t)round_down(job->run_end, job->window_bytes);

    if (job->run_kind == COPY_DATA || (job->run_kind == COPY_ZERO && !job->opts->sparse_bytes)) {
        return false;
    }
    end = MIN(end, (int64_t)round_down(job->cursor, job->window_bytes) + COPY_MAX_UNIFORM_BYTES);
    if (end <= job->cursor) {
        return false;
    }
    win->uniform = true;
    win->kind = job->run_kind;
    win->bytes = end - job->cursor;
    return true;
}

/* Guard held: mark the status runs of the window [cursor, cursor + bytes) in the plan. */
static int coroutine_fn take_mixed(CopyJob *job, CopyWindow *win, CopyPlan *plan)
{
    int64_t end = MIN((int64_t)round_down(job->cursor, job->window_bytes) + (int64_t)job->window_bytes, job->total);

    win->uniform = false;
    win->bytes = end - job->cursor;
    copy_plan_reset(plan, win->bytes);
    for (int64_t pos = job->cursor; pos < end;) {
        int ret = load_run(job, pos);
        if (ret < 0) {
            return ret;
        }
        int64_t n = MIN(job->run_end, end) - pos;
        copy_plan_mark(plan, pos - job->cursor, n, job->run_kind);
        pos += n;
    }
    return 0;
}

/* The next window in guest order. 1, 0 at the end or after another's failure, or -errno after noting it. */
static int coroutine_fn next_window(CopyWorker *w)
{
    CopyJob *job = w->job;
    CopyWindow *win = &w->win;
    CO_MUTEX_GUARD(&job->guard);

    if (job->ret || job->cursor >= job->total) {
        return 0;
    }
    *win = (CopyWindow){.job = job, .offset = job->cursor};
    int ret = load_run(job, job->cursor);
    if (ret == 0 && !take_uniform(job, win)) {
        ret = take_mixed(job, win, &w->plan);
    }
    if (ret < 0) {
        return ret;
    }
    win->seq = job->next_seq++;
    job->cursor += win->bytes;
    return 1;
}

/* ---- one window ------------------------------------------------------------------------------------------------ */

static int coroutine_fn read_range(CopyWorker *w, size_t start, size_t bytes)
{
    while (bytes) {
        int64_t inside, left;
        BlockNode *src = source_at(w->job, w->win.offset + start, &inside, &left);
        size_t n = MIN((int64_t)bytes, left);
        int ret = block_co_pread(src, inside, w->buf + start, n, BLOCK_REQ_OWN_BUFFER);
        if (ret < 0) {
            job_fail(w->job, BLOCK_COPY_READ, w->win.offset + start, ret);
            return ret;
        }
        start += n;
        bytes -= n;
    }
    return 0;
}

/* Fill the buffer: data runs from the source, near ones together; zeros between them as they are known to be. */
static int coroutine_fn read_window(CopyWorker *w)
{
    size_t bytes = w->win.bytes;
    size_t start = 0, end = 0; /* pending read */
    CopyRun run;

    for (size_t pos = 0; copy_plan_next(&w->plan, pos, bytes, &run); pos = run.start + run.bytes) {
        if (run.kind != COPY_DATA) {
            memset(w->buf + run.start, 0, run.bytes);
            continue;
        }
        if (end > start && run.start - end <= COPY_READ_GAP_BYTES) {
            end = run.start + run.bytes;
            continue;
        }
        int ret = end > start ? read_range(w, start, end - start) : 0;
        if (ret < 0) {
            return ret;
        }
        start = run.start;
        end = run.start + run.bytes;
    }
    return end > start ? read_range(w, start, end - start) : 0;
}

static void coroutine_fn window_wait(void *opaque)
{
    CopyWindow *win = opaque;

    copy_order_wait(&win->job->order, win->seq);
}

static void window_placed(void *opaque)
{
    CopyWindow *win = opaque;

    g_assert(win->to_place > 0);
    if (--win->to_place == 0) {
        copy_order_pass(&win->job->order, win->seq);
    }
}

/* A window that places nothing. */
static void window_skip_turn(CopyWindow *win)
{
    if (!win->job->opts->out_of_order) {
        copy_order_pass(&win->job->order, win->seq);
    }
}

static int coroutine_fn write_zeros(CopyJob *job, int64_t offset, int64_t bytes)
{
    unsigned flags = job->opts->keep_space ? 0 : BLOCK_REQ_MAY_UNMAP;
    int ret = job->opts->target_is_zero ? 0 : block_co_pwrite_zeroes(job->opts->target, offset, bytes, flags);

    if (ret < 0) {
        job_fail(job, BLOCK_COPY_WRITE, offset, ret);
    }
    return ret;
}

static int coroutine_fn write_data(CopyWorker *w, const CopyRun *run)
{
    CopyJob *job = w->job;
    int64_t offset = w->win.offset + run->start;
    BlockPlace place = {.wait = window_wait, .placed = window_placed, .opaque = &w->win};
    g_auto(IoVec) iov;

    iovec_init_buf(&iov, w->buf + run->start, run->bytes);
    BlockRw rw = {.offset = offset,
                  .bytes = run->bytes,
                  .iov = &iov,
                  .flags = BLOCK_REQ_OWN_BUFFER | (job->opts->compressed ? BLOCK_REQ_COMPRESSED : 0),
                  .place = job->opts->out_of_order ? NULL : &place};
    int ret = block_co_rw_write(job->opts->target, &rw);
    if (!job->opts->out_of_order) {
        block_placed(&place);
    }
    if (ret < 0) {
        job_fail(job, BLOCK_COPY_WRITE, offset, ret);
    }
    return ret;
}

static unsigned count_data_runs(const CopyPlan *plan, size_t bytes)
{
    unsigned n = 0;
    CopyRun run;

    for (size_t pos = 0; copy_plan_next(plan, pos, bytes, &run); pos = run.start + run.bytes) {
        n += run.kind == COPY_DATA;
    }
    return n;
}

static int coroutine_fn write_window(CopyWorker *w)
{
    size_t bytes = w->win.bytes;
    CopyRun run;
    int ret = 0;

    w->win.to_place = count_data_runs(&w->plan, bytes);
    if (!w->win.to_place) {
        window_skip_turn(&w->win);
    }
    for (size_t pos = 0; ret == 0 && copy_plan_next(&w->plan, pos, bytes, &run); pos = run.start + run.bytes) {
        if (run.kind == COPY_ZERO) {
            ret = write_zeros(w->job, w->win.offset + run.start, run.bytes);
        } else if (run.kind == COPY_DATA) {
            ret = write_data(w, &run);
        }
    }
    return ret;
}

static int coroutine_fn copy_buffered(CopyWorker *w)
{
    size_t bytes = w->win.bytes;
    CopyRun run;

    if (w->job->opts->compressed) {
        copy_plan_fill_clusters(&w->plan); /* a compressed cluster is written whole */
    }
    int ret = read_window(w);
    if (ret < 0) {
        return ret;
    }
    for (size_t pos = 0; copy_plan_next(&w->plan, pos, bytes, &run); pos = run.start + run.bytes) {
        if (run.kind == COPY_DATA) {
            copy_plan_find_zeros(&w->plan, w->buf, run.start, run.bytes, bytes);
        }
    }
    copy_plan_settle(&w->plan);
    return write_window(w);
}

/* The buffer is taken for one window only: the cache of this thread gives the one used last, which is still warm. */
static int coroutine_fn copy_mixed(CopyWorker *w)
{
    g_autoaligned buf = aligned_buf_try_new(w->job->window_bytes);

    if (!buf) {
        job_fail(w->job, BLOCK_COPY_READ, w->win.offset, -ENOMEM);
        return -ENOMEM;
    }
    w->buf = buf;
    return copy_buffered(w);
}

static int coroutine_fn copy_window(CopyWorker *w)
{
    CopyWindow *win = &w->win;

    trace(TRACE_BLOCK, "copy_window", "seq=%" PRIu64 " offset=0x%" PRIx64 " bytes=%" PRId64 " uniform=%d", win->seq,
          win->offset, win->bytes, win->uniform);
    if (!win->uniform) {
        return copy_mixed(w);
    }
    window_skip_turn(win);
    return win->kind == COPY_ZERO ? write_zeros(w->job, win->offset, win->bytes) : 0;
}

static void coroutine_fn copy_worker(void *opaque, unsigned idx)
{
    CopyJob *job = opaque;
    CopyWorker w = {.job = job};
    int ret;

    copy_plan_init(&w.plan, job->window_bytes, job->opts->sparse_bytes, job->cluster_bytes);
    while ((ret = next_window(&w)) > 0) {
        if (copy_window(&w) < 0) {
            copy_order_abort(&job->order);
            break;
        }
        if (job->opts->progress) {
            progress_add(job->opts->progress, w.win.bytes);
        }
    }
    if (ret < 0) {
        copy_order_abort(&job->order);
    }
    copy_plan_destroy(&w.plan);
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

static int coroutine_fn job_init(CopyJob *job, const BlockCopyOptions *opts, BlockCopyError *err)
{
    BlockInfo info = {0};
    int ret = block_co_get_info(opts->target, &info);

    if (ret < 0) {
        return ret;
    }
    *job = (CopyJob){.opts = opts, .err = err, .total = block_copy_total(opts->sources, opts->n_sources)};
    job->cluster_bytes = info.cluster_bytes;
    job->window_bytes = MAX(COPY_WINDOW_BYTES, (size_t)info.cluster_bytes);
    co_mutex_init(&job->guard);
    copy_order_init(&job->order);
    return 0;
}

/* Windows wait for devices, for compressors and for each other. Where nothing waits, a second window on the same loop
 * only takes the first one's place in the cache before it is written. */
static unsigned useful_workers(const BlockCopyOptions *opts)
{
    bool waits = opts->compressed || !block_node_in_memory(opts->target);

    for (size_t i = 0; i < opts->n_sources; i++) {
        waits |= !block_node_in_memory(opts->sources[i]);
    }
    unsigned most = waits ? COPY_MAX_WORKERS : MIN(g_get_num_processors(), COPY_MAX_WORKERS);
    return CLAMP(opts->workers, 1, most);
}

int coroutine_fn block_co_copy(const BlockCopyOptions *opts, BlockCopyError *err)
{
    unsigned workers = useful_workers(opts);
    unsigned loops = opts->loops ? opts->loops : g_get_num_processors();
    CopyJob job;

    *err = (BlockCopyError){0};
    int ret = job_init(&job, opts, err);
    if (ret < 0) {
        return ret;
    }
    g_autoptr(LoopTeam) team = loop_team_new(MIN(loops, workers));
    loop_team_run(team, workers, copy_worker, &job);
    copy_order_destroy(&job.order);
    co_mutex_destroy(&job.guard);
    return job.ret;
}
