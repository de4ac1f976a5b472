/* SPDX-License-Identifier: MIT */
#include "block/qcow2/data/qcow2-compressed.h"

#include <errno.h>
#include <inttypes.h>

#include "block/qcow2/format/qcow2-file.h"
#include "block/qcow2/data/qcow2-threads.h"
#include "util/base/aligned-buf.h"
#include "util/base/trace.h"

int coroutine_fn qcow2_read_compressed(Qcow2State *s, const Qcow2Map *map, uint64_t in_cluster, uint64_t bytes,
                                       const IoVec *iov, size_t iov_off)
{
    uint64_t cs = s->geo.cluster_bytes;
    g_autoptr(AlignedBuf) blob = aligned_buf_try_new(map->host_bytes);
    /* A whole cluster that is one piece of the caller's memory is inflated right there. */
    uint8_t *flat = bytes == cs ? iovec_flat(iov, iov_off, bytes) : NULL;
    g_autoptr(AlignedBuf) bounce = flat ? NULL : aligned_buf_try_new(cs);

    if (!blob || (!flat && !bounce)) {
        return -ENOMEM;
    }
    int ret = qcow2_file_read(s->data, map->host_off, blob, map->host_bytes);
    if (ret == 0) {
        ret = qcow2_co_decompress(s, blob, map->host_bytes, flat ? (void *)flat : bounce, cs);
    }
    if (ret == 0 && !flat) {
        iovec_from_buf(iov, iov_off, (uint8_t *)bounce + in_cluster, bytes);
    }
    return ret;
}
