/* SPDX-License-Identifier: MIT */
/* Power cuts: invariants I1-I5 of qcow2-int.h, at many points of a recorded run.
 *
 * Coroutines write, zero, discard and flush through the record driver. From its log the file is rebuilt as it may look
 * after a cut: all that a flush made stable, and any part, sector by sector, of what came after. Each such file
 * must have no corruption, and each sector what it held at the last completed guest flush or got later. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "block/block.h"
#include "crypto/cipher/init.h"
#include "crypto/secret/secret.h"
#include "tests/unit/loop-fixture.h"
#include "util/base/endian.h"
#include "util/loop/loop-team.h"

enum { SECTOR = 512, WORKERS = 6, RECORD = 32, CUTS = 60, DENSE = 48, TRIES = 8, OPS = 60 };

typedef struct Setup {
    const char *name, *create_options;
    uint64_t disk_bytes, cluster_bytes;
    bool encrypted, backing, compressed;
} Setup;

static const Setup setups[] = {
    {"allocating 4k", "cluster_size=4k", 2 << 20, 4096},
    {"512 bytes, table growth", "cluster_size=512,refcount_bits=64", 1 << 20, 512},
    {"over backing 4k", "cluster_size=4k", 2 << 20, 4096, .backing = true},
    {"compressed 4k", "cluster_size=4k", 2 << 20, 4096, .compressed = true},
    {"luks 64k over backing", "cluster_size=64k", 4 << 20, 65536, .encrypted = true, .backing = true},
    {"version 2", "cluster_size=4k,compat=0.10", 2 << 20, 4096},
};

/* Two clocks: the length of the log says what a cut leaves, but it stands still while nothing is logged. What came
 * first, the end of a change or the call of a flush, is told by the run's own clock of events. */

/* One change of a sector: value @stamp, issued at a length of the log, completed at an event. */
typedef struct Change {
    uint64_t stamp, issued_pos, done_event;
} Change;
/* Called at an event, completed at a length of the log. */
typedef struct GuestFlush {
    uint64_t issued_event, done_pos;
} GuestFlush;

typedef struct Run {
    const Setup *setup;
    char *dir, *path, *log, *backing_path;
    BlockNode *node;
    GArray **history; /* of Change, per sector */
    GArray *flushes;  /* of GuestFlush */
    uint64_t next_stamp, events, sectors;
    uint64_t began; /* log position of the first request */
} Run;

static uint64_t log_pos(const Run *r)
{
    struct stat st;

    return stat(r->log, &st) == 0 ? st.st_size : 0;
}

static void coroutine_fn create_image(const Run *r)
{
    g_autoptr(OptDict) options = optdict_parse_keyval(r->setup->create_options, NULL, NULL);
    GError *err = NULL;

    optdict_set_int(options, "size", r->setup->disk_bytes);
    if (r->backing_path) {
        optdict_set(options, "backing_file", r->backing_path);
        optdict_set(options, "backing_fmt", "raw");
    }
    if (r->setup->encrypted) {
        optdict_set(options, "encrypt.format", "luks");
        optdict_set(options, "encrypt.key-secret", "crash");
        optdict_set(options, "encrypt.iter-time", "10");
    }
    ck_assert_msg(block_co_create("qcow2", r->path, options, &err), "%s", err ? err->message : "");
}

static BlockNode *coroutine_fn open_image(const Run *r, const char *path, bool recorded)
{
    g_autoptr(OptDict) options = optdict_new();
    GError *err = NULL;

    optdict_set(options, "file.driver", recorded ? "record" : "file");
    optdict_set(options, recorded ? "file.file.filename" : "file.filename", path);
    if (recorded) {
        optdict_set(options, "file.file.driver", "file");
        optdict_set(options, "file.log", r->log);
    }
    if (r->setup->encrypted) {
        optdict_set(options, "encrypt.key-secret", "crash");
    }
    BlockNode *node = block_co_open(NULL, "qcow2", options, recorded ? BLOCK_OPEN_RDWR | BLOCK_OPEN_UNMAP : 0, &err);
    ck_assert_msg(node != NULL, "%s: %s", r->setup->name, err ? err->message : "");
    return node;
}

