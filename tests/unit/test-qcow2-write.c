/* SPDX-License-Identifier: MIT */
/* The write path where it matters how it is done: what waits for what, how many I/Os, what is left after a failure. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "block/filter/fault.h"
#include "block/qcow2/alloc/qcow2-clusters.h"
#include "block/qcow2/state/qcow2-int.h"
#include "block/qcow2/map/qcow2-map.h"
#include "block/qcow2/state/qcow2-reader.h"
#include "tests/unit/block-fixture.h"
#include "util/base/endian.h"

enum { CS = 65536, DISK = 64 << 20 };

typedef struct Image {
    char *dir, *path;
    BlockNode *node, *fault;
    Qcow2State *s;
} Image;

static void coroutine_fn image_create(Image *im, const char *options)
{
    g_autoptr(OptDict) opts = optdict_parse_keyval(options, NULL, NULL);
    GError *err = NULL;

    im->dir = scratch_dir();
    im->path = g_build_filename(im->dir, "image.qcow2", NULL);
    optdict_set_int(opts, "size", DISK);
    ck_assert_msg(block_co_create("qcow2", im->path, opts, &err), "%s", err ? err->message : "");
}

/* Open with the fault driver below; @faults: its options. */
static void coroutine_fn image_open(Image *im, const char *faults)
{
    g_autofree char *text = g_strdup_printf(
        "driver=qcow2,file.driver=fault,file.file.driver=file,file.file.filename=%s%s", im->path, faults);

    im->node = open_opts(text, BLOCK_OPEN_RDWR | BLOCK_OPEN_UNMAP);
    im->fault = block_node_file(im->node);
    im->s = block_node_state(im->node);
}

static void coroutine_fn image_init(Image *im)
{
    image_create(im, "cluster_size=64k");
    image_open(im, "");
}

static void coroutine_fn check_clean(Image *im, bool leaks_allowed)
{
    BlockCheckResult res = {0};
    BlockNode *node = block_co_open(im->path, "qcow2", NULL, 0, NULL);

    ck_assert_ptr_nonnull(node);
    ck_assert_int_eq(block_co_check(node, &res, 0), 0);
    ck_assert_int_eq(res.corruptions, 0);
    ck_assert(leaks_allowed || res.leaks == 0);
    block_co_close(node);
}

static void coroutine_fn image_end(Image *im)
{
    ck_assert_int_eq(block_co_close(im->node), 0);
    check_clean(im, false);
    scratch_free(im->dir);
    g_free(im->path);
}

/* --- requests in the background --- */

typedef struct Request {
    BlockNode *node;
    uint64_t off, bytes;
    unsigned flags;
    int fill;
    bool zero, done;
    int ret;
} Request;

static void coroutine_fn request_entry(void *opaque)
{
    Request *r = opaque;

    if (r->zero) {
        r->ret = block_co_pwrite_zeroes(r->node, r->off, r->bytes, r->flags);
    } else {
        g_autofree uint8_t *buf = g_malloc(r->bytes);
        memset(buf, r->fill, r->bytes);
        r->ret = block_co_pwrite(r->node, r->off, buf, r->bytes, r->flags);
    }
    r->done = true;
}

static void start(Request *r, Image *im)
{
    r->node = im->node;
    coroutine_enter(coroutine_new(request_entry, r));
}

static void coroutine_fn settle(void)
{
    for (int i = 0; i < 20; i++) {
        loop_co_sleep_ns(500000);
    }
}

static void coroutine_fn wait_held(Image *im, FaultOp op, unsigned n)
{
    for (int i = 0; i < 2000 && fault_held(im->fault, op) < n; i++) {
        loop_co_sleep_ns(1000000);
    }
    ck_assert_uint_eq(fault_held(im->fault, op), n);
}

static void coroutine_fn wait_done(Request *r)
{
    for (int i = 0; i < 2000 && !r->done; i++) {
        loop_co_sleep_ns(1000000);
    }
    ck_assert(r->done);
    ck_assert_int_eq(r->ret, 0);
}

