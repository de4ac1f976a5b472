/* SPDX-License-Identifier: MIT */
/* JSON text to an OptDict: util/json-lex in front, the grammar by json-glib, flattened here to dotted keys. */
#include "util/options/optdict.h"

#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

#include "util/base/error.h"
#include "util/json/json-lex.h"

/* Flattening repeats a parent's key for every leaf: these bound what 1 MiB of text can grow to. */
enum { MAX_KEY_BYTES = 512, MAX_VALUES = 4096 };

typedef struct JsonFlat {
    OptDict *dict;
    GString *path; /* the dotted key so far */
    int depth;     /* parts in it; the only part may be empty */
    GError **errp;
} JsonFlat;

static bool flatten_node(JsonFlat *flat, JsonNode *node);

static bool flatten_member(JsonFlat *flat, const char *key, JsonNode *node)
{
    size_t path_bytes = flat->path->len;

    if (flat->depth > 0) {
        g_string_append_c(flat->path, '.');
    }
    g_string_append(flat->path, key);
    if (flat->path->len > MAX_KEY_BYTES) {
        error_set(flat->errp, "JSON parse error, a key is longer than %d bytes", MAX_KEY_BYTES);
        return false;
    }
    flat->depth++;
    bool ok = flatten_node(flat, node);
    flat->depth--;
    g_string_truncate(flat->path, path_bytes);
    return ok;
}

static bool flatten_object(JsonFlat *flat, JsonObject *object)
{
    JsonObjectIter iter;
    const char *key;
    JsonNode *node;

    json_object_iter_init_ordered(&iter, object);
    while (json_object_iter_next_ordered(&iter, &key, &node)) {
        if (key[0] != JSON_TAG_STRING) {
            error_set(flat->errp, "JSON parse error, key is not a string in object");
            return false;
        }
        if (!flatten_member(flat, key + 1, node)) {
            return false;
        }
    }
    return true;
}

static bool flatten_array(JsonFlat *flat, JsonArray *array)
{
    for (guint i = 0; i < json_array_get_length(array); i++) {
        g_autofree char *key = g_strdup_printf("%u", i);
        if (!flatten_member(flat, key, json_array_get_element(array, i))) {
            return false;
        }
    }
    return true;
}

/* Whole numbers keep their text; 5e2 and 512.0 are read as numbers, as everywhere in JSON, and become 500 and 512. */
static char *number_text(const char *text)
{
    if (!strpbrk(text, ".eE")) {
        return g_strdup(text);
    }
    double v = g_ascii_strtod(text, NULL);
    return isfinite(v) ? g_strdup_printf("%.17g", v) : g_strdup(text);
}

static bool flatten_scalar(JsonFlat *flat, const char *tagged)
{
    const char *key = flat->path->str;

    if (optdict_size(flat->dict) >= MAX_VALUES) {
        error_set(flat->errp, "JSON parse error, more than %d values", MAX_VALUES);
        return false;
    }
    switch (tagged[0]) {
    case JSON_TAG_NUMBER: {
        g_autofree char *text = number_text(tagged + 1);
        optdict_set_kind(flat->dict, key, text, OPT_INT);
        return true;
    }
    case JSON_TAG_TRUE:
    case JSON_TAG_FALSE:
        optdict_set_bool(flat->dict, key, tagged[0] == JSON_TAG_TRUE);
        return true;
    case JSON_TAG_NULL:
        optdict_set_kind(flat->dict, key, "", OPT_NULL);
        return true;
    default:
        optdict_set(flat->dict, key, tagged + 1);
        return true;
    }
}

static bool flatten_node(JsonFlat *flat, JsonNode *node)
{
    if (JSON_NODE_HOLDS_OBJECT(node) && json_object_get_size(json_node_get_object(node)) > 0) {
        return flatten_object(flat, json_node_get_object(node));
    }
    if (JSON_NODE_HOLDS_ARRAY(node) && json_array_get_length(json_node_get_array(node)) > 0) {
        return flatten_array(flat, json_node_get_array(node));
    }
    /* An empty container stays visible as a key, so that an unknown one is not passed over in silence. */
    return flatten_scalar(flat, JSON_NODE_HOLDS_VALUE(node) ? json_node_get_string(node) : "s");
}

/* A grammar error in the words that users of json: names know. The library's own message is of no use: it quotes the
 * rewritten text. */
static const char *grammar_text(const GError *err)
{
    if (g_error_matches(err, JSON_PARSER_ERROR, JSON_PARSER_ERROR_MISSING_COLON)) {
        return "missing : in object pair";
    }
    if (g_error_matches(err, JSON_PARSER_ERROR, JSON_PARSER_ERROR_MISSING_COMMA)) {
        return "expected separator";
    }
    return "expecting value";
}

typedef struct KeysSeen {
    GHashTable *set; /* "<object> <key>" */
    bool has_duplicate;
} KeysSeen;

/* Of two equal keys the parser keeps the last in silence; what the user meant is unknown, so the text is refused. */
static void note_member(JsonParser *parser, JsonObject *object, const char *key, gpointer opaque)
{
    KeysSeen *seen = opaque;

    if (!g_hash_table_add(seen->set, g_strdup_printf("%p %s", (void *)object, key))) {
        seen->has_duplicate = true;
    }
}

static bool parse_tagged(JsonParser *parser, const GString *tagged, GError **errp)
{
    g_autoptr(GError) err = NULL;
    KeysSeen seen = {.set = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL)};

    g_signal_connect(parser, "object-member", G_CALLBACK(note_member), &seen);
    bool ok = json_parser_load_from_data(parser, tagged->str, (gssize)tagged->len, &err);
    g_hash_table_destroy(seen.set);
    if (!ok) {
        error_set(errp, "JSON parse error, %s", grammar_text(err));
        return false;
    }
    if (seen.has_duplicate) {
        error_set(errp, "JSON parse error, duplicate key");
        return false;
    }
    return true;
}

OptDict *optdict_parse_json(const char *text, GError **errp)
{
    g_autoptr(GString) tagged = g_string_new(NULL);
    g_autoptr(JsonParser) parser = json_parser_new();

    if (!json_lex_tag(text, tagged, errp) || !parse_tagged(parser, tagged, errp)) {
        return NULL;
    }
    JsonNode *root = json_parser_get_root(parser);
    if (!root || !JSON_NODE_HOLDS_OBJECT(root)) {
        error_set(errp, "Invalid JSON object given");
        return NULL;
    }
    g_autoptr(OptDict) dict = optdict_new();
    g_autoptr(GString) path = g_string_new(NULL);
    JsonFlat flat = {.dict = dict, .path = path, .errp = errp};
    return flatten_object(&flat, json_node_get_object(root)) ? g_steal_pointer(&dict) : NULL;
}
