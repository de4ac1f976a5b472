/* SPDX-License-Identifier: MIT */
/* Which instruction sets this x86-64 CPU has and its system saves. Context: any; pure. */
#ifndef QBLOCK_CRYPTO_CPU_X86_H
#define QBLOCK_CRYPTO_CPU_X86_H

#include <stdbool.h>

bool cpu_has_aesni(void);       /* AES-NI, PCLMULQDQ, SSE4.1 */
bool cpu_has_vaes_avx2(void);   /* VAES, VPCLMULQDQ and AVX2 */
bool cpu_has_vaes_avx512(void); /* VAES, VPCLMULQDQ and AVX-512 F, BW, VL */
bool cpu_has_sha(void);         /* SHA-NI, SSE4.1 */

#endif
