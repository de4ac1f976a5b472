/* SPDX-License-Identifier: MIT */
/* Speed of the cipher rows: MB/s (10^6) of each row by chunk, with the IV set once a chunk and once a 512-byte sector,
 * on 1..N threads, encrypt and decrypt.
 *
 * The clock of a machine drifts, so the rows of one cell (chunk, sector, direction, threads) take turns in short slices
 * and a figure is the median over the rounds; "vs gnutls" is the median of the ratios of one round. Rates are by the
 * wall clock. With one thread its CPU time is taken instead, so that a busy machine disturbs less.
 *
 *     bench-cipher [--output=json] [--row=NAME] [--alg=aes-256] [--mode=xts] [--threads=N] [--chunk=BYTES]
 *                  [--sector=BYTES] [--limits] [--rounds=51] [--us=300]
 *
 * --limits adds what the AES instructions alone could do (bench/aes-limit.h), counting the block that makes an xts
 * sector's tweak. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/aes-limit.h"
#include "crypto/cipher/aes-keys.h"
#include "crypto/cipher/cipher.h"
#include "crypto/cipher/init.h"
#include "crypto/cipher/ivgen.h"
#include "util/base/aligned-buf.h"
#include "util/output/info-tree.h"

enum { WORK_BYTES = 1 << 16 }; /* of a thread, if a chunk is not larger: fits in the second-level cache */
enum { MAX_ROUNDS = 1001, MAX_THREADS = 64, MAX_CONTENDERS = 16, SECTOR = 512, MAX_CHUNK = 1 << 20 };

/* What takes turns: a row, or a limit of the CPU. */
typedef struct Contender {
    const char *name;
    const AesLimit *limit; /* NULL: the row @name */
} Contender;

typedef struct Options {
    CipherAlg alg;
    CipherMode mode;
    size_t only_chunk, only_sector; /* 0: all */
    int threads, rounds;
    int64_t slice_ns;
    Contender contenders[MAX_CONTENDERS];
    size_t contender_count;
} Options;

/* One line of the table. */
typedef struct Cell {
    const Options *options;
    size_t chunk, sector;
    bool encrypt;
    int threads;
} Cell;

typedef struct Thread {
    const Cell *cell;
    const Contender *contender;
    pthread_t id;
    pthread_barrier_t *start;
    uint64_t bytes;
    int64_t ns;
} Thread;

