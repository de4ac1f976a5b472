/* SPDX-License-Identifier: MIT */
/* Errors of the control path: one GError domain with the few codes callers branch on.
 *
 * A message names the object, the field and the value, is one line and has no full stop.
 * errp comes last, may be NULL, and is never inspected by the callee.
 * Context: any. */
#ifndef QBLOCK_UTIL_ERROR_H
#define QBLOCK_UTIL_ERROR_H

#include <glib.h>

#define QB_ERROR (qb_error_quark())

typedef enum QbErrorCode {
    QB_ERROR_FAILED,      /* anything nobody branches on */
    QB_ERROR_PASSPHRASE,  /* no key slot opens with the secret given */
    QB_ERROR_CORRUPT,     /* on-disk data breaks its format */
    QB_ERROR_UNSUPPORTED, /* valid, but not done by this build */
} QbErrorCode;

GQuark qb_error_quark(void);

/* Set *@errp to a QB_ERROR_FAILED error with a formatted message. */
void error_set(GError **errp, const char *fmt, ...) G_GNUC_PRINTF(2, 3);

/* Set *@errp with an explicit @code. */
void error_set_code(GError **errp, QbErrorCode code, const char *fmt, ...) G_GNUC_PRINTF(3, 4);

/* Set *@errp to "<message>: <strerror(err)>" (just the reason when the message is empty). @err is a positive errno,
 * which error_errno() gives back; the code is above all of QbErrorCode. */
void error_set_errno(GError **errp, int err, const char *fmt, ...) G_GNUC_PRINTF(3, 4);

/* The positive errno an error stands for; EINVAL where it does not carry one. */
int error_errno(const GError *err);

#endif