/* QBLOCK_CRASH_CUTS=n tries about n points of each run, for longer hunts. */
static guint wanted_cuts(void)
{
    const char *env = g_getenv("QBLOCK_CRASH_CUTS");

    return env ? MAX(1, atoi(env)) : CUTS;
}

/* --- the recorded run --- */

static void note(Run *r, uint64_t off, uint64_t bytes, Change c)
{
    for (uint64_t sector = off / SECTOR; sector < (off + bytes) / SECTOR; sector++) {
        g_array_append_val(r->history[sector], c);
    }
}

static void stamp_sectors(uint8_t *buf, uint64_t bytes, uint64_t stamp)
{
    for (uint64_t i = 0; i < bytes; i += 8) {
        store_le64(buf + i, stamp);
    }
}

/* A history entry stands from before the request is issued; its end is filled in afterwards. */
static void note_done(Run *r, uint64_t off, uint64_t bytes, uint64_t stamp)
{
    uint64_t event = ++r->events;

    for (uint64_t sector = off / SECTOR; sector < (off + bytes) / SECTOR; sector++) {
        GArray *h = r->history[sector];
        Change *c = &g_array_index(h, Change, h->len - 1);
        g_assert(c->stamp == stamp && c->done_event == UINT64_MAX);
        c->done_event = event;
    }
}

static void coroutine_fn guest_flush(Run *r)
{
    GuestFlush f = {.issued_event = ++r->events};

    if (block_co_flush(r->node) < 0) {
        ck_abort_msg("flush failed");
    }
    f.done_pos = log_pos(r);
    g_array_append_val(r->flushes, f);
}

static void coroutine_fn change(Run *r, GRand *rand, uint64_t off, uint64_t bytes)
{
    g_autofree uint8_t *buf = g_malloc(bytes);
    int op = g_rand_int_range(rand, 0, 10), ret;
    bool zero = op >= 7;
    uint64_t cs = r->setup->cluster_bytes, stamp = zero ? 0 : ++r->next_stamp, issued = log_pos(r);

    if (op == 9 && !strstr(r->setup->create_options, "compat=0.10")) {
        off = (off + cs - 1) / cs * cs;
        bytes = bytes / cs * cs;
        if (bytes == 0 || off + bytes > r->setup->disk_bytes) {
            return;
        }
    }
    note(r, off, bytes, (Change){stamp, issued, UINT64_MAX});
    if (!zero) {
        stamp_sectors(buf, bytes, stamp);
        ret = block_co_pwrite(r->node, off, buf, bytes, 0);
    } else if (op == 9 && !strstr(r->setup->create_options, "compat=0.10")) {
        ret = block_co_pdiscard(r->node, off, bytes);
    } else {
        ret = block_co_pwrite_zeroes(r->node, off, bytes, op == 8 ? BLOCK_REQ_MAY_UNMAP : 0);
    }
    if (ret < 0) {
        ck_abort_msg("%s: op %d: %s", r->setup->name, op, strerror(-ret));
    }
    note_done(r, off, bytes, stamp);
}

/* Each worker has a part of the disk of its own; the borders lie inside clusters. */
static void worker(void *opaque, unsigned idx)
{
    Run *r = opaque;
    g_autoptr(GRand) rand = g_rand_new_with_seed(idx * 100 + r->setup->disk_bytes + r->setup->cluster_bytes);
    uint64_t share = r->sectors / WORKERS, first = idx * share;

    for (int i = 0; i < OPS; i++) {
        if (g_rand_int_range(rand, 0, 12) == 0) {
            guest_flush(r);
            continue;
        }
        uint64_t at = g_rand_int_range(rand, 0, share - 1);
        uint64_t n = g_rand_int_range(rand, 1, MIN(share - at, 40) + 1);
        uint64_t off = (first + at) * SECTOR, end = off + n * SECTOR, limit = (first + share) * SECTOR;
        change(r, rand, off,
               MIN(end, limit - MIN(limit, r->setup->cluster_bytes)) > off
                   ? MIN(end, limit - r->setup->cluster_bytes) - off
                   : SECTOR);
    }
}

