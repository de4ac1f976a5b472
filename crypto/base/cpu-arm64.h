/* SPDX-License-Identifier: MIT */
/* Which instruction sets this arm64 CPU has. Context: any; pure. */
#ifndef QBLOCK_CRYPTO_CPU_ARM64_H
#define QBLOCK_CRYPTO_CPU_ARM64_H

#include <stdbool.h>

bool cpu_has_arm64_crypto(void); /* AES and PMULL */

#endif
