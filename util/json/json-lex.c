/* SPDX-License-Identifier: MIT */
#include "util/json/json-lex.h"

#include <string.h>

#include "util/base/error.h"

enum { SHOWN_BYTES = 64 }; /* of a bad token in a message */

typedef struct JsonLex {
    const char *p;
    GString *out;
    int depth;
    bool is_complete; /* the one top-level value has ended */
    GError **errp;
} JsonLex;

/* Foreign text fit for a message: at most @bytes, on one line. Caller frees. */
static char *shown_text(const char *text, size_t bytes)
{
    char *shown = g_utf8_make_valid(text, (gssize)MIN(bytes, SHOWN_BYTES));

    for (char *p = shown; *p; p++) {
        if (g_ascii_iscntrl(*p)) {
            *p = '?';
        }
    }
    return shown;
}

/* The message names the text from @start to @end. */
static bool fail_stray(JsonLex *lex, const char *start, const char *end)
{
    g_autofree char *shown = shown_text(start, end - start);

    error_set(lex->errp, "JSON parse error, stray '%s'", shown);
    return false;
}

/* One byte of a string's value. */
static void emit_char(JsonLex *lex, char c)
{
    if (c == '"' || c == '\\') {
        g_string_append_c(lex->out, '\\');
        g_string_append_c(lex->out, c);
    } else if ((unsigned char)c < 0x20) {
        g_string_append_printf(lex->out, "\\u%04x", c);
    } else {
        g_string_append_c(lex->out, c);
    }
}

static void emit_tagged(JsonLex *lex, char tag, const char *text, size_t bytes)
{
    g_string_append_c(lex->out, '"');
    g_string_append_c(lex->out, tag);
    g_string_append_len(lex->out, text, bytes);
    g_string_append_c(lex->out, '"');
}

/* Four hex digits at @p, or -1. */
static int hex4(const char *p)
{
    int v = 0;

    for (int i = 0; i < 4; i++) {
        int digit = g_ascii_xdigit_value(p[i]);
        if (digit < 0) {
            return -1;
        }
        v = v << 4 | digit;
    }
    return v;
}

/* lex->p is behind "\u". Surrogates must come in pairs; NUL would cut the value short and is refused. */
static bool lex_unicode_escape(JsonLex *lex)
{
    const char *start = lex->p;
    int unit = hex4(start);
    gunichar c = unit;
    char utf8[6];

    if (unit >= 0) {
        lex->p += 4;
    }
    if (unit >= 0xd800 && unit < 0xdc00 && lex->p[0] == '\\' && lex->p[1] == 'u') {
        int low = hex4(lex->p + 2);
        if (low >= 0xdc00 && low < 0xe000) {
            c = 0x10000 + ((gunichar)(unit - 0xd800) << 10) + (low - 0xdc00);
            lex->p += 6;
        }
    }
    if (unit <= 0 || !g_unichar_validate(c)) {
        g_autofree char *shown = shown_text(start, strnlen(start, 4));
        error_set(lex->errp, "JSON parse error, \\u%s is not a valid Unicode character", shown);
        return false;
    }
    int bytes = g_unichar_to_utf8(c, utf8);
    for (int i = 0; i < bytes; i++) {
        emit_char(lex, utf8[i]);
    }
    return true;
}

/* lex->p is at the backslash, which is not the text's last byte. */
static bool lex_escape(JsonLex *lex)
{
    static const char from[] = "\"'\\/bfnrt", to[] = "\"'\\/\b\f\n\r\t";
    char c = lex->p[1];

    lex->p += 2;
    if (c == 'u') {
        return lex_unicode_escape(lex);
    }
    const char *at = strchr(from, c);
    if (!at) {
        error_set(lex->errp, "JSON parse error, invalid escape sequence in string");
        return false;
    }
    emit_char(lex, to[at - from]);
    return true;
}

