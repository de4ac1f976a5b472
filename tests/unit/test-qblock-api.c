/* SPDX-License-Identifier: MIT */
/* The exported library, used as a program outside the tree would: the public header alone. */
#include "qblock/qblock.h"

#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/qblock-api.XXXXXX";

#define OPEN_TEXT_FORMAT "driver=qcow2,file.filename=%s,encrypt.key-secret=k"

static QbImage *open_encrypted(unsigned flags)
{
    char text[256];
    char *error = NULL;

    snprintf(text, sizeof(text), OPEN_TEXT_FORMAT, path);
    QbImage *image = qb_image_open(text, QB_OPEN_OPTIONS | flags, &error);
    ck_assert_msg(image != NULL, "%s", error);
    return image;
}

static void create_encrypted(void)
{
    char *error = NULL;

    ck_assert_int_eq(qb_secret_add("secret,id=k,data=test", NULL), 0);
    int ret =
        qb_image_create("qcow2", path, "size=8M,encrypt.format=luks,encrypt.key-secret=k,encrypt.iter-time=10", &error);
    ck_assert_msg(ret == 0, "%s", error);
}

START_TEST(what_is_written_is_read_after_reopening)
{
    static uint8_t out[300000], in[300000];

    create_encrypted();
    for (size_t i = 0; i < sizeof(out); i++) {
        out[i] = i * 7;
    }
    QbImage *image = open_encrypted(QB_OPEN_RDWR);
    ck_assert_int_eq(qb_image_length(image), 8 << 20);
    ck_assert_int_eq(qb_image_pwrite(image, 12345, out, sizeof(out)), 0);
    ck_assert_int_eq(qb_image_zero(image, 65536, 65536), 0);
    memset(out + 65536 - 12345, 0, 65536);
    ck_assert_int_eq(qb_image_flush(image), 0);
    ck_assert_int_eq(qb_image_close(image), 0);

    image = open_encrypted(0);
    ck_assert_int_eq(qb_image_pread(image, 12345, in, sizeof(in)), 0);
    ck_assert_int_eq(memcmp(in, out, sizeof(in)), 0);
    ck_assert_int_lt(qb_image_pwrite(image, 0, in, 512), 0);
    ck_assert_int_eq(qb_image_pread(image, 8 << 20, in, 512), -EIO);
    ck_assert_int_eq(qb_image_close(image), 0);
}
END_TEST

static void *write_stripe(void *opaque)
{
    QbImage *image = ((void **)opaque)[0];
    uintptr_t id = (uintptr_t)((void **)opaque)[1];
    uint8_t buf[5000];

    memset(buf, id + 1, sizeof(buf));
    for (int64_t off = id * sizeof(buf); off + 5000 <= 4 << 20; off += 4 * sizeof(buf)) {
        if (qb_image_pwrite(image, off, buf, sizeof(buf)) < 0) {
            return (void *)1;
        }
    }
    return NULL;
}

START_TEST(several_threads_may_write_one_image)
{
    pthread_t threads[4];
    void *args[4][2];
    uint8_t buf[5000];

    create_encrypted();
    QbImage *image = open_encrypted(QB_OPEN_RDWR);
    for (uintptr_t i = 0; i < 4; i++) {
        args[i][0] = image;
        args[i][1] = (void *)i;
        pthread_create(&threads[i], NULL, write_stripe, args[i]);
    }
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        ck_assert_ptr_null(failed);
    }
    for (int64_t k = 0; (k + 1) * 5000 <= 4 << 20; k++) {
        ck_assert_int_eq(qb_image_pread(image, k * 5000, buf, sizeof(buf)), 0);
        ck_assert_int_eq(buf[0], k % 4 + 1);
        ck_assert_int_eq(buf[4999], k % 4 + 1);
    }
    ck_assert_int_eq(qb_image_close(image), 0);
}
END_TEST

START_TEST(failures_say_why)
{
    char *error = NULL;

    ck_assert_ptr_null(qb_image_open("/nonexistent/image", 0, &error));
    ck_assert_ptr_nonnull(strstr(error, "No such file or directory"));
    free(error);
    ck_assert_int_eq(qb_image_create("nope", path, "size=1M", &error), -1);
    ck_assert_ptr_nonnull(strstr(error, "nope"));
    free(error);
    ck_assert_int_eq(qb_image_create("qcow2", path, "size=1M,bogus=1", &error), -1);
    ck_assert_ptr_nonnull(strstr(error, "bogus"));
    free(error);
    ck_assert_int_eq(qb_secret_add("secret,data=x", &error), -1);
    ck_assert_ptr_nonnull(strstr(error, "id"));
    free(error);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("qblock-api");
    TCase *tc = tcase_create("api");

    close(mkstemp(path));
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, what_is_written_is_read_after_reopening);
    tcase_add_test(tc, several_threads_may_write_one_image);
    tcase_add_test(tc, failures_say_why);
    suite_add_tcase(s, tc);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    unlink(path);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
