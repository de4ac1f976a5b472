/* SPDX-License-Identifier: MIT */
/* CBC encryption of runs of sectors, one block a vector; included once by the row of a CPU that has such vectors, after
 * aes-vector.h and with what that asks for.
 *
 * CBC encryption is serial inside a sector, so sectors run side by side: GROUP of them hide the latency of the AES
 * instructions. */

G_STATIC_ASSERT(VEC_LANES == 1);

#define LANE_IV(i)    x[i] = vec_load(ivs + lane[i] * CIPHER_IV_BYTES);
#define LANE_LOAD(i)  x[i] = vec_xor(x[i], vec_load(in + lane[i] * sector_bytes + pos));
#define LANE_STORE(i) vec_store(out + lane[i] * sector_bytes + pos, x[i]);

/* Up to GROUP sectors. Where there are fewer, the spare lanes do the last one again: its plaintext is read before any
 * of them stores, and they all store the same. That costs nothing, for a single lane waits as long for its
 * latencies. */
VEC_ENTRY void cbc_encrypt_lanes(const AesKeys *keys, size_t sectors, const uint8_t *ivs, size_t sector_bytes,
                                 const uint8_t *in, uint8_t *out)
{
    VEC x[GROUP];
    size_t lane[GROUP];

    for (size_t i = 0; i < GROUP; i++) {
        lane[i] = MIN(i, sectors - 1);
    }
    EACH(LANE_IV)
    for (size_t pos = 0; pos < sector_bytes; pos += AES_BLOCK_BYTES) {
        EACH(LANE_LOAD)
        encrypt_group(keys, x);
        EACH(LANE_STORE)
    }
}

int vector_cbc_encrypt(const VectorCtx *ctx, const uint8_t *ivs, size_t sector_bytes, size_t count, const uint8_t *in,
                       uint8_t *out)
{
    while (count > 0) {
        size_t n = MIN(count, GROUP);

        cbc_encrypt_lanes(&ctx->data, n, ivs, sector_bytes, in, out);
        count -= n;
        ivs += n * CIPHER_IV_BYTES;
        in += n * sector_bytes;
        out += n * sector_bytes;
    }
    return 0;
}
