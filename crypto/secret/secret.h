/* SPDX-License-Identifier: MIT */
/* Named secrets (--object secret): data, file, raw and base64, encrypted by another secret.
 *
 * The registry is process-wide and locked inside; secrets live in SecBufs until secret_forget_all(). Context: any. */
#ifndef QBLOCK_CRYPTO_SECRET_H
#define QBLOCK_CRYPTO_SECRET_H

#include <glib.h>
#include <stdbool.h>

#include "util/options/optdict.h"
#include "util/base/secbuf.h"

#define SECRET_MAX_BYTES (1u << 20) /* of a secret's file or text */

/* Define a secret from the options of one --object (without qom-type): id, data | file, format=raw|base64, keyid, iv.
 * A file is taken whole, a newline at its end included. Error texts: command-line sheet, "Secrets". */
bool secret_add(const OptDict *options, GError **errp);

/* The secret's bytes, a fresh copy the caller frees. NULL: "No secret with id 'x'". */
SecBuf *secret_lookup(const char *id, GError **errp);

/* As secret_lookup(), but refuses what is not UTF-8 or holds a NUL: "Data from secret x is not valid UTF-8". */
SecBuf *secret_lookup_utf8(const char *id, GError **errp);

/* Checks --object text in key=value or JSON form: "secret,id=..." or {"qom-type":"secret",...}; other types are
 * refused by name. */
bool secret_add_object(const char *text, GError **errp);

void secret_forget_all(void);

#endif
