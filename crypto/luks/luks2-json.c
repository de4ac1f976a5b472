/* SPDX-License-Identifier: MIT */
#include "crypto/luks/luks2-json.h"

#include <string.h>

#include "crypto/base/base64.h"
#include "crypto/luks/luks2-format.h"
#include "util/base/error.h"
#include "util/base/units.h"

#define PRINTABLE_CHARS 64

char *luks2_json_printable(const char *text)
{
    g_autofree char *cut = g_strndup(text, PRINTABLE_CHARS);

    return g_strescape(cut, NULL);
}

/* ---- the text -------------------------------------------------------------------------------------------------- */

/* The number in the four hexadecimal digits at @p; 0 if there are not as many, or if it is that of NUL. */
static unsigned escaped_unit(const char *p)
{
    unsigned unit = 0;

    for (int i = 0; i < 4; i++) {
        if (!g_ascii_isxdigit(p[i])) {
            return 0;
        }
        unit = unit << 4 | g_ascii_xdigit_value(p[i]);
    }
    return unit;
}

/* The last character of the escape that begins with the backslash at @p; NULL if it is none of JSON or not a
 * character. */
static const char *skip_escape(const char *p)
{
    unsigned unit;

    p++;
    if (*p != 'u') {
        return *p && strchr("\"\\/bfnrt", *p) ? p : NULL;
    }
    unit = escaped_unit(p + 1);
    if (unit == 0 || (unit >= 0xdc00 && unit <= 0xdfff)) {
        return NULL;
    }
    p += 4;
    if (unit < 0xd800 || unit > 0xdbff) {
        return p;
    }
    /* The first of a pair. */
    if (p[1] != '\\' || p[2] != 'u') {
        return NULL;
    }
    unit = escaped_unit(p + 3);
    return unit >= 0xdc00 && unit <= 0xdfff ? p + 6 : NULL;
}

/* The end of the string that begins with the quote at @p; NULL, with @what is wrong with it. The parser takes escapes
 * that JSON has not, octal ones among them, and makes bytes of them that are no UTF-8. */
static const char *skip_string(const char *p, const char **what)
{
    for (p++; *p != '"'; p++) {
        if ((unsigned char)*p < ' ') { /* the end of the text as well */
            *what = "a string does not end";
            return NULL;
        }
        if (*p == '\\' && !(p = skip_escape(p))) {
            *what = "a string with a bad escape";
            return NULL;
        }
    }
    return p;
}

static bool fail_text(GError **errp, const char *text, const char *p, const char *what)
{
    error_set_code(errp, QB_ERROR_CORRUPT, "LUKS2 metadata: %s at byte %zu", what, (size_t)(p - text));
    return false;
}

/* Bound what the parser will build. Outside strings only the characters of strict JSON pass: the parser knows comments
 * and other quotes, and behind those it would see brackets that are not counted here. */
static bool check_bounds(const char *text, GError **errp)
{
    unsigned depth = 0, values = 0;
    const char *end, *what;

    for (const char *p = text; *p; p++) {
        switch (*p) {
        case '"':
            end = skip_string(p, &what);
            if (!end) {
                return fail_text(errp, text, p, what);
            }
            p = end;
            break;
        case '{':
        case '[':
            if (++depth > LUKS2_MAX_JSON_DEPTH) {
                return fail_text(errp, text, p, "nested too deeply");
            }
            values++;
            break;
        case '}':
        case ']':
            depth -= depth > 0;
            break;
        case ',':
            values++;
            break;
        default:
            if (!strchr(" \t\r\n:0123456789+-.eEtrufalsn", *p)) {
                return fail_text(errp, text, p, "unexpected character");
            }
        }
        if (values > LUKS2_MAX_JSON_VALUES) {
            return fail_text(errp, text, p, "too many values");
        }
    }
    return true;
}

