/* SPDX-License-Identifier: MIT */
/* qemu-io: requests that run while the next commands do.
 *
 * A request owns its memory and its arguments and frees them when it ends. What becomes of it is printed, but is not
 * the command's status: the command has ended by then. */
#include "tools/io-report.h"

#include <stdio.h>

#include "tools/report.h"
#include "util/loop/event-loop.h"

enum { AIO_READ_FILL = 0xab, AIO_WRITE_FILL = 0xcd };

typedef struct AioRequest {
    IoShell *sh;
    BlockNode *node; /* the shell waits for us before it closes it */
    IoBuffer buf;
    IoVec iov;
    IoResult result;
    bool is_write, zero, dump, has_pattern, invalid;
    int pattern;
    unsigned flags; /* BLOCK_REQ_* */
} AioRequest;

static void aio_free(AioRequest *r)
{
    iovec_destroy(&r->iov);
    io_buffer_destroy(&r->buf);
    g_free(r);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AioRequest, aio_free)

static int coroutine_fn aio_do(AioRequest *r)
{
    const IoResult *res = &r->result;

    if (r->zero) {
        return block_co_pwrite_zeroes(r->node, res->offset, res->bytes, r->flags);
    }
    return r->is_write ? block_co_pwritev(r->node, res->offset, &r->iov, r->flags)
                       : block_co_preadv(r->node, res->offset, &r->iov, 0);
}

static void coroutine_fn aio_entry(void *opaque)
{
    g_autoptr(AioRequest) r = opaque;
    IoShell *sh = r->sh;
    int ret = aio_do(r);
    int64_t took_ns = clock_monotonic_ns() - r->result.start_ns;

    /* Data in memory is there at once; its report still comes after the command, as that of any other file. */
    coroutine_reschedule();
    if (ret < 0) {
        printf("%s failed: %s\n", r->is_write ? "aio_write" : "readv", g_strerror(-ret));
    } else {
        if (!r->is_write && r->has_pattern) {
            io_verify(r->buf.data, r->result.bytes, r->pattern, r->result.offset);
        }
        if (r->dump) {
            io_dump(r->buf.data, r->result.offset, r->result.bytes);
        }
        r->result.start_ns = clock_monotonic_ns() - took_ns;
        io_report_result(&r->result);
    }
    io_aio_end(sh);
}

static bool take_letter(AioRequest *r, int letter, const char *arg)
{
    switch (letter) {
    case 'C':
        r->result.machine = true;
        return true;
    case 'q':
        r->result.quiet = true;
        return true;
    case 'v':
        r->dump = true;
        return true;
    case 'f':
        r->flags |= BLOCK_REQ_FUA;
        return true;
    case 'u':
        r->flags |= BLOCK_REQ_MAY_UNMAP;
        return true;
    case 'z':
        r->zero = true;
        return true;
    case 'i':
        r->invalid = true;
        return true;
    case 'P':
        r->has_pattern = true;
        return io_parse_pattern(arg, &r->pattern);
    default: /* -r: buffers need no registration here */
        return true;
    }
}

/* The operands: an offset, then lengths. The memory is laid out for them unless zeroes are written. */
static bool take_operands(AioRequest *r, int argc, char **argv, int index)
{
    g_autoptr(GArray) pieces = g_array_new(false, false, sizeof(int64_t));
    int64_t total;

    if (!io_parse_pieces(argc, argv, index, &r->result.offset, &total, pieces)) {
        return false;
    }
    r->result.bytes = total;
    if (r->zero) {
        return true;
    }
    if (!(r->is_write ? io_buffer_init_pattern(&r->buf, r->sh, total, r->pattern)
                      : io_buffer_init(&r->buf, r->sh, total, AIO_READ_FILL))) {
        return false;
    }
    io_buffer_lay(&r->buf, &r->iov, pieces);
    return true;
}

static bool check_letters(const AioRequest *r, int lengths)
{
    const char *conflict = NULL;

    if (r->zero && lengths > 1) {
        conflict = "-z supports only a single length parameter";
    } else if ((r->flags & BLOCK_REQ_MAY_UNMAP) && !r->zero) {
        conflict = "-u requires -z to be specified";
    }
    if (conflict) {
        printf("%s\n", conflict);
    }
    return !conflict;
}

static int coroutine_fn run_aio(IoShell *sh, const IoCommand *cmd, int argc, char **argv, bool is_write)
{
    g_autoptr(AioRequest) r = g_new0(AioRequest, 1);
    int letter, index = 0;
    char *arg;

    *r = (AioRequest){.sh = sh, .node = sh->node, .is_write = is_write, .pattern = AIO_WRITE_FILL};
    iovec_init(&r->iov);
    while ((letter = io_next_option(argc, argv, is_write ? "CfiP:qruz" : "CiP:qrv", &index, &arg)) != -1) {
        if (letter == '?') {
            return io_print_usage(cmd);
        }
        if (!take_letter(r, letter, arg)) {
            return -1;
        }
    }
    if (r->invalid) {
        printf("injecting invalid %s request\n", is_write ? "write" : "read");
        return 0;
    }
    if (index > argc - 2) {
        return io_print_usage(cmd);
    }
    if (!check_letters(r, argc - index - 1) || !take_operands(r, argc, argv, index)) {
        return -1;
    }
    r->result.what = is_write ? "wrote" : "read";
    r->result.start_ns = clock_monotonic_ns();
    io_aio_begin(sh);
    coroutine_enter(coroutine_new(aio_entry, g_steal_pointer(&r)));
    return 0;
}

static int coroutine_fn run_aio_read(IoShell *sh, const IoCommand *cmd, int argc, char **argv)
{
    return run_aio(sh, cmd, argc, argv, false);
}

static int coroutine_fn run_aio_write(IoShell *sh, const IoCommand *cmd, int argc, char **argv)
{
    return run_aio(sh, cmd, argc, argv, true);
}

static int coroutine_fn run_aio_flush(IoShell *sh, const IoCommand *cmd, int argc, char **argv)
{
    io_aio_wait(sh);
    return 0;
}

const IoCommand io_aio_commands[] = {
    {"aio_read", NULL, run_aio_read, 2, -1, IO_NEEDS_IMAGE, "[-Ciqrv] [-P pattern] off len [len..]",
     "start a read; the result is printed when it ends", " -i  count an invalid request instead"},
    {"aio_write", NULL, run_aio_write, 2, -1, IO_NEEDS_IMAGE | IO_NEEDS_WRITE,
     "[-Cfiqruz] [-P pattern] off len [len..]", "start a write; the result is printed when it ends",
     " -i  count an invalid request instead\n"
     " -f  stable before it ends (FUA)\n"
     " -z  write zeroes; -u: may deallocate"},
    {"aio_flush", NULL, run_aio_flush, 0, 0, IO_NEEDS_IMAGE, "", "wait until every started request has ended", NULL},
    {0},
};
