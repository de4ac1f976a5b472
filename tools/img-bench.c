/* SPDX-License-Identifier: MIT */
/* qemu-img bench: how fast does an image answer requests of one kind?
 *
 * Each of the requests in flight is a coroutine of this loop that takes the next offset when it is done with one. So
 * the counters need no lock. */
#include "tools/img-cmds.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "tools/cmdline.h"
#include "tools/image-opts.h"
#include "tools/report.h"
#include "util/base/aligned-buf.h"
#include "util/coroutine/co-lock.h"
#include "util/loop/event-loop.h"
#include "util/loop/loop-team.h"
#include "util/base/units.h"

enum { OPT_PATTERN = IMG_OPT_OWN, OPT_FLUSH_INTERVAL, OPT_NO_DRAIN };

static const CmdOption bench_opts[] = {
    {'f', "format", "FMT", "format of the image (default: probed)"},
    {IMG_OPT_IMAGE_OPTS, "image-opts", NULL, "the image is named by a list of options: key=value,..."},
    {'t', "cache", "MODE", "how the image is cached (writeback)"},
    {'c', "count", "COUNT", "number of requests (75000)"},
    {'d', "depth", "DEPTH", "requests in flight at a time (64)"},
    {'s', "buffer-size", "SIZE", "bytes of a request (4096)"},
    {'o', "offset", "OFFSET", "where the first request starts (0)"},
    {'S', "step-size", "SIZE", "how far on the next request starts (as much as the size of one)"},
    {'w', "write", NULL, "write (default: read)"},
    {OPT_PATTERN, "pattern", "BYTE", "what to write (0)"},
    {OPT_FLUSH_INTERVAL, "flush-interval", "N", "flush after every N writes"},
    {OPT_NO_DRAIN, "no-drain", NULL, "go on with writes while a flush is under way"},
    {'i', "aio", "MODE", "aio mode: threads, native, io_uring"},
    {'n', "native", NULL, "aio mode native"},
    {'U', "force-share", NULL, "read even while another process writes"},
    {'q', "quiet", NULL, "print nothing but errors"},
    {IMG_OPT_OBJECT, "object", "OBJECT", "define a secret: secret,id=ID,file=PATH"},
    {0},
};

static const CmdHelp bench_help = {
    .name = "bench",
    .usage = "[-f FMT | --image-opts] [-t MODE] [-c COUNT] [-d DEPTH] [-s SIZE] [-o OFFSET] [-S SIZE] [-i MODE | -n] "
             "[-w [--pattern BYTE] [--flush-interval N [--no-drain]]] [-U] [-q] [--object OBJECT] FILE",
    .summary = "Measure how long COUNT requests on an image take, DEPTH of them at a time.",
    .opts = bench_opts,
};

typedef struct BenchArgs {
    ImgOpenArgs open;
    int64_t count, depth, bytes, offset, step, pattern, flush_interval;
    bool is_write, no_drain, quiet;
} BenchArgs;

static bool parse_int(const char *what, const char *text, int64_t min, int64_t *out)
{
    return img_parse_number_in(what, text, min, INT32_MAX, out);
}

static bool take_other_option(BenchArgs *a, int opt, const char *arg)
{
    switch (opt) {
    case 'c':
        return parse_int("request count", arg, 1, &a->count);
    case 'd':
        return parse_int("queue depth", arg, 1, &a->depth);
    case 's':
        return img_parse_size_in("buffer size", arg, 1, INT32_MAX, &a->bytes);
    case 'o':
        return img_parse_size("offset", arg, &a->offset);
    case 'S':
        return img_parse_size_in("step size", arg, 0, INT32_MAX, &a->step);
    case OPT_PATTERN:
        return img_parse_number_in("pattern byte", arg, 0, UINT8_MAX, &a->pattern);
    case OPT_FLUSH_INTERVAL:
        return parse_int("flush interval", arg, 0, &a->flush_interval);
    default:
        return img_take_open_option(&a->open, opt, arg);
    }
}

static bool take_option(void *opaque, int opt, const char *arg)
{
    BenchArgs *a = opaque;

    switch (opt) {
    case 't':
        if (!block_parse_cache_mode(arg, &a->open.cache_flags)) {
            report_error("Invalid cache mode");
            return false;
        }
        return true;
    case 'i':
        return img_parse_aio(arg, &a->open.aio_flags);
    case 'n':
        return img_parse_aio("native", &a->open.aio_flags);
    case 'w':
        a->is_write = true;
        return true;
    case OPT_NO_DRAIN:
        a->no_drain = true;
        return true;
    case 'q':
        a->quiet = true;
        return true;
    default:
        return take_other_option(a, opt, arg);
    }
}

