/* SPDX-License-Identifier: MIT */
#include "util/base/aligned-buf.h"

#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "util/base/units.h"

#ifdef QBLOCK_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(addr, size)   ((void)(addr), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(addr, size) ((void)(addr), (void)(size))
#endif

/* Why a cache: the first touch of a fresh page costs 0.4 us (a fault and its zeroing), so a cold 1 MiB buffer costs as
 * much as encrypting it; a warm one costs nothing.
 *
 * Where the size of a buffer is kept: a page-aligned buffer has no room for a header. Below MAP_MIN_BYTES the
 * allocator knows: buffers are asked for in whole size classes, so the largest class that fits into
 * malloc_usable_size() is the class asked for (or a better one), without a lock. Larger ones are mappings listed in a
 * table; they are told by their alignment, and rare enough for a lock. */
enum {
    CLASS_COUNT = 21, /* 4 KiB, 6 KiB, 8 KiB, 12 KiB, ... 3 MiB, 4 MiB: powers of two and halves between */
    CLASS_MIN_BITS = 12,
};
#define CLASS_MAX_BYTES ((size_t)4 << 20)

/* From here on buffers are mapped as whole huge pages: one fault for 2 MiB instead of 512 (measured, first touch: 0.08
 * us/KiB against 0.45). Direct I/O pins one page instead of 256 for a MiB, and a device takes that in one piece, whose
 * list of segments may be too short for 256 (measured, convert between files on a virtio disk: a third less CPU time).
 */
#define MAP_MIN_BYTES   ((size_t)1 << 20)
#define HUGE_PAGE_BYTES ((size_t)2 << 20)

static struct {
    pthread_mutex_t lock; /* guards the rest */
    GHashTable *sizes;    /* address -> bytes asked for, of live mappings */
} mapped = {.lock = PTHREAD_MUTEX_INITIALIZER};

typedef struct FreeBuf FreeBuf;
struct FreeBuf {
    FreeBuf *next; /* kept in the free buffer itself, which is warm */
};

typedef struct BufCache {
    FreeBuf *free[CLASS_COUNT];
    uint32_t count[CLASS_COUNT];
    size_t bytes;       /* sum over classes of count * class_cost(), <= ALIGNED_BUF_CACHE_BYTES */
    bool is_registered; /* drained when this thread ends */
    bool is_ending;     /* drained: what is freed from now on goes to the system */
} BufCache;

static _Thread_local BufCache cache;

static size_t class_bytes(int idx)
{
    size_t base = (size_t)1 << (CLASS_MIN_BITS + idx / 2);

    return idx % 2 ? base + base / 2 : base;
}

/* Bytes of memory behind a buffer of @bytes. */
static size_t cost_of(size_t bytes)
{
    return bytes < MAP_MIN_BYTES ? bytes : round_up(bytes, HUGE_PAGE_BYTES);
}

static size_t class_cost(int idx)
{
    return cost_of(class_bytes(idx));
}

/* The smallest class of at least @bytes, which is at most CLASS_MAX_BYTES. */
static int class_above(size_t bytes)
{
    int idx = 0;

    if (bytes > (1u << CLASS_MIN_BITS)) {
        int top_bit = 63 - __builtin_clzll(bytes - 1);
        idx = 2 * (top_bit - CLASS_MIN_BITS) + 1;
    }
    return class_bytes(idx) >= bytes ? idx : idx + 1;
}

/* The largest class of at most @bytes, or -1. */
static int class_below(size_t bytes)
{
    if (bytes < class_bytes(0)) {
        return -1;
    }
    if (bytes >= CLASS_MAX_BYTES) {
        return CLASS_COUNT - 1;
    }
    int idx = 2 * (63 - __builtin_clzll(bytes) - CLASS_MIN_BITS);
    return class_bytes(idx + 1) <= bytes ? idx + 1 : idx;
}

/* Maps more than the huge pages that @bytes lie in, then cuts head and tail off: the start is aligned. */
static void *map_huge(size_t bytes)
{
    size_t huge = cost_of(bytes), span;

    if (!CHECKED_ADD(huge, HUGE_PAGE_BYTES, &span)) {
        return NULL;
    }
    uint8_t *raw = mmap(NULL, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED) {
        return NULL;
    }
    uint8_t *buf = (uint8_t *)round_up((uintptr_t)raw, HUGE_PAGE_BYTES);
    size_t head = buf - raw;
    if (head > 0) {
        munmap(raw, head);
    }
    if (head < HUGE_PAGE_BYTES) {
        munmap(buf + huge, HUGE_PAGE_BYTES - head);
    }
    madvise(buf, huge, MADV_HUGEPAGE); /* a wish: refusal is fine */
    pthread_mutex_lock(&mapped.lock);
    if (!mapped.sizes) {
        mapped.sizes = g_hash_table_new(NULL, NULL);
    }
    g_hash_table_insert(mapped.sizes, buf, GSIZE_TO_POINTER(bytes));
    pthread_mutex_unlock(&mapped.lock);
    return buf;
}

