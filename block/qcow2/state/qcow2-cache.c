/* SPDX-License-Identifier: MIT */
#include "block/qcow2/state/qcow2-cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "block/qcow2/format/qcow2-file.h"
#include "util/coroutine/co-lock.h"
#include "util/base/units.h"

enum { MIN_TABLES = 2, WRITE_BYTES = 1 << 20 };

/* One table. It is in the hash unless stale, and in at most one list: dirty ones in c->dirty, clean unpinned ones in
 * c->clean (least recently used last). All fields: guard. */
typedef struct CacheTable {
    uint64_t host_off;
    void *data; /* table_bytes, then the pointer back to this struct */
    unsigned pins;
    bool loading, dirty, stale;
    int load_ret;
    CoQueue loaded;
    struct CacheTable *prev, *next;
} CacheTable;

typedef struct TableList {
    CacheTable *head, *tail;
    size_t n;
} TableList;

struct Qcow2Cache {
    /* fixed */
    BlockNode *file;
    uint64_t table_bytes;
    size_t limit_tables;

    pthread_mutex_t guard;
    /* under guard */
    GHashTable *tables; /* by host_off */
    TableList clean, dirty;
    size_t n_tables; /* stale ones included */
};

static void list_push(TableList *l, CacheTable *t)
{
    t->prev = NULL;
    t->next = l->head;
    if (l->head) {
        l->head->prev = t;
    } else {
        l->tail = t;
    }
    l->head = t;
    l->n++;
}

static void list_remove(TableList *l, CacheTable *t)
{
    *(t->prev ? &t->prev->next : &l->head) = t->next;
    *(t->next ? &t->next->prev : &l->tail) = t->prev;
    t->prev = t->next = NULL;
    l->n--;
}

static CacheTable *table_of(const Qcow2Cache *c, void *data)
{
    CacheTable *t;

    memcpy(&t, (uint8_t *)data + c->table_bytes, sizeof(t));
    return t;
}

static CacheTable *table_try_new(Qcow2Cache *c)
{
    void *data;

    if (posix_memalign(&data, MIN(c->table_bytes, 4096), c->table_bytes + sizeof(CacheTable *)) != 0) {
        return NULL;
    }
    CacheTable *t = g_new0(CacheTable, 1);
    t->data = data;
    memcpy((uint8_t *)data + c->table_bytes, &t, sizeof(t));
    c->n_tables++;
    return t;
}

static void table_free(Qcow2Cache *c, CacheTable *t)
{
    c->n_tables--;
    free(t->data);
    g_free(t);
}

Qcow2Cache *qcow2_cache_new(BlockNode *file, uint64_t table_bytes, uint64_t soft_limit_bytes)
{
    Qcow2Cache *c = g_new0(Qcow2Cache, 1);

    c->file = file;
    c->table_bytes = table_bytes;
    c->limit_tables = MAX(MIN_TABLES, soft_limit_bytes / table_bytes);
    pthread_mutex_init(&c->guard, NULL);
    c->tables = g_hash_table_new(g_int64_hash, g_int64_equal);
    return c;
}

void qcow2_cache_free(Qcow2Cache *c)
{
    GHashTableIter it;
    void *t;

    if (!c) {
        return;
    }
    g_hash_table_iter_init(&it, c->tables);
    while (g_hash_table_iter_next(&it, NULL, &t)) {
        g_assert(((CacheTable *)t)->pins == 0);
        table_free(c, t);
    }
    g_assert(c->n_tables == 0);
    g_hash_table_destroy(c->tables);
    pthread_mutex_destroy(&c->guard);
    g_free(c);
}

void qcow2_cache_lock(Qcow2Cache *c)
{
    pthread_mutex_lock(&c->guard);
}

void qcow2_cache_unlock(Qcow2Cache *c)
{
    pthread_mutex_unlock(&c->guard);
}

void coroutine_fn qcow2_cache_wait_locked(Qcow2Cache *c, CoQueue *q)
{
    co_queue_wait_pthread(q, &c->guard);
}

