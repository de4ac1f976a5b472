/* SPDX-License-Identifier: MIT */
/* Placeholder of the layer's name tables; see crypto/cipher.h. */
#include "crypto/cipher.h"

const char *cipher_mode_name(CipherMode mode)
{
    static const char *const names[CIPHER_MODE_COUNT] = {"ecb", "cbc", "xts", "ctr"};

    return names[mode];
}
