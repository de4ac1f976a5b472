/* SPDX-License-Identifier: MIT */
/* All-zero test of memory, with the widest vectors that the CPU has. Context: any; pure. */
#ifndef QBLOCK_UTIL_BUFFER_ZERO_H
#define QBLOCK_UTIL_BUFFER_ZERO_H

#include <stdbool.h>
#include <stddef.h>

/* True when @bytes at @buf are all zero; true for no bytes. Any length and alignment. Non-zero data at the head, the
 * middle or the tail is seen at once, so ordinary data costs a few nanoseconds. */
bool buffer_is_zero(const void *buf, size_t bytes);

#endif