static bool check_args(BenchArgs *a)
{
    if (!img_open_args_check(&a->open, "--format")) {
        return false;
    }
    if (a->flush_interval > 0 && !a->is_write) {
        report_error("--flush-interval is only available in write tests");
        return false;
    }
    if (a->flush_interval > 0 && a->flush_interval < a->depth) {
        report_error("Flush interval can't be smaller than depth");
        return false;
    }
    a->step = a->step > 0 ? a->step : a->bytes;
    return true;
}

/* ---- the run --------------------------------------------------------------------------------------------------- */

typedef struct BenchRun {
    const BenchArgs *args;
    BlockNode *node;
    uint64_t image_bytes;
    uint8_t *memory; /* args->bytes for each worker */
    int64_t workers;
    unsigned loops;

    /* atomic */
    _Atomic int64_t started; /* requests, and a worker's last attempt */
    _Atomic int64_t seats;   /* parts of the memory given out */
    _Atomic int ret;         /* the first error */

    /* Only with flushes, where there is one loop. */
    int64_t in_flight, unflushed; /* unflushed: requests started since the last flush, or with no_drain ended */
    bool flushing, flush_failed;
    CoMutex queue_lock; /* to wait with */
    CoQueue flushed;
} BenchRun;

/* The part of a run on one loop. */
typedef struct BenchLoop {
    BenchRun *run;
    int alive; /* coroutines */
    Coroutine *waiter;
} BenchLoop;

static bool set_failed(BenchRun *r, int ret)
{
    int none = 0;

    return ret < 0 && atomic_compare_exchange_strong(&r->ret, &none, ret);
}

static void coroutine_fn flush_image(BenchRun *r)
{
    if (set_failed(r, block_co_flush(r->node))) {
        r->flush_failed = true;
    }
}

static void end_coroutine(BenchLoop *l)
{
    if (--l->alive == 0 && l->waiter) {
        coroutine_wake(l->waiter);
    }
}

static void coroutine_fn flush_entry(void *opaque)
{
    BenchLoop *l = opaque;

    flush_image(l->run);
    end_coroutine(l);
}

static bool flush_is_due(const BenchRun *r)
{
    return r->unflushed >= r->args->flush_interval;
}

/* Wait until everything started has ended and is flushed; who comes last does that. */
static void coroutine_fn drain_and_flush(BenchRun *r)
{
    if (r->in_flight > 0 || r->flushing) {
        CO_MUTEX_GUARD(&r->queue_lock);
        co_queue_wait(&r->flushed, &r->queue_lock);
        return;
    }
    r->flushing = true;
    flush_image(r);
    r->flushing = false;
    r->unflushed = 0;
    co_queue_wake_all(&r->flushed);
}

/* Request @i starts a step behind the one before it, from the start of the image again when that is past the end. */
static uint64_t request_offset(const BenchRun *r, int64_t i)
{
    uint64_t offset = (uint64_t)r->args->offset + (uint64_t)i * (uint64_t)r->args->step; /* below 2^63 + 2^62 */

    return i > 0 && offset >= r->image_bytes && r->image_bytes > 0 ? offset % r->image_bytes : offset;
}

/* False at the end of the run. */
static bool coroutine_fn start_request(BenchRun *r, int64_t *offset)
{
    bool flushes = r->args->flush_interval > 0;

    while (flushes && !r->args->no_drain && flush_is_due(r) && r->ret == 0) {
        drain_and_flush(r);
    }
    if (r->ret < 0) {
        return false;
    }
    int64_t i = atomic_fetch_add_explicit(&r->started, 1, memory_order_relaxed);
    if (i >= r->args->count) {
        return false;
    }
    *offset = (int64_t)request_offset(r, i);
    if (flushes) {
        r->in_flight++;
        r->unflushed += !r->args->no_drain;
    }
    return true;
}

static void coroutine_fn end_request(BenchLoop *l, int ret)
{
    BenchRun *r = l->run;

    set_failed(r, ret);
    if (r->args->flush_interval == 0) {
        return;
    }
    r->in_flight--;
    r->unflushed += r->args->no_drain;
    if (r->args->no_drain && flush_is_due(r)) {
        Coroutine *co = coroutine_try_new(flush_entry, l);

        r->unflushed = 0;
        if (co) {
            l->alive++;
            coroutine_enter(co);
        } else {
            flush_image(r);
        }
    }
}

