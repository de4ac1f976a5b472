/* SPDX-License-Identifier: MIT */
/* The only random source: keys, salts, key-material stripes and UUIDs. Context: any. */
#ifndef QBLOCK_CRYPTO_RANDOM_H
#define QBLOCK_CRYPTO_RANDOM_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

#define UUID_TEXT_BYTES 37 /* 36 characters and a NUL */

/* Fill @buf with bytes fit for long-term keys. */
bool random_bytes(void *buf, size_t len, GError **errp);

/* A random (version 4) UUID in lower case into @out. */
bool random_uuid(char out[static UUID_TEXT_BYTES], GError **errp);

#endif