JsonNode *luks2_json_parse(const char *text, GError **errp)
{
    g_autoptr(JsonParser) parser = json_parser_new();
    g_autoptr(GError) err = NULL;
    const char *bad;
    JsonNode *root;

    if (!g_utf8_validate(text, -1, &bad)) {
        fail_text(errp, text, bad, "invalid UTF-8");
        return NULL;
    }
    if (!check_bounds(text, errp)) {
        return NULL;
    }
    if (!json_parser_load_from_data(parser, text, -1, &err)) {
        g_autofree char *reason = g_strescape(err->message, NULL);

        error_set_code(errp, QB_ERROR_CORRUPT, "LUKS2 metadata: %s", reason);
        return NULL;
    }
    root = json_parser_get_root(parser);
    if (!root || !JSON_NODE_HOLDS_OBJECT(root)) {
        error_set_code(errp, QB_ERROR_CORRUPT, "LUKS2 metadata is not a JSON object");
        return NULL;
    }
    return json_parser_steal_root(parser);
}

char *luks2_json_text(JsonNode *root)
{
    g_autofree char *text = json_to_string(root, false);
    GString *s = g_string_sized_new(strlen(text) + 1);

    /* Compact text has control characters in strings only, and there JSON has none. The generator forgets 0x1f. */
    for (const char *p = text; *p; p++) {
        if ((unsigned char)*p < ' ') {
            g_string_append_printf(s, "\\u%04x", (unsigned)*p);
        } else {
            g_string_append_c(s, *p);
        }
    }
    return g_string_free(s, FALSE);
}

/* ---- values ---------------------------------------------------------------------------------------------------- */

Luks2JsonAt luks2_json_root(JsonNode *root)
{
    return (Luks2JsonAt){.object = json_node_get_object(root)};
}

bool luks2_json_fail(const Luks2JsonAt *at, const char *field, GError **errp, const char *fmt, ...)
{
    g_autofree char *what = NULL;
    va_list ap;

    va_start(ap, fmt);
    what = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    error_set_code(errp, QB_ERROR_CORRUPT, "LUKS2 metadata: %s%s%s %s", at->path, at->path[0] && field ? "." : "",
                   field ? field : "", what);
    return false;
}

bool luks2_json_has(const Luks2JsonAt *at, const char *field)
{
    return json_object_has_member(at->object, field);
}

/* The member, or NULL with an error. */
static JsonNode *get(const Luks2JsonAt *at, const char *field, GError **errp)
{
    JsonNode *node = json_object_get_member(at->object, field);

    if (!node) {
        luks2_json_fail(at, field, errp, "is missing");
    }
    return node;
}

static const char *node_string(JsonNode *node)
{
    return JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == G_TYPE_STRING ? json_node_get_string(node)
                                                                                          : NULL;
}

bool luks2_json_object(const Luks2JsonAt *at, const char *field, Luks2JsonAt *out, GError **errp)
{
    JsonNode *node = get(at, field, errp);

    if (!node) {
        return false;
    }
    if (!JSON_NODE_HOLDS_OBJECT(node)) {
        return luks2_json_fail(at, field, errp, "is not an object");
    }
    out->object = json_node_get_object(node);
    g_snprintf(out->path, sizeof(out->path), "%s%s%s", at->path, at->path[0] ? "." : "", field);
    return true;
}

bool luks2_json_string(const Luks2JsonAt *at, const char *field, const char **out, GError **errp)
{
    JsonNode *node = get(at, field, errp);

    if (!node) {
        return false;
    }
    *out = node_string(node);
    return *out || luks2_json_fail(at, field, errp, "is not a string");
}

bool luks2_json_uint(const Luks2JsonAt *at, const char *field, uint32_t min, uint32_t max, uint32_t *out, GError **errp)
{
    JsonNode *node = get(at, field, errp);
    gint64 value;

    if (!node) {
        return false;
    }
    if (!JSON_NODE_HOLDS_VALUE(node) || json_node_get_value_type(node) != G_TYPE_INT64) {
        return luks2_json_fail(at, field, errp, "is not a whole number");
    }
    value = json_node_get_int(node);
    if (value < min || value > max) {
        return luks2_json_fail(at, field, errp,
                               "%" G_GINT64_FORMAT " is not %" G_GUINT32_FORMAT " to %" G_GUINT32_FORMAT, value, min,
                               max);
    }
    *out = value;
    return true;
}

bool luks2_parse_u64(const char *text, uint64_t *out)
{
    uint64_t value = 0;

    if (!*text || (text[0] == '0' && text[1])) {
        return false;
    }
    for (; *text; text++) {
        if (!g_ascii_isdigit(*text) || !CHECKED_MUL(value, 10, &value) ||
            !CHECKED_ADD(value, (uint64_t)g_ascii_digit_value(*text), &value)) {
            return false;
        }
    }
    *out = value;
    return true;
}

