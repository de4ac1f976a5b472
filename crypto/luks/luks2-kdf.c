/* SPDX-License-Identifier: MIT */
#include "crypto/luks/luks2-kdf.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "crypto/kdf/pbkdf.h"
#include "crypto/base/random.h"
#include "util/base/error.h"
#include "util/base/trace.h"
#include "util/base/units.h"

#if HAVE_ARGON2
#include <argon2.h>
#endif

/* Parameters of new slots. */
enum {
    MIN_PASSES = 4,
    MAX_LANES = 4,
    QUICK_MIN_KIB = 1 << 10,
    MIN_KIB = 64 << 10,
    MAX_KIB = 1 << 20,
};

static const char *const kdf_names[LUKS2_KDF_COUNT] = {
    [LUKS2_KDF_ARGON2ID] = "argon2id",
    [LUKS2_KDF_ARGON2I] = "argon2i",
    [LUKS2_KDF_PBKDF2] = "pbkdf2",
};

const char *luks2_kdf_name(Luks2KdfAlg alg)
{
    return kdf_names[alg];
}

bool luks2_kdf_from_name(const char *name, Luks2KdfAlg *alg)
{
    for (int i = 0; i < LUKS2_KDF_COUNT; i++) {
        if (g_str_equal(name, kdf_names[i])) {
            *alg = i;
            return true;
        }
    }
    return false;
}

static uint64_t machine_kib(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);

    return pages > 0 && page_bytes > 0 ? (uint64_t)pages * page_bytes / KIB : UINT64_MAX;
}

bool luks2_kdf_check(const Luks2Kdf *kdf, GError **errp)
{
    if (kdf->alg == LUKS2_KDF_PBKDF2) {
        return true;
    }
    if (!HAVE_ARGON2) {
        error_set_code(errp, QB_ERROR_UNSUPPORTED,
                       "Key derivation '%s' is not supported by this build, which has no libargon2",
                       luks2_kdf_name(kdf->alg));
        return false;
    }
    if (kdf->memory_kib > machine_kib()) {
        error_set_code(errp, QB_ERROR_UNSUPPORTED,
                       "Key derivation '%s' needs %" G_GUINT32_FORMAT
                       " KiB of memory, this machine has %" G_GUINT64_FORMAT " KiB",
                       luks2_kdf_name(kdf->alg), kdf->memory_kib, machine_kib());
        return false;
    }
    return true;
}

/* ---- argon2 ---------------------------------------------------------------------------------------------------- */

#if HAVE_ARGON2
/* Its memory is as secret as what is derived: kept out of core dumps. The library wipes it. */
static int map_memory(uint8_t **memory, size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED) {
        return ARGON2_MEMORY_ALLOCATION_ERROR;
    }
    madvise(p, bytes, MADV_DONTDUMP);
    *memory = p;
    return ARGON2_OK;
}

static void unmap_memory(uint8_t *memory, size_t bytes)
{
    munmap(memory, bytes);
}

static unsigned online_cpus(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n > 0 ? n : 1;
}

static bool argon2_derive(const Luks2Kdf *kdf, const SecBuf *password, uint8_t *out, size_t out_bytes, GError **errp)
{
    argon2_context ctx = {
        .out = out,
        .outlen = out_bytes,
        .pwd = secbuf_data(password),
        .pwdlen = secbuf_size(password),
        .salt = (uint8_t *)kdf->salt,
        .saltlen = kdf->salt_bytes,
        .t_cost = kdf->passes,
        .m_cost = kdf->memory_kib,
        .lanes = kdf->lanes,
        .threads = MIN(kdf->lanes, online_cpus()), /* the result depends on the lanes only */
        .version = ARGON2_VERSION_13,
        .allocate_cbk = map_memory,
        .free_cbk = unmap_memory,
        .flags = ARGON2_DEFAULT_FLAGS,
    };
    int ret = argon2_ctx(&ctx, kdf->alg == LUKS2_KDF_ARGON2I ? Argon2_i : Argon2_id);

    if (ret != ARGON2_OK) {
        error_set(errp, "Key derivation '%s' with %" G_GUINT32_FORMAT " KiB of memory failed: %s",
                  luks2_kdf_name(kdf->alg), kdf->memory_kib, argon2_error_message(ret));
        return false;
    }
    return true;
}

static uint64_t thread_cpu_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Picoseconds for one KiB in one pass of one lane, by a run that is long enough to trust; the better of two. In CPU
 * time of this thread, where a single lane is computed: on a busy machine a slot must not come out weaker. 0 with errp.
 */
