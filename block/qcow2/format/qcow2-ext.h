/* SPDX-License-Identifier: MIT */
/* Header extensions: the records between the header and the backing file name. Pure; no I/O. Source: qcow2 sheet
 * section 4. */
#ifndef QBLOCK_BLOCK_QCOW2_EXT_H
#define QBLOCK_BLOCK_QCOW2_EXT_H

#include <stddef.h>
#include <sys/types.h>

#include "block/qcow2/format/qcow2-header.h"

/* Decode the extension area into @h. @area: from the end of the header to the backing name or the end of the cluster.
 * What @h got before a failure is released by qcow2_header_clear(). Context: any. */
bool qcow2_exts_decode(Qcow2Header *h, const uint8_t *area, size_t len, GError **errp);

/* Write the extensions of @h and the end record at @area. Bytes used, or -ENOSPC when @len is too small. Context:
 * any. */
ssize_t qcow2_exts_encode(const Qcow2Header *h, uint8_t *area, size_t len);

/* Name the incompatible features @bits, comma separated, from the feature name table in @area (which may be cut short);
 * bits without a name are shown as one number. Caller frees. Context: any. */
char *qcow2_exts_name_features(const uint8_t *area, size_t len, uint64_t bits);

#endif
