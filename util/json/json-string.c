/* SPDX-License-Identifier: MIT */
#include "util/json/json-string.h"

#include <stdbool.h>
#include <stdint.h>

enum { REPLACEMENT = 0xfffd };

static int sequence_bytes(uint8_t lead)
{
    if (lead < 0x80) {
        return 1;
    }
    if (lead >= 0xc0 && lead < 0xe0) {
        return 2;
    }
    if (lead >= 0xe0 && lead < 0xf0) {
        return 3;
    }
    return lead >= 0xf0 && lead < 0xf8 ? 4 : 0; /* 0: not a lead byte */
}

static bool is_character(uint32_t c, int bytes)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};

    if (c == 0 && bytes == 2) {
        return true;
    }
    bool is_surrogate = c >= 0xd800 && c < 0xe000;
    bool is_non_character = (c >= 0xfdd0 && c < 0xfdf0) || (c & 0xfffe) == 0xfffe;
    return c >= least[bytes] && c <= 0x10ffff && !is_surrogate && !is_non_character;
}

/* The character at *@p, which moves behind it and behind all continuation bytes that a malformed one has. */
static uint32_t next_character(const uint8_t **p)
{
    uint8_t lead = *(*p)++;
    int want = sequence_bytes(lead), have = 1;

    if (want == 0) {
        return REPLACEMENT;
    }
    uint32_t c = want == 1 ? lead : lead & (0x7f >> want);
    while (have < want && (**p & 0xc0) == 0x80) {
        c = c << 6 | (*(*p)++ & 0x3f);
        have++;
    }
    return have == want && is_character(c, want) ? c : REPLACEMENT;
}

static const char *short_escape(uint32_t c)
{
    switch (c) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\b':
        return "\\b";
    case '\f':
        return "\\f";
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case '\t':
        return "\\t";
    default:
        return NULL;
    }
}

static void append_character(GString *out, uint32_t c)
{
    const char *escape = short_escape(c);

    if (escape) {
        g_string_append(out, escape);
    } else if (c >= 0x20 && c < 0x7f) {
        g_string_append_c(out, (char)c);
    } else if (c < 0x10000) {
        g_string_append_printf(out, "\\u%04X", c);
    } else {
        c -= 0x10000;
        g_string_append_printf(out, "\\u%04X\\u%04X", 0xd800 + (c >> 10), 0xdc00 + (c & 0x3ff));
    }
}

void json_string_append(GString *out, const char *text)
{
    const uint8_t *p = (const uint8_t *)text;

    g_string_append_c(out, '"');
    while (*p) {
        append_character(out, next_character(&p));
    }
    g_string_append_c(out, '"');
}