static void coroutine_fn expect(Image *im, uint64_t off, uint64_t bytes, int fill)
{
    g_autofree uint8_t *buf = g_malloc(bytes);

    ck_assert_int_eq(block_co_pread(im->node, off, buf, bytes, 0), 0);
    for (uint64_t i = 0; i < bytes; i++) {
        if (buf[i] != fill) {
            ck_abort_msg("byte 0x%" PRIx64 " is 0x%02x, not 0x%02x", off + i, buf[i], fill);
        }
    }
}

static void coroutine_fn put(Image *im, uint64_t off, uint64_t bytes, int fill, unsigned flags)
{
    g_autofree uint8_t *buf = g_malloc(bytes);

    memset(buf, fill, bytes);
    ck_assert_int_eq(block_co_pwrite(im->node, off, buf, bytes, flags), 0);
}

/* --- what waits for what --- */

START_CO_TEST(meta_lock_is_free_while_data_is_written)
{
    Image im;
    Request a = {.off = 0, .bytes = CS, .fill = 1}, b = {.off = 10 * CS, .bytes = CS, .fill = 2};

    image_init(&im);
    put(&im, 24 * CS, CS, 5, 0); /* a new L2 table takes its room on the disk under the lock: have it made before */
    fault_hold(im.fault, FAULT_WRITE, true);
    start(&a, &im);
    wait_held(&im, FAULT_WRITE, 1);
    /* a second allocation, and reads of mapped and unmapped places, do not wait for the first one's data */
    start(&b, &im);
    wait_held(&im, FAULT_WRITE, 2);
    expect(&im, 0, CS, 0);
    expect(&im, 20 * CS, CS, 0);
    co_mutex_lock(&im.s->meta_lock);
    co_mutex_unlock(&im.s->meta_lock);
    fault_hold(im.fault, FAULT_WRITE, false);
    wait_done(&a);
    wait_done(&b);
    expect(&im, 0, CS, 1);
    expect(&im, 10 * CS, CS, 2);
    image_end(&im);
}

START_CO_TEST(a_cluster_in_flight_is_waited_for_and_shared)
{
    Image im;
    Request a = {.off = 0, .bytes = 512, .fill = 1}, b = {.off = 4096, .bytes = 512, .fill = 2};
    Request z = {.off = 8192, .bytes = 512, .zero = true};

    image_init(&im);
    fault_hold(im.fault, FAULT_WRITE, true);
    start(&a, &im);
    wait_held(&im, FAULT_WRITE, 1);
    start(&b, &im);
    start(&z, &im);
    settle();
    ck_assert_uint_eq(fault_held(im.fault, FAULT_WRITE), 1);
    ck_assert(!b.done && !z.done);
    fault_hold(im.fault, FAULT_WRITE, false);
    wait_done(&a);
    wait_done(&b);
    wait_done(&z);
    expect(&im, 0, 512, 1);
    expect(&im, 512, 4096 - 512, 0);
    expect(&im, 4096, 512, 2);
    /* one cluster in all: header, table, block, L1, L2, data */
    ck_assert_int_le(block_getlength(im.fault), 6 * CS);
    image_end(&im);
}

/* Requests in steps of 4 KiB over cluster @idx, with values from 1 on, started one after the other. */
static void start_small(Image *im, Request *r, unsigned count, uint64_t cluster)
{
    for (unsigned i = 0; i < count; i++) {
        r[i] = (Request){.off = cluster * CS + i * 4096, .bytes = 4096, .fill = 1 + (int)i};
        start(&r[i], im);
    }
}

