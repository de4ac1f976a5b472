/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <sys/resource.h>
#include <signal.h>

#include "block/file/file-posix-int.h"
#include "tests/unit/block-fixture.h"
#include "util/base/aligned-buf.h"
#include "util/base/units.h"

static uint8_t buf[2 * 1024 * 1024], back[2 * 1024 * 1024];

static BlockNode *open_file(const char *path, unsigned flags)
{
    g_autofree char *opts = g_strdup_printf("driver=file,filename=%s", path);

    return open_opts(opts, flags);
}

static int64_t file_size(const char *path)
{
    struct stat st;

    ck_assert_int_eq(stat(path, &st), 0);
    return st.st_size;
}

static int64_t file_blocks(const char *path)
{
    struct stat st;

    ck_assert_int_eq(stat(path, &st), 0);
    return (int64_t)st.st_blocks * 512;
}

/* ---- data ------------------------------------------------------------------------------------------------------ */

START_CO_TEST(length_is_rounded_up_and_the_rest_reads_as_zeros)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    memset(buf, 0x11, 1000);
    g_autofree char *path = scratch_file(dir, "img", buf, 1000);
    BlockNode *node = open_file(path, 0);

    ck_assert_int_eq(block_getlength(node), 1024);
    memset(back, 0xff, 1024);
    ck_assert_int_eq(block_co_pread(node, 0, back, 1024, 0), 0);
    ck_assert(memcmp(back, buf, 1000) == 0);
    ck_assert(buffer_is_zero(back + 1000, 24));
    ck_assert_int_eq(block_co_pread(node, 1000, back, 25, 0), -EIO);
    block_co_close(node);
    ck_assert_int_eq(file_size(path), 1000);
}

START_CO_TEST(threads_do_the_transfers_where_aio_says_so)
{
    static const struct {
        const char *options;
        unsigned flags;
        LoopIoBy by;
    } rows[] = {
        {"", 0, LOOP_IO_ENGINE},
        {",aio=threads", 0, LOOP_IO_WORKER},
        {",aio=io_uring", BLOCK_OPEN_AIO_THREADS, LOOP_IO_ENGINE},
        {"", BLOCK_OPEN_AIO_THREADS, LOOP_IO_WORKER},
        {",aio=threads", BLOCK_OPEN_AIO_NATIVE, LOOP_IO_WORKER},
    };
    g_autoptr(ScratchDir) dir = scratch_dir();
    memset(buf, 0x11, 4096);
    g_autofree char *path = scratch_file(dir, "img", buf, 4096);

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *opts = g_strdup_printf("driver=file,filename=%s%s", path, rows[i].options);
        BlockNode *node = open_opts(opts, rows[i].flags);

        ck_assert_int_eq(((FileState *)node->state)->io_by, rows[i].by);
        ck_assert_int_eq(block_co_pread(node, 0, back, 4096, 0), 0);
        ck_assert_mem_eq(back, buf, 4096);
        block_co_close(node);
    }
}

START_CO_TEST(scatter_lists_longer_than_the_kernel_takes_are_split)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = scratch_file(dir, "img", NULL, 0);
    BlockNode *node = open_file(path, BLOCK_OPEN_RDWR);
    g_auto(IoVec) out, in;

    ck_assert(block_co_truncate(node, 3000 * 7, BLOCK_PREALLOC_OFF, NULL));
    iovec_init(&out);
    iovec_init(&in);
    for (int i = 0; i < 3000; i++) {
        memset(buf + i * 7, i, 7);
        iovec_add(&out, buf + i * 7, 7);
        iovec_add(&in, back + i * 7, 7);
    }
    ck_assert_int_eq(block_co_pwritev(node, 0, &out, 0), 0);
    ck_assert_int_eq(block_co_preadv(node, 0, &in, 0), 0);
    ck_assert(memcmp(buf, back, 3000 * 7) == 0);
    block_co_close(node);
}

