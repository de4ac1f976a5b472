/* SPDX-License-Identifier: MIT */
/* A search for secrets in the process's own memory.
 *
 * What is looked for is known here only in a masked form: a child process makes the volume and the secrets, and leaves
 * each secret XORed with a constant in shared memory. A scan reads all mappings, masks what it read in place and
 * searches that. A test has to see it find the secrets while they are in use, else it would prove nothing. */
#ifndef QBLOCK_TESTS_KEY_SCAN_H
#define QBLOCK_TESTS_KEY_SCAN_H

#include <fcntl.h>
#include <inttypes.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crypto/base/random.h"
#include "tests/unit/luks-fixture.h"

enum {
    MASK = 0xa5,
    PIECE = 16, /* so much of a secret in one place is a find */
    MAX_PIECES = 96,
    PASS_BYTES = 40,
    VOLUME_BYTES = 17 << 20,
    CHUNK = 1 << 20,
};

typedef struct Pieces {
    unsigned n;
    struct {
        const char *what;
        uint8_t masked[PIECE];
    } list[MAX_PIECES];
} Pieces;

/* Made by the child, seen by both. */
typedef struct Shared {
    Pieces pieces;
    char pass_file[2][64];
    size_t volume_bytes;
    uint8_t volume[VOLUME_BYTES];
} Shared;

static Shared *shared;

static inline void remember(const char *what, const uint8_t *secret, size_t bytes)
{
    Pieces *p = &shared->pieces;

    for (size_t at = 0; at + PIECE <= bytes; at += PIECE) {
        g_assert(p->n < MAX_PIECES);
        p->list[p->n].what = what; /* a literal: at one address in both processes */
        for (size_t i = 0; i < PIECE; i++) {
            p->list[p->n].masked[i] = secret[at + i] ^ MASK;
        }
        p->n++;
    }
}

/* What PBKDF2 keeps of a passphrase: the padded key's two hash states. Who has them needs no passphrase. */
static inline void remember_hmac(const char *pass)
{
    static const uint8_t pads[] = {0x36, 0x5c};

    for (size_t k = 0; k < G_N_ELEMENTS(pads); k++) {
        uint8_t block[SHA256_BLOCK_SIZE];
        struct sha256_ctx ctx;

        for (size_t i = 0; i < sizeof(block); i++) {
            block[i] = (i < PASS_BYTES ? pass[i] : 0) ^ pads[k];
        }
        remember("padded passphrase", block, PASS_BYTES);
        sha256_init(&ctx);
        sha256_update(&ctx, sizeof(block), block);
        remember("state of the HMAC", (uint8_t *)ctx.state, sizeof(ctx.state));
    }
}

/* A passphrase of letters, in a file and as the secret @id. */
static inline void make_passphrase(int i, const char *id, char pass[PASS_BYTES + 1])
{
    g_assert(random_bytes((uint8_t *)pass, PASS_BYTES, NULL));
    for (size_t k = 0; k < PASS_BYTES; k++) {
        pass[k] = 'a' + (uint8_t)pass[k] % 26;
    }
    pass[PASS_BYTES] = 0;
    g_assert(g_file_set_contents(shared->pass_file[i], pass, PASS_BYTES, NULL));
    define_secret(id, pass);
    remember("passphrase", (uint8_t *)pass, PASS_BYTES);
    remember_hmac(pass);
}

/* The passphrase of file @i. Context: the child. */
static inline void read_passphrase(int i, char pass[PASS_BYTES + 1])
{
    int fd = open(shared->pass_file[i], O_RDONLY | O_CLOEXEC);

    g_assert(read(fd, pass, PASS_BYTES) == PASS_BYTES);
    pass[PASS_BYTES] = 0;
    close(fd);
}

/* The volume that the child made, for the parent. */
static inline void share_volume(const MemVolume *m)
{
    g_assert(m->size <= VOLUME_BYTES);
    shared->volume_bytes = m->size;
    memcpy(shared->volume, m->data, m->size);
}

static inline MemVolume shared_volume(void)
{
    return (MemVolume){.data = shared->volume, .size = shared->volume_bytes};
}