START_CO_TEST(small_writes_into_one_new_cluster_are_one_write)
{
    enum { COUNT = 12 };
    Image im;
    Request r[COUNT], across = {.off = CS + COUNT * 4096, .bytes = 16384 + 512, .fill = 99};

    image_init(&im);
    put(&im, 24 * CS, CS, 5, 0); /* a new L2 table takes its room on the disk under the lock: have it made before */
    unsigned before = fault_count(im.fault, FAULT_WRITE);
    start_small(&im, r, COUNT, 1);
    start(&across, &im);
    for (unsigned i = 0; i < COUNT; i++) {
        wait_done(&r[i]);
    }
    wait_done(&across);
    ck_assert_uint_eq(fault_count(im.fault, FAULT_WRITE) - before, 2); /* and one for what lies in the next cluster */
    for (unsigned i = 0; i < COUNT; i++) {
        expect(&im, CS + i * 4096, 4096, 1 + (int)i);
    }
    expect(&im, CS + COUNT * 4096, 16384 + 512, 99);
    expect(&im, 2 * CS + 512, CS - 512, 0);
    image_end(&im);
}

START_CO_TEST(a_write_that_comes_while_the_cluster_is_written_is_its_own)
{
    Image im;
    Request r[3], late = {.off = CS + 4096, .bytes = 4096, .fill = 77};

    image_init(&im);
    put(&im, 24 * CS, CS, 5, 0);
    unsigned before = fault_count(im.fault, FAULT_WRITE);
    fault_hold(im.fault, FAULT_WRITE, true);
    start_small(&im, r, 3, 1);
    wait_held(&im, FAULT_WRITE, 1);
    start(&late, &im);
    settle();
    ck_assert(!r[1].done && !late.done);
    fault_hold(im.fault, FAULT_WRITE, false);
    wait_done(&late);
    for (unsigned i = 0; i < 3; i++) {
        wait_done(&r[i]);
    }
    ck_assert_uint_eq(fault_count(im.fault, FAULT_WRITE) - before, 2);
    expect(&im, CS, 4096, 1);
    expect(&im, CS + 4096, 4096, 77); /* it began after the one that joined had its place */
    expect(&im, CS + 8192, 4096, 3);
    image_end(&im);
}

START_CO_TEST(writes_that_joined_one_that_failed_are_done_again)
{
    enum { COUNT = 8 };
    Image im;
    Request r[COUNT];

    image_create(&im, "cluster_size=64k");
    image_open(&im, "");
    put(&im, 24 * CS, CS, 5, 0);
    ck_assert_int_eq(block_co_close(im.node), 0);
    image_open(&im, ",file.fail-write=1,file.once=on,file.offset=0x60000,file.length=64k");
    expect(&im, 24 * CS, 512, 5); /* loads the table */
    start_small(&im, r, COUNT, 1);
    for (unsigned i = 1; i < COUNT; i++) {
        wait_done(&r[i]);
    }
    ck_assert(r[0].done);
    ck_assert_int_eq(r[0].ret, -EIO);
    expect(&im, CS, 4096, 0);
    for (unsigned i = 1; i < COUNT; i++) {
        expect(&im, CS + i * 4096, 4096, 1 + (int)i);
    }
    image_end(&im);
}

START_CO_TEST(a_hole_of_one_cluster_between_two_in_flight_is_filled_alone)
{
    Image im;
    Request a = {.off = 0, .bytes = CS, .fill = 1}, c = {.off = 2 * CS, .bytes = CS, .fill = 3};
    Request all = {.off = 1 * CS, .bytes = 3 * CS, .fill = 9};

    image_init(&im);
    put(&im, 24 * CS, CS, 5, 0); /* a new L2 table takes its room on the disk under the lock: have it made before */
    fault_hold(im.fault, FAULT_WRITE, true);
    start(&a, &im);
    start(&c, &im);
    wait_held(&im, FAULT_WRITE, 2);
    start(&all, &im);
    settle();
    fault_hold(im.fault, FAULT_WRITE, false);
    wait_done(&a);
    wait_done(&c);
    wait_done(&all);
    expect(&im, 0, CS, 1);
    expect(&im, CS, CS, 9);
    expect(&im, 3 * CS, CS, 9);
    image_end(&im);
}

/* --- how many I/Os --- */

