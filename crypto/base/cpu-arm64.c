/* SPDX-License-Identifier: MIT */
#include "crypto/base/cpu-arm64.h"

#include <asm/hwcap.h>
#include <sys/auxv.h>

bool cpu_has_arm64_crypto(void)
{
    const unsigned long wanted = HWCAP_AES | HWCAP_PMULL;

    return (getauxval(AT_HWCAP) & wanted) == wanted;
}