/* @func in a process of its own: what it knows dies with it. */
static inline void run_child(void (*func)(const void *arg), const void *arg)
{
    pid_t pid = fork();
    int status;

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        func(arg);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- the scan -------------------------------------------------------------------------------------------------- */

typedef enum ScanWhat {
    SCAN_ALL,
    SCAN_DUMPED, /* what a core would hold */
} ScanWhat;

typedef struct Scan {
    int mem;
    uint8_t *chunk; /* mapped alone: the one place that is not looked at */
    bool verbose;
    unsigned found;
    uint64_t bytes;
    bool begins[1 << 16]; /* some piece, masked, begins with these two bytes */
} Scan;

static inline uint16_t two_bytes(const uint8_t *p)
{
    return p[0] | p[1] << 8;
}

static inline void search_place(Scan *s, size_t at, uint64_t addr, const char *where)
{
    const Pieces *p = &shared->pieces;

    for (unsigned k = 0; k < p->n; k++) {
        if (!memcmp(s->chunk + at, p->list[k].masked, PIECE)) {
            s->found++;
            if (s->verbose) {
                fprintf(stderr, "%s, piece %u, at 0x%" PRIx64 " in %s\n", p->list[k].what, k, addr, where);
            }
        }
    }
}

static inline void search_chunk(Scan *s, size_t len, uint64_t addr, const char *where)
{
    for (size_t i = 0; i < len; i++) {
        s->chunk[i] ^= MASK;
    }
    for (size_t at = 0; at + PIECE <= len; at++) {
        if (s->begins[two_bytes(s->chunk + at)]) {
            search_place(s, at, addr + at, where);
        }
    }
    memset(s->chunk, 0, CHUNK);
}

static inline void scan_range(Scan *s, uint64_t from, uint64_t to, const char *where)
{
    for (uint64_t at = from; at < to;) {
        ssize_t got = pread(s->mem, s->chunk, MIN(to - at, CHUNK), at);

        if (got <= 0) {
            return; /* vvar and its like cannot be read */
        }
        s->bytes += got;
        search_chunk(s, got, at, where);
        /* The next one overlaps, so that a piece across the seam is seen. */
        at += at + got < to && got > PIECE ? got - PIECE + 1 : got;
    }
}

/* Adjacent anonymous mappings are shown as one: step around the chunk. */
static inline void scan_mapping(Scan *s, uint64_t from, uint64_t to, const char *where)
{
    uint64_t own = (uintptr_t)s->chunk;

    if (own >= from && own < to) {
        scan_range(s, from, own, where);
        from = own + CHUNK;
    }
    scan_range(s, from, to, where);
}

static inline void scan_init(Scan *s, bool verbose)
{
    const Pieces *p = &shared->pieces;

    memset(s, 0, sizeof(*s));
    s->verbose = verbose;
    s->mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    s->chunk = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(s->mem >= 0 && s->chunk != MAP_FAILED);
    for (unsigned k = 0; k < p->n; k++) {
        s->begins[two_bytes(p->list[k].masked)] = true;
    }
}

/* Pieces found in the process. */
static inline unsigned scan_memory(ScanWhat what, bool verbose)
{
    g_autofree Scan *s = g_new(Scan, 1);
    FILE *maps = fopen("/proc/self/smaps", "re");
    char line[512], mapping[512] = "", mode[8] = "";
    uint64_t from = 0, to = 0;

    ck_assert(maps);
    scan_init(s, verbose);
    rewind(maps);
    while (fgets(line, sizeof(line), maps)) {
        uint64_t range[2];

        g_strchomp(line);
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &range[0], &range[1], mode) == 3) {
            from = range[0];
            to = range[1];
            g_strlcpy(mapping, line, sizeof(mapping));
        } else if (g_str_has_prefix(line, "VmFlags:") && mode[0] == 'r' &&
                   (what == SCAN_ALL || !strstr(line, " dd"))) {
            scan_mapping(s, from, to, mapping);
        }
    }
    fclose(maps);
    close(s->mem);
    munmap(s->chunk, CHUNK);
    ck_assert_uint_gt(s->bytes, 1 << 20);
    return s->found;
}

/* ---- fixture --------------------------------------------------------------------------------------------------- */

static inline void key_scan_start(void)
{
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(shared != MAP_FAILED);
    for (int i = 0; i < 2; i++) {
        snprintf(shared->pass_file[i], sizeof(shared->pass_file[i]), "/tmp/qblock-key-scan-%d-%d", i, (int)getpid());
    }
}

static inline void key_scan_stop(void)
{
    unlink(shared->pass_file[0]);
    unlink(shared->pass_file[1]);
    munmap(shared, sizeof(*shared));
}

static inline void add_secret_object(const char *id, int i)
{
    g_autofree char *text = g_strdup_printf("secret,id=%s,file=%s", id, shared->pass_file[i]);

    ck_assert(secret_add_object(text, NULL));
}

#if defined(QBLOCK_ASAN) || defined(QBLOCK_TSAN)
static const bool can_scan = false;
#else
static const bool can_scan = true;
#endif

/* What the main of a test with scans returns first where there can be none. */
static inline bool key_scan_possible(void)
{
    if (!can_scan) {
        puts("SKIP: the sanitizers' shadow memory is too large to scan");
    }
    return can_scan;
}

#endif