START_CO_TEST(direct_io_takes_any_offset_length_and_address)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = scratch_file(dir, "img", NULL, 0);
    GError *err = NULL;
    BlockNode *node = block_co_open(path, "raw", NULL, BLOCK_OPEN_RDWR | BLOCK_OPEN_DIRECT, &err);

    if (!node) {
        printf("SKIP direct_io: %s\n", err->message);
        g_error_free(err);
        return;
    }
    ck_assert(block_co_truncate(node, 1049600, BLOCK_PREALLOC_OFF, NULL));
    for (size_t i = 0; i < 1049600; i++) {
        buf[i] = i ^ (i >> 9);
    }
    ck_assert_int_eq(block_co_pwrite(node, 0, buf + 1, 700001, 0), 0);
    ck_assert_int_eq(block_co_pwrite(node, 700001, buf + 700002, 1049600 - 700001, 0), 0);
    ck_assert_int_eq(block_co_pread(node, 3, back + 5, 1049597, 0), 0);
    ck_assert(memcmp(back + 5, buf + 4, 1049597) == 0);
    ck_assert_int_eq(block_co_close(node), 0);
    ck_assert_int_eq(file_size(path), 1049600);
}

/* ---- zeroes, discards, holes ----------------------------------------------------------------------------------- */

static BlockStatus status_at(BlockNode *node, int64_t offset, int64_t bytes)
{
    BlockStatus st;

    ck_assert_int_eq(block_co_status(node, offset, bytes, &st), 0);
    return st;
}

START_CO_TEST(zero_write_reads_back_as_zeros_with_and_without_holes)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    memset(buf, 0x5a, MIB);
    g_autofree char *path = scratch_file(dir, "img", buf, MIB);
    BlockNode *node = open_file(path, BLOCK_OPEN_RDWR | BLOCK_OPEN_UNMAP);

    ck_assert_int_eq(block_co_pwrite_zeroes(node, 100, 200000, 0), 0);
    ck_assert_int_eq(block_co_pwrite_zeroes(node, 524288, 131072, BLOCK_REQ_MAY_UNMAP), 0);
    ck_assert_int_eq(block_co_pread(node, 0, back, MIB, 0), 0);
    ck_assert(buffer_is_zero(back + 100, 200000) && buffer_is_zero(back + 524288, 131072));
    ck_assert(back[99] == 0x5a && back[200100] == 0x5a && back[524287] == 0x5a && back[655360] == 0x5a);
    block_co_close(node);
    ck_assert_int_eq(file_size(path), MIB);
}

START_CO_TEST(discarded_range_is_a_hole)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    memset(buf, 0x5a, MIB);
    g_autofree char *path = scratch_file(dir, "img", buf, MIB);
    BlockNode *node = open_file(path, BLOCK_OPEN_RDWR | BLOCK_OPEN_UNMAP);
    int64_t before = file_blocks(path);

    ck_assert_int_eq(block_co_pdiscard(node, 65536, 131072), 0);
    BlockStatus st = status_at(node, 65536, MIB);
    if (file_blocks(path) < before) {
        ck_assert_int_eq(st.flags, BLOCK_STATUS_ZERO | BLOCK_STATUS_ALLOCATED | BLOCK_STATUS_OFFSET);
        ck_assert_int_eq(st.bytes, 131072);
    }
    block_co_close(node);
}

START_CO_TEST(holes_are_reported_as_zeros_and_data_as_data)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = scratch_file(dir, "img", NULL, 0);
    BlockNode *node = open_file(path, BLOCK_OPEN_RDWR);

    ck_assert(block_co_truncate(node, MIB, BLOCK_PREALLOC_OFF, NULL));
    memset(buf, 1, 65536);
    ck_assert_int_eq(block_co_pwrite(node, 131072, buf, 65536, 0), 0); /* not synced: still in the cache alone */

    BlockStatus st = status_at(node, 0, MIB);
    ck_assert_int_eq(st.flags, BLOCK_STATUS_ZERO | BLOCK_STATUS_ALLOCATED | BLOCK_STATUS_OFFSET);
    ck_assert_int_eq(st.bytes, 131072);
    st = status_at(node, 131072, MIB);
    ck_assert_int_eq(st.flags, BLOCK_STATUS_DATA | BLOCK_STATUS_ALLOCATED | BLOCK_STATUS_OFFSET);
    ck_assert_int_eq(st.bytes, 65536);
    ck_assert_int_eq(st.host_off, 131072);
    st = status_at(node, 196608, MIB);
    ck_assert_int_eq(st.flags, BLOCK_STATUS_ZERO | BLOCK_STATUS_ALLOCATED | BLOCK_STATUS_OFFSET | BLOCK_STATUS_EOF);
    ck_assert_int_eq(st.bytes, MIB - 196608);
    block_co_close(node);
}

