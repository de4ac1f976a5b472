/* SPDX-License-Identifier: MIT */
#include "block/qcow2/data/qcow2-threads.h"

#include <errno.h>

#include "block/qcow2/data/qcow2-deflate.h"
#include "block/qcow2/data/qcow2-read.h"
#include "block/qcow2/data/qcow2-zstd.h"
#include "util/loop/event-loop.h"
#include "util/base/trace.h"

/* A codec, and what a byte of input (compress) or output (decompress) was measured to cost. */
typedef struct Codec {
    const char *compress_name, *decompress_name;
    ssize_t (*compress)(const void *in, size_t bytes, void *out, size_t out_bytes);
    int (*decompress)(const void *in, size_t bytes, void *out, size_t out_bytes);
    _Atomic uint64_t compress_ps, decompress_ps; /* picoseconds per byte: running means */
} Codec;

/* The costs start at what a slow machine needs, so that the first job is offloaded, and follow the jobs done. */
static Codec codecs[] = {
    [QCOW2_COMPRESSION_ZLIB] = {"deflate", "inflate", qcow2_deflate, qcow2_inflate, 20000, 4000},
    [QCOW2_COMPRESSION_ZSTD] = {"zstd", "unzstd", qcow2_zstd_compress, qcow2_zstd_decompress, 4000, 1500},
};

typedef struct CodecJob {
    Codec *codec;
    const void *in;
    void *out;
    size_t bytes, out_bytes;
    ssize_t ret;
} CodecJob;

/* Running mean over about eight jobs. Racing updates lose a sample, no more. */
static void learn(_Atomic uint64_t *ps_per_byte, int64_t began_ns, size_t bytes)
{
    uint64_t took = (clock_monotonic_ns() - began_ns) * 1000 / bytes, old = *ps_per_byte;

    *ps_per_byte = MAX(1, old - old / 8 + took / 8);
}

static int compress_job(void *arg, size_t first, size_t count)
{
    CodecJob *j = arg;
    int64_t began = clock_monotonic_ns();

    j->ret = j->codec->compress(j->in, j->bytes, j->out, j->out_bytes);
    learn(&j->codec->compress_ps, began, j->bytes);
    return 0;
}

static int decompress_job(void *arg, size_t first, size_t count)
{
    CodecJob *j = arg;
    int64_t began = clock_monotonic_ns();

    j->ret = j->codec->decompress(j->in, j->bytes, j->out, j->out_bytes);
    learn(&j->codec->decompress_ps, began, j->out_bytes);
    return 0;
}

static Codec *codec_of(const Qcow2State *s)
{
    g_assert(s->header.compression_type < G_N_ELEMENTS(codecs));
    return &codecs[s->header.compression_type];
}

/* The rule this module is there for: no codec runs under the metadata lock. */
static void assert_unlocked(Qcow2State *s)
{
    g_assert(!co_mutex_is_held(&s->meta_lock));
}

ssize_t coroutine_fn qcow2_co_compress(Qcow2State *s, const void *in, size_t bytes, void *out, size_t out_bytes)
{
    CodecJob j = {.codec = codec_of(s), .in = in, .bytes = bytes, .out = out, .out_bytes = out_bytes};
    OffloadJob job = {.what = j.codec->compress_name,
                      .func = compress_job,
                      .arg = &j,
                      .units = 1,
                      .ps_per_unit = j.codec->compress_ps * bytes,
                      .mode = OFFLOAD_AUTO};
    assert_unlocked(s);
    int ret = offload_run_co(&job);

    return ret < 0 ? ret : j.ret;
}

int coroutine_fn qcow2_co_decompress(Qcow2State *s, const void *in, size_t bytes, void *out, size_t out_bytes)
{
    CodecJob j = {.codec = codec_of(s), .in = in, .bytes = bytes, .out = out, .out_bytes = out_bytes};
    OffloadJob job = {.what = j.codec->decompress_name,
                      .func = decompress_job,
                      .arg = &j,
                      .units = 1,
                      .ps_per_unit = j.codec->decompress_ps * out_bytes,
                      .mode = OFFLOAD_AUTO};
    assert_unlocked(s);
    int ret = offload_run_co(&job);

    return ret < 0 ? ret : j.ret;
}

int coroutine_fn qcow2_co_read_encrypted(Qcow2State *s, uint64_t host_off, uint64_t guest_off, const BlockRw *rw)
{
    assert_unlocked(s);
    return crypt_io_co_read(&s->crypt, s->data, host_off, qcow2_iv_off(s, host_off, guest_off), rw);
}

int coroutine_fn qcow2_co_write_encrypted(Qcow2State *s, uint64_t host_off, uint64_t guest_off, const BlockRw *rw)
{
    assert_unlocked(s);
    return crypt_io_co_write(&s->crypt, s->data, host_off, qcow2_iv_off(s, host_off, guest_off), rw);
}