START_CO_TEST(a_long_write_into_a_fresh_image_is_one_write)
{
    Image im;

    image_init(&im);
    put(&im, 12 << 20, CS, 5, 0); /* a new L2 table takes its room on the disk under the lock: have it made before */
    for (uint64_t off = 0; off < 8 << 20; off += 2 << 20) {
        unsigned before = fault_count(im.fault, FAULT_WRITE);
        put(&im, off, 2 << 20, 7, 0);
        ck_assert_uint_eq(fault_count(im.fault, FAULT_WRITE) - before, 1);
    }
    /* with both edges copied it still is */
    unsigned before = fault_count(im.fault, FAULT_WRITE);
    put(&im, (16 << 20) + 512, 1 << 20, 8, 0);
    ck_assert_uint_eq(fault_count(im.fault, FAULT_WRITE) - before, 1);
    image_end(&im);
}

START_CO_TEST(zero_edges_of_large_clusters_are_not_written_as_data)
{
    Image im;

    image_create(&im, "cluster_size=2M");
    image_open(&im, "");
    put(&im, 4096, 512, 5, 0);
    ck_assert_uint_eq(fault_count(im.fault, FAULT_ZERO), 1);
    expect(&im, 0, 4096, 0);
    expect(&im, 4096, 512, 5);
    expect(&im, 4608, (2 << 20) - 4608, 0);
    image_end(&im);
}

/* A write that fails halfway leaves its bytes in a cluster which nobody has then. The next who gets it sees none of
 * them. */
START_CO_TEST(edges_are_zero_in_a_cluster_whose_first_write_failed)
{
    enum { FIRST_DATA = 0x50000 };
    Image im;
    g_autofree uint8_t *data = g_malloc0(CS), *part = g_malloc(CS);

    image_create(&im, "cluster_size=64k");
    image_open(&im, ",file.fail-write=1,file.once=on,file.offset=0x50000,file.length=64k");
    memset(part, 0x55, CS);
    ck_assert_int_eq(block_co_pwrite(im.node, 0, data, CS, 0), -EIO);
    int fd = open(im.path, O_WRONLY | O_CLOEXEC);
    ck_assert_int_eq(pwrite(fd, part, CS, FIRST_DATA), CS); /* what it may leave behind */
    close(fd);

    put(&im, 4096, 512, 6, 0);
    uint64_t n = 512;
    Qcow2Map map;
    ck_assert_int_eq(qcow2_lookup(im.s, 4096, &n, &map, NULL), 0);
    ck_assert_uint_eq(map.host_off, FIRST_DATA + 4096); /* the same cluster */
    expect(&im, 0, 4096, 0);
    expect(&im, 4096, 512, 6);
    expect(&im, 4608, CS - 4608, 0);
    image_end(&im);
}

START_CO_TEST(preallocated_zero_clusters_are_used_again)
{
    Image im;

    image_init(&im);
    put(&im, 0, 4 * CS, 1, 0);
    ck_assert_int_eq(block_co_flush(im.node), 0);
    int64_t length = block_getlength(im.fault);
    ck_assert_int_eq(block_co_pwrite_zeroes(im.node, 0, 4 * CS, 0), 0);
    expect(&im, 0, 4 * CS, 0);
    put(&im, CS + 512, 2 * CS, 2, 0);
    expect(&im, 0, CS + 512, 0);
    expect(&im, CS + 512, 2 * CS, 2);
    expect(&im, 3 * CS + 512, CS - 512, 0);
    ck_assert_int_eq(block_getlength(im.fault), length);
    image_end(&im);
}

/* --- freed clusters --- */

static uint64_t coroutine_fn host_of(Image *im, uint64_t guest_off)
{
    uint64_t n = 1;
    Qcow2Map map;

    ck_assert_int_eq(qcow2_lookup(im->s, guest_off, &n, &map, NULL), 0);
    return map.host_off;
}