START_CO_TEST(zero_write_past_the_end_extends_a_growable_file)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = g_build_filename(dir, "img", NULL);
    BlockNode *node = block_create_file(path, NULL);

    memset(buf, 0x5a, 1000);
    ck_assert_int_eq(block_co_pwrite(node, 0, buf, 1000, 0), 0);
    ck_assert_int_eq(block_co_pwrite_zeroes(node, 500, 100000, 0), 0);
    ck_assert_int_eq(block_co_pwrite_zeroes(node, 200000, 100000, BLOCK_REQ_MAY_UNMAP), 0);
    ck_assert_int_eq(file_size(path), 300000);
    ck_assert_int_eq(block_co_pread(node, 0, back, 300000, 0), 0);
    ck_assert(back[499] == 0x5a && buffer_is_zero(back + 500, 299500));
    block_co_close(node);
}

/* ---- resize ---------------------------------------------------------------------------------------------------- */

START_CO_TEST(preallocation_takes_the_space)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    BlockPrealloc modes[] = {BLOCK_PREALLOC_FALLOC, BLOCK_PREALLOC_FULL};

    for (size_t i = 0; i < G_N_ELEMENTS(modes); i++) {
        g_autofree char *path = scratch_file(dir, "img", "abc", 3);
        BlockNode *node = open_file(path, BLOCK_OPEN_RDWR | BLOCK_OPEN_RESIZE);
        GError *err = NULL;
        ck_assert_msg(block_co_truncate(node, 3 * MIB + 512, modes[i], &err), "%s", err ? err->message : "");
        block_co_close(node);
        ck_assert_int_eq(file_size(path), 3 * MIB + 512);
        ck_assert_int_ge(file_blocks(path), 3 * MIB);
    }
}

START_CO_TEST(unsupported_preallocation_is_refused_by_name)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = scratch_file(dir, "img", buf, 4096);
    BlockNode *node = open_file(path, BLOCK_OPEN_RDWR);
    g_autoptr(GError) err = NULL, err2 = NULL;

    ck_assert(!block_co_truncate(node, 8192, BLOCK_PREALLOC_METADATA, &err));
    ck_assert_str_eq(err->message, "Unsupported preallocation mode: metadata");
    ck_assert(!block_co_truncate(node, 512, BLOCK_PREALLOC_FULL, &err2));
    ck_assert_str_eq(err2->message, "Cannot use preallocation for shrinking files");
    ck_assert_int_eq(block_getlength(node), 4096);
    block_co_close(node);
}

START_CO_TEST(failed_preallocation_gives_the_space_back)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    BlockPrealloc modes[] = {BLOCK_PREALLOC_FALLOC, BLOCK_PREALLOC_FULL};
    struct rlimit limit = {.rlim_cur = 2 * MIB, .rlim_max = RLIM_INFINITY};

    signal(SIGXFSZ, SIG_IGN);
    for (size_t i = 0; i < G_N_ELEMENTS(modes); i++) {
        g_autofree char *path = scratch_file(dir, "img", "abc", 3);
        BlockNode *node = open_file(path, BLOCK_OPEN_RDWR | BLOCK_OPEN_RESIZE);
        g_autoptr(GError) err = NULL;
        setrlimit(RLIMIT_FSIZE, &limit);
        ck_assert(!block_co_truncate(node, 8 * MIB, modes[i], &err));
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY});
        ck_assert_int_eq(file_size(path), 3);
        ck_assert_int_eq(block_getlength(node), 512);
        block_co_close(node);
    }
}

/* ---- create and locks ------------------------------------------------------------------------------------------ */

START_CO_TEST(create_empties_an_old_file)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = scratch_file(dir, "img", buf, 4096);
    BlockNode *node = block_create_file(path, NULL);

    ck_assert_ptr_nonnull(node);
    ck_assert_int_eq(block_getlength(node), 0);
    block_co_close(node);
    ck_assert_int_eq(file_size(path), 0);
}

START_CO_TEST(create_in_a_missing_folder_says_so)
{
    g_autoptr(GError) err = NULL;

    ck_assert_ptr_null(block_create_file("/nonexistent/x", &err));
    ck_assert_str_eq(err->message, "Could not create '/nonexistent/x': No such file or directory");
}

/* A lock as another process would hold it: on a description of its own. */
static int hold_byte(const char *path, int byte)
{
    int fd = open(path, O_RDWR);
    struct flock fl = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};

    ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &fl), 0);
    return fd;
}