static uint64_t measure_ps_per_kib(const Luks2Kdf *kdf, size_t out_bytes, GError **errp)
{
    enum { FIRST_KIB = 4 << 10, LAST_KIB = 64 << 10, ENOUGH_NS = 15000000, RUNS = 2, PS_PER_NS = 1000 };
    g_autoptr(SecBuf) password = secbuf_new_copy("calibration", 11);
    g_autoptr(SecBuf) out = secbuf_new(out_bytes);
    uint64_t best = UINT64_MAX;
    Luks2Kdf probe = *kdf;

    probe.passes = probe.lanes = 1;
    for (probe.memory_kib = FIRST_KIB; probe.memory_kib <= LAST_KIB && best == UINT64_MAX; probe.memory_kib *= 2) {
        for (int i = 0; i < RUNS; i++) {
            uint64_t start = thread_cpu_ns(), used;

            if (!argon2_derive(&probe, password, secbuf_data(out), out_bytes, errp)) {
                return 0;
            }
            used = thread_cpu_ns() - start;
            if (used < ENOUGH_NS && probe.memory_kib < LAST_KIB) {
                break;
            }
            best = MIN(best, used * PS_PER_NS / probe.memory_kib);
        }
    }
    return MAX(best, 1);
}

/* Memory first, as it is what an attacker pays for: passes grow only when the memory is at its limit. */
static bool argon2_calibrate(Luks2Kdf *kdf, uint64_t ms, size_t out_bytes, GError **errp)
{
    const uint64_t ps_per_ms = 1000000000;
    uint64_t max_kib = MIN((uint64_t)MAX_KIB, machine_kib() / 2), min_kib, ps, cost;

    kdf->lanes = MIN(MAX_LANES, online_cpus());
    min_kib = MIN(ms < LUKS2_KDF_QUICK_MS ? QUICK_MIN_KIB : MIN_KIB, max_kib);
    ps = measure_ps_per_kib(kdf, out_bytes, errp);
    if (ps == 0) {
        return false;
    }
    if (!CHECKED_MUL(ms, ps_per_ms, &cost) || cost / ps > LUKS2_MAX_ARGON2_COST / kdf->lanes) {
        error_set(errp, "Key derivation '%s' cannot be made to last %" G_GUINT64_FORMAT " milliseconds",
                  luks2_kdf_name(kdf->alg), ms);
        return false;
    }
    cost = cost / ps * kdf->lanes;
    kdf->memory_kib = CLAMP(cost / MIN_PASSES, min_kib, max_kib);
    kdf->passes = MAX(MIN_PASSES, cost / kdf->memory_kib);
    trace(TRACE_CRYPTO, "argon2-calibrated", "ps_per_kib=%" G_GUINT64_FORMAT " passes=%u kib=%u lanes=%u", ps,
          kdf->passes, kdf->memory_kib, kdf->lanes);
    return true;
}
#else
static bool argon2_derive(const Luks2Kdf *kdf, const SecBuf *password, uint8_t *out, size_t out_bytes, GError **errp)
{
    return luks2_kdf_check(kdf, errp);
}

static bool argon2_calibrate(Luks2Kdf *kdf, uint64_t ms, size_t out_bytes, GError **errp)
{
    return luks2_kdf_check(kdf, errp);
}
#endif

/* ---- all ------------------------------------------------------------------------------------------------------- */

bool luks2_kdf_derive(const Luks2Kdf *kdf, const SecBuf *password, uint8_t *out, size_t out_bytes, GError **errp)
{
    if (!luks2_kdf_check(kdf, errp)) {
        return false;
    }
    if (kdf->alg != LUKS2_KDF_PBKDF2) {
        return argon2_derive(kdf, password, out, out_bytes, errp);
    }
    pbkdf2_derive(kdf->hash, secbuf_data(password), secbuf_size(password), kdf->salt, kdf->salt_bytes, kdf->iterations,
                  out, out_bytes);
    return true;
}

bool luks2_kdf_calibrate(Luks2Kdf *kdf, uint64_t ms, size_t out_bytes, GError **errp)
{
    kdf->salt_bytes = LUKS2_SALT_BYTES;
    if (!luks2_kdf_check(kdf, errp) || !random_bytes(kdf->salt, kdf->salt_bytes, errp)) {
        return false;
    }
    if (kdf->alg != LUKS2_KDF_PBKDF2) {
        return argon2_calibrate(kdf, ms, out_bytes, errp);
    }
    uint64_t rate = pbkdf2_rate(kdf->hash, out_bytes, errp);

    return rate && pbkdf2_iterations_for_time(rate, ms, 1, &kdf->iterations, errp);
}
