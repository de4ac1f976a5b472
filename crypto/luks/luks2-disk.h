/* SPDX-License-Identifier: MIT */
/* Both copies of a LUKS2 header on their disk: load the better one, mend the other, store an update.
 *
 * Invariants of an update, in this order:
 *   D1  Key material that the new header names is on the disk before the header.
 *   D2  A copy is written without its checksum first, then with it: a torn copy is never valid.
 *   D3  The first copy is stable before the second is touched: one of them is always valid.
 * Context: that of the callbacks. */
#ifndef QBLOCK_CRYPTO_LUKS2_DISK_H
#define QBLOCK_CRYPTO_LUKS2_DISK_H

#include "crypto/volume/block.h"
#include "crypto/luks/luks2-header.h"

/* Read both copies and keep the valid one of the higher seqid. @area_bytes: length of the file.
 * @json:    its metadata text, NUL-terminated; caller frees.
 * @damaged: the other copy (0, 1) when it has to be rewritten, else -1.
 * False: both are bad; the error is that of the first. */
bool luks2_disk_load(const CryptoIo *io, uint64_t area_bytes, Luks2Header *h, char **json, int *damaged, GError **errp);

/* Rewrite copy @copy from what was loaded. */
bool luks2_disk_restore(const CryptoIo *io, const Luks2Header *h, const char *json, int copy, GError **errp);

/* Write an update: h->seqid grows by one, both copies. */
bool luks2_disk_store(const CryptoIo *io, Luks2Header *h, const char *json, GError **errp);

/* True when some place of the second copy has its magic: a LUKS2 volume whose first copy is gone. */
bool luks2_disk_has_second(const CryptoIo *io, uint64_t area_bytes);

#endif