static void coroutine_fn write_compressed(Run *r)
{
    uint64_t cs = r->setup->cluster_bytes;
    g_autofree uint8_t *buf = g_malloc(4 * cs);

    for (uint64_t off = 0; off + 4 * cs <= r->setup->disk_bytes; off += 6 * cs) {
        uint64_t stamp = ++r->next_stamp, issued = log_pos(r);
        stamp_sectors(buf, 4 * cs, stamp);
        note(r, off, 4 * cs, (Change){stamp, issued, UINT64_MAX});
        ck_assert_int_eq(block_co_pwrite(r->node, off, buf, 4 * cs, BLOCK_REQ_COMPRESSED), 0);
        note_done(r, off, 4 * cs, stamp);
    }
}

static void coroutine_fn record_run(Run *r)
{
    r->node = open_image(r, r->path, true);
    r->began = log_pos(r);
    if (r->setup->compressed) {
        write_compressed(r);
    }
    LoopTeam *team = loop_team_new(1);
    loop_team_run(team, WORKERS, worker, r);
    loop_team_free(team);
    ck_assert_int_eq(block_co_close(r->node), 0);
}

/* --- the log --- */

typedef struct Record {
    char tag[5];
    uint64_t issued, off, bytes, end_pos; /* end_pos: log position behind it */
    const uint8_t *data;
} Record;

static GArray *parse_log(const uint8_t *log, uint64_t bytes)
{
    GArray *records = g_array_new(FALSE, TRUE, sizeof(Record));

    for (uint64_t at = RECORD; at < bytes;) {
        Record rec = {
            .issued = load_le64(log + at + 8), .off = load_le64(log + at + 16), .bytes = load_le64(log + at + 24)};
        memcpy(rec.tag, log + at, 4);
        at += RECORD;
        if (strcmp(rec.tag, "WRIT") == 0) {
            rec.data = log + at;
            at += rec.bytes;
        }
        rec.end_pos = at;
        g_array_append_val(records, rec);
    }
    return records;
}

/* Apply @rec to the file image; @rand: only a random choice of its sectors. */
static void apply(GByteArray *file, const Record *rec, GRand *rand)
{
    if (strcmp(rec->tag, "WRIT") != 0 && strcmp(rec->tag, "ZERO") != 0 && strcmp(rec->tag, "DISC") != 0) {
        if (strcmp(rec->tag, "TRUN") == 0 && rec->bytes > file->len) {
            guint old = file->len;
            g_byte_array_set_size(file, rec->bytes);
            memset(file->data + old, 0, rec->bytes - old);
        }
        return;
    }
    uint64_t end = rec->off + rec->bytes;
    if (end > file->len) {
        guint old = file->len;
        g_byte_array_set_size(file, end);
        memset(file->data + old, 0, end - old);
    }
    for (uint64_t at = rec->off, n; at < end; at += n) {
        n = MIN(SECTOR - at % SECTOR, end - at);
        if (rand && g_rand_boolean(rand)) {
            continue;
        }
        if (rec->data) {
            memcpy(file->data + at, rec->data + (at - rec->off), n);
        } else {
            memset(file->data + at, 0, n);
        }
    }
}

/* The file after a cut behind record @cut: @stable holds what the last flush before it made stable, up to @applied. */
static GByteArray *file_after_cut(const GByteArray *stable, const GArray *records, guint applied, guint cut,
                                  GRand *rand)
{
    GByteArray *file = g_byte_array_new();
    int mode = g_rand_int_range(rand, 0, 3); /* torn; whole records kept or lost; nothing lost */

    g_byte_array_append(file, stable->data, stable->len);
    for (guint i = applied; i < records->len; i++) {
        const Record *rec = &g_array_index(records, Record, i);
        if (rec->issued > cut || (i >= cut && g_rand_boolean(rand))) {
            continue;
        }
        if (mode == 1 && g_rand_boolean(rand)) {
            continue;
        }
        apply(file, rec, mode == 0 || i >= cut ? rand : NULL);
    }
    return file;
}

