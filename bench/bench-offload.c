/* SPDX-License-Identifier: MIT */
/* Does encrypt-in-parallel=auto do as well as the better of on and off? Encrypts with each mode in turn, by request
 * size and depth, one event loop, no storage. Modes take turns in short slices, so that a clock that changes meets all
 * of them. Per cell: the median speed of each, the ratio of auto to the better of the other two (the median of the
 * rounds' own ratios: the modes of a round run right after one another), and the middle half of those ratios. A cell
 * whose spread is larger than what it lacks says nothing. The last line counts the cells within 5 %.
 *
 *     bench-offload [--only=SETUP] [--rounds=31] [--ms=4] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "block/crypt/crypt-io.h"
#include "crypto/formats/block-open.h"
#include "crypto/cipher/cipher.h"
#include "crypto/cipher/init.h"
#include "crypto/secret/secret.h"
#include "util/base/aligned-buf.h"
#include "util/coroutine/co-tasks.h"
#include "util/loop/event-loop.h"
#include "util/thread/thread-pool.h"

enum { MODES = 3, MAX_ROUNDS = 101, MAX_DEPTH = 32 };

static const char *const mode_names[MODES] = {"auto", "on", "off"};

/* A process of its own each: the row is chosen, and its cost measured, once per process. */
static const struct {
    const char *name, *row, *options;
} setups[] = {
    {"aes-xts avx512", "vector-avx512", "cipher-mode=xts"}, {"aes-xts avx2", "vector-avx2", "cipher-mode=xts"},
    {"aes-xts aesni", "vector-aesni", "cipher-mode=xts"},   {"aes-xts gnutls", "gnutls", "cipher-mode=xts"},
    {"aes-xts nettle", "nettle", "cipher-mode=xts"},        {"aes-cbc-essiv", NULL, "cipher-mode=cbc,ivgen-alg=essiv"},
    {"serpent-xts", NULL, "cipher-alg=serpent-256"},
};
static const size_t sizes[] = {512, 4096, 16384, 65536, 524288, 2097152};
static const int depths[] = {1, 32};

/* Of all cells; shared by the processes. */
typedef struct Summary {
    unsigned cells, good, unclear; /* unclear: not good, but the middle half has ratios that are */
    double worst;
    char worst_name[64];
} Summary;

typedef struct Bench {
    Summary *sum;
    CryptIo crypt;
    int rounds;
    int64_t run_ns;
    uint8_t *bufs[MAX_DEPTH];
} Bench;

typedef struct Stream {
    Bench *b;
    uint8_t *buf;
    size_t bytes;
    int64_t until_ns;
    uint64_t done;
} Stream;

static int coroutine_fn run_stream(void *opaque)
{
    Stream *s = opaque;

    while (clock_monotonic_ns() < s->until_ns) {
        coroutine_reschedule(); /* requests come from the loop: those of the other streams are there too */
        int ret = crypt_io_encrypt_co(&s->b->crypt, s->done, s->buf, s->buf, s->bytes);
        if (ret < 0) {
            return ret;
        }
        s->done += s->bytes;
    }
    return 0;
}

