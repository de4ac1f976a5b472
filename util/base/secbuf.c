/* SPDX-License-Identifier: MIT */
#include "util/base/secbuf.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/base/units.h"

#ifdef QBLOCK_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(addr, size)   ((void)(addr), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(addr, size) ((void)(addr), (void)(size))
#endif

/* Secrets of up to POOL_SLOT_MAX bytes share pages: each pool page is cut into slots of one size. A page per secret
 * would use up RLIMIT_MEMLOCK (8 MiB by default, 64 KiB on older systems) with a few secrets. Larger ones are mapped
 * alone. */
enum {
    POOL_PAGE_BYTES = 4096,
    POOL_SLOT_MIN = SECBUF_ALIGN,
    POOL_SLOT_MAX = 1024,
    POOL_CLASSES = 3, /* slots of 64, 256, 1024 bytes */
};

typedef struct PoolPage PoolPage;
struct PoolPage {
    PoolPage *next;
    uint8_t *mem;
    uint64_t used; /* bit per slot */
};

struct SecBuf {
    uint8_t *data;
    size_t size;     /* bytes in use; what lies between size and capacity is zero */
    size_t capacity; /* slot or mapping */
    PoolPage *page;  /* NULL: mapped alone */
};

static struct {
    pthread_mutex_t lock; /* guards the rest */
    PoolPage *pages[POOL_CLASSES];
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Zeroed memory, out of core dumps, locked where the limit allows. NULL without memory. */
static uint8_t *secure_map(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED) {
        return NULL;
    }
    madvise(p, bytes, MADV_DONTDUMP);
    (void)!mlock(p, bytes); /* best effort: without the right to lock, a secret still works */
    return p;
}

static size_t slot_bytes(int class)
{
    return (size_t)POOL_SLOT_MIN << (2 * class);
}

static int class_of(size_t bytes)
{
    int class = 0;

    while (slot_bytes(class) < bytes) {
        class ++;
    }
    return class;
}

static uint64_t all_slots(int class)
{
    size_t slots = POOL_PAGE_BYTES / slot_bytes(class);

    return slots == 64 ? UINT64_MAX : (UINT64_C(1) << slots) - 1;
}

static PoolPage *page_with_room_locked(int class)
{
    PoolPage *page = pool.pages[class];

    while (page && page->used == all_slots(class)) {
        page = page->next;
    }
    if (page) {
        return page;
    }
    uint8_t *mem = secure_map(POOL_PAGE_BYTES);
    if (!mem) {
        return NULL;
    }
    ASAN_POISON_MEMORY_REGION(mem, POOL_PAGE_BYTES);
    page = g_new0(PoolPage, 1);
    page->mem = mem;
    page->next = pool.pages[class];
    pool.pages[class] = page;
    return page;
}

static bool pool_take(SecBuf *b, size_t bytes)
{
    int class = class_of(bytes);

    pthread_mutex_lock(&pool.lock);
    PoolPage *page = page_with_room_locked(class);
    if (page) {
        int slot = __builtin_ctzll(~page->used);
        page->used |= UINT64_C(1) << slot;
        b->page = page;
        b->capacity = slot_bytes(class);
        b->data = page->mem + slot * b->capacity;
    }
    pthread_mutex_unlock(&pool.lock);
    return page != NULL;
}

/* Free the pages of @class that are empty, all but one. */
static void trim_pages_locked(int class)
{
    bool keep = true;
    PoolPage **at = &pool.pages[class];

    while (*at) {
        PoolPage *page = *at;
        if (page->used != 0 || keep) {
            keep = keep && page->used != 0;
            at = &page->next;
            continue;
        }
        *at = page->next;
        ASAN_UNPOISON_MEMORY_REGION(page->mem, POOL_PAGE_BYTES);
        munmap(page->mem, POOL_PAGE_BYTES);
        g_free(page);
    }
}

static void pool_give(SecBuf *b)
{
    size_t slot = (b->data - b->page->mem) / b->capacity;

    ASAN_POISON_MEMORY_REGION(b->data, b->capacity);
    pthread_mutex_lock(&pool.lock);
    g_assert(b->page->used & (UINT64_C(1) << slot));
    b->page->used &= ~(UINT64_C(1) << slot);
    if (b->page->used == 0) {
        trim_pages_locked(class_of(b->capacity));
    }
    pthread_mutex_unlock(&pool.lock);
}

