/* SPDX-License-Identifier: MIT */
#include "block/qcow2/data/qcow2-zstd.h"

#include <errno.h>
#include <glib.h>
#include <zstd.h>
#include <zstd_errors.h>

enum { LEVEL = 3 };

static void cctx_free(void *opaque)
{
    ZSTD_freeCCtx(opaque);
}

static void dctx_free(void *opaque)
{
    ZSTD_freeDCtx(opaque);
}

static GPrivate cctx_key = G_PRIVATE_INIT(cctx_free);
static GPrivate dctx_key = G_PRIVATE_INIT(dctx_free);

static ZSTD_CCtx *get_cctx(void)
{
    ZSTD_CCtx *ctx = g_private_get(&cctx_key);

    if (!ctx) {
        ctx = ZSTD_createCCtx();
        g_private_set(&cctx_key, ctx);
    }
    return ctx;
}

static ZSTD_DCtx *get_dctx(void)
{
    ZSTD_DCtx *ctx = g_private_get(&dctx_key);

    if (ctx) {
        ZSTD_DCtx_reset(ctx, ZSTD_reset_session_only);
        return ctx;
    }
    ctx = ZSTD_createDCtx();
    g_private_set(&dctx_key, ctx);
    return ctx;
}

ssize_t qcow2_zstd_compress(const void *in, size_t bytes, void *out, size_t out_bytes)
{
    ZSTD_CCtx *ctx = get_cctx();

    if (!ctx) {
        return -ENOMEM;
    }
    size_t n = ZSTD_compressCCtx(ctx, out, out_bytes, in, bytes, LEVEL);
    if (!ZSTD_isError(n)) {
        return n;
    }
    ZSTD_ErrorCode code = ZSTD_getErrorCode(n);
    return code == ZSTD_error_dstSize_tooSmall || code == ZSTD_error_memory_allocation ? -ENOMEM : -EIO;
}

int qcow2_zstd_decompress(const void *in, size_t bytes, void *out, size_t out_bytes)
{
    ZSTD_DCtx *ctx = get_dctx();
    ZSTD_inBuffer src = {in, bytes, 0};
    ZSTD_outBuffer dst = {out, out_bytes, 0};

    if (!ctx) {
        return -ENOMEM;
    }
    while (dst.pos < dst.size) {
        size_t in_before = src.pos, out_before = dst.pos;
        size_t ret = ZSTD_decompressStream(ctx, &dst, &src);
        if (ZSTD_isError(ret)) {
            return ZSTD_getErrorCode(ret) == ZSTD_error_memory_allocation ? -ENOMEM : -EIO;
        }
        /* A turn that neither eats nor yields anything never will. */
        if (src.pos == in_before && dst.pos == out_before) {
            return -EIO;
        }
    }
    return 0;
}
