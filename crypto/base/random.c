/* SPDX-License-Identifier: MIT */
#include "crypto/base/random.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdint.h>

#include "util/base/error.h"

bool random_bytes(void *buf, size_t len, GError **errp)
{
    int ret = gnutls_rnd(GNUTLS_RND_KEY, buf, len);

    if (ret < 0) {
        error_set(errp, "Unable to get %zu random bytes: %s", len, gnutls_strerror(ret));
        return false;
    }
    return true;
}

bool random_uuid(char out[static UUID_TEXT_BYTES], GError **errp)
{
    uint8_t u[16];

    if (!random_bytes(u, sizeof(u), errp)) {
        return false;
    }
    u[6] = (u[6] & 0x0f) | 0x40; /* version and variant, RFC 4122 section 4.4 */
    u[8] = (u[8] & 0x3f) | 0x80;
    g_snprintf(out, UUID_TEXT_BYTES, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1],
               u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
    return true;
}
