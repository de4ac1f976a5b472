/* SPDX-License-Identifier: MIT */
/* Numbers and sizes as users type and read them. Context: any; pure. */
#ifndef QBLOCK_UTIL_NUMBER_H
#define QBLOCK_UTIL_NUMBER_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum NumberResult { NUMBER_OK, NUMBER_INVALID, NUMBER_RANGE } NumberResult;

/* Parse a size: decimal with optional fraction and one suffix b k m g t p e (any case, powers of 1024), or 0x hex
 * without suffix. Leading blanks and one '+' are tolerated; the whole text must match. A plain number is in bytes. A
 * fraction that is not zero needs a suffix above b; the product is rounded to whole bytes. Range 0 .. 2^64-1 (callers
 * limit further). NUMBER_RANGE: a number, but too large or negative; *@out is set on NUMBER_OK only. */
NumberResult number_parse_size(const char *text, uint64_t *out);

/* Parse a plain number, no suffix: decimal, 0x hex, or octal with a leading 0, as the tools' numeric options take them.
 * Leading blanks and one sign are tolerated. NUMBER_RANGE: a number outside the limits. */
NumberResult number_parse_uint(const char *text, uint64_t max, uint64_t *out);
NumberResult number_parse_int(const char *text, int64_t min, int64_t max, int64_t *out);

/* Human size as qemu-img prints it: "%0.3g" and " B" .. " EiB" ("64 KiB", "0.977 MiB"). Caller frees. */
char *number_format_size(uint64_t bytes);
/* Human size as qemu-io prints it: "%.3f" with a first ".000" cut, "N bytes" below 1 KiB ("%f bytes" for
 * a part). Caller frees. */
char *number_format_io_size(double bytes);

#endif
