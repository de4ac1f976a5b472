/* SPDX-License-Identifier: MIT */
/* libqblock: read and write disk images - raw, qcow2, LUKS, and LUKS inside qcow2 - from any thread.
 *
 * All calls block, and may be made from several threads at once, on one image too; requests then run in parallel.
 * Offsets and lengths are bytes, of any alignment. Calls that can fail for a reason worth reading take @error: on
 * failure it is set to one line the caller frees with free(); it may be NULL.
 *
 *     qb_secret_add("secret,id=key,file=/run/keys/vm1", NULL);
 *     QbImage *img = qb_image_open("driver=qcow2,file.filename=vm1.qcow2,encrypt.key-secret=key", QB_OPEN_OPTIONS,
 *                                  &error);
 *     qb_image_pread(img, 0, buf, sizeof(buf));
 *     qb_image_close(img); */
#ifndef QBLOCK_H
#define QBLOCK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QB_API __attribute__((visibility("default")))

typedef struct QbImage QbImage;

enum {
    QB_OPEN_RDWR = 1 << 0,    /* else read-only */
    QB_OPEN_OPTIONS = 1 << 1, /* the name is a key=value text, as of --image-opts */
    QB_OPEN_DIRECT = 1 << 2,  /* bypass the host's page cache */
    QB_OPEN_UNSAFE = 1 << 3,  /* flushes do nothing; for images that can be made again */
};

/* The library's version, "0.1.0". */
QB_API const char *qb_version(void);

/* Define a secret, as of --object: "secret,id=ID,data=TEXT" or "secret,id=ID,file=PATH". 0 or -1. */
QB_API int qb_secret_add(const char *object, char **error);

/* Create an image of @format at @filename. @options: "size=10G,cluster_size=64k,..." as of -o. 0 or -1; nothing is left
 * behind on failure. */
QB_API int qb_image_create(const char *format, const char *filename, const char *options, char **error);

/* Open. @name: file name, json:{...}, or a key=value text with QB_OPEN_OPTIONS. NULL on failure. */
QB_API QbImage *qb_image_open(const char *name, unsigned flags, char **error);

/* Flush and close; no other call on @image may be under way. 0, or -errno when something written may be lost. NULL is
 * fine. */
QB_API int qb_image_close(QbImage *image);

/* Virtual size in bytes. */
QB_API int64_t qb_image_length(const QbImage *image);

/* 0 or -errno; -EIO past the end. */
QB_API int qb_image_pread(QbImage *image, int64_t offset, void *buf, size_t bytes);
QB_API int qb_image_pwrite(QbImage *image, int64_t offset, const void *buf, size_t bytes);
/* Make the range read as zeros, giving its space back where the format can. */
QB_API int qb_image_zero(QbImage *image, int64_t offset, int64_t bytes);
/* Make everything written so far stable. */
QB_API int qb_image_flush(QbImage *image);

#ifdef __cplusplus
}
#endif

#endif
