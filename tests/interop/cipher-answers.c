/* SPDX-License-Identifier: MIT */
/* What the nettle row says to random runs of sectors, for a program of another machine to be compared with.
 *
 *     cipher-answers RUNS >FILE      that many runs for each AES cipher and mode of the vector rows */
#include "tests/interop/cipher-answers.h"

#include <stdio.h>
#include <stdlib.h>

#include "crypto/cipher/init.h"

static void fill_random(GRand *r, uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        p[i] = g_rand_int(r) >> 13;
    }
}

static bool write_answer(GRand *r, CipherAlg alg, CipherMode mode)
{
    static uint8_t ivs[ANSWER_MAX_SECTORS * CIPHER_IV_BYTES], in[ANSWER_MAX_BYTES], out[ANSWER_MAX_BYTES];
    Answer a = {.alg = alg, .mode = mode, .encrypt = g_rand_boolean(r)};
    g_autoptr(Cipher) c = NULL;
    size_t bytes;

    a.sector_bytes = g_rand_boolean(r) ? 512 << g_rand_int_range(r, 0, 4) : 16 * g_rand_int_range(r, 1, 257);
    a.count = 1 + g_rand_int_range(r, 0, MIN(ANSWER_MAX_SECTORS, ANSWER_MAX_BYTES / a.sector_bytes));
    a.skew = g_rand_int_range(r, 0, 16);
    bytes = a.sector_bytes * a.count;
    fill_random(r, a.key, sizeof(a.key));
    fill_random(r, ivs, a.count * CIPHER_IV_BYTES);
    fill_random(r, in, bytes);
    c = cipher_new_from_row("nettle", alg, mode, a.key, cipher_key_bytes(alg, mode), NULL);
    if (!c || fwrite(&a, sizeof(a), 1, stdout) != 1 || fwrite(ivs, CIPHER_IV_BYTES, a.count, stdout) != a.count ||
        fwrite(in, 1, bytes, stdout) != bytes) {
        return false;
    }
    return !(a.encrypt ? cipher_encrypt_sectors : cipher_decrypt_sectors)(c, ivs, a.sector_bytes, a.count, in, out) &&
           fwrite(out, 1, bytes, stdout) == bytes;
}

int main(int argc, char **argv)
{
    g_autoptr(GRand) r = g_rand_new_with_seed(1);
    int runs = argc == 2 ? atoi(argv[1]) : 0;

    if (runs < 1 || !crypto_init(NULL)) {
        fprintf(stderr, "usage: cipher-answers RUNS >FILE\n");
        return 1;
    }
    for (int i = 0; i < runs; i++) {
        for (int alg = CIPHER_AES_128; alg <= CIPHER_AES_256; alg++) {
            for (int mode = CIPHER_ECB; mode <= CIPHER_XTS; mode++) {
                if (!write_answer(r, alg, mode)) {
                    fprintf(stderr, "cipher-answers: cannot write\n");
                    return 1;
                }
            }
        }
    }
    return fflush(stdout) ? 1 : 0;
}
