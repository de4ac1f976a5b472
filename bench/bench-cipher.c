/* SPDX-License-Identifier: MIT */
/* Speed of the cipher rows: MB/s (10^6) of each row by chunk, with the IV set once a chunk and once a 512-byte sector,
 * on 1..N threads, encrypt and decrypt. A figure is the median of several runs by the wall clock; the spread is printed
 * beside it. With one thread its CPU time is taken instead, so that a busy machine disturbs less.
 *
 *     bench-cipher [--output=json] [--row=NAME] [--alg=aes-256] [--mode=xts] [--threads=N] [--ms=30] */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "crypto/cipher.h"
#include "crypto/init.h"
#include "util/info-tree.h"

enum { RUNS = 5, MAX_THREADS = 64, SECTOR = 512, MAX_CHUNK = 1 << 20 };

typedef struct Setup {
    const char *row;
    CipherAlg alg;
    CipherMode mode;
    size_t chunk, sector;
    bool encrypt;
    int threads;
    int64_t run_ns;
} Setup;

typedef struct Thread {
    const Setup *setup;
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

static void *thread_main(void *opaque)
{
    Thread *t = opaque;
    const Setup *s = t->setup;
    clockid_t clock = s->threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
    size_t count = s->chunk / s->sector;
    uint8_t key[CIPHER_MAX_KEY_BYTES], *ivs = g_malloc0(count * CIPHER_IV_BYTES), *buf = g_malloc0(s->chunk);
    g_autoptr(Cipher) c = NULL;
    int64_t start;

    for (size_t i = 0; i < sizeof(key); i++) {
        key[i] = i;
    }
    c = cipher_new_from_row(s->row, s->alg, s->mode, key, cipher_key_bytes(s->alg, s->mode), NULL);
    pthread_barrier_wait(t->start);
    start = now_ns(clock);
    do {
        for (int i = 0; i < 16; i++) {
            (s->encrypt ? cipher_encrypt_sectors : cipher_decrypt_sectors)(c, ivs, s->sector, count, buf, buf);
            t->bytes += s->chunk;
        }
        t->ns = now_ns(clock) - start;
    } while (t->ns < s->run_ns);
    g_free(ivs);
    g_free(buf);
    return NULL;
}

static double run_once(const Setup *s)
{
    Thread threads[MAX_THREADS] = {0};
    pthread_barrier_t start;
    double rate = 0;

    pthread_barrier_init(&start, NULL, s->threads);
    for (int i = 0; i < s->threads; i++) {
        threads[i] = (Thread){.setup = s, .start = &start};
        if (pthread_create(&threads[i].id, NULL, thread_main, &threads[i])) {
            fprintf(stderr, "bench-cipher: cannot start thread %d\n", i);
            exit(1);
        }
    }
    for (int i = 0; i < s->threads; i++) {
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

static void report(InfoTree *list, const Setup *s)
{
    double rates[RUNS];
    InfoTree *row;

    for (int i = 0; i < RUNS; i++) {
        rates[i] = run_once(s);
    }
    qsort(rates, RUNS, sizeof(rates[0]), compare_doubles);
    if (!list) {
        printf("%-14s %s-%s %-7s chunk %7zu sector %7zu threads %d %9.0f MB/s (%.0f..%.0f)\n", s->row,
               cipher_alg_name(s->alg), cipher_mode_name(s->mode), s->encrypt ? "encrypt" : "decrypt", s->chunk,
               s->sector, s->threads, rates[RUNS / 2], rates[0], rates[RUNS - 1]);
        fflush(stdout);
        return;
    }
    row = info_object_new();
    info_set_str(row, "row", s->row);
    info_set_str(row, "cipher", cipher_alg_name(s->alg));
    info_set_str(row, "mode", cipher_mode_name(s->mode));
    info_set_uint(row, "chunk", s->chunk);
    info_set_uint(row, "sector", s->sector);
    info_set_uint(row, "threads", s->threads);
    info_set_str(row, "direction", s->encrypt ? "encrypt" : "decrypt");
    info_set_uint(row, "mb_per_s", rates[RUNS / 2]);
    info_set_uint(row, "mb_per_s_low", rates[0]);
    info_set_uint(row, "mb_per_s_high", rates[RUNS - 1]);
    info_append(list, row);
}

/* All chunks, both directions, the IV by chunk and by sector. */
static void bench_row(InfoTree *list, Setup s)
{
    static const size_t chunks[] = {512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, MAX_CHUNK};

    for (size_t i = 0; i < G_N_ELEMENTS(chunks); i++) {
        for (int by_sector = 0; by_sector < 2; by_sector++) {
            if (by_sector && chunks[i] == SECTOR) {
                continue;
            }
            for (int encrypt = 1; encrypt >= 0; encrypt--) {
                s.chunk = chunks[i];
                s.sector = by_sector ? SECTOR : chunks[i];
                s.encrypt = encrypt;
                report(list, &s);
            }
        }
    }
}

int main(int argc, char **argv)
{
    g_autofree char *output = NULL, *only_row = NULL, *alg = g_strdup("aes-256"), *mode = g_strdup("xts");
    int threads = 1, ms = 30;
    GOptionEntry entries[] = {
        {"output", 0, 0, G_OPTION_ARG_STRING, &output, "human or json", "FORMAT"},
        {"row", 0, 0, G_OPTION_ARG_STRING, &only_row, "only this row", "NAME"},
        {"alg", 0, 0, G_OPTION_ARG_STRING, &alg, "cipher", "NAME"},
        {"mode", 0, 0, G_OPTION_ARG_STRING, &mode, "mode", "NAME"},
        {"threads", 0, 0, G_OPTION_ARG_INT, &threads, "1..N threads", "N"},
        {"ms", 0, 0, G_OPTION_ARG_INT, &ms, "milliseconds a run", "MS"},
        {NULL},
    };
    g_autoptr(GOptionContext) context = g_option_context_new("- speed of the cipher rows");
    g_autoptr(GError) err = NULL;
    Setup s = {0};
    InfoTree *list = NULL;
    const char *row;

    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &err) || !crypto_init(&err)) {
        fprintf(stderr, "bench-cipher: %s\n", err->message);
        return 1;
    }
    if (!cipher_alg_from_name(alg, &s.alg) || !cipher_mode_from_name(mode, &s.mode) || threads < 1 ||
        threads > MAX_THREADS || ms < 1) {
        fprintf(stderr, "bench-cipher: bad --alg, --mode, --threads or --ms\n");
        return 1;
    }
    s.run_ns = ms * INT64_C(1000000);
    if (!g_strcmp0(output, "json")) {
        list = info_array_new();
    }
    for (size_t i = 0; (row = cipher_row_name_at(i)); i++) {
        uint8_t key[CIPHER_MAX_KEY_BYTES] = {1};
        g_autoptr(Cipher) probe = cipher_new_from_row(row, s.alg, s.mode, key, cipher_key_bytes(s.alg, s.mode), NULL);

        for (s.row = row, s.threads = 1; probe && (!only_row || !strcmp(row, only_row)) && s.threads <= threads;
             s.threads++) {
            bench_row(list, s);
        }
    }
    if (list) {
        g_autofree char *json = info_to_json(list, false);
        puts(json);
        info_free(list);
    }
    return 0;
}
