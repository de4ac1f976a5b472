/* SPDX-License-Identifier: MIT */
#include "util/base/number.h"

#include <math.h>
#include <string.h>

#include "util/base/units.h"

static const char size_suffixes[] = "bkmgtpe"; /* powers of 1024, from 0 */

static const char *skip_blanks(const char *p)
{
    while (g_ascii_isspace(*p)) {
        p++;
    }
    return p;
}

/* Digits of @base at *@p, which moves behind them. False when the number does not fit; *@count tells how many digits.
 */
static bool scan_digits(const char **p, unsigned base, uint64_t *out, size_t *count)
{
    bool fits = true;
    uint64_t v = 0;

    for (*count = 0;; (*count)++, (*p)++) {
        int digit = g_ascii_xdigit_value(**p);
        if (digit < 0 || (unsigned)digit >= base) {
            break;
        }
        fits = fits && CHECKED_MUL(v, (uint64_t)base, &v) && CHECKED_ADD(v, (uint64_t)digit, &v);
    }
    *out = v;
    return fits;
}

static bool is_hex(const char *p)
{
    return p[0] == '0' && g_ascii_tolower(p[1]) == 'x' && g_ascii_isxdigit(p[2]);
}

static NumberResult parse_hex_size(const char *p, uint64_t *out)
{
    size_t digits;
    uint64_t v;

    p += 2;
    bool fits = scan_digits(&p, 16, &v, &digits);
    if (*p != '\0') {
        return NUMBER_INVALID;
    }
    if (!fits) {
        return NUMBER_RANGE;
    }
    *out = v;
    return NUMBER_OK;
}

/* The fraction at *@p (a '.' and any digits) as a number in [0, 1]; *@digits without the point. */
static double scan_fraction(const char **p, size_t *digits)
{
    const char *start = *p;
    size_t n;

    *digits = 0;
    if (*start != '.') {
        return 0;
    }
    n = strspn(start + 1, "0123456789");
    *p = start + 1 + n;
    *digits = n;
    if (n == 0) {
        return 0;
    }
    g_autofree char *text = g_strndup(start, n + 1);
    return g_ascii_strtod(text, NULL);
}

/* The multiplier's bits of the suffix at *@p (0 without one), or -1. */
static int scan_suffix(const char **p)
{
    if (**p == '\0') {
        return 0;
    }
    const char *at = strchr(size_suffixes, g_ascii_tolower(**p));
    if (!at) {
        return -1;
    }
    (*p)++;
    return **p == '\0' ? (int)(at - size_suffixes) * 10 : -1;
}

NumberResult number_parse_size(const char *text, uint64_t *out)
{
    const char *p = skip_blanks(text);
    bool is_negative = *p == '-';
    size_t digits, fraction_digits;
    uint64_t whole;

    p += *p == '+' || is_negative;
    if (is_hex(p) && !is_negative) {
        return parse_hex_size(p, out);
    }
    bool fits = scan_digits(&p, 10, &whole, &digits);
    if (is_negative || !fits) {
        /* A bare number that is merely out of range is told apart from one with anything behind it. */
        return digits > 0 && *p == '\0' ? NUMBER_RANGE : NUMBER_INVALID;
    }
    double fraction = scan_fraction(&p, &fraction_digits);
    int shift = scan_suffix(&p);
    if (shift < 0 || digits + fraction_digits == 0 || (shift == 0 && fraction > 0)) {
        return NUMBER_INVALID;
    }
    uint64_t unit = UINT64_C(1) << shift;
    uint64_t extra = (uint64_t)(fraction * unit + 0.5);
    if (!CHECKED_MUL(whole, unit, &whole) || !CHECKED_ADD(whole, extra, &whole)) {
        return NUMBER_RANGE;
    }
    *out = whole;
    return NUMBER_OK;
}

/* A sign and a magnitude. */
static NumberResult parse_signed_magnitude(const char *text, bool *is_negative, uint64_t *magnitude)
{
    const char *p = skip_blanks(text);
    unsigned base = 10;
    size_t digits;

    *is_negative = *p == '-';
    p += *p == '+' || *p == '-';
    if (is_hex(p)) {
        base = 16;
        p += 2;
    } else if (p[0] == '0') {
        base = 8;
    }
    bool fits = scan_digits(&p, base, magnitude, &digits);
    if (digits == 0 || *p != '\0') {
        return NUMBER_INVALID;
    }
    return fits ? NUMBER_OK : NUMBER_RANGE;
}

NumberResult number_parse_uint(const char *text, uint64_t max, uint64_t *out)
{
    bool is_negative;
    uint64_t magnitude;
    NumberResult r = parse_signed_magnitude(text, &is_negative, &magnitude);

    if (r != NUMBER_OK) {
        return r;
    }
    if ((is_negative && magnitude > 0) || magnitude > max) {
        return NUMBER_RANGE;
    }
    *out = magnitude;
    return NUMBER_OK;
}

NumberResult number_parse_int(const char *text, int64_t min, int64_t max, int64_t *out)
{
    bool is_negative;
    uint64_t magnitude;
    NumberResult r = parse_signed_magnitude(text, &is_negative, &magnitude);

    if (r != NUMBER_OK) {
        return r;
    }
    if (magnitude > (uint64_t)INT64_MAX + is_negative) {
        return NUMBER_RANGE;
    }
    int64_t v = (int64_t)(is_negative ? -magnitude : magnitude);
    if (v < min || v > max) {
        return NUMBER_RANGE;
    }
    *out = v;
    return NUMBER_OK;
}

static const char *const size_units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

char *number_format_size(uint64_t bytes)
{
    double v = (double)bytes;
    size_t unit = 0;

    while (v >= 1000 && unit + 1 < G_N_ELEMENTS(size_units)) {
        v /= 1024;
        unit++;
    }
    /* 999.5 .. 1000 of a unit come out as "1e+03"; scripts have seen that for years. */
    return g_strdup_printf("%0.3g %s", v, size_units[unit]);
}

char *number_format_io_size(double bytes)
{
    size_t unit = 0;
    double v = bytes;

    while (v >= 1024 && unit + 1 < G_N_ELEMENTS(size_units)) {
        v /= 1024;
        unit++;
    }
    if (unit == 0) {
        /* Amounts are whole; slow rates are not. */
        return v == floor(v) ? g_strdup_printf("%.f bytes", v) : g_strdup_printf("%f bytes", v);
    }
    char *text = g_strdup_printf("%.3f %s", v, size_units[unit]);
    char *zeros = strstr(text, ".000");
    if (zeros) {
        memmove(zeros, zeros + 4, strlen(zeros + 4) + 1);
    }
    return text;
}
