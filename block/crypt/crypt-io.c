/* SPDX-License-Identifier: MIT */
#include "block/crypt/crypt-io.h"

#include <errno.h>

#include "util/base/aligned-buf.h"
#include "util/coroutine/co-tasks.h"
#include "util/base/units.h"

#define MAX_CHUNKS_IN_FLIGHT 4 /* of one request; bounds its bounce memory */

bool offload_mode_from_name(const char *name, OffloadMode *out)
{
    static const struct {
        const char *name;
        OffloadMode mode;
    } modes[] = {{"auto", OFFLOAD_AUTO}, {"on", OFFLOAD_ON}, {"off", OFFLOAD_OFF}};

    for (size_t i = 0; i < G_N_ELEMENTS(modes); i++) {
        if (g_str_equal(name, modes[i].name)) {
            *out = modes[i].mode;
            return true;
        }
    }
    return false;
}

/* ---- cipher jobs ----------------------------------------------------------------------------------------------- */

typedef struct CipherJob {
    CryptoBlock *crypto;
    uint64_t offset;
    const uint8_t *in; /* flat source; NULL: @iov is gathered into @out and encrypted there */
    const IoVec *iov;
    size_t iov_off;
    uint8_t *out;
} CipherJob;

static int encrypt_part(void *arg, size_t first, size_t count)
{
    const CipherJob *j = arg;
    size_t at = first * crypto_block_sector_bytes(j->crypto);
    size_t bytes = count * crypto_block_sector_bytes(j->crypto);
    const uint8_t *in = j->in ? j->in + at : j->out + at;

    if (!j->in) {
        iovec_to_buf(j->iov, j->iov_off + at, j->out + at, bytes);
    }
    return crypto_block_encrypt(j->crypto, j->offset + at, in, j->out + at, bytes);
}

static int decrypt_part(void *arg, size_t first, size_t count)
{
    const CipherJob *j = arg;
    size_t at = first * crypto_block_sector_bytes(j->crypto);
    size_t bytes = count * crypto_block_sector_bytes(j->crypto);

    return crypto_block_decrypt(j->crypto, j->offset + at, j->in + at, j->out + at, bytes);
}

static int coroutine_fn run_job(const CryptIo *c, CipherJob *j, size_t bytes, bool encrypt)
{
    size_t sector = crypto_block_sector_bytes(c->crypto);
    OffloadJob job = {
        .what = encrypt ? "encrypt" : "decrypt",
        .func = encrypt ? encrypt_part : decrypt_part,
        .arg = j,
        .units = bytes / sector,
        .ps_per_unit = crypto_block_ps_per_sector(c->crypto, encrypt),
        .mode = c->mode,
    };

    g_assert(is_aligned(bytes | j->offset, sector));
    return bytes == 0 ? 0 : offload_run_co(&job);
}

int coroutine_fn crypt_io_encrypt_co(const CryptIo *c, uint64_t offset, const uint8_t *in, uint8_t *out, size_t bytes)
{
    CipherJob j = {.crypto = c->crypto, .offset = offset, .in = in, .out = out};

    return run_job(c, &j, bytes, true);
}

int coroutine_fn crypt_io_decrypt_co(const CryptIo *c, uint64_t offset, const uint8_t *in, uint8_t *out, size_t bytes)
{
    CipherJob j = {.crypto = c->crypto, .offset = offset, .in = in, .out = out};

    return run_job(c, &j, bytes, false);
}

int coroutine_fn crypt_io_encrypt_iov_co(const CryptIo *c, uint64_t offset, const IoVec *in, size_t in_off,
                                         uint8_t *out, size_t bytes)
{
    CipherJob j = {.crypto = c->crypto, .offset = offset, .iov = in, .iov_off = in_off, .out = out};

    j.in = iovec_flat(in, in_off, bytes);
    return run_job(c, &j, bytes, true);
}

/* ---- requests -------------------------------------------------------------------------------------------------- */

/* One bounced piece of a request. */
typedef struct Chunk {
    const CryptIo *crypt;
    BlockNode *child;
    uint64_t host_off, iv_off;
    const IoVec *iov;
    size_t iov_off, bytes;
    unsigned flags; /* for the child */
} Chunk;