START_CO_TEST(a_freed_cluster_is_reused_only_after_a_flush)
{
    Image im;

    image_init(&im);
    put(&im, 0, CS, 1, 0);
    uint64_t freed = host_of(&im, 0);
    ck_assert_int_eq(block_co_pdiscard(im.node, 0, CS), 0);
    put(&im, CS, CS, 2, 0);
    ck_assert_uint_ne(host_of(&im, CS), freed);
    ck_assert_int_eq(block_co_flush(im.node), 0);
    put(&im, 5 * CS, CS, 3, 0);
    ck_assert_uint_eq(host_of(&im, 5 * CS), freed);
    image_end(&im);
}

START_CO_TEST(a_compressed_cluster_being_read_is_not_given_away)
{
    Image im;
    Qcow2Reader reader;
    Qcow2Map map;
    uint64_t n = CS;

    image_init(&im);
    put(&im, 0, CS, 1, BLOCK_REQ_COMPRESSED);
    ck_assert_int_eq(qcow2_lookup(im.s, 0, &n, &map, &reader), 0);
    ck_assert_int_eq(map.kind, QCOW2_KIND_COMPRESSED);
    put(&im, 0, 512, 2, 0);
    ck_assert_int_eq(block_co_flush(im.node), 0);
    ck_assert_uint_gt(im.s->refs.pending_frees->len, 0);
    qcow2_reader_end(im.s, &reader);
    put(&im, 10 * CS, 512, 2, 0); /* a flush with nothing written before it does nothing */
    ck_assert_int_eq(block_co_flush(im.node), 0);
    ck_assert_uint_eq(im.s->refs.pending_frees->len, 0);
    expect(&im, 0, 512, 2);
    expect(&im, 512, CS - 512, 1);
    image_end(&im);
}

/* --- compressed clusters --- */

/* Vectors: qcow2 sheet section 24. */
START_CO_TEST(compressed_clusters_are_packed_as_others_do)
{
    static const uint64_t expected[] = {0x4000000000050000, 0x404000000005004f, 0x4000000000050292};
    g_autofree uint8_t *buf = g_malloc(3 * CS);
    Image im;
    void *table;

    memset(buf, 0x11, CS);
    for (size_t i = 0; i < CS; i++) {
        buf[CS + i] = i & 0xff;
    }
    memset(buf + 2 * CS, 0x33, CS);
    image_init(&im);
    ck_assert_int_eq(block_co_pwrite(im.node, 0, buf, 3 * CS, BLOCK_REQ_COMPRESSED), 0);
    ck_assert_int_eq(qcow2_cache_get(im.s->l2, im.s->l1.table[0] & QCOW2_L1_OFF_MASK, &table), 0);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_eq(qcow2_l2_entry(im.s, table, i), expected[i]);
    }
    qcow2_cache_put(im.s->l2, &table);
    expect(&im, 2 * CS, CS, 0x33);
    image_end(&im);
}

START_CO_TEST(compressed_writes_are_refused_where_they_cannot_be)
{
    Image im;
    g_autofree uint8_t *buf = g_malloc0(CS);

    image_init(&im);
    ck_assert_int_eq(block_co_pwrite(im.node, 0, buf, CS / 2, BLOCK_REQ_COMPRESSED), -EINVAL);
    ck_assert_int_eq(block_co_pwrite(im.node, 512, buf, CS, BLOCK_REQ_COMPRESSED), -EINVAL);
    put(&im, 0, CS, 1, BLOCK_REQ_COMPRESSED);
    ck_assert_int_eq(block_co_pwrite(im.node, 0, buf, CS, BLOCK_REQ_COMPRESSED), -EIO);
    put(&im, CS, 512, 1, 0);
    ck_assert_int_eq(block_co_pwrite(im.node, CS, buf, CS, BLOCK_REQ_COMPRESSED), -EIO);
    expect(&im, 0, CS, 1);
    image_end(&im);
}

/* --- failures --- */

