/* SPDX-License-Identifier: MIT */
#include "tools/io-report.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tools/report.h"
#include "util/base/aligned-buf.h"
#include "util/loop/event-loop.h"
#include "util/base/number.h"

enum { DUMP_COLUMNS = 16, MISALIGN_BYTES = 16, DEFAULT_PATTERN = 0xcd };

/* "00.01 sec", or with hours and minutes: from one second on, and always in the machine form. */
static char *format_time(double seconds, bool full)
{
    unsigned hours = (unsigned)(seconds / 3600), minutes = (unsigned)(seconds / 60) % 60;
    double rest = seconds - hours * 3600.0 - minutes * 60.0;

    if (full || seconds >= 1) {
        return g_strdup_printf("%u:%02u:%05.2f", hours, minutes, rest);
    }
    return g_strdup_printf("%05.2f sec", rest);
}

void io_report_result(const IoResult *r)
{
    int64_t ns = MAX(clock_monotonic_ns() - r->start_ns, 1);
    double seconds = (double)ns / 1e9;
    double rate = (double)r->bytes / seconds, ops = 1 / seconds;
    g_autofree char *time = format_time(seconds, r->machine);

    if (r->quiet) {
        return;
    }
    if (r->machine) {
        printf("%" G_GINT64_FORMAT ",1,%s,%.3f,%.3f\n", r->bytes, time, rate, ops);
        return;
    }
    g_autofree char *size_text = number_format_io_size((double)r->bytes);
    g_autofree char *rate_text = number_format_io_size(rate);

    printf("%s %" G_GINT64_FORMAT "/%" G_GINT64_FORMAT " bytes at offset %" G_GINT64_FORMAT "\n", r->what, r->bytes,
           r->bytes, r->offset);
    printf("%s, 1 ops; %s (%s/sec and %.4f ops/sec)\n", size_text, time, rate_text, ops);
}

void io_dump(const uint8_t *buf, int64_t offset, int64_t bytes)
{
    for (int64_t i = 0; i < bytes; i += DUMP_COLUMNS) {
        int64_t n = MIN(bytes - i, DUMP_COLUMNS);

        printf("%08" G_GINT64_MODIFIER "x:  ", (guint64)(offset + i));
        for (int64_t j = 0; j < n; j++) {
            printf("%02x ", buf[i + j]);
        }
        putchar(' ');
        for (int64_t j = 0; j < n; j++) {
            putchar(g_ascii_isprint(buf[i + j]) ? buf[i + j] : '.');
        }
        putchar('\n');
    }
}

bool io_verify(const uint8_t *buf, int64_t bytes, int pattern, int64_t offset)
{
    /* Equal to the pattern, and each byte to the next. */
    if (bytes == 0 || (buf[0] == pattern && memcmp(buf, buf + 1, (size_t)bytes - 1) == 0)) {
        return true;
    }
    printf("Pattern verification failed at offset %" G_GINT64_FORMAT ", %" G_GINT64_FORMAT " bytes\n", offset, bytes);
    return false;
}

bool io_parse_pattern(const char *text, int *out)
{
    uint64_t value;

    if (number_parse_uint(text, 0xff, &value) != NUMBER_OK) {
        printf("%s is not a valid pattern byte\n", text);
        return false;
    }
    *out = (int)value;
    return true;
}

bool io_buffer_init(IoBuffer *b, const IoShell *sh, int64_t bytes, int fill)
{
    size_t shift = sh->misalign ? MISALIGN_BYTES : 0;

    b->base = aligned_buf_try_new((size_t)MAX(bytes, 1) + shift);
    if (!b->base) {
        printf("cannot allocate %" G_GINT64_FORMAT " bytes of memory\n", bytes);
        return false;
    }
    b->data = (uint8_t *)b->base + shift;
    b->bytes = (size_t)bytes;
    memset(b->data, fill, b->bytes);
    return true;
}

/* A huge page, where there are any: the first touch of a GiB takes longer than to write it, and O_DIRECT pins a huge
 * page for little more than a small one. */
bool io_buffer_init_pattern(IoBuffer *b, const IoShell *sh, int64_t bytes, int pattern)
{
    return io_buffer_init(b, sh, MIN(bytes, IO_PATTERN_BYTES), pattern);
}

void io_buffer_add_to(const IoBuffer *b, IoVec *iov, size_t off, size_t bytes)
{
    while (bytes > 0) {
        size_t at = off % b->bytes;
        size_t n = MIN(bytes, b->bytes - at);

        iovec_add(iov, b->data + at, n);
        off += n;
        bytes -= n;
    }
}

void io_buffer_lay(const IoBuffer *b, IoVec *iov, const GArray *pieces)
{
    size_t off = 0;

    for (guint i = 0; i < pieces->len; i++) {
        size_t n = (size_t)g_array_index(pieces, int64_t, i);

        io_buffer_add_to(b, iov, off, n);
        off += n;
    }
}

void io_buffer_destroy(IoBuffer *b)
{
    aligned_buf_free(g_steal_pointer(&b->base));
    b->data = NULL;
}

static void print_file_error(const char *path, const char *why)
{
    g_autofree char *text = g_strdup_printf("%s: %s", path, why);

    report_notice(text);
}

bool io_buffer_init_file(IoBuffer *b, const IoShell *sh, int64_t bytes, const char *path)
{
    FILE *f = fopen(path, "rb");
    size_t got, want = (size_t)bytes;
    int err;

    if (!f) {
        print_file_error(path, g_strerror(errno));
        return false;
    }
    if (!io_buffer_init(b, sh, bytes, 0)) {
        fclose(f);
        return false;
    }
    got = fread(b->data, 1, want, f);
    err = ferror(f) ? errno : 0;
    fclose(f);
    if (err || (got == 0 && want > 0)) {
        print_file_error(path, err ? g_strerror(err) : "file is empty");
        return false;
    }
    for (size_t done = got; done < want; done += got) {
        memcpy(b->data + done, b->data, MIN(got, want - done));
    }
    return true;
}

bool io_check_length(int64_t bytes, const char *given)
{
    if (bytes <= BLOCK_MAX_REQUEST_BYTES) {
        return true;
    }
    printf("length cannot exceed %" G_GINT64_FORMAT ", given %s\n", (gint64)BLOCK_MAX_REQUEST_BYTES, given);
    return false;
}
