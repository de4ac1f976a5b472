/* SPDX-License-Identifier: MIT */
/* What a new image shall be: the create options as checked values. Pure; no I/O. Source: qcow2 sheet section 19. */
#ifndef QBLOCK_BLOCK_QCOW2_SPEC_H
#define QBLOCK_BLOCK_QCOW2_SPEC_H

#include "block/block.h"
#include "block/qcow2/format/qcow2-geometry.h"
#include "crypto/volume/block.h"

typedef struct Qcow2Spec {
    uint64_t size;          /* bytes, rounded up to 512 */
    Qcow2Geometry geo;
    bool lazy_refcounts;
    uint8_t compression_type; /* QCOW2_COMPRESSION_* */
    BlockPrealloc prealloc;
    char *backing_name, *backing_format; /* NULL if none */
    bool encrypted;
    CryptoFormat crypto_format;
    OptDict *encrypt;         /* without "encrypt." and without format */
    uint64_t crypto_bytes;    /* of the LUKS header area; 0 if none */
} Qcow2Spec;

/* Check @options (of qcow2_create_opts, defaults not needed). On success release with _clear; on failure nothing is
 * left. What this build cannot make is refused by name. Context: any. */
bool qcow2_spec_parse(Qcow2Spec *spec, const OptDict *options, GError **errp);
void qcow2_spec_clear(Qcow2Spec *spec);

/* Can an image of these clusters have that size? The L1 table bounds it. Callers have different words for it. */
bool qcow2_spec_fits(const Qcow2Spec *spec);

extern const OptDesc qcow2_create_opts[];

#endif
