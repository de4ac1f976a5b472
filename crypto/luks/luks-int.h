/* SPDX-License-Identifier: MIT */
/* State shared by the luks-*.c files behind the format table. */
#ifndef QBLOCK_CRYPTO_LUKS_INT_H
#define QBLOCK_CRYPTO_LUKS_INT_H

#include "crypto/volume/block-int.h"
#include "crypto/luks/luks-header.h"
#include "crypto/luks/luks-names.h"

/* b->state; fixed after open. */
typedef struct LuksState {
    LuksHeader header;
    LuksAlgs algs;
} LuksState;

bool luks_open(CryptoBlock *b, OptDict *options, const char *prefix, const CryptoIo *io, uint64_t area_bytes,
               unsigned flags, GError **errp);
bool luks_create(CryptoBlock *b, OptDict *options, const char *prefix, const CryptoIo *io, GError **errp);
bool luks_measure(OptDict *options, const char *prefix, uint64_t *header_bytes, GError **errp);
bool luks_amend(CryptoBlock *b, const CryptoAmend *req, const CryptoIo *io, GError **errp);
InfoTree *luks_info(const CryptoBlock *b);

/* The algorithm options of create, defaults filled in; taken keys are removed. */
bool luks_take_algs(OptDict *options, LuksAlgs *algs, GError **errp);

/* Write @h, zeros behind it up to @bytes (at most LUKS_HEADER_AREA_BYTES), and flush. */
bool luks_write_header(const LuksHeader *h, size_t bytes, const CryptoIo *io, GError **errp);

/* Key known: make @b ready for payload I/O. */
bool luks_install_key(CryptoBlock *b, const LuksState *s, const SecBuf *key, GError **errp);

#endif
