/* SPDX-License-Identifier: MIT */
/* AES over runs of sectors, written once for every vector width; included by each cipher-vector-<isa>.c, never
 * otherwise.
 *
 * The including file defines VEC (the vector type), VEC_LANES (16-byte blocks in one), VEC_FN and VEC_ENTRY (its target
 * attribute) and these helpers with VEC_FN in front:
 *
 *   vec_load, vec_store       unaligned
 *   vec_load_apart(p, n)      the first n lanes, by loads of 16 bytes
 *   vec_store_part(p, v, n)   the first n lanes
 *   vec_broadcast             16 bytes to every lane
 *   vec_xor, vec_chain(a, b)  chain: last lane of a, then all but the last of b
 *   vec_begin(x, k)           what is done with the first round key before the rounds
 *   vec_enc_round(x, p, k)    a round that ends with adding k; p is the key of the round before. A CPU whose
 *                             instruction begins with adding a key takes p and leaves k to the next round.
 *   vec_enc_last(x, p, k), vec_dec_round, vec_dec_last
 *   vec_first_tweaks(t, t0)   the GROUP tweaks from t0 on
 *   vec_next_tweaks(t)        each times x^GROUP_BLOCKS
 *
 * GROUP vectors are in flight at once: enough to hide the latency of the AES instructions, few enough to stay in
 * registers. No branch and no address depends on data or key. */

enum {
    GROUP = 8,
    GROUP_BLOCKS = GROUP * VEC_LANES,
    VEC_BYTES = VEC_LANES * AES_BLOCK_BYTES,
    GROUP_BYTES = GROUP * VEC_BYTES,
};

/* Written out, so that array elements are registers whatever the compiler thinks of loops. */
#define EACH(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7)

/* Rounds laid out in a row save a register move an AES instruction. */
#ifdef __clang__
#define UNROLL_ROUNDS _Pragma("unroll 4")
#else
#define UNROLL_ROUNDS _Pragma("GCC unroll 4")
#endif

#define BEGIN(i)     x[i] = vec_begin(x[i], k);
#define ENC_ROUND(i) x[i] = vec_enc_round(x[i], p, k);
#define ENC_LAST(i)  x[i] = vec_enc_last(x[i], p, k);
#define DEC_ROUND(i) x[i] = vec_dec_round(x[i], p, k);
#define DEC_LAST(i)  x[i] = vec_dec_last(x[i], p, k);

VEC_FN void encrypt_group(const AesKeys *keys, VEC x[static GROUP])
{
    VEC p, k = vec_broadcast(keys->enc[0]);

    EACH(BEGIN)
    UNROLL_ROUNDS
    for (int r = 1; r < keys->rounds; r++) {
        p = k;
        k = vec_broadcast(keys->enc[r]);
        EACH(ENC_ROUND)
    }
    p = k;
    k = vec_broadcast(keys->enc[keys->rounds]);
    EACH(ENC_LAST)
}

VEC_FN void decrypt_group(const AesKeys *keys, VEC x[static GROUP])
{
    VEC p, k = vec_broadcast(keys->dec[0]);

    EACH(BEGIN)
    UNROLL_ROUNDS
    for (int r = 1; r < keys->rounds; r++) {
        p = k;
        k = vec_broadcast(keys->dec[r]);
        EACH(DEC_ROUND)
    }
    p = k;
    k = vec_broadcast(keys->dec[keys->rounds]);
    EACH(DEC_LAST)
}

VEC_FN VEC encrypt_one(const AesKeys *keys, VEC x)
{
    VEC p, k = vec_broadcast(keys->enc[0]);

    x = vec_begin(x, k);
    for (int r = 1; r < keys->rounds; r++) {
        p = k;
        k = vec_broadcast(keys->enc[r]);
        x = vec_enc_round(x, p, k);
    }
    return vec_enc_last(x, k, vec_broadcast(keys->enc[keys->rounds]));
}

VEC_FN VEC decrypt_one(const AesKeys *keys, VEC x)
{
    VEC p, k = vec_broadcast(keys->dec[0]);

    x = vec_begin(x, k);
    for (int r = 1; r < keys->rounds; r++) {
        p = k;
        k = vec_broadcast(keys->dec[r]);
        x = vec_dec_round(x, p, k);
    }
    return vec_dec_last(x, k, vec_broadcast(keys->dec[keys->rounds]));
}