static int coroutine_fn read_chunk(const Chunk *k)
{
    g_autoaligned buf = aligned_buf_try_new(k->bytes);

    if (!buf) {
        return -ENOMEM;
    }
    int ret = block_co_pread(k->child, k->host_off, buf, k->bytes, k->flags);
    if (ret == 0) {
        /* In the bounce buffer, not on the way out: no intermediate of the cipher is ever seen by the guest. */
        ret = crypt_io_decrypt_co(k->crypt, k->iv_off, buf, buf, k->bytes);
    }
    if (ret == 0) {
        iovec_from_buf(k->iov, k->iov_off, buf, k->bytes);
    }
    return ret;
}

static int coroutine_fn write_chunk(const Chunk *k)
{
    g_autoaligned buf = aligned_buf_try_new(k->bytes);

    if (!buf) {
        return -ENOMEM;
    }
    int ret = crypt_io_encrypt_iov_co(k->crypt, k->iv_off, k->iov, k->iov_off, buf, k->bytes);
    return ret < 0 ? ret : block_co_pwrite(k->child, k->host_off, buf, k->bytes, k->flags);
}

static int coroutine_fn read_task(void *opaque)
{
    g_autofree Chunk *k = opaque;

    return read_chunk(k);
}

static int coroutine_fn write_task(void *opaque)
{
    g_autofree Chunk *k = opaque;

    return write_chunk(k);
}

/* Several chunks at once, so that the cipher of one runs beside the I/O of another. */
static int coroutine_fn run_chunks(const Chunk *whole, CoTaskFunc *task)
{
    CoTasks tasks;

    co_tasks_init(&tasks, MAX_CHUNKS_IN_FLIGHT);
    for (size_t done = 0; done < whole->bytes; done += CRYPT_IO_BOUNCE_BYTES) {
        Chunk *k = g_memdup2(whole, sizeof(*whole));
        k->host_off += done;
        k->iv_off += done;
        k->iov_off += done;
        k->bytes = MIN(whole->bytes - done, CRYPT_IO_BOUNCE_BYTES);
        if (co_tasks_start(&tasks, task, k) < 0) {
            g_free(k);
            break;
        }
    }
    return co_tasks_wait(&tasks);
}

static Chunk whole_request(const CryptIo *c, BlockNode *child, uint64_t host_off, uint64_t iv_off, const BlockRw *rw)
{
    g_assert(is_aligned(iv_off | (uint64_t)rw->bytes, crypto_block_sector_bytes(c->crypto)));
    g_assert(is_aligned(host_off, SECTOR_SIZE));
    return (Chunk){
        .crypt = c,
        .child = child,
        .host_off = host_off,
        .iv_off = iv_off,
        .iov = rw->iov,
        .iov_off = rw->iov_off,
        .bytes = rw->bytes,
        .flags = (rw->flags & BLOCK_REQ_FUA) | BLOCK_REQ_OWN_BUFFER, /* the bounce buffers are ours */
    };
}

/* The request's memory when the cipher may work in it: lent by the caller, and in one piece. */
static uint8_t *own_buffer(const BlockRw *rw)
{
    return rw->flags & BLOCK_REQ_OWN_BUFFER ? iovec_flat(rw->iov, rw->iov_off, rw->bytes) : NULL;
}

int coroutine_fn crypt_io_co_read(const CryptIo *c, BlockNode *child, uint64_t host_off, uint64_t iv_off,
                                  const BlockRw *rw)
{
    Chunk whole = whole_request(c, child, host_off, iv_off, rw);
    uint8_t *own = own_buffer(rw);

    if (own) {
        int ret = block_co_pread(child, host_off, own, rw->bytes, whole.flags);
        return ret < 0 ? ret : crypt_io_decrypt_co(c, iv_off, own, own, rw->bytes);
    }
    return whole.bytes <= CRYPT_IO_BOUNCE_BYTES ? read_chunk(&whole) : run_chunks(&whole, read_task);
}

int coroutine_fn crypt_io_co_write(const CryptIo *c, BlockNode *child, uint64_t host_off, uint64_t iv_off,
                                   const BlockRw *rw)
{
    Chunk whole = whole_request(c, child, host_off, iv_off, rw);
    uint8_t *own = own_buffer(rw);

    if (own) {
        int ret = crypt_io_encrypt_co(c, iv_off, own, own, rw->bytes);
        return ret < 0 ? ret : block_co_pwrite(child, host_off, own, rw->bytes, whole.flags);
    }
    return whole.bytes <= CRYPT_IO_BOUNCE_BYTES ? write_chunk(&whole) : run_chunks(&whole, write_task);
}