bool luks2_json_u64(const Luks2JsonAt *at, const char *field, uint64_t *out, GError **errp)
{
    const char *text;

    if (!luks2_json_string(at, field, &text, errp)) {
        return false;
    }
    if (!luks2_parse_u64(text, out)) {
        g_autofree char *printable = luks2_json_printable(text);

        return luks2_json_fail(at, field, errp, "'%s' is not a decimal number below 2^64", printable);
    }
    return true;
}

bool luks2_json_bytes(const Luks2JsonAt *at, const char *field, uint8_t *out, size_t max, size_t *len, GError **errp)
{
    g_autoptr(GError) err = NULL;
    g_autoptr(SecBuf) bytes = NULL;
    const char *text;

    if (!luks2_json_string(at, field, &text, errp)) {
        return false;
    }
    /* Longer than any text of @max bytes: nothing is allocated for it. */
    if (strlen(text) > (max + 2) / 3 * 4 + 4) {
        return luks2_json_fail(at, field, errp, "has more than %zu bytes", max);
    }
    bytes = base64_decode_secret(text, strlen(text), &err);
    if (!bytes) {
        return luks2_json_fail(at, field, errp, "is malformed: %s", err->message);
    }
    *len = secbuf_size(bytes);
    if (*len == 0 || *len > max) {
        return luks2_json_fail(at, field, errp, "has %zu bytes, not 1 to %zu", *len, max);
    }
    memcpy(out, secbuf_data(bytes), *len);
    return true;
}

/* ---- lists and ids --------------------------------------------------------------------------------------------- */

static bool add_id(const Luks2JsonAt *at, const char *field, const char *text, uint32_t *mask, GError **errp)
{
    uint64_t id;

    if (!luks2_parse_u64(text, &id) || id >= LUKS2_MAX_IDS) {
        g_autofree char *printable = luks2_json_printable(text);

        return luks2_json_fail(at, field, errp, "has the id '%s', which is not 0 to %d", printable, LUKS2_MAX_IDS - 1);
    }
    *mask |= UINT32_C(1) << id;
    return true;
}

GPtrArray *luks2_json_strings(const Luks2JsonAt *at, const char *field, GError **errp)
{
    g_autoptr(GPtrArray) out = g_ptr_array_new();
    JsonNode *node = json_object_get_member(at->object, field);
    JsonArray *list;

    if (!node) {
        return g_steal_pointer(&out);
    }
    if (!JSON_NODE_HOLDS_ARRAY(node)) {
        luks2_json_fail(at, field, errp, "is not a list");
        return NULL;
    }
    list = json_node_get_array(node);
    for (guint i = 0; i < json_array_get_length(list); i++) {
        const char *text = node_string(json_array_get_element(list, i));

        if (!text) {
            luks2_json_fail(at, field, errp, "has an item %u that is not a string", i);
            return NULL;
        }
        g_ptr_array_add(out, (gpointer)text);
    }
    return g_steal_pointer(&out);
}

bool luks2_json_ids(const Luks2JsonAt *at, const char *field, uint32_t *mask, GError **errp)
{
    g_autoptr(GPtrArray) texts = NULL;

    *mask = 0;
    if (!get(at, field, errp)) {
        return false;
    }
    texts = luks2_json_strings(at, field, errp);
    for (guint i = 0; texts && i < texts->len; i++) {
        if (!add_id(at, field, texts->pdata[i], mask, errp)) {
            return false;
        }
    }
    return texts;
}

bool luks2_json_members(const Luks2JsonAt *at, uint32_t *mask, GError **errp)
{
    g_autoptr(GList) names = json_object_get_members(at->object);

    *mask = 0;
    for (GList *l = names; l; l = l->next) {
        if (!add_id(at, NULL, l->data, mask, errp)) {
            return false;
        }
    }
    return true;
}

bool luks2_json_member(const Luks2JsonAt *at, unsigned id, Luks2JsonAt *out, GError **errp)
{
    char name[16];

    g_snprintf(name, sizeof(name), "%u", id);
    return luks2_json_object(at, name, out, errp);
}
