/* SPDX-License-Identifier: MIT */
#include "util/base/iov.h"

#include <string.h>

/* Walks the pieces of memory that make up a range of a list. */
typedef struct IovWalk {
    const struct iovec *at;
    size_t skip; /* bytes of *at before the range */
    size_t left; /* bytes of the range still to come */
} IovWalk;

static void walk_start(IovWalk *w, const IoVec *v, size_t off, size_t bytes)
{
    g_assert(off <= v->size && bytes <= v->size - off);
    w->at = v->iov;
    w->left = bytes;
    while (bytes > 0 && off >= w->at->iov_len) {
        off -= w->at->iov_len;
        w->at++;
    }
    w->skip = off;
}

static bool walk_next(IovWalk *w, uint8_t **piece, size_t *bytes)
{
    if (w->left == 0) {
        return false;
    }
    *piece = (uint8_t *)w->at->iov_base + w->skip;
    *bytes = MIN(w->at->iov_len - w->skip, w->left);
    w->left -= *bytes;
    w->skip = 0;
    w->at++;
    return true;
}

void iovec_init(IoVec *v)
{
    v->iov = v->local;
    v->niov = 0;
    v->capacity = IOVEC_INLINE;
    v->size = 0;
}

void iovec_init_buf(IoVec *v, void *buf, size_t bytes)
{
    iovec_init(v);
    iovec_add(v, buf, bytes);
}

void iovec_destroy(IoVec *v)
{
    if (v->iov != v->local) {
        g_free(v->iov);
    }
    iovec_init(v);
}

void iovec_reset(IoVec *v)
{
    v->niov = 0;
    v->size = 0;
}

static void grow(IoVec *v)
{
    int capacity = v->capacity * 2;

    if (v->iov == v->local) {
        v->iov = g_new(struct iovec, capacity);
        memcpy(v->iov, v->local, sizeof(v->local));
    } else {
        v->iov = g_renew(struct iovec, v->iov, capacity);
    }
    v->capacity = capacity;
}

void iovec_add(IoVec *v, void *buf, size_t bytes)
{
    if (bytes == 0) {
        return;
    }
    g_assert(bytes <= SIZE_MAX - v->size);
    if (v->niov == v->capacity) {
        grow(v);
    }
    v->iov[v->niov++] = (struct iovec){.iov_base = buf, .iov_len = bytes};
    v->size += bytes;
}

void iovec_add_slice(IoVec *v, const IoVec *src, size_t off, size_t bytes)
{
    IovWalk w;
    uint8_t *piece;
    size_t n;

    g_assert(v != src);
    walk_start(&w, src, off, bytes);
    while (walk_next(&w, &piece, &n)) {
        iovec_add(v, piece, n);
    }
}

void iovec_to_buf(const IoVec *v, size_t off, void *buf, size_t bytes)
{
    IovWalk w;
    uint8_t *piece, *out = buf;
    size_t n;

    walk_start(&w, v, off, bytes);
    while (walk_next(&w, &piece, &n)) {
        memcpy(out, piece, n);
        out += n;
    }
}

void iovec_from_buf(const IoVec *v, size_t off, const void *buf, size_t bytes)
{
    IovWalk w;
    const uint8_t *in = buf;
    uint8_t *piece;
    size_t n;

    walk_start(&w, v, off, bytes);
    while (walk_next(&w, &piece, &n)) {
        memcpy(piece, in, n);
        in += n;
    }
}

void iovec_memset(const IoVec *v, size_t off, int fill, size_t bytes)
{
    IovWalk w;
    uint8_t *piece;
    size_t n;

    walk_start(&w, v, off, bytes);
    while (walk_next(&w, &piece, &n)) {
        memset(piece, fill, n);
    }
}

bool iovec_is_zero(const IoVec *v, size_t off, size_t bytes)
{
    IovWalk w;
    uint8_t *piece;
    size_t n;

    walk_start(&w, v, off, bytes);
    while (walk_next(&w, &piece, &n)) {
        if (!buffer_is_zero(piece, n)) {
            return false;
        }
    }
    return true;
}

void *iovec_flat(const IoVec *v, size_t off, size_t bytes)
{
    IovWalk w;
    uint8_t *first = NULL, *end = NULL, *piece;
    size_t n;

    walk_start(&w, v, off, bytes);
    while (walk_next(&w, &piece, &n)) {
        if (first && piece != end) {
            return NULL;
        }
        first = first ? first : piece;
        end = piece + n;
    }
    return first;
}

bool iovec_is_aligned(const IoVec *v, size_t off, size_t bytes, size_t align)
{
    IovWalk w;
    uint8_t *piece;
    size_t n;

    walk_start(&w, v, off, bytes);
    while (walk_next(&w, &piece, &n)) {
        if (((uintptr_t)piece | n) & (align - 1)) {
            return false;
        }
    }
    return true;
}
