/* SPDX-License-Identifier: MIT */
#include "block/qcow2/data/qcow2-deflate.h"

#include <errno.h>
#include <glib.h>
#include <zlib.h>

/* The window is part of the format (section 7); level, memory level and strategy make the output equal to what other
 * writers of the format produce. */
enum { WINDOW_BITS = -12, MEM_LEVEL = 9 };

static void deflate_ctx_free(void *opaque)
{
    deflateEnd(opaque);
    g_free(opaque);
}

static void inflate_ctx_free(void *opaque)
{
    inflateEnd(opaque);
    g_free(opaque);
}

static GPrivate deflate_ctx = G_PRIVATE_INIT(deflate_ctx_free);
static GPrivate inflate_ctx = G_PRIVATE_INIT(inflate_ctx_free);

static z_stream *get_deflate_ctx(void)
{
    z_stream *z = g_private_get(&deflate_ctx);

    if (z) {
        return deflateReset(z) == Z_OK ? z : NULL;
    }
    z = g_new0(z_stream, 1);
    if (deflateInit2(z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_BITS, MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        g_free(z);
        return NULL;
    }
    g_private_set(&deflate_ctx, z);
    return z;
}

static z_stream *get_inflate_ctx(void)
{
    z_stream *z = g_private_get(&inflate_ctx);

    if (z) {
        return inflateReset(z) == Z_OK ? z : NULL;
    }
    z = g_new0(z_stream, 1);
    if (inflateInit2(z, WINDOW_BITS) != Z_OK) {
        g_free(z);
        return NULL;
    }
    g_private_set(&inflate_ctx, z);
    return z;
}

ssize_t qcow2_deflate(const void *in, size_t bytes, void *out, size_t out_bytes)
{
    z_stream *z = get_deflate_ctx();

    if (!z) {
        return -ENOMEM;
    }
    z->next_in = (void *)in;
    z->avail_in = bytes;
    z->next_out = out;
    z->avail_out = out_bytes;
    switch (deflate(z, Z_FINISH)) {
    case Z_STREAM_END:
        return out_bytes - z->avail_out;
    case Z_OK:
    case Z_BUF_ERROR:
        return -ENOMEM;
    default:
        return -EIO;
    }
}

int qcow2_inflate(const void *in, size_t bytes, void *out, size_t out_bytes)
{
    z_stream *z = get_inflate_ctx();

    if (!z) {
        return -ENOMEM;
    }
    z->next_in = (void *)in;
    z->avail_in = bytes;
    z->next_out = out;
    z->avail_out = out_bytes;
    int ret = inflate(z, Z_FINISH);
    /* The stream may be longer than the cluster: a full output is what counts. */
    if ((ret == Z_STREAM_END || ret == Z_BUF_ERROR || ret == Z_OK) && z->avail_out == 0) {
        return 0;
    }
    return ret == Z_MEM_ERROR ? -ENOMEM : -EIO;
}
