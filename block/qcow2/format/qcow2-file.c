/* SPDX-License-Identifier: MIT */
#include "block/qcow2/format/qcow2-file.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "util/base/aligned-buf.h"

uint64_t qcow2_file_clamp(const BlockNode *file, uint64_t off, uint64_t bytes)
{
    int64_t length = block_getlength(file);

    if (length < 0 || off >= (uint64_t)length) {
        return 0;
    }
    return MIN(bytes, (uint64_t)length - off);
}

int coroutine_fn qcow2_file_read(BlockNode *file, uint64_t off, void *buf, size_t bytes)
{
    size_t inside = qcow2_file_clamp(file, off, bytes);

    if (inside > 0) {
        int ret = block_co_pread(file, off, buf, inside, 0);
        if (ret < 0) {
            return ret;
        }
    }
    memset((uint8_t *)buf + inside, 0, bytes - inside);
    return 0;
}

int coroutine_fn qcow2_file_write_entries(BlockNode *file, const uint64_t *table, uint64_t first, uint64_t n,
                                          uint64_t table_off)
{
    uint64_t piece = MIN(n, 8192);
    g_autoptr(AlignedBuf) mem = aligned_buf_try_new(piece * sizeof(uint64_t));
    uint64_t *buf = mem;

    if (!buf) {
        return -ENOMEM;
    }
    for (uint64_t done = 0; done < n; done += piece) {
        piece = MIN(piece, n - done);
        for (uint64_t i = 0; i < piece; i++) {
            buf[i] = htobe64(table[first + done + i]);
        }
        int ret =
            block_co_pwrite(file, table_off + (first + done) * sizeof(uint64_t), buf, piece * sizeof(uint64_t), 0);
        if (ret < 0) {
            return ret;
        }
    }
    return 0;
}
