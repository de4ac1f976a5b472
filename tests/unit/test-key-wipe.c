/* SPDX-License-Identifier: MIT */
/* After a volume is closed, no key and no passphrase is left anywhere in the process's memory.
 *
 * What is looked for is known here only in a masked form: a child process makes the volume and the secrets, and leaves
 * each secret XORed with a constant in shared memory. A scan reads all mappings, masks what it read in place and
 * searches that. It must find the secrets while the volume is open, else it would prove nothing. */
#include <fcntl.h>
#include <inttypes.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crypto/afsplit.h"
#include "crypto/block-int.h"
#include "crypto/hash.h"
#include "crypto/luks-int.h"
#include "crypto/pbkdf.h"
#include "crypto/random.h"
#include "crypto/sector-cipher.h"
#include "tests/unit/luks-fixture.h"

enum {
    MASK = 0xa5,
    PIECE = 16, /* so much of a secret in one place is a find */
    MAX_PIECES = 64,
    PASS_BYTES = 40,
    VOLUME_BYTES = 4 << 20,
    CHUNK = 1 << 20,
    THREADS = 4,
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

static void remember(const char *what, const uint8_t *secret, size_t bytes)
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
static void remember_hmac(const char *pass)
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
static void make_passphrase(int i, const char *id, char pass[PASS_BYTES + 1])
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

/* What opening slot 0 computes on the way. */
static void remember_slot(const MemVolume *m, const LuksState *s, const char *pass)
{
    const LuksSlot *slot = &s->header.slots[0];
    uint32_t key_bytes = s->header.key_bytes;
    g_autofree uint8_t *material = g_malloc(luks_material_bytes(key_bytes));
    uint8_t slot_key[LUKS_MAX_KEY_BYTES];

    pbkdf2_derive(s->algs.hash, pass, PASS_BYTES, slot->salt, LUKS_SALT_BYTES, slot->iterations, slot_key, key_bytes);
    remember("key of the slot", slot_key, key_bytes);
    g_autoptr(SectorCipher) sc = sector_cipher_new(&s->algs.sector, slot_key, key_bytes, NULL);
    size_t at = (size_t)slot->material_sector * LUKS_SECTOR_BYTES;
    g_assert(sector_cipher_decrypt(sc, 0, m->data + at, material, luks_material_bytes(key_bytes)) == 0);
    remember("first stripe", material, MIN(key_bytes, 32));
    remember("last stripe", material + (LUKS_STRIPES - 1) * (size_t)key_bytes, MIN(key_bytes, 32));
}

static void child(const char *options)
{
    MemVolume m = {0};
    char pass[PASS_BYTES + 1], other[PASS_BYTES + 1];
    uint8_t essiv_key[HASH_MAX_BYTES];

    make_passphrase(0, "pw", pass);
    make_passphrase(1, "other", other);
    CryptoBlock *b = luks_make(&m, options, NULL);
    const SecBuf *key = cipher_slots_key(b->slots);
    remember("master key", secbuf_data(key), secbuf_size(key));
    hash_compute(HASH_SHA256, secbuf_data(key), secbuf_size(key), essiv_key);
    remember("key of the IVs", essiv_key, hash_bytes(HASH_SHA256));
    remember_slot(&m, b->state, pass);
    g_assert(m.size <= VOLUME_BYTES);
    shared->volume_bytes = m.size;
    memcpy(shared->volume, m.data, m.size);
}

static void run_child(const char *options)
{
    pid_t pid = fork();
    int status;

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        child(options);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- the scan -------------------------------------------------------------------------------------------------- */

typedef struct Scan {
    int mem;
    uint8_t *chunk; /* mapped alone: the one place that is not looked at */
    bool verbose;
    unsigned found;
    uint64_t bytes;
} Scan;

static void search_chunk(Scan *s, size_t len, uint64_t addr, const char *where)
{
    const Pieces *p = &shared->pieces;

    for (size_t i = 0; i < len; i++) {
        s->chunk[i] ^= MASK;
    }
    for (unsigned k = 0; k < p->n; k++) {
        const uint8_t *hit = memmem(s->chunk, len, p->list[k].masked, PIECE);

        if (hit && s->verbose) {
            fprintf(stderr, "%s, piece %u, at 0x%" PRIx64 " in %s\n", p->list[k].what, k, addr + (hit - s->chunk),
                    where);
        }
        s->found += hit != NULL;
    }
    memset(s->chunk, 0, CHUNK);
}

static void scan_range(Scan *s, uint64_t from, uint64_t to, const char *where)
{
    for (uint64_t at = from; at < to;) {
        ssize_t got = pread(s->mem, s->chunk, MIN(to - at, CHUNK), at);

        if (got <= 0) {
            return; /* vvar and its like cannot be read */
        }
        s->bytes += got;
        search_chunk(s, got, at, where);
        /* The next one overlaps, so that a piece across the seam is seen. */
        at += at + got < to ? got - PIECE : got;
    }
}

/* Pieces found in the process. */
static unsigned scan_memory(bool verbose)
{
    Scan s = {.mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC), .verbose = verbose};
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];

    s.chunk = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(s.mem >= 0 && maps && s.chunk != MAP_FAILED);
    rewind(maps);
    while (fgets(line, sizeof(line), maps)) {
        uint64_t from, to;
        char mode[8];

        ck_assert_int_eq(sscanf(line, "%" PRIx64 "-%" PRIx64 " %7s", &from, &to, mode), 3);
        /* Adjacent anonymous mappings are shown as one: step around the chunk. */
        uint64_t own = (uintptr_t)s.chunk;
        g_strchomp(line);
        if (mode[0] != 'r') {
            continue;
        }
        if (own >= from && own < to) {
            scan_range(&s, from, own, line);
            from = own + CHUNK;
        }
        scan_range(&s, from, to, line);
    }
    fclose(maps);
    close(s.mem);
    munmap(s.chunk, CHUNK);
    ck_assert_uint_gt(s.bytes, 1 << 20);
    return s.found;
}

