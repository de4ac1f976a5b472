/* SPDX-License-Identifier: MIT */
/* The blocking forms of the block layer: what libqblock exports. The only place where a thread waits for a coroutine.
 *
 * One loop thread serves the process; a call starts a coroutine there and waits for it on a condition variable. */
#include "qblock/qblock.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "block/block.h"
#include "config.h"
#include "crypto/cipher/init.h"
#include "crypto/secret/secret.h"
#include "util/base/error.h"
#include "util/loop/event-loop.h"
#include "util/thread/thread-pool.h"
#include "util/base/units.h"

struct QbImage {
    BlockNode *node;
};

/* One call: filled by the caller, done in a coroutine. On the caller's stack. */
typedef struct SyncCall {
    void coroutine_fn (*run)(struct SyncCall *call);
    BlockNode *node;
    int64_t offset, bytes;
    void *buf;
    const char *format, *name;
    OptDict *options;
    unsigned flags;
    int ret;
    BlockNode *opened;
    GError *err;

    pthread_mutex_t guard;
    pthread_cond_t cond;
    bool done; /* under guard */
} SyncCall;

/* Started on first use, for good. */
static struct {
    pthread_once_t once;
    LoopThread *thread;
    GError *err;
} sync_loop = {.once = PTHREAD_ONCE_INIT};

static void sync_loop_start(void)
{
    if (crypto_init(&sync_loop.err) && thread_pool_check_env(&sync_loop.err)) {
        sync_loop.thread = loop_thread_start("qblock", EVENT_LOOP_AUTO, &sync_loop.err);
    }
}

static void coroutine_fn sync_entry(void *opaque)
{
    SyncCall *call = opaque;

    call->run(call);
    pthread_mutex_lock(&call->guard);
    call->done = true;
    pthread_cond_signal(&call->cond);
    pthread_mutex_unlock(&call->guard);
}

static int sync_run(SyncCall *call)
{
    pthread_once(&sync_loop.once, sync_loop_start);
    if (!sync_loop.thread) {
        call->err = g_error_copy(sync_loop.err);
        return -ENOMEM;
    }
    pthread_mutex_init(&call->guard, NULL);
    pthread_cond_init(&call->cond, NULL);
    event_loop_spawn(loop_thread_loop(sync_loop.thread), sync_entry, call);
    pthread_mutex_lock(&call->guard);
    while (!call->done) {
        pthread_cond_wait(&call->cond, &call->guard);
    }
    pthread_mutex_unlock(&call->guard);
    pthread_cond_destroy(&call->cond);
    pthread_mutex_destroy(&call->guard);
    return call->ret;
}

/* Hands @err's text to the caller of the library and frees it. Always -1. */
static int give_error(GError *err, char **error)
{
    if (error) {
        *error = strdup(err ? err->message : "unknown error");
    }
    g_clear_error(&err);
    return -1;
}

const char *qb_version(void)
{
    return QBLOCK_VERSION;
}

int qb_secret_add(const char *object, char **error)
{
    GError *err = NULL;

    if (!crypto_init(&err) || !secret_add_object(object, &err)) {
        return give_error(err, error);
    }
    return 0;
}

static void coroutine_fn run_create(SyncCall *call)
{
    call->ret = block_co_create(call->format, call->name, call->options, &call->err) ? 0 : -1;
}

int qb_image_create(const char *format, const char *filename, const char *options, char **error)
{
    GError *err = NULL;
    const BlockDriver *drv = block_driver_find(format);
    g_autofree OptDesc *table = drv && block_driver_create_opts(drv) ? block_driver_create_opts_all(drv) : NULL;
    g_autoptr(OptDict) dict = optdict_parse_keyval(options ? options : "", NULL, &err);

    if (!table) {
        g_clear_error(&err);
        error_set(&err, "Format '%s' is unknown or cannot be created", format);
    }
    if (!dict || !table || !options_check(dict, table, &err)) {
        return give_error(err, error);
    }
    SyncCall call = {.run = run_create, .format = format, .name = filename, .options = dict};
    return sync_run(&call) == 0 ? 0 : give_error(call.err, error);
}

static void coroutine_fn run_open(SyncCall *call)
{
    call->opened = block_co_open(call->name, NULL, call->options, call->flags, &call->err);
}

QbImage *qb_image_open(const char *name, unsigned flags, char **error)
{
    GError *err = NULL;
    g_autoptr(OptDict) dict = flags & QB_OPEN_OPTIONS ? optdict_parse_keyval(name, "file", &err) : NULL;

    if (err) {
        give_error(err, error);
        return NULL;
    }
    SyncCall call = {.run = run_open, .name = dict ? NULL : name, .options = dict};
    call.flags = (flags & QB_OPEN_RDWR ? BLOCK_OPEN_RDWR : 0) | (flags & QB_OPEN_DIRECT ? BLOCK_OPEN_DIRECT : 0) |
                 (flags & QB_OPEN_UNSAFE ? BLOCK_OPEN_NO_FLUSH : 0);
    sync_run(&call);
    if (!call.opened) {
        give_error(call.err, error);
        return NULL;
    }
    QbImage *image = g_new(QbImage, 1);
    image->node = call.opened;
    return image;
}

static void coroutine_fn run_close(SyncCall *call)
{
    call->ret = block_co_close(call->node);
}

int qb_image_close(QbImage *image)
{
    if (!image) {
        return 0;
    }
    SyncCall call = {.run = run_close, .node = image->node};
    g_free(image);
    return sync_run(&call);
}

int64_t qb_image_length(const QbImage *image)
{
    return block_getlength(image->node);
}

static void coroutine_fn run_read(SyncCall *call)
{
    call->ret = block_co_pread(call->node, call->offset, call->buf, call->bytes, 0);
}

static void coroutine_fn run_write(SyncCall *call)
{
    call->ret = block_co_pwrite(call->node, call->offset, call->buf, call->bytes, 0);
}

/* A read or write of any length, in requests the layer takes. */
static int rw_in_parts(QbImage *image, int64_t offset, void *buf, size_t bytes, void (*run)(SyncCall *))
{
    int ret = 0;

    while (bytes && ret == 0) {
        size_t n = MIN(bytes, (size_t)GIB);
        SyncCall call = {.run = run, .node = image->node, .offset = offset, .buf = buf, .bytes = n};
        ret = sync_run(&call);
        offset += n;
        buf = (uint8_t *)buf + n;
        bytes -= n;
    }
    return ret;
}

int qb_image_pread(QbImage *image, int64_t offset, void *buf, size_t bytes)
{
    return rw_in_parts(image, offset, buf, bytes, run_read);
}

int qb_image_pwrite(QbImage *image, int64_t offset, const void *buf, size_t bytes)
{
    return rw_in_parts(image, offset, (void *)(uintptr_t)buf, bytes, run_write);
}

static void coroutine_fn run_zero(SyncCall *call)
{
    call->ret = block_co_pwrite_zeroes(call->node, call->offset, call->bytes, BLOCK_REQ_MAY_UNMAP);
}

int qb_image_zero(QbImage *image, int64_t offset, int64_t bytes)
{
    SyncCall call = {.run = run_zero, .node = image->node, .offset = offset, .bytes = bytes};

    return bytes ? sync_run(&call) : 0;
}

static void coroutine_fn run_flush(SyncCall *call)
{
    call->ret = block_co_flush(call->node);
}

int qb_image_flush(QbImage *image)
{
    SyncCall call = {.run = run_flush, .node = image->node};

    return sync_run(&call);
}
