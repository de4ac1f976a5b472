/* SPDX-License-Identifier: MIT */
#include "block/qcow2/format/qcow2-header-io.h"

#include <errno.h>

#include "block/qcow2/format/qcow2-format.h"
#include "util/base/aligned-buf.h"
#include "util/base/error.h"

/* Fill @buf with the first @bytes of the file; what lies past its end reads as zeros. */
static bool coroutine_fn read_start(BlockNode *file, uint64_t file_bytes, uint8_t *buf, size_t bytes, GError **errp)
{
    size_t have = MIN(bytes, file_bytes);

    memset(buf + have, 0, bytes - have);
    int ret = have ? block_co_pread(file, 0, buf, have, 0) : 0;
    if (ret < 0) {
        error_set_errno(errp, -ret, "Could not read qcow2 header");
        return false;
    }
    return true;
}

bool coroutine_fn qcow2_header_read(BlockNode *file, Qcow2Header *h, bool check, GError **errp)
{
    int64_t file_bytes = block_getlength(file);
    size_t bytes = QCOW2_DEFAULT_CLUSTER_BYTES;
    g_autoaligned cluster = aligned_buf_try_new(UINT64_C(1) << QCOW2_MAX_CLUSTER_BITS);

    if (file_bytes < 0 || !cluster) {
        error_set_errno(errp, file_bytes < 0 ? -file_bytes : ENOMEM, "Could not read qcow2 header");
        return false;
    }
    /* The header tells the cluster size; the default one is read in one go. */
    if (!read_start(file, file_bytes, cluster, bytes, errp) ||
        !qcow2_header_decode(h, cluster, MIN(bytes, (uint64_t)file_bytes), check, errp)) {
        return false;
    }
    if (UINT64_C(1) << h->cluster_bits > bytes &&
        !read_start(file, file_bytes, cluster, UINT64_C(1) << h->cluster_bits, errp)) {
        qcow2_header_clear(h);
        return false;
    }
    return qcow2_header_decode_exts(h, cluster, errp);
}

int coroutine_fn qcow2_header_store(BlockNode *file, const Qcow2Header *h)
{
    size_t bytes = (size_t)1 << h->cluster_bits;
    g_autoaligned cluster = aligned_buf_try_new(bytes);

    if (!cluster) {
        return -ENOMEM;
    }
    int ret = qcow2_header_encode(h, cluster);
    return ret < 0 ? ret : block_co_pwrite(file, 0, cluster, bytes, 0);
}