/* Bytes of the mapped buffer @buf; 0 if it is not one. @forget: it is about to be unmapped. */
static size_t mapped_bytes(void *buf, bool forget)
{
    if (!is_aligned((uintptr_t)buf, HUGE_PAGE_BYTES)) {
        return 0;
    }
    pthread_mutex_lock(&mapped.lock);
    size_t bytes = mapped.sizes ? GPOINTER_TO_SIZE(g_hash_table_lookup(mapped.sizes, buf)) : 0;
    if (bytes > 0 && forget) {
        g_hash_table_remove(mapped.sizes, buf);
    }
    pthread_mutex_unlock(&mapped.lock);
    return bytes;
}

static void *system_new(size_t bytes)
{
    void *buf = NULL;

    if (bytes >= MAP_MIN_BYTES) {
        return bytes <= SIZE_MAX - HUGE_PAGE_BYTES ? map_huge(bytes) : NULL;
    }
    return posix_memalign(&buf, ALIGNED_BUF_ALIGN, bytes) == 0 ? buf : NULL;
}

static void system_free(void *buf)
{
    size_t bytes = mapped_bytes(buf, true);

    if (bytes > 0) {
        munmap(buf, cost_of(bytes));
    } else {
        free(buf);
    }
}

static void *cache_pop(int idx)
{
    FreeBuf *b = cache.free[idx];

    if (b) {
        cache.free[idx] = b->next;
        cache.count[idx]--;
        cache.bytes -= class_cost(idx);
        ASAN_UNPOISON_MEMORY_REGION(b, class_bytes(idx));
    }
    return b;
}

static int fullest_class(void)
{
    int best = 0;

    for (int i = 1; i < CLASS_COUNT; i++) {
        if (cache.count[i] * class_cost(i) > cache.count[best] * class_cost(best)) {
            best = i;
        }
    }
    return best;
}

static void drain_at_exit(void *unused)
{
    aligned_buf_drain_cache();
    cache.is_ending = true;
}

static pthread_key_t exit_key;

static void make_exit_key(void)
{
    g_assert(pthread_key_create(&exit_key, drain_at_exit) == 0);
}

static void register_thread(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make_exit_key);
    pthread_setspecific(exit_key, &cache); /* any value but NULL: the destructor runs */
    cache.is_registered = true;
}

static void cache_push(int idx, void *buf)
{
    size_t cost = class_cost(idx);

    if (!cache.is_registered) {
        register_thread();
    }
    /* A full cache gives up what it has most of, so that it follows the sizes in use. */
    while (cache.bytes + cost > ALIGNED_BUF_CACHE_BYTES) {
        system_free(cache_pop(fullest_class()));
    }
    FreeBuf *b = buf;
    b->next = cache.free[idx];
    cache.free[idx] = b;
    cache.count[idx]++;
    cache.bytes += cost;
    ASAN_POISON_MEMORY_REGION(b + 1, class_bytes(idx) - sizeof(*b));
}

void *aligned_buf_try_new(size_t bytes)
{
    g_assert(bytes > 0);
    if (bytes > CLASS_MAX_BYTES) {
        return system_new(bytes);
    }
    int idx = class_above(bytes);
    void *buf = cache_pop(idx);
    if (!buf) {
        buf = system_new(class_bytes(idx));
    }
    if (buf) {
        ASAN_POISON_MEMORY_REGION((char *)buf + bytes, class_bytes(idx) - bytes);
    }
    return buf;
}

void aligned_buf_free(void *buf)
{
    if (!buf) {
        return;
    }
    size_t bytes = mapped_bytes(buf, false);
    if (bytes == 0) {
        bytes = malloc_usable_size(buf);
    }
    ASAN_UNPOISON_MEMORY_REGION(buf, bytes);
    int idx = class_below(bytes);
    if (idx < 0 || bytes > CLASS_MAX_BYTES || cache.is_ending) {
        system_free(buf);
    } else {
        cache_push(idx, buf);
    }
}

void aligned_buf_drain_cache(void)
{
    for (int i = 0; i < CLASS_COUNT; i++) {
        while (cache.free[i]) {
            system_free(cache_pop(i));
        }
    }
}
