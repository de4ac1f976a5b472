/* SPDX-License-Identifier: MIT */
/* The log is read back by its documented format, not by the code that wrote it. */
#include "tests/unit/block-fixture.h"
#include "util/base/endian.h"
#include "util/base/units.h"

#define HEAD 32

static uint8_t buf[65536];

typedef struct Log {
    uint8_t *data;
    gsize bytes, at;
} Log;

static Log read_log(const char *path)
{
    Log log = {.at = HEAD};
    char *data;

    ck_assert(g_file_get_contents(path, &data, &log.bytes, NULL));
    log.data = (uint8_t *)data;
    ck_assert(log.bytes >= HEAD && memcmp(data, "qblock record 1\n", 16) == 0);
    return log;
}

/* The next record's fixed part; steps over its data. NULL at the end. */
static const uint8_t *next_record(Log *log)
{
    const uint8_t *r = log->data + log->at;

    if (log->at == log->bytes) {
        return NULL;
    }
    ck_assert(log->at + 32 <= log->bytes);
    log->at += 32 + (memcmp(r, "WRIT", 4) == 0 ? load_le64(r + 24) : 0);
    ck_assert(log->at <= log->bytes);
    return r;
}

#define ck_assert_record(log, tag, flags, issued, offset, length)                                                      \
    do {                                                                                                               \
        const uint8_t *r_ = next_record(log);                                                                          \
        ck_assert_ptr_nonnull(r_);                                                                                     \
        ck_assert(memcmp(r_, tag, 4) == 0);                                                                            \
        ck_assert_uint_eq(load_le64(r_) >> 32, flags);                                                                 \
        ck_assert_uint_eq(load_le64(r_ + 8), issued);                                                                  \
        ck_assert_uint_eq(load_le64(r_ + 16), offset);                                                                 \
        ck_assert_uint_eq(load_le64(r_ + 24), length);                                                                 \
    } while (0)

START_CO_TEST(every_change_is_logged_in_order_with_its_data)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = scratch_file(dir, "img", buf, 65536);
    g_autofree char *log_path = g_build_filename(dir, "log", NULL);
    g_autofree char *opts = g_strdup_printf("driver=record,file.filename=%s,log=%s", path, log_path);
    BlockNode *node = open_opts(opts, BLOCK_OPEN_RDWR | BLOCK_OPEN_RESIZE | BLOCK_OPEN_UNMAP);

    memset(buf, 0xab, 1000);
    ck_assert_int_eq(block_co_pread(node, 0, buf + 2000, 1000, 0), 0);
    ck_assert_int_eq(block_co_pwrite(node, 512, buf, 1000, 0), 0);
    ck_assert_int_eq(block_co_flush(node), 0);
    ck_assert_int_eq(block_co_pwrite_zeroes(node, 4096, 4096, BLOCK_REQ_MAY_UNMAP), 0);
    ck_assert_int_eq(block_co_pdiscard(node, 8192, 4096), 0);
    ck_assert(block_co_truncate(node, 131072, BLOCK_PREALLOC_OFF, NULL));
    ck_assert_int_eq(block_co_close(node), 0);

    Log log = read_log(log_path);
    ck_assert_uint_eq(load_le64(log.data + 16), 65536);
    ck_assert_record(&log, "WRIT", 0, 0, 512, 1000);
    ck_assert(memcmp(log.data + HEAD + 32, buf, 1000) == 0);
    ck_assert_record(&log, "FLSH", 0, 1, 0, 0);
    ck_assert_record(&log, "ZERO", 1, 2, 4096, 4096);
    ck_assert_record(&log, "DISC", 0, 3, 8192, 4096);
    ck_assert_record(&log, "TRUN", 0, 4, 65536, 131072);
    ck_assert_record(&log, "FLSH", 0, 5, 0, 0); /* of close */
    ck_assert_ptr_null(next_record(&log));
    g_free(log.data);
    memset(buf, 0, sizeof(buf));
}

START_CO_TEST(failed_operations_are_not_logged_and_a_failed_flush_is_taken_back)
{
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *log_path = g_build_filename(dir, "log", NULL);
    g_autofree char *opts =
        g_strdup_printf("driver=record,log=%s,file.driver=fault,file.fail-write=2,file.fail-flush=1,"
                        "file.once=on,file.file.driver=null-co",
                        log_path);
    BlockNode *node = open_opts(opts, BLOCK_OPEN_RDWR);

    ck_assert_int_eq(block_co_pwrite(node, 0, buf, 512, 0), 0);
    ck_assert_int_eq(block_co_pwrite(node, 512, buf, 512, 0), -EIO);
    ck_assert_int_eq(block_co_flush(node), -EIO);
    ck_assert_int_eq(block_co_close(node), 0);

    Log log = read_log(log_path);
    ck_assert_record(&log, "WRIT", 0, 0, 0, 512);
    ck_assert_record(&log, "FLSH", 0, 1, 0, 0);
    ck_assert_record(&log, "FAIL", 0, 2, 1, 0);
    ck_assert_record(&log, "FLSH", 0, 3, 0, 0);
    ck_assert_ptr_null(next_record(&log));
    g_free(log.data);
}

START_CO_TEST(log_is_required_and_must_be_writable)
{
    ck_assert_open_error(NULL, NULL, "driver=record,file.driver=null-co", 0, "Parameter 'log' is missing");
    ck_assert_open_error(NULL, NULL, "driver=record,file.driver=null-co,log=/nonexistent/x", 0,
                         "Could not create the log '/nonexistent/x': No such file or directory");
}

static Suite *suite(void)
{
    Suite *s = suite_create("record");
    TCase *tc = tcase_create("record");

    tcase_add_test(tc, every_change_is_logged_in_order_with_its_data);
    tcase_add_test(tc, failed_operations_are_not_logged_and_a_failed_flush_is_taken_back);
    tcase_add_test(tc, log_is_required_and_must_be_writable);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