#define LOAD(i)       x[i] = vec_load(in + (i) * VEC_BYTES);
#define LOAD_APART(i) x[i] = vec_load_apart(in + (i) * VEC_BYTES, VEC_LANES);
#define STORE(i)      vec_store(out + (i) * VEC_BYTES, x[i]);

/* @blocks independent blocks, in place or disjoint. @apart: they have just been stored one by one. The CPU forwards a
 * store to a load only if the load is within that store; one that spans several waits until all of them are in the
 * cache, and with it the next run of sectors for the end of the last. */
VEC_FN void ecb_blocks(const AesKeys *keys, bool encrypt, bool apart, const uint8_t *in, uint8_t *out, size_t blocks)
{
    VEC x[GROUP];

    for (; blocks >= GROUP_BLOCKS; blocks -= GROUP_BLOCKS, in += GROUP_BYTES, out += GROUP_BYTES) {
        if (apart) {
            EACH(LOAD_APART)
        } else {
            EACH(LOAD)
        }
        if (encrypt) {
            encrypt_group(keys, x);
        } else {
            decrypt_group(keys, x);
        }
        EACH(STORE)
    }
    while (blocks > 0) {
        size_t n = blocks < VEC_LANES ? blocks : VEC_LANES;
        VEC v = vec_load_apart(in, n);

        v = encrypt ? encrypt_one(keys, v) : decrypt_one(keys, v);
        vec_store_part(out, v, n);
        blocks -= n;
        in += n * AES_BLOCK_BYTES;
        out += n * AES_BLOCK_BYTES;
    }
}

#define XOR_TWEAK(i)  x[i] = vec_xor(x[i], t[i]);
#define KEEP_TWEAK(i) rest[i] = t[i];

/* The end of a sector that is no whole group. Apart, so that only here the tweaks go through memory. */
VEC_ENTRY void xts_tail(const AesKeys *keys, bool encrypt, const VEC t[static GROUP], const uint8_t *in,
                        uint8_t *out, size_t bytes)
{
    for (size_t i = 0, blocks = bytes / AES_BLOCK_BYTES; blocks > 0; i++) {
        size_t n = blocks < VEC_LANES ? blocks : VEC_LANES;
        VEC v = vec_xor(vec_load_apart(in + i * VEC_BYTES, n), t[i]);

        v = encrypt ? encrypt_one(keys, v) : decrypt_one(keys, v);
        vec_store_part(out + i * VEC_BYTES, vec_xor(v, t[i]), n);
        blocks -= n;
    }
}

VEC_FN void xts_group(const AesKeys *keys, bool encrypt, const VEC t[static GROUP], const uint8_t *in, uint8_t *out)
{
    VEC x[GROUP];

    EACH(LOAD)
    EACH(XOR_TWEAK)
    if (encrypt) {
        encrypt_group(keys, x);
    } else {
        decrypt_group(keys, x);
    }
    EACH(XOR_TWEAK)
    EACH(STORE)
}

#define FIRST_TWEAK(i) ring[0][i] = t[i];
#define LOAD_TWEAK(i)  t[i] = ring[cur][i];
#define STORE_TWEAK(i) ring[!cur][i] = t[i];

/* Sectors of whole groups. The tweaks of a group are made while the group before it is in the AES unit: they are a
 * chain of multiplications that has to be over before a group can begin, too long for the CPU to look past. So they go
 * through memory, two groups of them in turn. */
VEC_FN void xts_groups(const AesKeys *keys, bool encrypt, const uint8_t *tweaks, size_t sector_groups, size_t count,
                       const uint8_t *in, uint8_t *out)
{
    VEC ring[2][GROUP], t[GROUP];
    int cur = 0;

    vec_first_tweaks(t, tweaks);
    EACH(FIRST_TWEAK)
    for (; count > 0; count--) {
        tweaks += CIPHER_IV_BYTES;
        for (size_t left = sector_groups; left > 0; left--) {
            if (left > 1) {
                EACH(LOAD_TWEAK)
                vec_next_tweaks(t);
                EACH(STORE_TWEAK)
            } else if (count > 1) {
                vec_first_tweaks(t, tweaks);
                EACH(STORE_TWEAK)
            }
            xts_group(keys, encrypt, ring[cur], in, out);
            cur = !cur;
            in += GROUP_BYTES;
            out += GROUP_BYTES;
        }
    }
}