static void check_lock_error(const char *path, int byte, unsigned flags, const char *expected)
{
    int fd = hold_byte(path, byte);

    if (expected) {
        g_autofree char *text =
            g_strdup_printf("Failed to get %s lock\nIs another process using the image [%s]?", expected, path);
        ck_assert_open_error(path, "raw", NULL, flags, text);
    } else {
        BlockNode *node = block_co_open(path, "raw", NULL, flags, NULL);
        ck_assert_ptr_nonnull(node);
        block_co_close(node);
    }
    close(fd);
}

START_CO_TEST(locks_of_others_are_respected)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = scratch_file(dir, "img", buf, 4096);

    check_lock_error(path, 201, BLOCK_OPEN_RDWR, "\"write\"");
    check_lock_error(path, 203, BLOCK_OPEN_RDWR | BLOCK_OPEN_RESIZE, "\"resize\"");
    check_lock_error(path, 200, 0, "\"consistent read\"");
    check_lock_error(path, 101, BLOCK_OPEN_UNSHARE, "shared \"write\"");
    check_lock_error(path, 103, BLOCK_OPEN_UNSHARE, "shared \"resize\"");
    check_lock_error(path, 203, BLOCK_OPEN_RDWR, NULL);
    check_lock_error(path, 101, 0, NULL);
    check_lock_error(path, 101, BLOCK_OPEN_UNSHARE | BLOCK_OPEN_FORCE_SHARE, NULL);
    check_lock_error(path, 201, BLOCK_OPEN_RDWR | BLOCK_OPEN_NO_LOCK, NULL);
    check_lock_error(path, 200, BLOCK_OPEN_NO_IO, NULL);
}

START_CO_TEST(two_nodes_of_one_process_conflict_as_two_processes_do)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = scratch_file(dir, "img", buf, 4096);
    BlockNode *reader = block_co_open(path, "raw", NULL, BLOCK_OPEN_UNSHARE, NULL);
    g_autofree char *message = open_error(path, "raw", NULL, BLOCK_OPEN_RDWR);

    ck_assert(g_str_has_prefix(message, "Failed to get \"write\" lock\n"));
    block_co_close(reader);
    BlockNode *writer = block_co_open(path, "raw", NULL, BLOCK_OPEN_RDWR, NULL);
    ck_assert_ptr_nonnull(writer); /* the locks went with the reader */
    block_co_close(writer);
}

START_CO_TEST(create_leaves_a_locked_file_alone)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = scratch_file(dir, "img", buf, 4096);
    g_autoptr(GError) err = NULL;
    int fd = hold_byte(path, 201);

    ck_assert_ptr_null(block_create_file(path, &err));
    ck_assert(g_str_has_prefix(err->message, "Failed to get \"write\" lock\n"));
    ck_assert_int_eq(file_size(path), 4096);
    close(fd);
}

static Suite *suite(void)
{
    Suite *s = suite_create("file-posix");
    TCase *tc = tcase_create("file-posix");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, length_is_rounded_up_and_the_rest_reads_as_zeros);
    tcase_add_test(tc, threads_do_the_transfers_where_aio_says_so);
    tcase_add_test(tc, scatter_lists_longer_than_the_kernel_takes_are_split);
    tcase_add_test(tc, direct_io_takes_any_offset_length_and_address);
    tcase_add_test(tc, zero_write_reads_back_as_zeros_with_and_without_holes);
    tcase_add_test(tc, discarded_range_is_a_hole);
    tcase_add_test(tc, holes_are_reported_as_zeros_and_data_as_data);
    tcase_add_test(tc, zero_write_past_the_end_extends_a_growable_file);
    tcase_add_test(tc, preallocation_takes_the_space);
    tcase_add_test(tc, unsupported_preallocation_is_refused_by_name);
    tcase_add_test(tc, failed_preallocation_gives_the_space_back);
    tcase_add_test(tc, create_empties_an_old_file);
    tcase_add_test(tc, create_in_a_missing_folder_says_so);
    tcase_add_test(tc, locks_of_others_are_respected);
    tcase_add_test(tc, two_nodes_of_one_process_conflict_as_two_processes_do);
    tcase_add_test(tc, create_leaves_a_locked_file_alone);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return run_suite_per_engine(suite);
}
