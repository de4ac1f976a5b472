/* SPDX-License-Identifier: MIT */
#include "crypto/base/cpu-x86.h"

#include <cpuid.h>
#include <stdint.h>

/* CPUID is asked itself: the compilers' feature names differ, and emulators (valgrind) answer it for what they can run.
 */
enum {
    LEAF1_ECX_PCLMUL = 1u << 1,
    LEAF1_ECX_SSE41 = 1u << 19,
    LEAF1_ECX_AES = 1u << 25,
    LEAF1_ECX_OSXSAVE = 1u << 27,
    LEAF7_EBX_AVX2 = 1u << 5,
    LEAF7_EBX_AVX512F = 1u << 16,
    LEAF7_EBX_SHA = 1u << 29,
    LEAF7_EBX_AVX512BW = 1u << 30,
    LEAF7_ECX_VAES = 1u << 9,
    LEAF7_ECX_VPCLMUL = 1u << 10,
    XCR0_AVX = 0x06,    /* xmm and ymm state */
    XCR0_AVX512 = 0xe6, /* and opmask, zmm */
};
#define LEAF7_EBX_AVX512VL (1u << 31)

typedef struct CpuFeatures {
    uint32_t leaf1_ecx, leaf7_ebx, leaf7_ecx;
    uint64_t xcr0;
} CpuFeatures;

static CpuFeatures features(void)
{
    CpuFeatures f = {0};
    uint32_t eax, ebx, ecx, edx;

    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx)) {
        f.leaf1_ecx = ecx;
    }
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
        f.leaf7_ebx = ebx;
        f.leaf7_ecx = ecx;
    }
    if (f.leaf1_ecx & LEAF1_ECX_OSXSAVE) {
        __asm__ volatile("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
        f.xcr0 = (uint64_t)edx << 32 | eax;
    }
    return f;
}

static bool all(uint64_t have, uint64_t want)
{
    return (have & want) == want;
}

bool cpu_has_aesni(void)
{
    return all(features().leaf1_ecx, LEAF1_ECX_AES | LEAF1_ECX_PCLMUL | LEAF1_ECX_SSE41);
}

bool cpu_has_sha(void)
{
    CpuFeatures f = features();

    return all(f.leaf1_ecx, LEAF1_ECX_SSE41) && all(f.leaf7_ebx, LEAF7_EBX_SHA);
}

bool cpu_has_vaes_avx2(void)
{
    CpuFeatures f = features();

    return cpu_has_aesni() && all(f.xcr0, XCR0_AVX) && all(f.leaf7_ebx, LEAF7_EBX_AVX2) &&
           all(f.leaf7_ecx, LEAF7_ECX_VAES | LEAF7_ECX_VPCLMUL);
}

bool cpu_has_vaes_avx512(void)
{
    CpuFeatures f = features();

    return cpu_has_vaes_avx2() && all(f.xcr0, XCR0_AVX512) &&
           all(f.leaf7_ebx, LEAF7_EBX_AVX512F | LEAF7_EBX_AVX512BW | LEAF7_EBX_AVX512VL);
}