/* Requests that meet each way through allocation, copies and frees. Failed ones are counted, not expected. */
static unsigned coroutine_fn some_requests(Image *im)
{
    g_autofree uint8_t *buf = g_malloc(4 * CS);
    unsigned failed = 0;

    memset(buf, 0x42, 4 * CS);
    failed += block_co_pwrite(im->node, 0, buf, 4 * CS, 0) < 0;
    failed += block_co_pwrite(im->node, 8 * CS, buf, 2 * CS, BLOCK_REQ_COMPRESSED) < 0;
    failed += block_co_flush(im->node) < 0;
    failed += block_co_pwrite(im->node, 8 * CS + 512, buf, CS, 0) < 0;
    failed += block_co_pwrite(im->node, 20 * CS + 4096, buf, 3 * CS, 0) < 0;
    failed += block_co_pwrite_zeroes(im->node, CS, CS, BLOCK_REQ_MAY_UNMAP) < 0;
    failed += block_co_flush(im->node) < 0;
    failed += block_co_pdiscard(im->node, 0, CS) < 0;
    failed += block_co_pwrite(im->node, 30 * CS, buf, CS, 0) < 0;
    failed += block_co_flush(im->node) < 0;
    return failed;
}

static const char *faults_now;

static void coroutine_fn faulty_body(void *opaque)
{
    Image im;

    image_create(&im, "cluster_size=64k");
    image_open(&im, faults_now);
    unsigned failed = some_requests(&im);
    int ret = block_co_close(im.node);
    /* A failed read or write is an error of somebody, unless the run ended before it came. */
    if (failed == 0 && ret == 0) {
        check_clean(&im, false);
    } else {
        check_clean(&im, true);
    }
    scratch_free(im.dir);
    g_free(im.path);
}

static void run_faulty(const char *kind, unsigned nth, const char *more)
{
    g_autofree char *faults = g_strdup_printf(",file.fail-%s=%u%s", kind, nth, more);

    faults_now = faults;
    run_on_fresh_loop(faulty_body, NULL);
}

START_TEST(one_failed_write_corrupts_nothing)
{
    run_faulty("write", _i, ",file.once=on,file.errno=28");
}
END_TEST

START_TEST(a_file_that_takes_no_more_writes_is_not_corrupt)
{
    run_faulty("write", _i, ",file.errno=28");
}
END_TEST

/* The first three reads are those of opening. */
START_TEST(one_failed_read_corrupts_nothing)
{
    run_faulty("read", _i, ",file.once=on");
}
END_TEST

START_TEST(failed_flushes_corrupt_nothing)
{
    run_faulty("flush", _i, "");
}
END_TEST

START_CO_TEST(a_failed_data_write_gives_its_clusters_back)
{
    Image im;
    g_autofree uint8_t *buf = g_malloc0(4 * CS);

    image_create(&im, "cluster_size=64k");
    image_open(&im, ",file.fail-write=1,file.once=on,file.errno=28");
    ck_assert_int_eq(block_co_pwrite(im.node, 0, buf, 4 * CS, 0), -ENOSPC);
    ck_assert_ptr_null(im.s->links);
    put(&im, 0, 4 * CS, 1, 0);
    expect(&im, 0, 4 * CS, 1);
    image_end(&im);
}

/* --- damaged tables --- */

/* Replace L2 entry 0 on disk. */
static void coroutine_fn plant_entry(Image *im, uint64_t entry)
{
    uint8_t raw[8];
    int ret;

    put(im, 0, CS, 1, 0);
    uint64_t l2_off = im->s->l1.table[0] & QCOW2_L1_OFF_MASK;
    ck_assert_int_eq(block_co_close(im->node), 0);
    store_be64(raw, entry);
    BlockNode *file = block_co_open(im->path, "file", NULL, BLOCK_OPEN_RDWR, NULL);
    ret = block_co_pwrite(file, l2_off, raw, sizeof(raw), 0);
    ck_assert_int_eq(ret, 0);
    block_co_close(file);
    image_open(im, "");
}