static CacheTable *find(Qcow2Cache *c, uint64_t host_off)
{
    return g_hash_table_lookup(c->tables, &host_off);
}

static bool in_clean_list(const CacheTable *t)
{
    return t->pins == 0 && !t->dirty && !t->stale;
}

static void pin(Qcow2Cache *c, CacheTable *t)
{
    if (in_clean_list(t)) {
        list_remove(&c->clean, t);
    }
    t->pins++;
}

/* Take the least recently used clean table out of the cache. */
static CacheTable *evict(Qcow2Cache *c)
{
    CacheTable *t = c->clean.tail;

    list_remove(&c->clean, t);
    g_hash_table_remove(c->tables, &t->host_off);
    return t;
}

static void unpin(Qcow2Cache *c, CacheTable *t)
{
    g_assert(t->pins > 0);
    if (--t->pins > 0) {
        return;
    }
    if (t->stale) {
        table_free(c, t);
        return;
    }
    if (!t->dirty) {
        list_push(&c->clean, t);
    }
    while (c->n_tables > c->limit_tables && c->clean.tail) {
        table_free(c, evict(c));
    }
}

/* A pinned, empty entry for @host_off in the hash. NULL when there is no memory. */
static CacheTable *insert(Qcow2Cache *c, uint64_t host_off)
{
    CacheTable *t = c->n_tables >= c->limit_tables && c->clean.tail ? evict(c) : table_try_new(c);

    if (!t) {
        return NULL;
    }
    t->host_off = host_off;
    t->pins = 1;
    t->load_ret = 0;
    co_queue_init(&t->loaded);
    g_hash_table_insert(c->tables, &t->host_off, t);
    return t;
}

/* Take @t out of the hash; it goes away with its last pin. */
static void forget(Qcow2Cache *c, CacheTable *t)
{
    g_hash_table_remove(c->tables, &t->host_off);
    if (t->dirty) {
        list_remove(&c->dirty, t);
        t->dirty = false;
    } else if (t->pins == 0) {
        list_remove(&c->clean, t);
    }
    t->stale = true;
    if (t->pins == 0) {
        table_free(c, t);
    }
}

void *qcow2_cache_peek_locked(Qcow2Cache *c, uint64_t host_off)
{
    CacheTable *t = find(c, host_off);

    if (!t || t->loading) {
        return NULL;
    }
    if (in_clean_list(t) && t != c->clean.head) {
        list_remove(&c->clean, t);
        list_push(&c->clean, t);
    }
    return t->data;
}

bool qcow2_cache_contains_locked(Qcow2Cache *c, uint64_t host_off)
{
    return find(c, host_off) != NULL;
}

/* Read a table that is not cached. Guard held on entry and return, not in between. */
static int coroutine_fn load_locked(Qcow2Cache *c, uint64_t host_off, void **table)
{
    CacheTable *t = insert(c, host_off);

    if (!t) {
        return -ENOMEM;
    }
    t->loading = true;
    qcow2_cache_unlock(c);
    int ret = qcow2_file_read(c->file, host_off, t->data, c->table_bytes);
    qcow2_cache_lock(c);
    t->loading = false;
    t->load_ret = ret;
    co_queue_wake_all(&t->loaded);
    if (ret < 0) {
        if (!t->stale) {
            forget(c, t);
        }
        unpin(c, t);
        return ret;
    }
    *table = t->data;
    return 0;
}

int coroutine_fn qcow2_cache_get(Qcow2Cache *c, uint64_t host_off, void **table)
{
    PTHREAD_GUARD(&c->guard);
    CacheTable *t = find(c, host_off);

    if (!t) {
        return load_locked(c, host_off, table);
    }
    pin(c, t);
    while (t->loading) {
        co_queue_wait_pthread(&t->loaded, &c->guard);
    }
    if (t->load_ret < 0) {
        int ret = t->load_ret;
        unpin(c, t);
        return ret;
    }
    *table = t->data;
    return 0;
}

static void dirty_locked(Qcow2Cache *c, CacheTable *t)
{
    g_assert(t->pins > 0);
    if (!t->dirty && !t->stale) {
        t->dirty = true;
        list_push(&c->dirty, t);
    }
}