static void coroutine_fn worker_entry(void *opaque)
{
    BenchLoop *l = opaque;
    BenchRun *r = l->run;
    size_t seat = (size_t)atomic_fetch_add(&r->seats, 1);
    g_auto(IoVec) iov;
    int64_t offset;

    iovec_init_buf(&iov, r->memory + seat * (size_t)r->args->bytes, (size_t)r->args->bytes);
    while (start_request(r, &offset)) {
        int ret = r->args->is_write ? block_co_pwritev(r->node, offset, &iov, 0)
                                    : block_co_preadv(r->node, offset, &iov, BLOCK_REQ_OWN_BUFFER);
        end_request(l, ret);
    }
    /* The others may be waiting for a flush that will not come. */
    if (r->ret < 0 && r->args->flush_interval > 0) {
        co_queue_wake_all(&r->flushed);
    }
    end_coroutine(l);
}

/* The share of loop @idx: its workers, from start to end. */
static void coroutine_fn run_loop(void *opaque, unsigned idx)
{
    BenchRun *r = opaque;
    BenchLoop l = {.run = r};
    int64_t workers = r->workers / r->loops + (idx < r->workers % r->loops);

    for (int64_t i = 0; i < workers; i++) {
        Coroutine *co = coroutine_try_new(worker_entry, &l);

        if (!co) {
            set_failed(r, -ENOMEM);
            break;
        }
        l.alive++;
        coroutine_enter(co);
    }
    if (l.alive > 0) {
        l.waiter = coroutine_self();
        coroutine_yield();
    }
}

static void coroutine_fn run_requests(BenchRun *r)
{
    unsigned loops = r->args->flush_interval > 0 ? 1 : (unsigned)MIN(g_get_num_processors(), r->workers);
    g_autoptr(LoopTeam) team = loop_team_new(loops);

    co_mutex_init(&r->queue_lock);
    co_queue_init(&r->flushed);
    r->loops = loop_team_size(team);
    loop_team_run(team, r->loops, run_loop, r);
    co_mutex_destroy(&r->queue_lock);
}

static void print_plan(const BenchArgs *a)
{
    printf("Sending %" PRId64 " %s requests, %" PRId64 " bytes each, %" PRId64
           " in parallel (starting at offset %" PRId64 ", step size %" PRId64 ")\n",
           a->count, a->is_write ? "write" : "read", a->bytes, a->depth, a->offset, a->step);
    if (a->flush_interval > 0) {
        printf("Sending flush every %" PRId64 " requests\n", a->flush_interval);
    }
    report_flush_stdout();
}

static int coroutine_fn bench_node(const BenchArgs *a, BlockNode *node)
{
    BenchRun run = {.args = a, .node = node, .workers = MIN(a->depth, a->count)};
    int64_t image_bytes = block_getlength(node), memory_bytes;
    g_autoaligned memory =
        CHECKED_MUL(run.workers, a->bytes, &memory_bytes) ? aligned_buf_try_new((size_t)memory_bytes) : NULL;

    if (!memory) {
        report_error("cannot allocate memory for %" PRId64 " requests of %" PRId64 " bytes", run.workers, a->bytes);
        return EXIT_FAILED;
    }
    if (image_bytes < 0) {
        report_error("Failed to get size for '%s'", block_node_filename(node));
        return EXIT_FAILED;
    }
    run.image_bytes = (uint64_t)image_bytes;
    run.memory = memory;
    memset(memory, (int)a->pattern, (size_t)memory_bytes); /* also takes its pages before the clock starts */
    if (!a->quiet) {
        print_plan(a);
    }
    int64_t start_ns = clock_monotonic_ns();
    run_requests(&run);
    int64_t took_ns = clock_monotonic_ns() - start_ns;

    if (run.ret < 0) {
        report_error("Failed %s: %s", run.flush_failed ? "flush request" : "request", g_strerror(-run.ret));
        return EXIT_FAILED;
    }
    if (!a->quiet) {
        printf("Run completed in %3.3f seconds.\n", (double)took_ns / 1e9);
    }
    return EXIT_OK;
}

int coroutine_fn img_bench(int argc, char **argv)
{
    g_auto(CmdLine) cl = {0};
    BenchArgs args = {.count = 75000, .depth = 64, .bytes = 4096};

    cmdline_init(&cl, &bench_help, argc, argv);
    if (!cmdline_take_all(&cl, take_option, &args)) {
        return cl.status;
    }
    if (cmdline_operands(&cl) != 1) {
        return report_usage("bench", "Expecting one image file name");
    }
    if (!check_args(&args)) {
        return EXIT_FAILED;
    }
    g_autoptr(ImgNode) node = img_co_open(&args.open, cmdline_operand(&cl, 0), args.is_write ? BLOCK_OPEN_RDWR : 0);

    if (!node) {
        return EXIT_FAILED;
    }
    /* What failed has been said: no second message from closing. */
    return bench_node(&args, node) == EXIT_OK && img_co_close(g_steal_pointer(&node)) ? EXIT_OK : EXIT_FAILED;
}
