/* SPDX-License-Identifier: MIT */
/* The afalg row: block ciphers of the Linux kernel, over its AF_ALG sockets.
 *
 * A request costs two system calls and takes one IV. So that a run of sectors is one request whatever its IVs, the
 * kernel is asked for ECB and the modes are made of it here: XTS is ECB between two additions of the tweaks, CBC
 * decryption ECB and an addition of the ciphertext before. CBC encryption, which is serial, is the kernel's own, a
 * request a sector. Nothing is faster by this for AES on a CPU with AES instructions; cipher-measure.c finds out where
 * it is. */
#include "crypto/cipher/cipher-int.h"

#include <errno.h>
#include <linux/if_alg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/base/endian.h"
#include "util/base/error.h"
#include "util/base/secbuf.h"

enum {
    BLOCK_BYTES = 16,        /* of every cipher here */
    REQUEST_BYTES = 1 << 16, /* at most: the kernel takes only what fits in a socket's buffer */
};

typedef struct AfalgCtx {
    CipherMode mode;
    int data, tweak, cbc; /* sockets for requests, -1 where the mode has no use for them */
    uint8_t scratch[REQUEST_BYTES];
} AfalgCtx;

/* A socket for requests to @kind(@family) with that key, or -1 with errno. */
static int request_socket(const char *kind, const char *family, const uint8_t *key, size_t key_len)
{
    struct sockaddr_alg sa = {.salg_family = AF_ALG, .salg_type = "skcipher"};
    int saved, requests = -1, sndbuf = 0, alg = socket(AF_ALG, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    socklen_t len = sizeof(sndbuf);

    if (alg < 0) {
        return -1;
    }
    g_snprintf((char *)sa.salg_name, sizeof(sa.salg_name), "%s(%s)", kind, family);
    if (!bind(alg, (struct sockaddr *)&sa, sizeof(sa)) && !setsockopt(alg, SOL_ALG, ALG_SET_KEY, key, key_len)) {
        requests = accept4(alg, NULL, NULL, SOCK_CLOEXEC);
    }
    if (requests >= 0 && (getsockopt(requests, SOL_SOCKET, SO_SNDBUF, &sndbuf, &len) || sndbuf < 2 * REQUEST_BYTES)) {
        close(requests);
        requests = -1;
        errno = ENOBUFS;
    }
    saved = errno;
    close(alg); /* the socket for requests keeps what it needs of it */
    errno = saved;
    return requests;
}

/* One request: @bytes, at most REQUEST_BYTES. @iv NULL: the algorithm has none. */
static int request(int fd, bool encrypt, const uint8_t *iv, const uint8_t *in, uint8_t *out, size_t bytes)
{
    struct iovec data = {(void *)in, bytes};
    union {
        char buf[CMSG_SPACE(sizeof(uint32_t)) + CMSG_SPACE(sizeof(struct af_alg_iv) + CIPHER_IV_BYTES)];
        struct cmsghdr align;
    } control = {0};
    struct msghdr msg = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control.buf};
    struct cmsghdr *c;
    uint32_t op = encrypt ? ALG_OP_ENCRYPT : ALG_OP_DECRYPT;

    msg.msg_controllen = iv ? sizeof(control.buf) : CMSG_SPACE(sizeof(op));
    c = CMSG_FIRSTHDR(&msg);
    c->cmsg_level = SOL_ALG;
    c->cmsg_type = ALG_SET_OP;
    c->cmsg_len = CMSG_LEN(sizeof(op));
    memcpy(CMSG_DATA(c), &op, sizeof(op));
    if (iv) {
        struct af_alg_iv *a;

        c = CMSG_NXTHDR(&msg, c);
        c->cmsg_level = SOL_ALG;
        c->cmsg_type = ALG_SET_IV;
        c->cmsg_len = CMSG_LEN(sizeof(*a) + CIPHER_IV_BYTES);
        a = (struct af_alg_iv *)CMSG_DATA(c);
        a->ivlen = CIPHER_IV_BYTES;
        memcpy(a->iv, iv, CIPHER_IV_BYTES);
    }
    if (TEMP_FAILURE_RETRY(sendmsg(fd, &msg, 0)) != (ssize_t)bytes) {
        return -EIO;
    }
    while (bytes > 0) {
        ssize_t n = TEMP_FAILURE_RETRY(read(fd, out, bytes));

        if (n <= 0) {
            return -EIO;
        }
        out += n;
        bytes -= n;
    }
    return 0;
}