int qcow2_cache_get_new(Qcow2Cache *c, uint64_t host_off, void **table)
{
    PTHREAD_GUARD(&c->guard);
    CacheTable *old = find(c, host_off);

    /* A former life of the cluster, seen through a corrupt or outdated table. */
    if (old) {
        forget(c, old);
    }
    CacheTable *t = insert(c, host_off);
    if (!t) {
        return -ENOMEM;
    }
    memset(t->data, 0, c->table_bytes);
    dirty_locked(c, t);
    *table = t->data;
    return 0;
}

void qcow2_cache_put(Qcow2Cache *c, void **table)
{
    PTHREAD_GUARD(&c->guard);

    unpin(c, table_of(c, *table));
    *table = NULL;
}

void qcow2_cache_mark_dirty_locked(Qcow2Cache *c, void *table)
{
    dirty_locked(c, table_of(c, table));
}

void qcow2_cache_mark_dirty(Qcow2Cache *c, void *table)
{
    PTHREAD_GUARD(&c->guard);

    dirty_locked(c, table_of(c, table));
}

bool qcow2_cache_is_dirty(Qcow2Cache *c)
{
    PTHREAD_GUARD(&c->guard);

    return c->dirty.n > 0;
}

bool qcow2_cache_pressure(Qcow2Cache *c)
{
    PTHREAD_GUARD(&c->guard);

    return c->dirty.n * 2 > c->limit_tables;
}

static int by_host_off(const void *a, const void *b)
{
    uint64_t x = (*(CacheTable *const *)a)->host_off, y = (*(CacheTable *const *)b)->host_off;

    return (x > y) - (x < y);
}

/* Every dirty table, pinned, in file order. Caller frees. */
static CacheTable **pin_dirty(Qcow2Cache *c, size_t *n)
{
    PTHREAD_GUARD(&c->guard);
    CacheTable **tables = g_new(CacheTable *, c->dirty.n);

    *n = 0;
    for (CacheTable *t = c->dirty.head; t; t = t->next) {
        pin(c, t);
        tables[(*n)++] = t;
    }
    if (*n > 1) {
        qsort(tables, *n, sizeof(*tables), by_host_off);
    }
    return tables;
}

/* Write @n neighbours as one I/O. They count as clean from the start; on error they are dirty again. */
static int coroutine_fn write_group(Qcow2Cache *c, CacheTable **tables, size_t n)
{
    g_auto(IoVec) iov;

    iovec_init(&iov);
    qcow2_cache_lock(c);
    for (size_t i = 0; i < n; i++) {
        list_remove(&c->dirty, tables[i]);
        tables[i]->dirty = false;
        iovec_add(&iov, tables[i]->data, c->table_bytes);
    }
    qcow2_cache_unlock(c);

    int ret = block_co_pwritev(c->file, tables[0]->host_off, &iov, 0);
    if (ret < 0) {
        PTHREAD_GUARD(&c->guard);
        for (size_t i = 0; i < n; i++) {
            dirty_locked(c, tables[i]);
        }
    }
    return ret;
}

int coroutine_fn qcow2_cache_write_dirty(Qcow2Cache *c)
{
    size_t n, max_group = MAX(1, WRITE_BYTES / c->table_bytes);
    g_autofree CacheTable **tables = pin_dirty(c, &n);
    int ret = 0;

    for (size_t i = 0, group; i < n && ret == 0; i += group) {
        for (group = 1; group < max_group && i + group < n; group++) {
            if (tables[i + group]->host_off != tables[i]->host_off + group * c->table_bytes) {
                break;
            }
        }
        ret = write_group(c, &tables[i], group);
    }

    PTHREAD_GUARD(&c->guard);
    for (size_t i = 0; i < n; i++) {
        unpin(c, tables[i]);
    }
    return MIN(ret, 0);
}

void qcow2_cache_drop(Qcow2Cache *c, uint64_t host_off)
{
    PTHREAD_GUARD(&c->guard);
    CacheTable *t = find(c, host_off);

    if (t) {
        forget(c, t);
    }
}
