/* SPDX-License-Identifier: MIT */
/* qemu-img bench: how fast does an image answer requests of one kind?
 *
 * Each of the requests in flight is a coroutine of this loop that takes the next offset when it is done with one. So
 * the counters need no lock. */
#include "tools/img-cmds.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/cmdline.h"
#include "tools/image-opts.h"
#include "tools/report.h"
#include "util/aligned-buf.h"
#include "util/co-lock.h"
#include "util/event-loop.h"
#include "util/units.h"

enum { OPT_IMAGE_OPTS = CMDLINE_LONG, OPT_OBJECT, OPT_PATTERN, OPT_FLUSH_INTERVAL, OPT_NO_DRAIN };

static const CmdOption bench_opts[] = {
    {'f', "format", "FMT", "format of the image (default: probed)"},
    {OPT_IMAGE_OPTS, "image-opts", NULL, "the image is named by a list of options: key=value,..."},
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
    {OPT_OBJECT, "object", "OBJECT", "define a secret: secret,id=ID,file=PATH"},
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

static bool take_number(BenchArgs *a, int opt, const char *arg)
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
    default: /* OPT_FLUSH_INTERVAL */
        return parse_int("flush interval", arg, 0, &a->flush_interval);
    }
}

static bool take_option(BenchArgs *a, int opt, const char *arg)
{
    switch (opt) {
    case 'f':
        a->open.format = arg;
        return true;
    case OPT_IMAGE_OPTS:
        a->open.image_opts = true;
        return true;
    case 't':
        if (!block_parse_cache_mode(arg, &a->open.cache_flags)) {
            report_error("Invalid cache mode");
            return false;
        }
        return true;
    case 'i':
        return img_parse_aio(arg, &a->open.native_aio);
    case 'n':
        a->open.native_aio = true;
        return true;
    case 'w':
        a->is_write = true;
        return true;
    case OPT_NO_DRAIN:
        a->no_drain = true;
        return true;
    case 'U':
        a->open.force_share = true;
        return true;
    case 'q':
        a->quiet = true;
        return true;
    case OPT_OBJECT:
        return img_add_object(arg);
    default:
        return take_number(a, opt, arg);
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
    int64_t image_bytes;
    uint8_t *memory;    /* args->bytes for each worker */
    int workers;        /* as many as were started got a part of the memory each */
    int64_t offset;     /* of the next request */
    int64_t to_start;   /* requests */
    int in_flight;      /* requests */
    int64_t unflushed;  /* requests since the last flush: started, or with no_drain ended */
    bool flushing;      /* everybody waits for it */
    int alive;          /* coroutines */
    int ret;            /* the first error */
    const char *failed; /* what it came from */
    CoMutex queue_lock; /* only to wait with; there is one thread */
    CoQueue flushed;
    Coroutine *waiter; /* for the end of all coroutines */
} BenchRun;

static void set_failed(BenchRun *r, const char *what, int ret)
{
    if (ret < 0 && r->ret == 0) {
        r->failed = what;
        r->ret = ret;
    }
}

static void coroutine_fn flush_image(BenchRun *r)
{
    set_failed(r, "flush request", block_co_flush(r->node));
}

static void end_coroutine(BenchRun *r)
{
    if (--r->alive == 0 && r->waiter) {
        coroutine_wake(r->waiter);
    }
}

static void coroutine_fn flush_entry(void *opaque)
{
    BenchRun *r = opaque;

    flush_image(r);
    end_coroutine(r);
}

static bool flush_is_due(const BenchRun *r)
{
    return r->args->flush_interval > 0 && r->unflushed >= r->args->flush_interval;
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

/* False at the end of the run. */
static bool coroutine_fn start_request(BenchRun *r, int64_t *offset)
{
    while (!r->args->no_drain && flush_is_due(r) && r->ret == 0) {
        drain_and_flush(r);
    }
    if (r->ret < 0 || r->to_start == 0) {
        return false;
    }
    *offset = r->offset;
    /* Not past INT64_MAX: the offset is one of the image, or fails here and ends the run. */
    if (!CHECKED_ADD(r->offset, r->args->step, &r->offset)) {
        r->offset = INT64_MAX;
    }
    if (r->offset >= r->image_bytes && r->image_bytes > 0) {
        r->offset %= r->image_bytes;
    }
    r->to_start--;
    r->in_flight++;
    r->unflushed += !r->args->no_drain;
    return true;
}

static void coroutine_fn end_request(BenchRun *r, int ret)
{
    set_failed(r, "request", ret);
    r->in_flight--;
    if (!r->args->no_drain) {
        return;
    }
    r->unflushed++;
    if (flush_is_due(r)) {
        Coroutine *co = coroutine_try_new(flush_entry, r);

        r->unflushed = 0;
        if (co) {
            r->alive++;
            coroutine_enter(co);
        } else {
            flush_image(r);
        }
    }
}

static void coroutine_fn worker_entry(void *opaque)
{
    BenchRun *r = opaque;
    g_auto(IoVec) iov;
    int64_t offset;

    iovec_init_buf(&iov, r->memory + (size_t)(r->workers++ * r->args->bytes), (size_t)r->args->bytes);
    while (start_request(r, &offset)) {
        int ret =
            r->args->is_write ? block_co_pwritev(r->node, offset, &iov, 0) : block_co_preadv(r->node, offset, &iov, 0);
        end_request(r, ret);
    }
    /* The others may be waiting for a flush that will not come. */
    if (r->ret < 0) {
        co_queue_wake_all(&r->flushed);
    }
    end_coroutine(r);
}

static bool coroutine_fn start_workers(BenchRun *r, int64_t workers)
{
    for (int64_t i = 0; i < workers; i++) {
        Coroutine *co = coroutine_try_new(worker_entry, r);

        if (!co) {
            set_failed(r, "start of a request", -ENOMEM);
            return false;
        }
        r->alive++;
        coroutine_enter(co);
    }
    return true;
}

static void coroutine_fn run_requests(BenchRun *r, int64_t workers)
{
    co_mutex_init(&r->queue_lock);
    co_queue_init(&r->flushed);
    start_workers(r, workers);
    if (r->alive > 0) {
        r->waiter = coroutine_self();
        coroutine_yield();
    }
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
    fflush(stdout);
}

static int coroutine_fn bench_node(const BenchArgs *a, BlockNode *node)
{
    BenchRun run = {.args = a, .node = node, .offset = a->offset, .to_start = a->count};
    int64_t workers = MIN(a->depth, a->count);
    int64_t memory_bytes;
    g_autoaligned memory =
        CHECKED_MUL(workers, a->bytes, &memory_bytes) ? aligned_buf_try_new((size_t)memory_bytes) : NULL;

    if (!memory) {
        report_error("cannot allocate memory for %" PRId64 " requests of %" PRId64 " bytes", workers, a->bytes);
        return EXIT_FAILED;
    }
    run.image_bytes = block_getlength(node);
    if (run.image_bytes < 0) {
        report_error("Failed to get size for '%s'", block_node_filename(node));
        return EXIT_FAILED;
    }
    run.memory = memory;
    memset(memory, (int)a->pattern, (size_t)memory_bytes); /* also takes its pages before the clock starts */
    if (!a->quiet) {
        print_plan(a);
    }
    int64_t start_ns = clock_monotonic_ns();
    run_requests(&run, workers);
    int64_t took_ns = clock_monotonic_ns() - start_ns;

    if (run.ret < 0) {
        report_error("Failed %s: %s", run.failed, g_strerror(-run.ret));
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
    int opt;

    cmdline_init(&cl, &bench_help, argc, argv);
    while ((opt = cmdline_next(&cl)) != CMDLINE_END) {
        if (opt == CMDLINE_EXIT) {
            return cl.status;
        }
        if (!take_option(&args, opt, cl.arg)) {
            return EXIT_FAILED;
        }
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