/* MB/s (10^6) of one run. */
static double coroutine_fn run_once(Bench *b, size_t bytes, int depth)
{
    Stream streams[MAX_DEPTH];
    CoTasks tasks;
    uint64_t done = 0;
    int64_t start = clock_monotonic_ns();

    co_tasks_init(&tasks, depth);
    for (int i = 0; i < depth; i++) {
        streams[i] = (Stream){.b = b, .buf = b->bufs[i], .bytes = bytes, .until_ns = start + b->run_ns};
        co_tasks_start(&tasks, run_stream, &streams[i]);
    }
    if (co_tasks_wait(&tasks) < 0) {
        fprintf(stderr, "bench-offload: encryption failed\n");
        exit(1);
    }
    for (int i = 0; i < depth; i++) {
        done += streams[i].done;
    }
    return done * 1e3 / (clock_monotonic_ns() - start);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void count_cell(Summary *sum, const char *name, size_t bytes, int depth, const double *sorted_ratio, int n)
{
    const double good = 0.95;
    double ratio = sorted_ratio[n / 2];

    sum->cells++;
    sum->good += ratio >= good;
    sum->unclear += ratio < good && sorted_ratio[n - 1 - n / 4] >= good;
    if (sum->cells == 1 || ratio < sum->worst) {
        sum->worst = ratio;
        snprintf(sum->worst_name, sizeof(sum->worst_name), "%s, %zu bytes, depth %d", name, bytes, depth);
    }
}

static void coroutine_fn bench_cell(Bench *b, const char *name, size_t bytes, int depth)
{
    static const OffloadMode modes[MODES] = {OFFLOAD_AUTO, OFFLOAD_ON, OFFLOAD_OFF};
    double speed[MODES][MAX_ROUNDS], sorted[MODES][MAX_ROUNDS], ratio[MAX_ROUNDS];
    int n = b->rounds;

    for (int r = -1; r < n; r++) { /* the first is to warm up */
        for (int k = 0; k < MODES; k++) {
            int m = (k + r + MODES) % MODES; /* none is always the first */
            b->crypt.mode = modes[m];
            speed[m][MAX(r, 0)] = run_once(b, bytes, depth);
        }
    }
    for (int m = 0; m < MODES; m++) {
        memcpy(sorted[m], speed[m], n * sizeof(double));
        qsort(sorted[m], n, sizeof(double), compare_doubles);
    }
    /* The better mode by its median: the best of two in each round would only be the luckier one. */
    int better = sorted[1][n / 2] > sorted[2][n / 2] ? 1 : 2;
    for (int r = 0; r < n; r++) {
        ratio[r] = speed[0][r] / speed[better][r];
    }
    qsort(ratio, n, sizeof(double), compare_doubles);
    printf("%-15s %8zu %5d", name, bytes, depth);
    for (int m = 0; m < MODES; m++) {
        printf(" %9.0f", sorted[m][n / 2]);
    }
    printf("  %5.2f  %.2f..%.2f\n", ratio[n / 2], ratio[n / 4], ratio[n - 1 - n / 4]);
    count_cell(b->sum, name, bytes, depth, ratio, n);
    fflush(stdout);
}

typedef struct Job {
    Bench *b;
    const char *name;
} Job;

static void coroutine_fn bench_entry(void *opaque)
{
    const Job *job = opaque;

    for (size_t d = 0; d < G_N_ELEMENTS(depths); d++) {
        for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
            bench_cell(job->b, job->name, sizes[i], depths[d]);
        }
    }
}

static int drop_write(void *opaque, uint64_t offset, const void *buf, size_t bytes)
{
    return 0;
}

/* False: this machine lacks the row. */
static bool make_crypto(Bench *b, size_t setup, GError **errp)
{
    g_autofree char *text = g_strdup_printf("key-secret=k,iter-time=1,%s", setups[setup].options);
    g_autoptr(OptDict) options = optdict_parse_keyval(text, NULL, errp);
    CryptoIo io = {.write = drop_write};
    uint8_t key[CIPHER_MAX_KEY_BYTES] = {1};

    if (setups[setup].row) {
        g_autoptr(Cipher) c = cipher_new_from_row(setups[setup].row, CIPHER_AES_256, CIPHER_XTS, key,
                                                  cipher_key_bytes(CIPHER_AES_256, CIPHER_XTS), errp);
        if (!c) {
            return false;
        }
        g_setenv("QBLOCK_CIPHER", setups[setup].row, TRUE);
    }
    b->crypt.crypto = secret_add_object("secret,id=k,data=bench", errp)
                          ? crypto_block_create(CRYPTO_FORMAT_LUKS, options, "", &io, errp)
                          : NULL;
    return b->crypt.crypto;
}