/* ---- tests ----------------------------------------------------------------------------------------------------- */

static const struct {
    const char *options, *row;
} variants[] = {
    {"iter-time=10", NULL},
    {"iter-time=10", "gnutls"},
    {"iter-time=10", "nettle"},
    {"cipher-mode=cbc,ivgen-alg=essiv", NULL},
    {"cipher-mode=cbc,ivgen-alg=essiv", "gnutls"},
    {"cipher-alg=serpent-256", NULL},
    {"cipher-alg=twofish-256,cipher-mode=cbc,ivgen-alg=essiv", NULL},
};

static void start(void)
{
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(shared != MAP_FAILED);
    for (int i = 0; i < 2; i++) {
        snprintf(shared->pass_file[i], sizeof(shared->pass_file[i]), "/tmp/test-key-wipe-%d-%d", i, (int)getpid());
    }
}

static void stop(void)
{
    unlink(shared->pass_file[0]);
    unlink(shared->pass_file[1]);
    munmap(shared, sizeof(*shared));
}

static void add_secret_object(const char *id, int i)
{
    g_autofree char *text = g_strdup_printf("secret,id=%s,file=%s", id, shared->pass_file[i]);

    ck_assert(secret_add_object(text, NULL));
}

static gpointer use_volume(gpointer opaque)
{
    g_autofree uint8_t *buf = g_malloc0(65536);

    ck_assert_int_eq(crypto_block_encrypt(opaque, 0, buf, buf, 65536), 0);
    ck_assert_int_eq(crypto_block_decrypt(opaque, 0, buf, buf, 65536), 0);
    return NULL;
}

static void use_everything(MemVolume *m)
{
    g_autoptr(CryptoBlock) b = luks_open_with(m, "pw", 0, NULL);
    CryptoIo io = mem_io(m);
    g_autoptr(OptDict) add = optdict_parse_keyval("state=active,new-secret=other,iter-time=10", NULL, NULL);
    g_autoptr(OptDict) erase = optdict_parse_keyval("state=inactive,old-secret=other", NULL, NULL);
    GThread *threads[THREADS];

    ck_assert_ptr_nonnull(b);
    for (int i = 0; i < THREADS; i++) {
        threads[i] = g_thread_new("user", use_volume, b);
    }
    use_volume(b);
    for (int i = 0; i < THREADS; i++) {
        g_thread_join(threads[i]);
    }
    ck_assert(crypto_block_amend(b, add, &io, false, NULL));
    ck_assert(crypto_block_amend(b, erase, &io, false, NULL));
    ck_assert_uint_gt(scan_memory(false), 4); /* it sees what is there */
}

START_TEST(closing_leaves_no_key_and_no_passphrase)
{
    MemVolume m = {0};

    if (variants[_i].row) {
        g_setenv("QBLOCK_CIPHER", variants[_i].row, TRUE);
    }
    run_child(variants[_i].options);
    m.data = shared->volume;
    m.size = shared->volume_bytes;
    ck_assert_uint_eq(scan_memory(true), 0); /* and nothing where nothing is */
    add_secret_object("pw", 0);
    add_secret_object("other", 1);
    use_everything(&m);
    secret_forget_all();
    ck_assert_uint_eq(scan_memory(true), 0);
}
END_TEST

START_TEST(a_wrong_passphrase_leaves_nothing_either)
{
    MemVolume m = {0};

    run_child("iter-time=10");
    m.data = shared->volume;
    m.size = shared->volume_bytes;
    add_secret_object("other", 1);
    ck_assert_ptr_null(luks_open_with(&m, "other", 0, NULL));
    secret_forget_all();
    ck_assert_uint_eq(scan_memory(true), 0);
}
END_TEST

/* The text of data= is the caller's; the key=value parser keeps no copy. (The JSON library does, in memory it has
 * freed: one more reason for file=.) */
START_TEST(a_secret_in_the_options_is_left_only_where_the_caller_has_it)
{
    char *text = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int fd;

    run_child("iter-time=10");
    fd = open(shared->pass_file[0], O_RDONLY | O_CLOEXEC);
    strcpy(text, "secret,id=pw,data=");
    ck_assert_int_eq(read(fd, text + strlen(text), PASS_BYTES), PASS_BYTES);
    close(fd);
    ck_assert(secret_add_object(text, NULL));
    munmap(text, 4096);
    ck_assert_uint_gt(scan_memory(false), 0); /* the registry's own */
    secret_forget_all();
    ck_assert_uint_eq(scan_memory(true), 0);
}
END_TEST

#if defined(QBLOCK_ASAN) || defined(QBLOCK_TSAN)
static const bool can_scan = false;
#else
static const bool can_scan = true;
#endif

int main(void)
{
    if (!can_scan) {
        puts("SKIP: the sanitizers' shadow memory is too large to scan");
        return 77;
    }
    Suite *s = suite_create("key-wipe");
    TCase *tc = tcase_create("memory");

    tcase_add_checked_fixture(tc, start, stop);
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, closing_leaves_no_key_and_no_passphrase, 0, G_N_ELEMENTS(variants));
    tcase_add_test(tc, a_wrong_passphrase_leaves_nothing_either);
    tcase_add_test(tc, a_secret_in_the_options_is_left_only_where_the_caller_has_it);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
