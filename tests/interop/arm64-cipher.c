/* SPDX-License-Identifier: MIT */
/* The arm64 vector row against published vectors and against answers made elsewhere (cipher-answers.c, on stdin).
 *
 * arm64-cipher.sh builds this alone with the few files the row needs, so there is no glib and no gnutls for arm64 to
 * install. The last line is "N passed, N failed". */
#include "tests/interop/cipher-answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crypto/cipher/cipher-vector.h"

enum { SLACK = 32 };

static const CipherDriver *const row = &cipher_driver_vector_arm64;
static int passed, failed;

/* The one function of glib that what is linked here calls, for asserts. */
void g_assertion_message_expr(const char *domain, const char *file, int line, const char *func, const char *expr)
{
    fprintf(stderr, "%s:%d: %s: assertion failed: %s\n", file, line, func, expr ? expr : "");
    abort();
}

/* In place of cipher-vector.c, which keeps contexts in secret memory, for which it needs more of glib. */
bool vector_supports(CipherAlg alg, CipherMode mode)
{
    return alg <= CIPHER_AES_256 && mode != CIPHER_CTR;
}

void *vector_ctx_new(CipherAlg alg, CipherMode mode, const uint8_t *key, size_t key_len, GError **errp)
{
    VectorCtx *ctx = aligned_alloc(_Alignof(VectorCtx), sizeof(*ctx));
    size_t half = mode == CIPHER_XTS ? key_len / 2 : key_len;

    ctx->mode = mode;
    aes_keys_expand(&ctx->data, key, half);
    aes_keys_expand(&ctx->tweak, key + key_len - half, half);
    return ctx;
}

void vector_ctx_free(void *ctx)
{
    free(ctx);
}

static void expect(bool ok, const char *what, const Answer *a)
{
    if (ok) {
        passed++;
        return;
    }
    failed++;
    printf("FAIL: %s: aes-%u mode %u, %u sectors of %u, skew %u\n", what, 128 + 64 * a->alg, a->mode, a->count,
           a->sector_bytes, a->skew);
}

static size_t key_bytes(const Answer *a)
{
    return (16 + 8 * a->alg) * (a->mode == CIPHER_XTS ? 2 : 1); /* the AES ciphers are the first of CipherAlg */
}

/* One run; the bytes around the output stay as they are. */
static bool gives(const Answer *a, const uint8_t *ivs, const uint8_t *in, const uint8_t *want, bool in_place)
{
    static uint8_t src[ANSWER_MAX_BYTES + SLACK], dst[sizeof(src)], scratch[ANSWER_MAX_SECTORS * CIPHER_IV_BYTES];
    size_t bytes = a->sector_bytes * a->count;
    uint8_t *from = src + a->skew, *around = in_place ? src : dst, *to = around + a->skew;
    void *ctx = row->ctx_new(a->alg, a->mode, a->key, key_bytes(a), NULL);
    int ret;

    memset(around, 0xa5, sizeof(src));
    memcpy(from, in, bytes);
    memcpy(scratch, ivs, a->count * CIPHER_IV_BYTES);
    ret = (a->encrypt ? row->encrypt : row->decrypt)(ctx, scratch, a->sector_bytes, a->count, from, to);
    row->ctx_free(ctx);
    for (size_t i = 0; i < sizeof(src); i++) {
        if ((i < a->skew || i >= a->skew + bytes) && around[i] != 0xa5) {
            return false;
        }
    }
    return ret == 0 && !memcmp(to, want, bytes);
}

static void check_answers(FILE *f)
{
    static uint8_t ivs[ANSWER_MAX_SECTORS * CIPHER_IV_BYTES], in[ANSWER_MAX_BYTES], out[ANSWER_MAX_BYTES];
    Answer a;

    while (fread(&a, sizeof(a), 1, f) == 1) {
        size_t bytes = (size_t)a.sector_bytes * a.count;

        if (bytes > sizeof(in) || a.count > ANSWER_MAX_SECTORS || a.skew > SLACK || !row->supports(a.alg, a.mode) ||
            fread(ivs, CIPHER_IV_BYTES, a.count, f) != a.count || fread(in, 1, bytes, f) != bytes ||
            fread(out, 1, bytes, f) != bytes) {
            fprintf(stderr, "arm64-cipher: bad answers\n");
            exit(1);
        }
        expect(gives(&a, ivs, in, out, false), a.encrypt ? "encrypt" : "decrypt", &a);
        expect(gives(&a, ivs, in, out, true), a.encrypt ? "encrypt in place" : "decrypt in place", &a);
    }
}

static void check_vector(Answer a, const uint8_t *iv, const uint8_t *plain, const uint8_t *cipher)
{
    a.count = 1;
    a.encrypt = 1;
    expect(gives(&a, iv, plain, cipher, false), "published vector, encrypt", &a);
    a.encrypt = 0;
    expect(gives(&a, iv, cipher, plain, false), "published vector, decrypt", &a);
}

static void check_published(void)
{
    static const uint8_t zero[32];
    /* FIPS 197, appendix C.1 to C.3 */
    static const uint8_t fips_plain[16] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                                           0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
    static const uint8_t fips[3][16] = {
        {0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30, 0xd8, 0xcd, 0xb7, 0x80, 0x70, 0xb4, 0xc5, 0x5a},
        {0xdd, 0xa9, 0x7c, 0xa4, 0x86, 0x4c, 0xdf, 0xe0, 0x6e, 0xaf, 0x70, 0xa0, 0xec, 0x0d, 0x71, 0x91},
        {0x8e, 0xa2, 0xb7, 0xca, 0x51, 0x67, 0x45, 0xbf, 0xea, 0xfc, 0x49, 0x90, 0x4b, 0x49, 0x60, 0x89}};
    /* IEEE 1619-2007, vector 1 */
    static const uint8_t xts[32] = {0x91, 0x7c, 0xf6, 0x9e, 0xbd, 0x68, 0xb2, 0xec, 0x9b, 0x9f, 0xe9,
                                    0xa3, 0xea, 0xdd, 0xa6, 0x92, 0xcd, 0x43, 0xd2, 0xf5, 0x95, 0x98,
                                    0xed, 0x85, 0x8c, 0x02, 0xc2, 0x65, 0x2f, 0xbf, 0x92, 0x2e};
    Answer a = {.mode = CIPHER_ECB, .sector_bytes = 16};

    for (int i = 0; i < 32; i++) {
        a.key[i] = i;
    }
    for (a.alg = CIPHER_AES_128; a.alg <= CIPHER_AES_256; a.alg++) {
        check_vector(a, zero, fips_plain, fips[a.alg]);
    }
    check_vector((Answer){.alg = CIPHER_AES_128, .mode = CIPHER_XTS, .sector_bytes = 32}, zero, zero, xts);
}

int main(void)
{
    if (!row->available()) {
        fprintf(stderr, "arm64-cipher: this CPU has no AES instructions\n");
        return 1;
    }
    check_published();
    check_answers(stdin);
    printf("%d passed, %d failed\n", passed, failed);
    return failed || passed < 1000;
}
