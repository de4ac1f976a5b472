/* SPDX-License-Identifier: MIT */
/* Small helpers of the crypto tests: hex, patterns, a main that runs one suite. */
#ifndef QBLOCK_TESTS_CRYPTO_FIXTURE_H
#define QBLOCK_TESTS_CRYPTO_FIXTURE_H

#include <check.h>
#include <glib.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/suite.h"

/* Bytes of a hex text into @out, which is large enough; their number. */
static inline size_t unhex(const char *hex, uint8_t *out)
{
    size_t n = strlen(hex) / 2;

    for (size_t i = 0; i < n; i++) {
        out[i] = g_ascii_xdigit_value(hex[2 * i]) << 4 | g_ascii_xdigit_value(hex[2 * i + 1]);
    }
    return n;
}

/* 00 01 02 ... */
static inline void fill_sequence(uint8_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = i;
    }
}

#define assert_hex(bytes, hex)                                                                                         \
    do {                                                                                                               \
        uint8_t expected_[1024];                                                                                       \
        size_t n_ = unhex(hex, expected_);                                                                             \
        ck_assert_mem_eq(bytes, expected_, n_);                                                                        \
    } while (0)

/* The operation failed with exactly that message; frees the error. */
#define assert_error(err, text)                                                                                        \
    do {                                                                                                               \
        ck_assert_ptr_nonnull(err);                                                                                    \
        ck_assert_str_eq((err)->message, text);                                                                        \
        g_clear_error(&(err));                                                                                         \
    } while (0)

#endif
