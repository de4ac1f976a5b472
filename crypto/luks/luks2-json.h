/* SPDX-License-Identifier: MIT */
/* Typed, checked access to the JSON text of a LUKS2 header: every value is asked for by name and range, and an error
 * says where it stands ("LUKS2 metadata: keyslots.0.kdf.time 0 is not 1 to 4294967295"). Pure. Context: any. */
#ifndef QBLOCK_CRYPTO_LUKS2_JSON_H
#define QBLOCK_CRYPTO_LUKS2_JSON_H

#include <glib.h>
#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Parse one JSON object of strict JSON. Size, depth and number of values are bounded before the parser, which recurses,
 * sees the text. Caller unrefs. NULL: QB_ERROR_CORRUPT. */
JsonNode *luks2_json_parse(const char *text, GError **errp);
char *luks2_json_text(JsonNode *root); /* compact; caller frees */

/* An object and where it stands. The object is borrowed from its root. */
typedef struct Luks2JsonAt {
    JsonObject *object;
    char path[64];
} Luks2JsonAt;

Luks2JsonAt luks2_json_root(JsonNode *root);

/* Set @errp to "LUKS2 metadata: <path>.<field> <what>"; false, for tail calls. @field NULL: of the object itself. */
bool luks2_json_fail(const Luks2JsonAt *at, const char *field, GError **errp, const char *fmt, ...)
    G_GNUC_PRINTF(4, 5);

/* A text from the disk, cut to a sane length and escaped for a terminal. Caller frees. */
char *luks2_json_printable(const char *text);

bool luks2_json_has(const Luks2JsonAt *at, const char *field);
bool luks2_json_object(const Luks2JsonAt *at, const char *field, Luks2JsonAt *out, GError **errp);
bool luks2_json_string(const Luks2JsonAt *at, const char *field, const char **out, GError **errp); /* borrowed */
bool luks2_json_uint(const Luks2JsonAt *at, const char *field, uint32_t min, uint32_t max, uint32_t *out,
                    GError **errp);
bool luks2_json_u64(const Luks2JsonAt *at, const char *field, uint64_t *out, GError **errp); /* a decimal string */
/* Base64 of 1 .. @max bytes. */
bool luks2_json_bytes(const Luks2JsonAt *at, const char *field, uint8_t *out, size_t max, size_t *len, GError **errp);
/* A list of id strings, as a bit mask. */
bool luks2_json_ids(const Luks2JsonAt *at, const char *field, uint32_t *mask, GError **errp);
/* A list of strings; a missing one is empty. Caller frees with g_ptr_array_unref(); the strings are borrowed. */
GPtrArray *luks2_json_strings(const Luks2JsonAt *at, const char *field, GError **errp);
/* The ids that are the names of an object's members, all of which are objects. */
bool luks2_json_members(const Luks2JsonAt *at, uint32_t *mask, GError **errp);
bool luks2_json_member(const Luks2JsonAt *at, unsigned id, Luks2JsonAt *out, GError **errp);

/* A decimal without sign, blanks or superfluous zeros. */
bool luks2_parse_u64(const char *text, uint64_t *out);

#endif