static void xor_into(uint8_t *out, const uint8_t *a, const uint8_t *b, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
        uint64_t x, y;

        memcpy(&x, a + i, sizeof(x));
        memcpy(&y, b + i, sizeof(y));
        x ^= y;
        memcpy(out + i, &x, sizeof(x));
    }
}

static int ecb_run(int fd, bool encrypt, const uint8_t *in, uint8_t *out, size_t bytes)
{
    while (bytes > 0) {
        size_t n = MIN(bytes, REQUEST_BYTES);
        int ret = request(fd, encrypt, NULL, in, out, n);

        if (ret < 0) {
            return ret;
        }
        in += n;
        out += n;
        bytes -= n;
    }
    return 0;
}

/* Where the tweaks of a run have got to. */
typedef struct TweakCursor {
    const uint8_t *next_first; /* first tweak of the next sector */
    size_t sector_bytes, left; /* left: of this sector */
    uint64_t low, high;
} TweakCursor;

/* @bytes of tweaks, multiplied by x from block to block (IEEE 1619-2007, section 5.2). */
static void fill_tweaks(TweakCursor *t, uint8_t *out, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += BLOCK_BYTES) {
        if (t->left == 0) {
            t->left = t->sector_bytes;
            t->low = load_le64(t->next_first);
            t->high = load_le64(t->next_first + 8);
            t->next_first += CIPHER_IV_BYTES;
        } else {
            uint64_t carry = -(t->high >> 63) & 0x87;

            t->high = t->high << 1 | t->low >> 63;
            t->low = t->low << 1 ^ carry;
        }
        t->left -= BLOCK_BYTES;
        store_le64(out + i, t->low);
        store_le64(out + i + 8, t->high);
    }
}

static int xts_run(AfalgCtx *ctx, bool encrypt, uint8_t *ivs, size_t sector_bytes, size_t count, const uint8_t *in,
                   uint8_t *out)
{
    TweakCursor t = {.next_first = ivs, .sector_bytes = sector_bytes};
    int ret = ecb_run(ctx->tweak, true, ivs, ivs, count * CIPHER_IV_BYTES);

    for (size_t left = sector_bytes * count; left > 0 && ret == 0;) {
        size_t n = MIN(left, REQUEST_BYTES);

        fill_tweaks(&t, ctx->scratch, n);
        xor_into(out, in, ctx->scratch, n);
        ret = request(ctx->data, encrypt, NULL, out, out, n);
        xor_into(out, out, ctx->scratch, n);
        in += n;
        out += n;
        left -= n;
    }
    return ret;
}

static int cbc_encrypt_run(AfalgCtx *ctx, uint8_t *ivs, size_t sector_bytes, size_t count, const uint8_t *in,
                           uint8_t *out)
{
    for (size_t i = 0; i < count; i++) {
        const uint8_t *iv = ivs + i * CIPHER_IV_BYTES;

        for (size_t left = sector_bytes; left > 0;) {
            size_t n = MIN(left, REQUEST_BYTES);
            int ret = request(ctx->cbc, true, iv, in, out, n);

            if (ret < 0) {
                return ret;
            }
            iv = out + n - BLOCK_BYTES;
            in += n;
            out += n;
            left -= n;
        }
    }
    return 0;
}

/* In place a block's ciphertext goes away when its plaintext is stored, so a request's blocks are done from its end,
 * and
 * @before keeps the last ciphertext of the request before. */
static int cbc_decrypt_run(AfalgCtx *ctx, const uint8_t *ivs, size_t sector_bytes, size_t count, const uint8_t *in,
                           uint8_t *out)
{
    uint8_t before[BLOCK_BYTES] = {0}, last[BLOCK_BYTES];

    for (size_t done = 0, left = sector_bytes * count; left > 0;) {
        size_t n = MIN(left, REQUEST_BYTES);
        int ret = request(ctx->data, false, NULL, in, ctx->scratch, n);

        if (ret < 0) {
            return ret;
        }
        memcpy(last, in + n - BLOCK_BYTES, BLOCK_BYTES);
        for (size_t at = n; at > 0;) {
            at -= BLOCK_BYTES;
            const uint8_t *chain = at > 0 ? in + at - BLOCK_BYTES : before;

            if ((done + at) % sector_bytes == 0) {
                chain = ivs + (done + at) / sector_bytes * CIPHER_IV_BYTES;
            }
            xor_into(out + at, ctx->scratch + at, chain, BLOCK_BYTES);
        }
        memcpy(before, last, BLOCK_BYTES);
        in += n;
        out += n;
        done += n;
        left -= n;
    }
    return 0;
}

