/* SPDX-License-Identifier: MIT */
#include "crypto/base/base64.h"

#include <string.h>

#include "util/base/error.h"

/* Value of a character, or -1; by arithmetic, so that no table index depends on a secret. */
static int sextet(unsigned c)
{
    int v = -1;

    v += (c - 'A' < 26) * (int)(c - 'A' + 1);
    v += (c - 'a' < 26) * (int)(c - 'a' + 27);
    v += (c - '0' < 10) * (int)(c - '0' + 53);
    v += (c == '+') * 63;
    v += (c == '/') * 64;
    return v;
}

SecBuf *base64_decode_secret(const char *text, size_t len, GError **errp)
{
    g_autoptr(SecBuf) out = secbuf_new(len / 4 * 3 + 3);
    size_t n = 0, digits = 0, pads = 0;
    uint32_t group = 0;

    for (size_t i = 0; i < len; i++) {
        int v = sextet((unsigned char)text[i]);

        if (text[i] == '\n' || text[i] == '\r') {
            continue;
        }
        if (text[i] == '\0') {
            error_set(errp, "Base64 data contains embedded NUL characters");
            return NULL;
        }
        if (text[i] == '=' && digits % 4 + pads >= 2 && digits % 4 + pads < 4) {
            pads++;
            continue;
        }
        if (v < 0 || pads) {
            error_set(errp, "Base64 data contains invalid characters");
            return NULL;
        }
        group = group << 6 | v;
        if (++digits % 4 == 0) {
            secbuf_data(out)[n++] = group >> 16;
            secbuf_data(out)[n++] = group >> 8;
            secbuf_data(out)[n++] = group;
        }
    }
    if ((digits + pads) % 4 != 0) {
        error_set(errp, "Base64 data is cut short");
        return NULL;
    }
    if (digits % 4 >= 2) {
        group <<= 6 * (4 - digits % 4);
        secbuf_data(out)[n++] = group >> 16;
    }
    if (digits % 4 == 3) {
        secbuf_data(out)[n++] = group >> 8;
    }
    secbuf_truncate(out, n);
    return g_steal_pointer(&out);
}