static int bench_setup(Bench *b, size_t setup)
{
    Job job = {b, setups[setup].name};
    g_autoptr(GError) err = NULL;

    if (!crypto_init(&err) || !make_crypto(b, setup, &err)) {
        printf("%-15s not on this machine: %s\n", setups[setup].name, err ? err->message : "no such row");
        return 0;
    }
    EventLoop *loop = event_loop_new(EVENT_LOOP_AUTO, &err);
    if (!loop) {
        fprintf(stderr, "bench-offload: %s\n", err->message);
        return 1;
    }
    for (int i = 0; i < MAX_DEPTH; i++) {
        b->bufs[i] = aligned_buf_try_new(sizes[G_N_ELEMENTS(sizes) - 1]);
        g_assert(b->bufs[i]);
    }
    event_loop_run_co(loop, bench_entry, &job);
    for (int i = 0; i < MAX_DEPTH; i++) {
        aligned_buf_free(b->bufs[i]);
    }
    event_loop_free(loop);
    thread_pool_shutdown();
    crypto_block_free(b->crypt.crypto);
    return 0;
}

static int run_apart(Bench *b, size_t setup)
{
    int status = 1;

    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        int ret = bench_setup(b, setup);
        fflush(stdout);
        _exit(ret);
    }
    return pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0;
}

static bool any_setup_has(const char *text)
{
    for (size_t i = 0; i < G_N_ELEMENTS(setups); i++) {
        if (strstr(setups[i].name, text)) {
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    g_autofree char *only = NULL;
    int rounds = 31, ms = 4, ret = 0;
    GOptionEntry entries[] = {
        {"only", 0, 0, G_OPTION_ARG_STRING, &only, "only setups whose name has this in it", "TEXT"},
        {"rounds", 0, 0, G_OPTION_ARG_INT, &rounds, "runs of each mode a cell", "N"},
        {"ms", 0, 0, G_OPTION_ARG_INT, &ms, "milliseconds a run", "MS"},
        {NULL},
    };
    g_autoptr(GOptionContext) context = g_option_context_new("- is auto as good as the better of on and off");
    g_autoptr(GError) err = NULL;
    Bench b = {0};

    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &err)) {
        fprintf(stderr, "bench-offload: %s\n", err->message);
        return 1;
    }
    if (rounds < 1 || rounds > MAX_ROUNDS || ms < 1) {
        fprintf(stderr, "bench-offload: bad --rounds or --ms\n");
        return 1;
    }
    b.sum = mmap(NULL, sizeof(*b.sum), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (b.sum == MAP_FAILED) {
        fprintf(stderr, "bench-offload: no memory\n");
        return 1;
    }
    b.rounds = rounds;
    b.run_ns = ms * INT64_C(1000000);
    if (only && !any_setup_has(only)) {
        fprintf(stderr, "bench-offload: --only=%s: no setup has this in its name:", only);
        for (size_t i = 0; i < G_N_ELEMENTS(setups); i++) {
            fprintf(stderr, " %s", setups[i].name);
        }
        fputc('\n', stderr);
        return 1;
    }
    printf("%-15s %8s %5s %9s %9s %9s  %5s  middle half\n", "cipher", "bytes", "depth", mode_names[0], mode_names[1],
           mode_names[2], "ratio");
    for (size_t i = 0; i < G_N_ELEMENTS(setups); i++) {
        if (!only || strstr(setups[i].name, only)) {
            ret |= run_apart(&b, i);
        }
    }
    if (b.sum->cells > 0) {
        printf("%u of %u cells within 5 %%, %u more not clear; worst: %.2f (%s)\n", b.sum->good, b.sum->cells,
               b.sum->unclear, b.sum->worst, b.sum->worst_name);
    }
    return ret || fflush(stdout) != 0 || ferror(stdout);
}
