/* SPDX-License-Identifier: MIT */
#include "util/base/error.h"

#include <errno.h>
#include <string.h>

G_DEFINE_QUARK(qb-error-quark, qb_error)

static void set_valist(GError **errp, int code, const char *fmt, va_list ap)
{
    if (!errp) {
        return;
    }
    g_assert(!*errp);
    *errp = g_error_new_valist(QB_ERROR, code, fmt, ap);
}

void error_set(GError **errp, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    set_valist(errp, QB_ERROR_FAILED, fmt, ap);
    va_end(ap);
}

void error_set_code(GError **errp, QbErrorCode code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    set_valist(errp, code, fmt, ap);
    va_end(ap);
}

/* An errno error has code QB_ERROR_ERRNO_BASE + errno, so that it survives prefixing and copying. */
enum { QB_ERROR_ERRNO_BASE = 1000 };

void error_set_errno(GError **errp, int err, const char *fmt, ...)
{
    va_list ap;

    g_assert(err > 0);
    va_start(ap, fmt);
    g_autofree char *what = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    g_set_error(errp, QB_ERROR, QB_ERROR_ERRNO_BASE + err, "%s%s%s", what, *what ? ": " : "", g_strerror(err));
}

int error_errno(const GError *err)
{
    if (err && err->domain == QB_ERROR && err->code > QB_ERROR_ERRNO_BASE) {
        return err->code - QB_ERROR_ERRNO_BASE;
    }
    return EINVAL;
}
