/* SPDX-License-Identifier: MIT */
/* What qemu-io says about a request: result lines with times and rates, dumps, verification; and the memory it uses. */
#ifndef QBLOCK_TOOLS_IO_REPORT_H
#define QBLOCK_TOOLS_IO_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/io-cmd.h"

/* A data request on its way. */
typedef struct IoResult {
    const char *what;       /* "read", "wrote", "discard" */
    int64_t offset, bytes;  /* asked for; all or nothing is done */
    int64_t start_ns;       /* of the monotonic clock */
    bool quiet, machine;    /* -q, -C */
} IoResult;

/* The result lines of a request that has just succeeded, unless quiet. */
void io_report_result(const IoResult *r);

/* "<addr>:  <hex> <text>" lines of 16 bytes; addresses count from @offset. */
void io_dump(const uint8_t *buf, int64_t offset, int64_t bytes);

/* Is all of the memory @pattern? If not, a message with the guest @offset. */
bool io_verify(const uint8_t *buf, int64_t bytes, int pattern, int64_t offset);

/* Parse a pattern byte; a message and false when it is none. */
bool io_parse_pattern(const char *text, int *out);

/* The memory of a request. What is read needs all of it; what is written may be a piece used over and over. With -m the
 * address is off by a few bytes, to try what the lower layers make of that. Made by one of the functions below, which
 * say so and return false when there is not so much. */
typedef struct IoBuffer {
    uint8_t *data;
    size_t bytes; /* of data */
    void *base;
} IoBuffer;
/* @bytes filled with @fill. */
bool io_buffer_init(IoBuffer *b, const IoShell *sh, int64_t bytes, int fill);
/* For a write of @bytes that are all @pattern; holds IO_PATTERN_BYTES at most. */
enum { IO_PATTERN_BYTES = 2 << 20 };
bool io_buffer_init_pattern(IoBuffer *b, const IoShell *sh, int64_t bytes, int pattern);
/* @bytes filled with the content of @path over and over. */
bool io_buffer_init_file(IoBuffer *b, const IoShell *sh, int64_t bytes, const char *path);
/* Append to @iov the part [@off, @off+@bytes) of the request's data. */
void io_buffer_add_to(const IoBuffer *b, IoVec *iov, size_t off, size_t bytes);
/* Append to @iov all of the data, in pieces of these lengths (int64_t). */
void io_buffer_lay(const IoBuffer *b, IoVec *iov, const GArray *pieces);
void io_buffer_destroy(IoBuffer *b);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IoBuffer, io_buffer_destroy)

/* "bytes" limits of one request. @given: the user's text. False after a message. */
bool io_check_length(int64_t bytes, const char *given);

#endif
