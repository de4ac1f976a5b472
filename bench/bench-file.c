/* SPDX-License-Identifier: MIT */
/* What the kernel alone takes to move a file: pread() or pwrite() of every chunk, by N threads, and nothing else.
 *
 *     bench-file read|over|new CHUNK_BYTES THREADS MIB FILE
 *
 * "over" overwrites the file, "new" starts from an empty one. The chunks are dealt out in turn; each thread has 16 of
 * them as its memory, as a queue of requests has. Prints the seconds. This is the bound of qemu-img bench on an image
 * in FILE. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 64, BUFFERS = 16, MAX_CHUNK = 16 << 20 };

typedef struct Job {
    int fd;
    bool is_read;
    size_t chunk;
    int64_t total;
    unsigned threads;
} Job;

typedef struct Worker {
    const Job *job;
    unsigned idx;
    uint8_t *memory;
    int err;
} Worker;

static void *run(void *arg)
{
    Worker *w = arg;
    const Job *j = w->job;
    size_t turn = 0;

    for (int64_t at = (int64_t)(w->idx * j->chunk); at < j->total; at += (int64_t)(j->threads * j->chunk)) {
        uint8_t *buf = w->memory + turn++ % BUFFERS * j->chunk;
        ssize_t n = j->is_read ? pread(j->fd, buf, j->chunk, at) : pwrite(j->fd, buf, j->chunk, at);

        if (n != (ssize_t)j->chunk) {
            w->err = n < 0 ? errno : EIO;
            break;
        }
    }
    return NULL;
}

static double now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int fail(const char *what, int err)
{
    fprintf(stderr, "bench-file: %s: %s\n", what, strerror(err));
    return 1;
}

/* Memory that has its pages already, so that the run does not wait for them. */
static int prepare(Worker *w, const Job *j)
{
    for (unsigned i = 0; i < j->threads; i++) {
        w[i] = (Worker){.job = j, .idx = i};
        if (posix_memalign((void **)&w[i].memory, 4096, BUFFERS * j->chunk) != 0) {
            return ENOMEM;
        }
        memset(w[i].memory, 90, BUFFERS * j->chunk);
    }
    return 0;
}

static int measure(const Job *j)
{
    Worker w[MAX_THREADS];
    pthread_t ids[MAX_THREADS];
    int err = prepare(w, j);
    double start = now();

    if (err) {
        return fail("memory", err);
    }
    for (unsigned i = 0; i < j->threads; i++) {
        err = pthread_create(&ids[i], NULL, run, &w[i]);
        if (err) {
            return fail("thread", err);
        }
    }
    for (unsigned i = 0; i < j->threads; i++) {
        pthread_join(ids[i], NULL);
        err = err ? err : w[i].err;
    }
    printf("%.4f\n", now() - start);
    return err ? fail("transfer", err) : 0;
}

int main(int argc, char **argv)
{
    bool is_read = argc == 6 && strcmp(argv[1], "read") == 0, is_new = argc == 6 && strcmp(argv[1], "new") == 0;
    Job j = {.is_read = is_read};

    if (argc != 6 || (!is_read && !is_new && strcmp(argv[1], "over") != 0)) {
        fprintf(stderr, "usage: bench-file read|over|new CHUNK_BYTES THREADS MIB FILE\n");
        return 2;
    }
    j.chunk = strtoul(argv[2], NULL, 0);
    j.threads = (unsigned)strtoul(argv[3], NULL, 0);
    j.total = strtol(argv[4], NULL, 0) << 20;
    if (j.chunk == 0 || j.chunk > MAX_CHUNK || j.threads == 0 || j.threads > MAX_THREADS ||
        j.total % (int64_t)j.chunk) {
        fprintf(stderr, "bench-file: chunk, threads or size out of range\n");
        return 2;
    }
    j.fd = open(argv[5], is_read ? O_RDONLY : O_RDWR | (is_new ? O_CREAT | O_TRUNC : 0), 0600);
    return j.fd < 0 ? fail(argv[5], errno) : measure(&j);
}