static bool map_alone(SecBuf *b, size_t bytes)
{
    if (bytes > SIZE_MAX - POOL_PAGE_BYTES) {
        return false;
    }
    b->capacity = round_up(bytes, POOL_PAGE_BYTES);
    b->data = secure_map(b->capacity);
    return b->data != NULL;
}

SecBuf *secbuf_new(size_t bytes)
{
    SecBuf *b = g_new0(SecBuf, 1);
    bool ok = bytes <= POOL_SLOT_MAX ? pool_take(b, bytes) : map_alone(b, bytes);

    if (!ok) {
        g_free(b);
        if (bytes <= MIB) {
            g_error("no memory for a secret of %zu bytes", bytes);
        }
        return NULL;
    }
    b->size = bytes;
    ASAN_UNPOISON_MEMORY_REGION(b->data, b->size);
    return b;
}

SecBuf *secbuf_new_copy(const void *data, size_t bytes)
{
    SecBuf *b = secbuf_new(bytes);

    if (b && bytes > 0) {
        memcpy(b->data, data, bytes);
    }
    return b;
}

void secbuf_free(SecBuf *b)
{
    if (!b) {
        return;
    }
    mem_wipe(b->data, b->size);
    if (b->page) {
        pool_give(b);
    } else {
        munmap(b->data, b->capacity);
    }
    g_free(b);
}

uint8_t *secbuf_data(const SecBuf *b)
{
    return b->data;
}

size_t secbuf_size(const SecBuf *b)
{
    return b->size;
}

void secbuf_truncate(SecBuf *b, size_t bytes)
{
    g_assert(bytes <= b->size);
    mem_wipe(b->data + bytes, b->size - bytes);
    b->size = bytes;
}

void mem_wipe(void *p, size_t bytes)
{
    if (bytes > 0) {
        explicit_bzero(p, bytes);
    }
}

/* What the copy and hash functions leave in registers is put on the stack by whoever saves registers next: the dynamic
 * linker at the first call of a function, also on a new thread, which inherits them. */
void mem_wipe_registers(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f")) {
        /* The C library's copies use the upper half. */
        __asm__ volatile("vpxord %%zmm16, %%zmm16, %%zmm16\n"
                         "vpxord %%zmm17, %%zmm17, %%zmm17\n"
                         "vpxord %%zmm18, %%zmm18, %%zmm18\n"
                         "vpxord %%zmm19, %%zmm19, %%zmm19\n"
                         "vpxord %%zmm20, %%zmm20, %%zmm20\n"
                         "vpxord %%zmm21, %%zmm21, %%zmm21\n"
                         "vpxord %%zmm22, %%zmm22, %%zmm22\n"
                         "vpxord %%zmm23, %%zmm23, %%zmm23\n"
                         "vpxord %%zmm24, %%zmm24, %%zmm24\n"
                         "vpxord %%zmm25, %%zmm25, %%zmm25\n"
                         "vpxord %%zmm26, %%zmm26, %%zmm26\n"
                         "vpxord %%zmm27, %%zmm27, %%zmm27\n"
                         "vpxord %%zmm28, %%zmm28, %%zmm28\n"
                         "vpxord %%zmm29, %%zmm29, %%zmm29\n"
                         "vpxord %%zmm30, %%zmm30, %%zmm30\n"
                         "vpxord %%zmm31, %%zmm31, %%zmm31\n" ::
                             : "memory");
    }
    if (__builtin_cpu_supports("avx")) {
        __asm__ volatile("vzeroall" ::
                             : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                               "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
    }
#endif
}

/* Not inlined: its frame is to lie where those of the functions before it were. */
__attribute__((noinline)) void mem_wipe_stack(void)
{
    enum { DEEPEST = 8192 }; /* the hash functions, with the registers that symbol look-up saves */
    uint8_t dead[DEEPEST];

    mem_wipe(dead, sizeof(dead));
    mem_wipe_registers();
}

void mem_wipe_stack_cleanup(char *unused)
{
    mem_wipe_stack();
}

bool mem_equal_consttime(const void *a, const void *b, size_t bytes)
{
    const volatile uint8_t *x = a, *y = b;
    uint8_t diff = 0;

    for (size_t i = 0; i < bytes; i++) {
        diff |= x[i] ^ y[i];
    }
    return diff == 0;
}
