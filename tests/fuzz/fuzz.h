/* SPDX-License-Identifier: MIT */
/* What every fuzz target is: one function that takes any bytes and must neither crash, hang nor break its own promises.
 * Built twice: with libFuzzer (-Dfuzzing=true, clang), and with replay.c, which feeds it the files of its corpus. */
#ifndef QBLOCK_TESTS_FUZZ_FUZZ_H
#define QBLOCK_TESTS_FUZZ_FUZZ_H

#include <glib.h>
#include <stddef.h>
#include <stdint.h>

/* Returns 0. The prototype is libFuzzer's. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input as a string, cut at its first NUL. Caller frees. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    return size > 0 ? g_strndup((const char *)data, size) : g_strdup("");
}

#endif