static void coroutine_fn image_end_damaged(Image *im)
{
    block_co_close(im->node);
    GError *err = NULL;
    ck_assert_ptr_null(block_co_open(im->path, "qcow2", NULL, BLOCK_OPEN_RDWR, &err));
    ck_assert_ptr_nonnull(strstr(err->message, "Image is corrupt; cannot be opened read/write"));
    g_error_free(err);
    scratch_free(im->dir);
    g_free(im->path);
}

START_CO_TEST(an_unaligned_entry_marks_the_image_corrupt)
{
    Image im;
    uint8_t buf[512];

    image_init(&im);
    plant_entry(&im, QCOW2_OFLAG_COPIED | 0x50200);
    ck_assert_int_eq(block_co_pread(im.node, 0, buf, sizeof(buf), 0), -EIO);
    ck_assert_int_eq(block_co_pread(im.node, CS, buf, sizeof(buf), 0), -ENOMEDIUM);
    ck_assert_int_eq(block_co_pwrite(im.node, CS, buf, sizeof(buf), 0), -ENOMEDIUM);
    image_end_damaged(&im);
}

/* Header, refcount table, refcount block, L1 and L2 are clusters 0 to 4. Cluster 0 as data is "unallocated". */
static void coroutine_fn overlap_body(void *opaque)
{
    uint64_t victim = (uint64_t)GPOINTER_TO_INT(opaque) * CS;
    Image im;
    g_autofree uint8_t *buf = g_malloc0(CS), *before = g_malloc(CS), *after = g_malloc(CS);

    image_init(&im);
    plant_entry(&im, QCOW2_OFLAG_COPIED | victim);
    ck_assert_int_eq(block_co_pread(im.fault, victim, before, CS, 0), 0);
    ck_assert_int_eq(block_co_pwrite(im.node, 0, buf, CS, 0), -EIO);
    ck_assert_int_eq(block_co_pread(im.fault, victim, after, CS, 0), 0);
    ck_assert_mem_eq(before, after, CS);
    image_end_damaged(&im);
}

START_TEST(guest_data_never_overwrites_metadata)
{
    run_on_fresh_loop(overlap_body, GINT_TO_POINTER(_i));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("qcow2-write");
    TCase *tc = tcase_create("write");

    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, meta_lock_is_free_while_data_is_written);
    tcase_add_test(tc, a_cluster_in_flight_is_waited_for_and_shared);
    tcase_add_test(tc, small_writes_into_one_new_cluster_are_one_write);
    tcase_add_test(tc, a_write_that_comes_while_the_cluster_is_written_is_its_own);
    tcase_add_test(tc, writes_that_joined_one_that_failed_are_done_again);
    tcase_add_test(tc, a_hole_of_one_cluster_between_two_in_flight_is_filled_alone);
    tcase_add_test(tc, a_long_write_into_a_fresh_image_is_one_write);
    tcase_add_test(tc, zero_edges_of_large_clusters_are_not_written_as_data);
    tcase_add_test(tc, edges_are_zero_in_a_cluster_whose_first_write_failed);
    tcase_add_test(tc, preallocated_zero_clusters_are_used_again);
    tcase_add_test(tc, a_freed_cluster_is_reused_only_after_a_flush);
    tcase_add_test(tc, a_compressed_cluster_being_read_is_not_given_away);
    tcase_add_test(tc, compressed_clusters_are_packed_as_others_do);
    tcase_add_test(tc, compressed_writes_are_refused_where_they_cannot_be);
    tcase_add_test(tc, a_failed_data_write_gives_its_clusters_back);
    tcase_add_loop_test(tc, one_failed_write_corrupts_nothing, 1, 24);
    tcase_add_loop_test(tc, a_file_that_takes_no_more_writes_is_not_corrupt, 1, 24);
    tcase_add_loop_test(tc, one_failed_read_corrupts_nothing, 4, 12);
    tcase_add_loop_test(tc, failed_flushes_corrupt_nothing, 1, 8);
    tcase_add_test(tc, an_unaligned_entry_marks_the_image_corrupt);
    tcase_add_loop_test(tc, guest_data_never_overwrites_metadata, 1, 5);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
