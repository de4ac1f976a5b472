/* SPDX-License-Identifier: MIT */
#include "crypto/cipher/init.h"

#include <gnutls/gnutls.h>

#include "crypto/cipher/cipher.h"
#include "crypto/hash/hash.h"
#include "crypto/hash/hmac.h"
#include "util/base/error.h"

static bool start(GError **errp)
{
    int ret = gnutls_global_init();

    if (ret < 0) {
        error_set(errp, "Unable to start the gnutls library: %s", gnutls_strerror(ret));
        return false;
    }
    return hash_self_test(errp) && hmac_self_test(errp) && cipher_self_test(errp);
}

bool crypto_init(GError **errp)
{
    static gsize once;
    static GError *failure; /* written inside the once, read after it */

    if (g_once_init_enter(&once)) {
        start(&failure);
        g_once_init_leave(&once, 1);
    }
    if (failure) {
        if (errp) {
            *errp = g_error_copy(failure);
        }
        return false;
    }
    return true;
}
