/* SPDX-License-Identifier: MIT */
/* qemu-io: read, write and their like, one request at a time. */
#include "tools/io-report.h"

#include <stdio.h>
#include <string.h>

#include "tools/report.h"
#include "util/loop/event-loop.h"

enum { READ_FILL = 0xab, WRITE_FILL = 0xcd };

/* What the letters of a read or write command say. */
typedef struct RwArgs {
    bool machine, quiet, dump;     /* -C -q -v */
    bool zero, no_fallback, unmap; /* -z -n -u */
    bool compressed, fua;          /* -c -f */
    bool vm_state;                 /* -b */
    bool has_pattern;              /* -P */
    int pattern;
    int64_t check_off, check_len; /* read -s -l; -1 = not given */
    const char *source;           /* write -s */
    int64_t offset, bytes;
} RwArgs;

static bool take_letter(RwArgs *a, int letter, const char *arg, bool is_write)
{
    switch (letter) {
    case 'C':
        a->machine = true;
        return true;
    case 'q':
        a->quiet = true;
        return true;
    case 'v':
        a->dump = true;
        return true;
    case 'z':
        a->zero = true;
        return true;
    case 'n':
        a->no_fallback = true;
        return true;
    case 'u':
        a->unmap = true;
        return true;
    case 'c':
        a->compressed = true;
        return true;
    case 'f':
        a->fua = true;
        return true;
    case 'b':
        a->vm_state = true;
        return true;
    case 'P':
        a->has_pattern = true;
        return io_parse_pattern(arg, &a->pattern);
    case 's':
        if (is_write) {
            a->source = arg;
            return true;
        }
        return io_parse_number(arg, &a->check_off);
    case 'l':
        return io_parse_number(arg, &a->check_len);
    default: /* -p and -r: known, and without effect: buffers need no registration here */
        return true;
    }
}

/* Options into @a. Returns the index of the operands - an offset and a length, or more lengths with @is_vector - or a
 * negative number after a message. */
static int take_options(RwArgs *a, const IoCommand *cmd, int argc, char **argv, const char *letters, bool is_vector)
{
    int letter, index = 0;
    char *arg;

    *a = (RwArgs){.pattern = WRITE_FILL, .check_off = -1, .check_len = -1};
    while ((letter = io_next_option(argc, argv, letters, &index, &arg)) != -1) {
        if (letter == '?') {
            return io_print_usage(cmd);
        }
        if (!take_letter(a, letter, arg, cmd->needs & IO_NEEDS_WRITE)) {
            return -1;
        }
    }
    if (is_vector ? index > argc - 2 : index != argc - 2) {
        return io_print_usage(cmd);
    }
    return index;
}

/* The offset and the length of a request whose data are in memory, or might be. */
static bool take_range(RwArgs *a, char **operands)
{
    return io_parse_number(operands[0], &a->offset) && io_parse_number(operands[1], &a->bytes) &&
           io_check_length(a->bytes, operands[1]);
}

static int fail(const char *what, int ret)
{
    printf("%s failed: %s\n", what, g_strerror(-ret));
    return -1;
}

/* ---- read ------------------------------------------------------------------------------------------------------ */

/* The part of the data that -P looks at, by -s and -l. */
static bool settle_check_range(RwArgs *a)
{
    a->check_off = MAX(a->check_off, 0);
    if (a->check_off > a->bytes || a->check_len > a->bytes - a->check_off) {
        printf("pattern verification range exceeds end of read data\n");
        return false;
    }
    if (a->check_len < 0) {
        a->check_len = a->bytes - a->check_off;
    }
    return true;
}

/* Read into @iov over @buf, look at the data, report. */
static int coroutine_fn read_and_report(IoShell *sh, const RwArgs *a, const char *what, const IoVec *iov,
                                        const uint8_t *buf)
{
    IoResult result = {"read", a->offset, a->bytes, clock_monotonic_ns(), a->quiet, a->machine};
    int ret = block_co_preadv(sh->node, a->offset, iov, 0);
    int status = 0;

    if (ret < 0) {
        return fail(what, ret);
    }
    int64_t verified_ns = clock_monotonic_ns() - result.start_ns;

    if (a->has_pattern && !io_verify(buf + a->check_off, a->check_len, a->pattern, a->offset + a->check_off)) {
        status = -1;
    }
    if (a->dump) {
        io_dump(buf, a->offset, a->bytes);
    }
    result.start_ns = clock_monotonic_ns() - verified_ns; /* looking at the data is not part of the request */
    io_report_result(&result);
    return status;
}

