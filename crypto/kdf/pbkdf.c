/* SPDX-License-Identifier: MIT */
#include "crypto/kdf/pbkdf.h"

#include <string.h>
#include <time.h>

#include "crypto/hash/hmac.h"
#include "util/base/endian.h"
#include "util/base/error.h"
#include "util/base/secbuf.h"
#include "util/thread/thread-pool.h"
#include "util/base/trace.h"
#include "util/base/units.h"

/* Below this many HMACs a derivation is done before a worker would have woken. */
#define PARALLEL_MIN_HMACS 500

#define NS_PER_SEC          1000000000
#define MEASURE_NS          4000000 /* thread CPU time of a run that is long enough to trust */
#define MEASURE_FIRST_COUNT 1024
#define MEASURE_MAX_COUNT   (1u << 24)
#define MEASURE_MIN_RUNS    3
#define MEASURE_BUDGET_NS   40000000 /* then no run is begun any more */
#define MEASURE_AGREE       19 / 20  /* the second best run to the best */

typedef struct Pbkdf2Job {
    const HmacKey *hmac;
    const void *salt;
    size_t salt_len;
    uint64_t iterations;
    uint8_t *out;
    size_t out_len;
    size_t block_len; /* digest length */
} Pbkdf2Job;

/* Output block @i, RFC 8018 section 5.2: T = U1 ^ U2 ^ ..., U1 = HMAC(salt || BE32(i + 1)). Context: any. */
static int derive_block(void *opaque, size_t i)
{
    MEM_WIPE_STACK_GUARD();
    const Pbkdf2Job *job = opaque;
    uint8_t u[HASH_MAX_BYTES], acc[HASH_MAX_BYTES], index[4];
    size_t start = i * job->block_len;

    store_be32(index, i + 1);
    hmac_key_digest(job->hmac, job->salt, job->salt_len, index, sizeof(index), u);
    memcpy(acc, u, sizeof(acc));
    hmac_key_chain(job->hmac, u, acc, job->iterations - 1);
    memcpy(job->out + start, acc, MIN(job->block_len, job->out_len - start));
    mem_wipe(u, sizeof(u));
    mem_wipe(acc, sizeof(acc));
    return 0;
}

void pbkdf2_derive(HashAlg alg, const void *pass, size_t pass_len, const void *salt, size_t salt_len,
                   uint64_t iterations, uint8_t *out, size_t out_len)
{
    MEM_WIPE_STACK_GUARD();
    g_autoptr(HmacKey) hmac = hmac_key_new(alg, pass, pass_len);
    Pbkdf2Job job = {hmac, salt, salt_len, iterations, out, out_len, hash_bytes(alg)};
    size_t blocks = div_round_up(out_len, job.block_len);

    g_assert(iterations >= 1 && blocks <= UINT32_MAX);
    if (blocks > 1 && iterations >= PARALLEL_MIN_HMACS) {
        thread_pool_map_blocking(derive_block, &job, blocks);
        return;
    }
    for (size_t i = 0; i < blocks; i++) {
        derive_block(&job, i);
    }
}

static uint64_t thread_cpu_ns(void)
{
    struct timespec ts;

    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts)) {
        return 0;
    }
    return (uint64_t)ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
}

static uint64_t time_chain(const HmacKey *hmac, uint64_t count)
{
    uint8_t u[HASH_MAX_BYTES] = {0}, acc[HASH_MAX_BYTES] = {0};
    uint64_t start = thread_cpu_ns();

    hmac_key_chain_portable(hmac, u, acc, count);
    return thread_cpu_ns() - start;
}

/* Iterations per second for one output block: the best of a few runs, of which two agree. What a virtual machine is
 * robbed of counts as its CPU time, and a slot must not come out weaker for that. */
static uint64_t measure_block_rate(HashAlg alg)
{
    g_autoptr(HmacKey) hmac = hmac_key_new(alg, "calibration", 11);
    uint64_t count = MEASURE_FIRST_COUNT, best = 0, second = 0, used, spent = 0;

    while ((used = time_chain(hmac, count)) < MEASURE_NS) {
        count *= 2;
        if (count > MEASURE_MAX_COUNT) {
            return 0;
        }
    }
    for (int run = 1;; run++) {
        uint64_t rate = count * NS_PER_SEC / MAX(used, 1);

        second = MAX(second, MIN(rate, best));
        best = MAX(best, rate);
        spent += used;
        if (spent >= MEASURE_BUDGET_NS || (run >= MEASURE_MIN_RUNS && second >= best * MEASURE_AGREE)) {
            return best;
        }
        used = time_chain(hmac, count);
    }
}

uint64_t pbkdf2_rate(HashAlg alg, size_t out_len, GError **errp)
{
    static GMutex lock;
    static uint64_t rates[HASH_COUNT]; /* per block; under lock */
    g_autoptr(GMutexLocker) guard G_GNUC_UNUSED = g_mutex_locker_new(&lock);

    if (!rates[alg]) {
        rates[alg] = measure_block_rate(alg);
        trace(TRACE_CRYPTO, "pbkdf2-rate", "hash=%s per_second=%" G_GUINT64_FORMAT, hash_name(alg), rates[alg]);
    }
    if (!rates[alg]) {
        error_set(errp, "Unable to get accurate CPU usage");
        return 0;
    }
    return rates[alg] / div_round_up(out_len, hash_bytes(alg));
}

bool pbkdf2_iterations_for_time(uint64_t rate, uint64_t ms, uint64_t divisor, uint32_t *iterations, GError **errp)
{
    uint64_t n;

    if (!CHECKED_MUL(rate, ms, &n)) {
        error_set(errp, "PBKDF iterations %" G_GUINT64_FORMAT " too large to scale", rate);
        return false;
    }
    n = n / 1000 / divisor;
    if (n > UINT32_MAX) {
        error_set(errp, "PBKDF iterations %" G_GUINT64_FORMAT " larger than %u", n, UINT32_MAX);
        return false;
    }
    *iterations = MAX(n, PBKDF2_MIN_ITERATIONS);
    return true;
}