static bool lex_string(JsonLex *lex)
{
    const char *start = lex->p;
    char quote = *lex->p++;

    g_string_append_c(lex->out, '"');
    g_string_append_c(lex->out, JSON_TAG_STRING);
    while (*lex->p != quote) {
        /* Also the end of the text; a control character must be escaped. */
        if ((unsigned char)*lex->p < 0x20 || (lex->p[0] == '\\' && lex->p[1] == '\0')) {
            return fail_stray(lex, start, lex->p + (lex->p[0] == '\\'));
        }
        if (*lex->p != '\\') {
            emit_char(lex, *lex->p++);
        } else if (!lex_escape(lex)) {
            return false;
        }
    }
    lex->p++;
    g_string_append_c(lex->out, '"');
    return true;
}

static size_t count_digits(const char *p)
{
    return strspn(p, "0123456789");
}

/* RFC 8259 section 6. */
static bool lex_number(JsonLex *lex)
{
    const char *start = lex->p, *p = start + (*start == '-');
    size_t digits = count_digits(p);
    bool ok = digits > 0 && (digits == 1 || *p != '0');

    p += digits;
    if (ok && *p == '.') {
        digits = count_digits(++p);
        ok = digits > 0;
        p += digits;
    }
    if (ok && (*p == 'e' || *p == 'E')) {
        p += 1 + (p[1] == '+' || p[1] == '-');
        digits = count_digits(p);
        ok = digits > 0;
        p += digits;
    }
    if (!ok) {
        return fail_stray(lex, start, p + (*p != '\0'));
    }
    emit_tagged(lex, JSON_TAG_NUMBER, start, p - start);
    lex->p = p;
    return true;
}

static bool lex_keyword(JsonLex *lex)
{
    static const char *const words[] = {"true", "false", "null"};
    const char *start = lex->p;
    size_t bytes = 0;

    while (g_ascii_islower(start[bytes])) {
        bytes++;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
        if (strlen(words[i]) == bytes && memcmp(words[i], start, bytes) == 0) {
            emit_tagged(lex, words[i][0], "", 0); /* the tags are the first letters */
            lex->p += bytes;
            return true;
        }
    }
    error_set(lex->errp, "JSON parse error, invalid keyword '%.*s'", (int)MIN(bytes, SHOWN_BYTES), start);
    return false;
}

static bool lex_punctuation(JsonLex *lex)
{
    char c = *lex->p;

    if (!strchr("{}[]:,", c)) {
        return fail_stray(lex, lex->p, g_utf8_next_char(lex->p));
    }
    lex->depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    if (lex->depth > JSON_MAX_DEPTH) {
        error_set(lex->errp, "JSON nesting depth limit exceeded");
        return false;
    }
    if (lex->depth < 0) {
        error_set(lex->errp, "JSON parse error, expecting value");
        return false;
    }
    g_string_append_c(lex->out, c);
    lex->p++;
    return true;
}

static bool lex_token(JsonLex *lex)
{
    char c = *lex->p;

    if (lex->is_complete) {
        error_set(lex->errp, "Expecting at most one JSON value");
        return false;
    }
    if (c == '"' || c == '\'') {
        return lex_string(lex);
    }
    if (c == '-' || g_ascii_isdigit(c)) {
        return lex_number(lex);
    }
    return g_ascii_islower(c) ? lex_keyword(lex) : lex_punctuation(lex);
}

static bool check_text(const char *text, GError **errp)
{
    size_t bytes = strnlen(text, JSON_MAX_BYTES + 1);
    const char *end;

    if (bytes > JSON_MAX_BYTES) {
        error_set(errp, "JSON parse error, text is longer than %u bytes", JSON_MAX_BYTES);
        return false;
    }
    if (!g_utf8_validate(text, (gssize)bytes, &end)) {
        error_set(errp, "JSON parse error, byte %zu is not valid UTF-8", (size_t)(end - text));
        return false;
    }
    return true;
}

bool json_lex_tag(const char *text, GString *out, GError **errp)
{
    JsonLex lex = {.p = text, .out = out, .errp = errp};

    if (!check_text(text, errp)) {
        return false;
    }
    for (;;) {
        lex.p += strspn(lex.p, " \t\r\n");
        if (*lex.p == '\0') {
            break;
        }
        if (!lex_token(&lex)) {
            return false;
        }
        lex.is_complete = lex.depth == 0;
    }
    if (!lex.is_complete) {
        error_set(errp, lex.depth > 0 ? "JSON parse error, premature EOI" : "Expecting a JSON value");
        return false;
    }
    return true;
}