static int coroutine_fn run_read(IoShell *sh, const IoCommand *cmd, int argc, char **argv)
{
    g_auto(IoBuffer) buf = {0};
    g_auto(IoVec) iov;
    RwArgs a;
    int index = take_options(&a, cmd, argc, argv, "bCl:pP:qrs:v", false);

    iovec_init(&iov);
    if (index < 0 || !take_range(&a, argv + index)) {
        return -1;
    }
    if (!a.has_pattern && (a.check_len >= 0 || a.check_off >= 0)) {
        return io_print_usage(cmd);
    }
    if (!settle_check_range(&a)) {
        return -1;
    }
    if (a.vm_state) {
        report_unsupported("Access to the VM state (-b)");
        return -1;
    }
    if (!io_buffer_init(&buf, sh, a.bytes, READ_FILL)) {
        return -1;
    }
    io_buffer_add_to(&buf, &iov, 0, (size_t)a.bytes);
    return read_and_report(sh, &a, "read", &iov, buf.data);
}

static int coroutine_fn run_readv(IoShell *sh, const IoCommand *cmd, int argc, char **argv)
{
    g_autoptr(GArray) pieces = g_array_new(false, false, sizeof(int64_t));
    g_auto(IoBuffer) buf = {0};
    g_auto(IoVec) iov;
    RwArgs a;
    int index = take_options(&a, cmd, argc, argv, "CP:qrv", true);

    iovec_init(&iov);
    if (index < 0 || !io_parse_pieces(argc, argv, index, &a.offset, &a.bytes, pieces) ||
        !io_buffer_init(&buf, sh, a.bytes, READ_FILL) || !settle_check_range(&a)) {
        return -1;
    }
    io_buffer_lay(&buf, &iov, pieces);
    return read_and_report(sh, &a, "readv", &iov, buf.data);
}

/* ---- write ----------------------------------------------------------------------------------------------------- */

static bool check_write_letters(const RwArgs *a)
{
    const char *conflict = NULL;

    if (a->vm_state && a->zero) {
        conflict = "-b and -z cannot be specified at the same time";
    } else if (a->fua && (a->vm_state || a->compressed)) {
        conflict = "-f and -b or -c cannot be specified at the same time";
    } else if (a->no_fallback && !a->zero) {
        conflict = "-n requires -z to be specified";
    } else if (a->unmap && !a->zero) {
        conflict = "-u requires -z to be specified";
    } else if (a->zero + a->has_pattern + (a->source != NULL) > 1) {
        conflict = "Only one of -z, -P, and -s can be specified at the same time";
    }
    if (conflict) {
        printf("%s\n", conflict);
    }
    return !conflict;
}

/* A zero write without fall-back needs no memory, so it alone has no limit here. */
static bool check_write_length(const RwArgs *a, const char *given)
{
    if (a->no_fallback || a->bytes <= BLOCK_MAX_REQUEST_BYTES) {
        return true;
    }
    printf("length cannot exceed %" G_GINT64_FORMAT " without -n, given %s\n", (gint64)BLOCK_MAX_REQUEST_BYTES, given);
    return false;
}

static bool check_sector_aligned(const RwArgs *a)
{
    const struct {
        const char *name;
        int64_t value;
    } parts[] = {{"offset", a->offset}, {"count", a->bytes}};

    for (size_t i = 0; (a->compressed || a->vm_state) && !a->zero && i < G_N_ELEMENTS(parts); i++) {
        if (parts[i].value % 512 != 0) {
            printf("%" G_GINT64_FORMAT " is not a sector-aligned value for '%s'\n", parts[i].value, parts[i].name);
            return false;
        }
    }
    return true;
}

static unsigned write_flags(const RwArgs *a)
{
    return (a->fua ? BLOCK_REQ_FUA : 0) | (a->compressed ? BLOCK_REQ_COMPRESSED : 0);
}

static unsigned zero_flags(const RwArgs *a)
{
    return (a->fua ? BLOCK_REQ_FUA : 0) | (a->unmap ? BLOCK_REQ_MAY_UNMAP : 0) |
           (a->no_fallback ? BLOCK_REQ_NO_FALLBACK : 0);
}

static int coroutine_fn write_and_report(IoShell *sh, const RwArgs *a, const char *what, const IoVec *iov)
{
    IoResult result = {"wrote", a->offset, a->bytes, clock_monotonic_ns(), a->quiet, a->machine};
    int ret = a->zero ? block_co_pwrite_zeroes(sh->node, a->offset, a->bytes, zero_flags(a))
                      : block_co_pwritev(sh->node, a->offset, iov, write_flags(a));

    if (ret < 0) {
        return fail(what, ret);
    }
    io_report_result(&result);
    return 0;
}