static int64_t now_ns(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static Cipher *new_cipher(const Options *o, const char *row)
{
    uint8_t key[CIPHER_MAX_KEY_BYTES];

    for (size_t i = 0; i < sizeof(key); i++) {
        key[i] = i;
    }
    return cipher_new_from_row(row, o->alg, o->mode, key, cipher_key_bytes(o->alg, o->mode), NULL);
}

/* What one thread works on: chunks one after the other, and a generator that sets the IVs of each as a disk does. */
typedef struct Work {
    Cipher *cipher; /* NULL: a limit */
    IvGen *ivgen;
    uint8_t *ivs;
    void *buf; /* chunks * cell->chunk bytes */
    size_t chunks;
} Work;

static Work work_new(const Cell *cell, const Contender *who)
{
    const Options *o = cell->options;
    uint8_t key[CIPHER_MAX_KEY_BYTES] = {0};
    Work w = {.chunks = MAX(1, WORK_BYTES / cell->chunk)};

    w.cipher = who->limit ? NULL : new_cipher(o, who->name);
    w.ivgen = ivgen_new(IVGEN_PLAIN64, o->alg, HASH_SHA256, key, cipher_key_bytes(o->alg, o->mode), NULL);
    w.ivs = g_malloc0(cell->chunk / cell->sector * CIPHER_IV_BYTES);
    w.buf = aligned_buf_try_new(w.chunks * cell->chunk);
    if (!w.buf || !w.ivgen) {
        fprintf(stderr, "bench-cipher: no memory\n");
        exit(1);
    }
    memset(w.buf, 0, w.chunks * cell->chunk);
    return w;
}

static void work_free(Work *w)
{
    cipher_free(w->cipher);
    ivgen_free(w->ivgen);
    g_free(w->ivs);
    aligned_buf_free(w->buf);
}

/* All chunks once. A limit does all their blocks at once: for it a chunk has no beginning and no end. */
static void run_chunks(const Cell *cell, const Contender *who, Work *w)
{
    const Options *o = cell->options;
    size_t count = cell->chunk / cell->sector, iv_step = MAX(1, cell->sector / SECTOR);

    if (who->limit) {
        unsigned rounds = cipher_key_bytes(o->alg, CIPHER_CBC) / 4 + 6;
        who->limit->run(rounds, w->chunks * (cell->chunk / AES_BLOCK_BYTES + (o->mode == CIPHER_XTS ? count : 0)));
        return;
    }
    for (size_t i = 0; i < w->chunks; i++) {
        uint8_t *buf = (uint8_t *)w->buf + i * cell->chunk;

        if (ivgen_fill(w->ivgen, i * count * iv_step, iv_step, count, w->ivs) ||
            (cell->encrypt ? cipher_encrypt_sectors : cipher_decrypt_sectors)(w->cipher, w->ivs, cell->sector, count,
                                                                              buf, buf)) {
            fprintf(stderr, "bench-cipher: row %s failed\n", who->name);
            exit(1);
        }
    }
}

static void *thread_main(void *opaque)
{
    Thread *t = opaque;
    const Cell *cell = t->cell;
    clockid_t clock = cell->threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
    Work w = work_new(cell, t->contender);
    int64_t start;

    run_chunks(cell, t->contender, &w); /* warms up */
    pthread_barrier_wait(t->start);
    start = now_ns(clock);
    do {
        run_chunks(cell, t->contender, &w);
        t->bytes += w.chunks * cell->chunk;
        t->ns = now_ns(clock) - start;
    } while (t->ns < cell->options->slice_ns);
    work_free(&w);
    return NULL;
}

/* MB/s of all threads together. */
static double run_slice(const Cell *cell, const Contender *contender)
{
    Thread threads[MAX_THREADS] = {0};
    pthread_barrier_t start;
    double rate = 0;

    pthread_barrier_init(&start, NULL, cell->threads);
    for (int i = 0; i < cell->threads; i++) {
        threads[i] = (Thread){.cell = cell, .contender = contender, .start = &start};
        if (pthread_create(&threads[i].id, NULL, thread_main, &threads[i])) {
            fprintf(stderr, "bench-cipher: cannot start thread %d\n", i);
            exit(1);
        }
    }
    for (int i = 0; i < cell->threads; i++) {
        pthread_join(threads[i].id, NULL);
        rate += threads[i].bytes * 1e3 / threads[i].ns; /* bytes/ns * 1000 = MB/s */
    }
    pthread_barrier_destroy(&start);
    return rate;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Sorts @values; the median, and the quartiles as the spread. */
static double median(double *values, int n, double *low, double *high)
{
    qsort(values, n, sizeof(values[0]), compare_doubles);
    *low = values[n / 4];
    *high = values[n - 1 - n / 4];
    return values[n / 2];
}

static void report(InfoTree *list, const Cell *cell, const char *row, double *rates, double *ratios)
{
    const Options *o = cell->options;
    double low, high, ratio_low, ratio_high, ratio = 0, rate = median(rates, o->rounds, &low, &high);
    InfoTree *line;

    if (ratios) {
        ratio = median(ratios, o->rounds, &ratio_low, &ratio_high);
    }
    if (!list) {
        printf("%-14s %s-%s %s chunk %7zu sector %7zu threads %d %7.0f MB/s (%.0f..%.0f)", row, cipher_alg_name(o->alg),
               cipher_mode_name(o->mode), cell->encrypt ? "encrypt" : "decrypt", cell->chunk, cell->sector,
               cell->threads, rate, low, high);
        if (ratios) {
            printf("  vs gnutls %.2f (%.2f..%.2f)", ratio, ratio_low, ratio_high);
        }
        puts("");
        fflush(stdout);
        return;
    }
    line = info_object_new();
    info_set_str(line, "row", row);
    info_set_str(line, "cipher", cipher_alg_name(o->alg));
    info_set_str(line, "mode", cipher_mode_name(o->mode));
    info_set_uint(line, "chunk", cell->chunk);
    info_set_uint(line, "sector", cell->sector);
    info_set_uint(line, "threads", cell->threads);
    info_set_str(line, "direction", cell->encrypt ? "encrypt" : "decrypt");
    info_set_uint(line, "mb_per_s", rate);
    info_set_uint(line, "mb_per_s_low", low);
    info_set_uint(line, "mb_per_s_high", high);
    if (ratios) {
        info_set_uint(line, "percent_of_gnutls", ratio * 100 + 0.5);
    }
    info_append(list, line);
}

/* All contenders in turn, @rounds times. */
static void bench_cell(InfoTree *list, const Cell *cell)
{
    const Options *o = cell->options;
    double rates[MAX_CONTENDERS][MAX_ROUNDS], ratios[MAX_CONTENDERS][MAX_ROUNDS];
    size_t base = o->contender_count;

    for (int round = 0; round < o->rounds; round++) {
        for (size_t i = 0; i < o->contender_count; i++) {
            rates[i][round] = run_slice(cell, &o->contenders[i]);
        }
    }
    for (size_t i = 0; i < o->contender_count; i++) {
        if (!strcmp(o->contenders[i].name, "gnutls")) {
            base = i;
        }
    }
    for (size_t i = 0; base < o->contender_count && i < o->contender_count; i++) {
        for (int round = 0; round < o->rounds; round++) {
            ratios[i][round] = rates[i][round] / rates[base][round];
        }
    }
    for (size_t i = 0; i < o->contender_count; i++) {
        report(list, cell, o->contenders[i].name, rates[i], base < o->contender_count ? ratios[i] : NULL);
    }
}

/* All chunks, the IV by chunk and by sector, both directions. */
static void bench_cells(InfoTree *list, const Options *o, int threads)
{
    static const size_t chunks[] = {512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, MAX_CHUNK};

    for (size_t i = 0; i < G_N_ELEMENTS(chunks); i++) {
        size_t sectors[] = {chunks[i], SECTOR};

        for (size_t k = 0; k < (chunks[i] == SECTOR ? 1 : G_N_ELEMENTS(sectors)); k++) {
            if ((o->only_chunk && o->only_chunk != chunks[i]) || (o->only_sector && o->only_sector != sectors[k])) {
                continue;
            }
            for (int encrypt = 1; encrypt >= 0; encrypt--) {
                Cell cell = {o, chunks[i], sectors[k], encrypt, threads};
                bench_cell(list, &cell);
            }
        }
    }
}

/* The rows that do the cipher and the mode; with @row only that one, and gnutls to compare. False: there is none. */
static bool choose_contenders(Options *o, const char *row, bool limits)
{
    const AesLimit *limit;
    const char *name;
    bool found = false;

    for (size_t i = 0; (name = cipher_row_name_at(i)) && o->contender_count < MAX_CONTENDERS; i++) {
        g_autoptr(Cipher) probe = new_cipher(o, name);

        if (probe && (!row || !strcmp(row, name) || !strcmp(name, "gnutls"))) {
            o->contenders[o->contender_count++] = (Contender){name, NULL};
            found = found || !row || !strcmp(row, name);
        }
    }
    for (size_t i = 0; limits && (limit = aes_limit_at(i)) && o->contender_count < MAX_CONTENDERS; i++) {
        o->contenders[o->contender_count++] = (Contender){limit->name, limit};
    }
    return found;
}

static bool parse_options(Options *o, bool *json, int *argc, char ***argv, GError **errp)
{
    g_autofree char *output = NULL, *row = NULL, *alg = g_strdup("aes-256"), *mode = g_strdup("xts");
    int chunk = 0, sector = 0, us = 300;
    gboolean limits = FALSE;
    GOptionEntry entries[] = {
        {"output", 0, 0, G_OPTION_ARG_STRING, &output, "human or json", "FORMAT"},
        {"row", 0, 0, G_OPTION_ARG_STRING, &row, "only this row, beside gnutls", "NAME"},
        {"alg", 0, 0, G_OPTION_ARG_STRING, &alg, "cipher", "NAME"},
        {"mode", 0, 0, G_OPTION_ARG_STRING, &mode, "mode", "NAME"},
        {"threads", 0, 0, G_OPTION_ARG_INT, &o->threads, "1..N threads", "N"},
        {"chunk", 0, 0, G_OPTION_ARG_INT, &chunk, "only this chunk", "BYTES"},
        {"sector", 0, 0, G_OPTION_ARG_INT, &sector, "only this sector", "BYTES"},
        {"limits", 0, 0, G_OPTION_ARG_NONE, &limits, "what the AES instructions alone could do, too", NULL},
        {"rounds", 0, 0, G_OPTION_ARG_INT, &o->rounds, "slices of each row in a cell", "N"},
        {"us", 0, 0, G_OPTION_ARG_INT, &us, "microseconds a slice", "US"},
        {NULL},
    };
    g_autoptr(GOptionContext) context = g_option_context_new("- speed of the cipher rows");

    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, argc, argv, errp) || !crypto_init(errp)) {
        return false;
    }
    if (*argc > 1 || !cipher_alg_from_name(alg, &o->alg) || !cipher_mode_from_name(mode, &o->mode) || o->threads < 1 ||
        o->threads > MAX_THREADS || us < 1 || o->rounds < 1 || o->rounds > MAX_ROUNDS || chunk < 0 || sector < 0 ||
        (output && strcmp(output, "json") && strcmp(output, "human"))) {
        g_set_error(errp, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "bad --output, --alg, --mode, --threads, --chunk, --sector, --rounds, --us or an argument");
        return false;
    }
    *json = !g_strcmp0(output, "json");
    o->only_chunk = chunk;
    o->only_sector = sector;
    o->slice_ns = us * INT64_C(1000);
    if (!choose_contenders(o, row, limits && !strcmp(cipher_alg_family(o->alg), "aes"))) {
        g_set_error(errp, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "no row '%s' for %s-%s", row ? row : "", alg, mode);
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    Options options = {.threads = 1, .rounds = 51};
    g_autoptr(GError) err = NULL;
    InfoTree *list = NULL;
    bool json;

    if (!parse_options(&options, &json, &argc, &argv, &err)) {
        fprintf(stderr, "bench-cipher: %s\n", err->message);
        return 1;
    }
    if (json) {
        list = info_array_new();
    }
    for (int threads = 1; threads <= options.threads; threads++) {
        bench_cells(list, &options, threads);
    }
    if (list) {
        g_autofree char *text = info_to_json(list, false);
        puts(text);
        info_free(list);
    }
    return fflush(stdout) != 0 || ferror(stdout);
}
