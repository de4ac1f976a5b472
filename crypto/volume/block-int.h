/* SPDX-License-Identifier: MIT */
/* The inside of CryptoBlock and what a format provides; for crypto/ only. */
#ifndef QBLOCK_CRYPTO_BLOCK_INT_H
#define QBLOCK_CRYPTO_BLOCK_INT_H

#include "crypto/volume/block.h"
#include "crypto/cipher/cipher-slots.h"

#define CRYPTO_ITER_TIME_MS 2000 /* of a key slot, unless "iter-time" says otherwise */

/* A change of key slots: what crypto_block_amend() was asked for, checked as far as it can be without the header. */
typedef struct CryptoAmend {
    bool activate; /* with new_secret; else erase, by slot or old_secret or both */
    bool force;
    bool has_slot;
    uint64_t slot; /* as given: the format knows how many there are */
    uint64_t iter_time_ms;
    SecBuf *new_secret, *old_secret; /* NULL: not given */
} CryptoAmend;

typedef struct CryptoFormatOps {
    /* Fill @b: payload_offset, slots (unless CRYPTO_OPEN_NO_IO), state. The caller frees what failure leaves. */
    bool (*open)(CryptoBlock *b, OptDict *options, const char *prefix, const CryptoIo *io, uint64_t area_bytes,
                 unsigned flags, GError **errp);
    bool (*create)(CryptoBlock *b, OptDict *options, const char *prefix, const CryptoIo *io, GError **errp);
    bool (*measure)(OptDict *options, const char *prefix, uint64_t *header_bytes, GError **errp);
    /* @b has its key. NULL: no key slots. */
    bool (*amend)(CryptoBlock *b, const CryptoAmend *req, const CryptoIo *io, GError **errp);
    InfoTree *(*info)(const CryptoBlock *b);
    void (*state_free)(void *state); /* NULL: no state */
} CryptoFormatOps;

/* Fixed after open. */
struct CryptoBlock {
    CryptoFormat format;
    const CryptoFormatOps *ops;
    uint64_t payload_offset; /* bytes */
    uint64_t payload_bytes;  /* 0: to the end of the file */
    uint64_t first_iv;       /* IV number of payload offset 0 */
    CipherSlots *slots;      /* NULL: opened without a key */
    size_t sector_bytes;
    void *state;             /* the format's */
};

/* Take "key-secret" out of @options and look it up. "Parameter '<prefix>key-secret' is required for cipher". */
SecBuf *crypto_block_take_secret(OptDict *options, const char *prefix, GError **errp);

extern const CryptoFormatOps crypto_format_qcow, crypto_format_luks, crypto_format_luks2, crypto_format_luks_any;

#endif