static int coroutine_fn write_operands(IoShell *sh, RwArgs *a, char **operands)
{
    g_auto(IoBuffer) buf = {0};
    g_auto(IoVec) iov;

    iovec_init(&iov);
    if (!check_write_letters(a) || !io_parse_number(operands[0], &a->offset) ||
        !io_parse_number(operands[1], &a->bytes) || !check_write_length(a, operands[1]) || !check_sector_aligned(a)) {
        return -1;
    }
    if (a->vm_state) {
        report_unsupported("Access to the VM state (-b)");
        return -1;
    }
    if (!a->zero) {
        if (!(a->source ? io_buffer_init_file(&buf, sh, a->bytes, a->source)
                        : io_buffer_init_pattern(&buf, sh, a->bytes, a->pattern))) {
            return -1;
        }
        io_buffer_add_to(&buf, &iov, 0, (size_t)a->bytes);
    }
    return write_and_report(sh, a, "write", &iov);
}

static int coroutine_fn run_write(IoShell *sh, const IoCommand *cmd, int argc, char **argv)
{
    RwArgs a;
    int index = take_options(&a, cmd, argc, argv, "bcCfnpP:qrs:uz", false);

    if (index < 0) {
        return -1;
    }
    return write_operands(sh, &a, argv + index);
}

static int coroutine_fn run_writez(IoShell *sh, const IoCommand *cmd, int argc, char **argv)
{
    RwArgs a;
    int index = take_options(&a, cmd, argc, argv, "Cfnqu", false);

    if (index < 0) {
        return -1;
    }
    a.zero = true;
    return write_operands(sh, &a, argv + index);
}

static int coroutine_fn run_writev(IoShell *sh, const IoCommand *cmd, int argc, char **argv)
{
    g_autoptr(GArray) pieces = g_array_new(false, false, sizeof(int64_t));
    g_auto(IoBuffer) buf = {0};
    g_auto(IoVec) iov;
    RwArgs a;
    int index = take_options(&a, cmd, argc, argv, "CfP:qr", true);

    iovec_init(&iov);
    if (index < 0 || !io_parse_pieces(argc, argv, index, &a.offset, &a.bytes, pieces) ||
        !io_buffer_init_pattern(&buf, sh, a.bytes, a.pattern)) {
        return -1;
    }
    io_buffer_lay(&buf, &iov, pieces);
    return write_and_report(sh, &a, "writev", &iov);
}

/* ---- discard --------------------------------------------------------------------------------------------------- */

static int coroutine_fn run_discard(IoShell *sh, const IoCommand *cmd, int argc, char **argv)
{
    RwArgs a;
    int index = take_options(&a, cmd, argc, argv, "Cq", false);

    if (index < 0 || !take_range(&a, argv + index)) {
        return -1;
    }
    IoResult result = {"discard", a.offset, a.bytes, clock_monotonic_ns(), a.quiet, a.machine};

    int ret = block_co_pdiscard(sh->node, a.offset, a.bytes);
    if (ret < 0) {
        return fail("discard", ret);
    }
    io_report_result(&result);
    return 0;
}

const IoCommand io_rw_commands[] = {
    {"read", "r", run_read, 2, -1, IO_NEEDS_IMAGE, "[-bCqrv] [-P pattern [-s off] [-l len]] off len",
     "read bytes from an offset",
     " -C  statistics on one line, for programs\n"
     " -P  compare the data with a byte; -s and -l: a part of it\n"
     " -q  no statistics\n"
     " -r  accepted: buffers need no registration here\n"
     " -v  dump the data"},
    {"readv", NULL, run_readv, 2, -1, IO_NEEDS_IMAGE, "[-Cqrv] [-P pattern] off len [len..]",
     "read into several pieces of memory with one request", NULL},
    {"write", "w", run_write, 2, -1, IO_NEEDS_IMAGE | IO_NEEDS_WRITE,
     "[-bcCfnqruz] [-P pattern | -s source_file] off len", "write bytes to an offset",
     " -c  store them compressed; whole clusters only\n"
     " -C  statistics on one line, for programs\n"
     " -f  stable before the command ends (FUA)\n"
     " -n  with -z: fail rather than write zero data\n"
     " -P  the byte to write (default 0xcd)\n"
     " -q  no statistics\n"
     " -r  accepted: buffers need no registration here\n"
     " -s  write the content of a file, over and over\n"
     " -u  with -z: may deallocate\n"
     " -z  write zeroes, without data where the format can"},
    {"writev", NULL, run_writev, 2, -1, IO_NEEDS_IMAGE | IO_NEEDS_WRITE, "[-Cfqr] [-P pattern] off len [len..]",
     "write several pieces of memory with one request", NULL},
    {"writez", NULL, run_writez, 2, -1, IO_NEEDS_IMAGE | IO_NEEDS_WRITE, "[-Cfnqu] off len",
     "write zeroes; the same as write -z", NULL},
    {"discard", "d", run_discard, 2, -1, IO_NEEDS_IMAGE | IO_NEEDS_WRITE, "[-Cq] off len",
     "tell that a range's content is not needed any more", NULL},
    {0},
};
