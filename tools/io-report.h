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

/* The request's memory: @bytes filled with @fill. A message and NULL when there is not so much. Free by io_buffer_free().
 * With -m the address is off by a few bytes, to try what the lower layers make of that. */
typedef struct IoBuffer {
    uint8_t *data;
    void *base;
} IoBuffer;
bool io_buffer_init(IoBuffer *b, const IoShell *sh, int64_t bytes, int fill);
/* The same, filled with the content of @path over and over. */
bool io_buffer_init_file(IoBuffer *b, const IoShell *sh, int64_t bytes, const char *path);
void io_buffer_destroy(IoBuffer *b);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IoBuffer, io_buffer_destroy)

/* "bytes" limits of one request. @given: the user's text. False after a message. */
bool io_check_length(int64_t bytes, const char *given);

#endif