/* --- what must be there --- */

/* May @stamp be in the sector after a cut at log position @pos? @flush: the last guest flush completed before, or NULL.
 */
static bool stamp_allowed(const GArray *history, uint64_t stamp, uint64_t pos, const GuestFlush *flush)
{
    for (guint i = history->len; i-- > 0;) {
        const Change *c = &g_array_index(history, Change, i);
        if (c->issued_pos <= pos && c->stamp == stamp) {
            return true;
        }
        if (flush && c->done_event < flush->issued_event) {
            return false; /* older values are gone */
        }
    }
    return stamp == 0; /* as it was in the beginning; the backing file holds zeros where nobody wrote */
}

/* What the run did to @sector, for whoever looks for the cause. */
static void tell_sector(const Run *r, uint64_t sector, uint64_t pos, const GuestFlush *flush)
{
    const GArray *history = r->history[sector];

    printf("%s: sector %" PRIu64 ", cut at byte %" PRIu64 " of the log, flush from event %" PRIu64 " to byte %" PRIu64
           "\n",
           r->setup->name, sector, pos, flush ? flush->issued_event : 0, flush ? flush->done_pos : 0);
    for (guint i = 0; i < history->len; i++) {
        const Change *c = &g_array_index(history, Change, i);
        printf("  stamp %" PRIx64 " issued at byte %" PRIu64 " done at event %" PRIu64 "\n", c->stamp, c->issued_pos,
               c->done_event);
    }
    fflush(stdout); /* the check that fails next ends this process without it */
}

static void coroutine_fn verify_cut(Run *r, const char *path, uint64_t pos, guint cut)
{
    const GuestFlush *flush = NULL;
    BlockCheckResult res = {0};
    BlockNode *node = open_image(r, path, false);
    g_autofree uint8_t *disk = g_malloc(r->setup->disk_bytes);

    ck_assert_int_eq(block_co_check(node, &res, 0), 0);
    if (res.corruptions || res.check_errors) {
        ck_abort_msg("%s: cut %u: %" PRIi64 " corruptions", r->setup->name, cut, res.corruptions);
    }
    for (guint i = 0; i < r->flushes->len; i++) {
        const GuestFlush *f = &g_array_index(r->flushes, GuestFlush, i);
        flush = f->done_pos <= pos && (!flush || f->issued_event > flush->issued_event) ? f : flush;
    }
    int ret = block_co_pread(node, 0, disk, r->setup->disk_bytes, 0);
    if (ret < 0) {
        ck_abort_msg("%s: cut %u: read: %s", r->setup->name, cut, strerror(-ret));
    }
    for (uint64_t sector = 0; sector < r->sectors; sector++) {
        const uint8_t *p = disk + sector * SECTOR;
        if (memcmp(p, p + 8, SECTOR - 8) != 0 || !stamp_allowed(r->history[sector], load_le64(p), pos, flush)) {
            tell_sector(r, sector, pos, flush);
            ck_abort_msg("%s: cut %u: sector %" PRIu64 " holds %" PRIx64, r->setup->name, cut, sector, load_le64(p));
        }
    }
    block_co_close(node);
}

