/* SPDX-License-Identifier: MIT */
/* Shared by luks2-meta*.c. */
#ifndef QBLOCK_CRYPTO_LUKS2_META_INT_H
#define QBLOCK_CRYPTO_LUKS2_META_INT_H

#include "crypto/luks/luks2-meta.h"

/* One key slot, its areas not yet compared with the rest. */
bool luks2_meta_parse_keyslot(const Luks2JsonAt *at, Luks2Keyslot *slot, GError **errp);

/* The rules between objects: areas in range and apart, ids that exist, segments without gaps, one digest a segment. */
bool luks2_meta_check(const Luks2Meta *m, const Luks2Header *h, GError **errp);

#endif