/* One sector of @bytes whose first tweak (already encrypted) is @tweak. */
VEC_FN void xts_sector(const AesKeys *keys, bool encrypt, const uint8_t *tweak, const uint8_t *in, uint8_t *out,
                       size_t bytes)
{
    VEC t[GROUP];

    vec_first_tweaks(t, tweak);
    for (; bytes >= GROUP_BYTES; bytes -= GROUP_BYTES, in += GROUP_BYTES, out += GROUP_BYTES) {
        xts_group(keys, encrypt, t, in, out);
        vec_next_tweaks(t);
    }
    if (bytes > 0) {
        VEC rest[GROUP];

        EACH(KEEP_TWEAK)
        xts_tail(keys, encrypt, rest, in, out, bytes);
    }
}

/* XTS tweaks of a whole run are encrypted in one go, in the IV array itself. */
VEC_FN void xts_run(const VectorCtx *ctx, bool encrypt, uint8_t *ivs, size_t sector_bytes, size_t count,
                    const uint8_t *in, uint8_t *out)
{
    ecb_blocks(&ctx->tweak, true, true, ivs, ivs, count);
    if (sector_bytes % GROUP_BYTES == 0) {
        xts_groups(&ctx->data, encrypt, ivs, sector_bytes / GROUP_BYTES, count, in, out);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        xts_sector(&ctx->data, encrypt, ivs + i * CIPHER_IV_BYTES, in + i * sector_bytes, out + i * sector_bytes,
                   sector_bytes);
    }
}

#define LOAD_CBC(i)                                                                                                    \
    x[i] = vec_load(in + (i) * VEC_BYTES);                                                                             \
    before[i] = vec_chain(last, x[i]);                                                                                 \
    last = x[i];
#define XOR_BEFORE(i) x[i] = vec_xor(x[i], before[i]);

/* Ciphertext is read, and what the next group needs of it kept, before plaintext is stored over it. */
VEC_FN void cbc_decrypt_sector(const AesKeys *keys, const uint8_t *iv, const uint8_t *in, uint8_t *out, size_t bytes)
{
    VEC x[GROUP], before[GROUP], last = vec_broadcast(iv);

    for (; bytes >= GROUP_BYTES; bytes -= GROUP_BYTES, in += GROUP_BYTES, out += GROUP_BYTES) {
        EACH(LOAD_CBC)
        decrypt_group(keys, x);
        EACH(XOR_BEFORE)
        EACH(STORE)
    }
    for (size_t blocks = bytes / AES_BLOCK_BYTES; blocks > 0;) {
        size_t n = blocks < VEC_LANES ? blocks : VEC_LANES;
        VEC c = vec_load_apart(in, n);

        vec_store_part(out, vec_xor(decrypt_one(keys, c), vec_chain(last, c)), n);
        last = c;
        blocks -= n;
        in += n * AES_BLOCK_BYTES;
        out += n * AES_BLOCK_BYTES;
    }
}

/* The driver's entries. */
VEC_ENTRY int vector_encrypt(void *opaque, uint8_t *ivs, size_t sector_bytes, size_t count, const uint8_t *in,
                             uint8_t *out)
{
    const VectorCtx *ctx = opaque;

    switch (ctx->mode) {
    case CIPHER_ECB:
        ecb_blocks(&ctx->data, true, false, in, out, count * (sector_bytes / AES_BLOCK_BYTES));
        return 0;
    case CIPHER_CBC:
        return vector_cbc_encrypt(ctx, ivs, sector_bytes, count, in, out);
    default:
        xts_run(ctx, true, ivs, sector_bytes, count, in, out);
        return 0;
    }
}

VEC_ENTRY int vector_decrypt(void *opaque, uint8_t *ivs, size_t sector_bytes, size_t count, const uint8_t *in,
                             uint8_t *out)
{
    const VectorCtx *ctx = opaque;

    switch (ctx->mode) {
    case CIPHER_ECB:
        ecb_blocks(&ctx->data, false, false, in, out, count * (sector_bytes / AES_BLOCK_BYTES));
        return 0;
    case CIPHER_CBC:
        for (size_t i = 0; i < count; i++) {
            cbc_decrypt_sector(&ctx->data, ivs + i * CIPHER_IV_BYTES, in + i * sector_bytes, out + i * sector_bytes,
                               sector_bytes);
        }
        return 0;
    default:
        xts_run(ctx, false, ivs, sector_bytes, count, in, out);
        return 0;
    }
}
