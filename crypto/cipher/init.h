/* SPDX-License-Identifier: MIT */
/* Start of the crypto layer: gnutls and the known-answer tests of hashes and AES. */
#ifndef QBLOCK_CRYPTO_INIT_H
#define QBLOCK_CRYPTO_INIT_H

#include <glib.h>
#include <stdbool.h>

/* Idempotent, thread-safe. A cipher row that fails its known-answer test is not used; false when no row is left for AES
 * or a hash is wrong. Every public entry of the layer calls it. Context: any; may block. */
bool crypto_init(GError **errp);

#endif
