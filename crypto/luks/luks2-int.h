/* SPDX-License-Identifier: MIT */
/* State shared by the luks2-*.c files behind the format table. */
#ifndef QBLOCK_CRYPTO_LUKS2_INT_H
#define QBLOCK_CRYPTO_LUKS2_INT_H

#include "crypto/volume/block-int.h"
#include "crypto/luks/luks2-header.h"
#include "crypto/luks/luks2-meta.h"

/* b->state. Fixed after open. */
typedef struct Luks2State {
    Luks2Header header;
    Luks2Meta *meta;
    Luks2Volume volume; /* without a key (info) it may be partly unknown: zero */
} Luks2State;

bool luks2_open(CryptoBlock *b, OptDict *options, const char *prefix, const CryptoIo *io, uint64_t area_bytes,
                unsigned flags, GError **errp);
bool luks2_create(CryptoBlock *b, OptDict *options, const char *prefix, const CryptoIo *io, GError **errp);
bool luks2_measure(OptDict *options, const char *prefix, uint64_t *header_bytes, GError **errp);
bool luks2_amend(CryptoBlock *b, const CryptoAmend *req, const CryptoIo *io, GError **errp);
InfoTree *luks2_info(const CryptoBlock *b);

/* State is complete: make @b ready for payload I/O; without @key for its facts. */
bool luks2_install_key(CryptoBlock *b, const Luks2State *s, const SecBuf *key, GError **errp);

#endif
