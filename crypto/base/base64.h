/* SPDX-License-Identifier: MIT */
/* Base64 (RFC 4648 section 4) straight into secret memory, with every malformed text refused. Context: any; pure. */
#ifndef QBLOCK_CRYPTO_BASE64_H
#define QBLOCK_CRYPTO_BASE64_H

#include <glib.h>
#include <stddef.h>

#include "util/base/secbuf.h"

/* Line ends are skipped. NULL: "Base64 data contains invalid characters", "... embedded NUL characters", "... is cut
 * short". Caller frees. */
SecBuf *base64_decode_secret(const char *text, size_t len, GError **errp);

#endif
