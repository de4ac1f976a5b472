/* SPDX-License-Identifier: MIT */
/* The metadata of a LUKS2 header as plain structs, with every rule of LUKS sheet section 10 checked, and back.
 *
 * What is not understood - tokens, unknown kinds of key slot, unknown fields - stays in the JSON tree, which an update
 * edits rather than writes anew. A thing that breaks the format is an error of luks2_meta_parse(); a thing that this
 * build cannot do is noted in the object that needs it, so that the rest stays usable. Pure; no I/O, no key. Context:
 * any. */
#ifndef QBLOCK_CRYPTO_LUKS2_META_H
#define QBLOCK_CRYPTO_LUKS2_META_H

#include "crypto/luks/luks2-header.h"
#include "crypto/luks/luks2-json.h"
#include "crypto/luks/luks2-kdf.h"
#include "crypto/cipher/sector-cipher.h"

typedef struct Luks2Area {
    uint64_t offset, bytes; /* from the start of the header; bytes 0: the slot has no area */
    uint32_t key_bytes;     /* of the key that encrypts it */
    SectorCipherSpec cipher;
} Luks2Area;

typedef enum Luks2Priority { LUKS2_PRIORITY_IGNORE, LUKS2_PRIORITY_NORMAL, LUKS2_PRIORITY_HIGH } Luks2Priority;

typedef struct Luks2Keyslot {
    unsigned id;
    char *type;
    char *unusable; /* why it cannot be tried, for errors; NULL: it can */
    uint32_t key_bytes; /* of the volume key */
    Luks2Priority priority;
    HashAlg af_hash;
    Luks2Area area;
    Luks2Kdf kdf;
} Luks2Keyslot;

typedef struct Luks2Segment {
    unsigned id;
    char *unusable;         /* why its data cannot be read; NULL: it can */
    uint64_t offset, bytes; /* bytes 0: to the end of the file */
    uint64_t iv_tweak;      /* added to every IV number */
    char *encryption;
    uint32_t sector_bytes;
    bool backup; /* not part of the volume */
} Luks2Segment;

typedef struct Luks2Digest {
    unsigned id;
    char *unusable;
    uint32_t keyslots, segments; /* masks of ids */
    HashAlg hash;
    uint32_t iterations;
    uint8_t salt[LUKS2_MAX_SALT_BYTES];
    size_t salt_bytes;
    uint8_t digest[HASH_MAX_BYTES];
    size_t digest_bytes;
} Luks2Digest;

typedef struct Luks2Token {
    unsigned id;
    char *type;
    uint32_t keyslots; /* mask of ids */
} Luks2Token;

typedef struct Luks2Meta {
    JsonNode *root;
    Luks2Keyslot keyslots[LUKS2_MAX_IDS];
    Luks2Segment segments[LUKS2_MAX_IDS];
    Luks2Digest digests[LUKS2_MAX_DIGESTS];
    Luks2Token tokens[LUKS2_MAX_IDS];
    size_t keyslot_count, segment_count, digest_count, token_count;
    uint64_t keyslots_bytes; /* room for areas, behind both header copies */
    GPtrArray *requirements; /* strings: what an opener has to know */
} Luks2Meta;

/* @h: the binary header the text came with. NULL: QB_ERROR_CORRUPT, the message names the object, field and value. */
Luks2Meta *luks2_meta_parse(const char *json, const Luks2Header *h, GError **errp);
void luks2_meta_free(Luks2Meta *m); /* NULL allowed */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Luks2Meta, luks2_meta_free)

/* The text of the tree. Caller frees. */
char *luks2_meta_text(const Luks2Meta *m);

/* The volume in it: borrowed. */
typedef struct Luks2Volume {
    const Luks2Segment *segment;
    const Luks2Digest *digest;
    uint32_t key_bytes;
    SectorCipherSpec cipher;
} Luks2Volume;

/* Find it. False, QB_ERROR_UNSUPPORTED: what the volume needs and this build has not, by name: several segments,
 * integrity, a cipher; fields that could be told are set then, the others are zero. */
bool luks2_meta_volume(const Luks2Meta *m, Luks2Volume *v, GError **errp);

/* False, QB_ERROR_UNSUPPORTED: an opener has to know something that we do not. */
bool luks2_meta_check_requirements(const Luks2Meta *m, GError **errp);

/* "aes-xts-plain64" and a key size to a cipher and back. Errors as of luks_names_parse(). */
bool luks2_cipher_parse(const char *encryption, uint32_t key_bytes, uint32_t sector_bytes, SectorCipherSpec *out,
                        GError **errp);
char *luks2_cipher_text(const SectorCipherSpec *spec); /* caller frees */

/* Put slot @slot (its id, key_bytes, af_hash, area, kdf) into the tree, replacing one of that id, bound to digest
 * @digest_id; or take one out of everything that names it. The structs are not changed: parse the new text. */
void luks2_meta_put_keyslot(Luks2Meta *m, const Luks2Keyslot *slot, unsigned digest_id);
void luks2_meta_remove_keyslot(Luks2Meta *m, unsigned id);

/* The text of a new volume's metadata: one segment, one digest bound to no slot yet, no slots. Caller frees. */
char *luks2_meta_new_text(const Luks2Header *h, const Luks2Segment *segment, const Luks2Digest *digest,
                          uint64_t keyslots_bytes);

#endif
