/* SPDX-License-Identifier: MIT */
#include "block/qcow2/data/qcow2-cow.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "block/qcow2/map/qcow2-map.h"
#include "block/qcow2/data/qcow2-read.h"
#include "util/base/aligned-buf.h"
#include "util/base/trace.h"

/* Guest bytes into @buf; beyond the end of the disk zeros, so that a disk that grows finds zeros there. */
static int coroutine_fn read_edge(Qcow2State *s, uint64_t guest_off, uint8_t *buf, uint64_t bytes)
{
    uint64_t length = s->node->total_bytes, inside = guest_off < length ? MIN(bytes, length - guest_off) : 0;

    memset(buf + inside, 0, bytes - inside);
    if (inside == 0) {
        return 0;
    }
    g_auto(IoVec) iov;
    iovec_init_buf(&iov, buf, inside);
    return qcow2_read_guest(s, guest_off, inside, &iov, 0, BLOCK_REQ_OWN_BUFFER);
}

/* One cluster is read in one piece, guest part included: one request, and a compressed cluster is inflated once. */
static int coroutine_fn read_cluster(Qcow2State *s, const Qcow2WriteRun *run, uint8_t *buf)
{
    return read_edge(s, run->link.guest_off, buf, s->geo.cluster_bytes);
}

static int coroutine_fn read_two(Qcow2State *s, const Qcow2WriteRun *run, uint8_t *head, uint8_t *tail)
{
    int ret = 0;

    if (run->head_bytes > 0) {
        ret = read_edge(s, run->link.guest_off, head, run->head_bytes);
    }
    if (ret == 0 && run->tail_bytes > 0) {
        ret = read_edge(s, run->guest_off + run->bytes, tail, run->tail_bytes);
    }
    return ret;
}

int coroutine_fn qcow2_cow_read(Qcow2State *s, const Qcow2WriteRun *run, const IoVec *guest, size_t iov_off,
                                Qcow2Cow *cow)
{
    bool one = run->link.clusters == 1;
    size_t bytes = one ? s->geo.cluster_bytes : run->head_bytes + run->tail_bytes;
    uint8_t *head = aligned_buf_try_new(bytes);

    if (!head) {
        return -ENOMEM;
    }
    uint8_t *tail = head + bytes - run->tail_bytes;
    int ret = one ? read_cluster(s, run, head) : read_two(s, run, head, tail);
    trace(TRACE_QCOW2, "cow", "guest=0x%" PRIx64 " head=%" PRIu64 " bytes=%" PRIu64 " tail=%" PRIu64 " ret=%d",
          run->link.guest_off, run->head_bytes, run->bytes, run->tail_bytes, ret);
    if (ret < 0) {
        aligned_buf_free(head);
        return ret;
    }
    cow->edges = head;
    iovec_init(&cow->iov);
    if (one && s->crypt.crypto) {
        iovec_to_buf(guest, iov_off, head + run->head_bytes, run->bytes); /* cheaper than to bounce the rest */
        iovec_add(&cow->iov, head, bytes);
        cow->flags = BLOCK_REQ_OWN_BUFFER;
        return 0;
    }
    iovec_add(&cow->iov, head, run->head_bytes);
    iovec_add_slice(&cow->iov, guest, iov_off, run->bytes);
    iovec_add(&cow->iov, tail, run->tail_bytes);
    cow->flags = 0;
    return 0;
}

void qcow2_cow_clear(Qcow2Cow *cow)
{
    iovec_destroy(&cow->iov);
    aligned_buf_free(cow->edges);
}

/* Do @bytes at @guest_off read as zeros, as far as the tables tell? */
static int coroutine_fn edge_is_zero(Qcow2State *s, uint64_t guest_off, uint64_t bytes, bool *zero)
{
    uint64_t end = guest_off + bytes, backed = s->node->backing ? block_getlength(s->node->backing) : 0;

    end = MIN(end, (uint64_t)s->node->total_bytes);
    while (*zero && guest_off < end) {
        uint64_t n = end - guest_off;
        Qcow2Map map;
        int ret = qcow2_lookup(s, guest_off, &n, &map, NULL);
        if (ret < 0) {
            return ret;
        }
        *zero = map.kind == QCOW2_KIND_ZERO_PLAIN || map.kind == QCOW2_KIND_ZERO_ALLOC ||
                (map.kind == QCOW2_KIND_UNALLOCATED && guest_off >= backed);
        guest_off += n;
    }
    return 0;
}

int coroutine_fn qcow2_cow_zero(Qcow2State *s, const Qcow2WriteRun *run, bool *done)
{
    uint64_t bytes = run->link.clusters << s->geo.cluster_bits;
    bool zero = true;

    *done = false;
    /* Zeros of an encrypted disk are data. */
    if (s->crypt.crypto || run->head_bytes + run->tail_bytes < s->zero_edge_bytes) {
        return 0;
    }
    int ret = edge_is_zero(s, run->link.guest_off, run->head_bytes, &zero);
    if (ret == 0) {
        ret = edge_is_zero(s, run->guest_off + run->bytes, run->tail_bytes, &zero);
    }
    if (ret < 0 || !zero) {
        return ret;
    }
    ret = block_co_pwrite_zeroes(s->data, run->link.host_off, bytes, BLOCK_REQ_NO_FALLBACK);
    *done = ret == 0;
    trace(TRACE_QCOW2, "cow_zero", "guest=0x%" PRIx64 " clusters=%" PRIu64 " ret=%d", run->link.guest_off,
          run->link.clusters, ret);
    return ret == -ENOTSUP ? 0 : ret;
}