static int afalg_encrypt(void *opaque, uint8_t *ivs, size_t sector_bytes, size_t count, const uint8_t *in, uint8_t *out)
{
    AfalgCtx *ctx = opaque;

    switch (ctx->mode) {
    case CIPHER_ECB:
        return ecb_run(ctx->data, true, in, out, sector_bytes * count);
    case CIPHER_CBC:
        return cbc_encrypt_run(ctx, ivs, sector_bytes, count, in, out);
    default:
        return xts_run(ctx, true, ivs, sector_bytes, count, in, out);
    }
}

static int afalg_decrypt(void *opaque, uint8_t *ivs, size_t sector_bytes, size_t count, const uint8_t *in, uint8_t *out)
{
    AfalgCtx *ctx = opaque;

    switch (ctx->mode) {
    case CIPHER_ECB:
        return ecb_run(ctx->data, false, in, out, sector_bytes * count);
    case CIPHER_CBC:
        return cbc_decrypt_run(ctx, ivs, sector_bytes, count, in, out);
    default:
        return xts_run(ctx, false, ivs, sector_bytes, count, in, out);
    }
}

/* Asked of the kernel once: whether it has such sockets does not change, and to ask may load a module. */
static bool afalg_available(void)
{
    enum { UNKNOWN, PRESENT, ABSENT };
    static _Atomic int state = UNKNOWN;

    if (atomic_load(&state) == UNKNOWN) {
        static const uint8_t key[16];
        int fd = request_socket("ecb", "aes", key, sizeof(key));

        atomic_store(&state, fd >= 0 ? PRESENT : ABSENT);
        if (fd >= 0) {
            close(fd);
        }
    }
    return atomic_load(&state) == PRESENT;
}

static bool afalg_supports(CipherAlg alg, CipherMode mode)
{
    return cipher_block_bytes(alg) == BLOCK_BYTES && mode != CIPHER_CTR;
}

static void afalg_ctx_free(void *opaque)
{
    AfalgCtx *ctx = opaque;
    int fds[] = {ctx->data, ctx->tweak, ctx->cbc};

    for (size_t i = 0; i < G_N_ELEMENTS(fds); i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
    mem_wipe(ctx, sizeof(*ctx));
    g_free(ctx);
}

static void *afalg_ctx_new(CipherAlg alg, CipherMode mode, const uint8_t *key, size_t key_len, GError **errp)
{
    AfalgCtx *ctx = g_new(AfalgCtx, 1);
    const char *family = cipher_alg_family(alg);
    size_t half = mode == CIPHER_XTS ? key_len / 2 : key_len;

    ctx->mode = mode;
    ctx->tweak = ctx->cbc = -1;
    ctx->data = request_socket("ecb", family, key, half);
    if (ctx->data >= 0 && mode == CIPHER_XTS) {
        ctx->tweak = request_socket("ecb", family, key + half, half);
    }
    if (ctx->data >= 0 && mode == CIPHER_CBC) {
        ctx->cbc = request_socket("cbc", family, key, half);
    }
    if (ctx->data < 0 || (mode == CIPHER_XTS && ctx->tweak < 0) || (mode == CIPHER_CBC && ctx->cbc < 0)) {
        error_set_errno(errp, errno, "The kernel does not offer %s-%s", cipher_alg_name(alg), cipher_mode_name(mode));
        afalg_ctx_free(ctx);
        return NULL;
    }
    return ctx;
}

const CipherDriver cipher_driver_afalg = {
    .name = "afalg",
    .available = afalg_available,
    .supports = afalg_supports,
    .ctx_new = afalg_ctx_new,
    .ctx_free = afalg_ctx_free,
    .encrypt = afalg_encrypt,
    .decrypt = afalg_decrypt,
};