static void coroutine_fn cut_everywhere(Run *r, const char *before, gsize before_bytes)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(5);
    g_autofree char *log = NULL, *path = g_build_filename(r->dir, "cut.qcow2", NULL);
    gsize log_bytes;

    ck_assert(g_file_get_contents(r->log, &log, &log_bytes, NULL));
    g_autoptr(GArray) records = parse_log((uint8_t *)log, log_bytes);
    g_autoptr(GByteArray) stable = g_byte_array_new();
    g_byte_array_append(stable, (const uint8_t *)before, before_bytes);

    /* The first records bring the first tables into being: each cut there counts. Smallest clusters have most. */
    guint applied = 0, first = 0, step = MAX(1, records->len / wanted_cuts());
    bool dense = r->setup->cluster_bytes == 512;
    while (first < records->len && g_array_index(records, Record, first).end_pos <= r->began) {
        first++;
    }
    for (guint cut = first; cut <= records->len;
         cut += dense && cut < first + DENSE ? 1 : g_rand_int_range(rand, 1, 2 * step)) {
        for (guint i = applied; i < cut; i++) {
            if (strcmp(g_array_index(records, Record, i).tag, "FLSH") == 0) {
                for (; applied <= i; applied++) {
                    apply(stable, &g_array_index(records, Record, applied), NULL);
                }
            }
        }
        uint64_t pos = cut > 0 ? g_array_index(records, Record, cut - 1).end_pos : RECORD;
        for (int tries = dense && cut < first + DENSE ? TRIES : 1; tries > 0; tries--) {
            g_autoptr(GByteArray) file = file_after_cut(stable, records, applied, cut, rand);
            ck_assert(g_file_set_contents(path, (char *)file->data, file->len, NULL));
            verify_cut(r, path, pos, cut);
        }
    }
    unlink(path);
}

static void coroutine_fn crash_co(void *opaque)
{
    Run *r = opaque;
    g_autofree char *before = NULL;
    gsize before_bytes;

    create_image(r);
    ck_assert(g_file_get_contents(r->path, &before, &before_bytes, NULL));
    record_run(r);
    cut_everywhere(r, before, before_bytes);
}

/* Leaks are allowed, and the check says each of them on stderr. */
static void silence_stderr(void)
{
    int fd = open("/dev/null", O_WRONLY);

    dup2(fd, STDERR_FILENO);
    close(fd);
}

START_TEST(no_cut_corrupts_the_image_or_loses_flushed_data)
{
    Run r = {.setup = &setups[_i]};
    static const uint8_t zeros[8192];

    silence_stderr();
    r.dir = g_dir_make_tmp("qcow2-crash-XXXXXX", NULL);
    r.path = g_build_filename(r.dir, "image.qcow2", NULL);
    r.log = g_build_filename(r.dir, "log", NULL);
    r.sectors = r.setup->disk_bytes / SECTOR;
    r.flushes = g_array_new(FALSE, FALSE, sizeof(GuestFlush));
    r.history = g_new(GArray *, r.sectors);
    for (uint64_t i = 0; i < r.sectors; i++) {
        r.history[i] = g_array_new(FALSE, FALSE, sizeof(Change));
    }
    if (r.setup->backing) {
        r.backing_path = g_build_filename(r.dir, "backing.raw", NULL);
        ck_assert(g_file_set_contents(r.backing_path, (const char *)zeros, sizeof(zeros), NULL));
    }
    run_on_fresh_loop(crash_co, &r);

    for (uint64_t i = 0; i < r.sectors; i++) {
        g_array_free(r.history[i], TRUE);
    }
    g_free(r.history);
    g_array_free(r.flushes, TRUE);
    unlink(r.path);
    unlink(r.log);
    if (r.backing_path) {
        unlink(r.backing_path);
    }
    rmdir(r.dir);
    g_free(r.dir);
    g_free(r.path);
    g_free(r.log);
    g_free(r.backing_path);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("qcow2-crash");
    TCase *tc = tcase_create("crash");
    GError *err = NULL;

    if (!crypto_init(&err) || !secret_add_object("secret,id=crash,data=very secret", &err)) {
        fprintf(stderr, "%s\n", err->message);
        return 1;
    }
    tcase_set_timeout(tc, 180);
    tcase_add_loop_test(tc, no_cut_corrupts_the_image_or_loses_flushed_data, 0, G_N_ELEMENTS(setups));
    suite_add_tcase(suite, tc);

    return run_suite(suite);
}
