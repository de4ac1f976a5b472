/* SPDX-License-Identifier: MIT */
/* Encrypted I/O of a child: split equals whole, in place equals copy, guest memory stays the guest's. */
#include "block/crypt/crypt-io.h"

#include "tests/unit/block-fixture.h"
#include "crypto/formats/block-open.h"
#include "crypto/cipher/init.h"
#include "crypto/secret/secret.h"
#include "util/base/units.h"

#define SECTORS 200
#define BYTES   (SECTORS * SECTOR_SIZE)

static uint8_t plain[BYTES], out[BYTES], whole[BYTES];

/* A LUKS header in memory: only the keys behind it matter here. */
static uint8_t header[4 << 20];

static int header_read(void *opaque, uint64_t offset, void *buf, size_t bytes)
{
    memcpy(buf, header + offset, bytes);
    return 0;
}

static int header_write(void *opaque, uint64_t offset, const void *buf, size_t bytes)
{
    memcpy(header + offset, buf, bytes);
    return 0;
}

static int header_flush(void *opaque)
{
    return 0;
}

static bool header_reserve(void *opaque, uint64_t bytes, GError **errp)
{
    return bytes <= sizeof(header);
}

static CryptIo new_crypt(OffloadMode mode)
{
    g_autoptr(OptDict) secret = optdict_parse_keyval("id=s0,data=pw123", NULL, NULL);
    g_autoptr(OptDict) opts = optdict_parse_keyval("key-secret=s0,iter-time=10", NULL, NULL);
    CryptoIo io = {.read = header_read, .write = header_write, .flush = header_flush, .reserve = header_reserve};
    GError *err = NULL;

    secret_forget_all();
    ck_assert(secret_add(secret, NULL));
    CryptoBlock *crypto = crypto_block_create(CRYPTO_FORMAT_LUKS, opts, "", &io, &err);
    ck_assert_msg(crypto != NULL, "%s", err ? err->message : "?");
    return (CryptIo){.crypto = crypto, .mode = mode};
}

static void fill_plain(void)
{
    for (size_t i = 0; i < BYTES; i++) {
        plain[i] = i * 31 + (i >> 9);
    }
}

START_CO_TEST(every_mode_gives_the_same_ciphertext)
{
    CryptIo c = new_crypt(OFFLOAD_OFF);

    fill_plain();
    ck_assert_int_eq(crypto_block_encrypt(c.crypto, 4096, plain, whole, BYTES), 0);
    for (int mode = OFFLOAD_AUTO; mode <= OFFLOAD_OFF; mode++) {
        c.mode = mode;
        memset(out, 0, BYTES);
        ck_assert_int_eq(crypt_io_encrypt_co(&c, 4096, plain, out, BYTES), 0);
        ck_assert(memcmp(out, whole, BYTES) == 0);
        ck_assert_int_eq(crypt_io_decrypt_co(&c, 4096, out, out, BYTES), 0);
        ck_assert(memcmp(out, plain, BYTES) == 0);
    }
    crypto_block_free(c.crypto);
}

START_CO_TEST(scattered_source_gives_the_same_ciphertext_and_is_not_touched)
{
    CryptIo c = new_crypt(OFFLOAD_ON);
    static uint8_t copy[BYTES];
    g_auto(IoVec) iov;

    fill_plain();
    memcpy(copy, plain, BYTES);
    ck_assert_int_eq(crypto_block_encrypt(c.crypto, 0, plain, whole, BYTES), 0);
    iovec_init(&iov);
    for (size_t at = 0; at < BYTES; at += 700) {
        iovec_add(&iov, copy + at, MIN(700, BYTES - at));
    }
    ck_assert_int_eq(crypt_io_encrypt_iov_co(&c, 512, &iov, 512, out, BYTES - 1024), 0);
    ck_assert(memcmp(out, whole + 512, BYTES - 1024) == 0);
    ck_assert(memcmp(copy, plain, BYTES) == 0);
    crypto_block_free(c.crypto);
}

/* A write and a read of [host_off, +bytes) of a node, with the memory cut at odd places or lent. */
static void check_round_trip(CryptIo *c, BlockNode *child, size_t bytes, bool scattered, unsigned flags)
{
    g_autofree uint8_t *src = g_memdup2(plain, bytes);
    g_autofree uint8_t *dst = g_malloc0(bytes);
    g_autofree uint8_t *disk = g_malloc(bytes);
    g_auto(IoVec) wr, rd;

    iovec_init(&wr);
    iovec_init(&rd);
    for (size_t at = 0, n; at < bytes; at += n) {
        n = scattered ? MIN(bytes - at, 333) : bytes;
        iovec_add(&wr, src + at, n);
        iovec_add(&rd, dst + at, n);
    }
    BlockRw w = {.bytes = bytes, .iov = &wr, .flags = flags};
    BlockRw r = {.bytes = bytes, .iov = &rd, .flags = flags};
    ck_assert_int_eq(crypt_io_co_write(c, child, 1024, 4096, &w), 0);
    if (!(flags & BLOCK_REQ_OWN_BUFFER)) {
        ck_assert(memcmp(src, plain, bytes) == 0);
    }
    ck_assert_int_eq(block_co_pread(child, 1024, disk, bytes, 0), 0);
    ck_assert(memcmp(disk, whole, bytes) == 0);
    ck_assert_int_eq(crypt_io_co_read(c, child, 1024, 4096, &r), 0);
    ck_assert(memcmp(dst, plain, bytes) == 0);
}

START_CO_TEST(writes_and_reads_of_every_kind_of_memory_agree)
{
    CryptIo c = new_crypt(OFFLOAD_AUTO);
    BlockNode *child = mem_node_new(0, NULL);

    fill_plain();
    ck_assert_int_eq(crypto_block_encrypt(c.crypto, 4096, plain, whole, BYTES), 0);
    for (int scattered = 0; scattered <= 1; scattered++) {
        check_round_trip(&c, child, 512, scattered, 0);
        check_round_trip(&c, child, BYTES, scattered, 0);
        check_round_trip(&c, child, BYTES, scattered, BLOCK_REQ_OWN_BUFFER);
    }
    block_co_close(child);
    crypto_block_free(c.crypto);
}

START_CO_TEST(requests_longer_than_a_bounce_buffer_are_cut_and_agree)
{
    CryptIo c = new_crypt(OFFLOAD_AUTO);
    g_autoptr(ScratchDir) dir = scratch_dir();
    g_autofree char *path = g_build_filename(dir, "img", NULL);
    BlockNode *child = block_create_file(path, NULL);
    size_t bytes = 3 * CRYPT_IO_BOUNCE_BYTES + 512;
    g_autofree uint8_t *src = g_malloc(bytes);
    g_autofree uint8_t *dst = g_malloc0(bytes);
    g_autofree uint8_t *want = g_malloc(bytes);
    g_auto(IoVec) iov;

    for (size_t i = 0; i < bytes; i++) {
        src[i] = i * 13 + (i >> 12);
    }
    ck_assert_int_eq(crypto_block_encrypt(c.crypto, 0, src, want, bytes), 0);
    iovec_init_buf(&iov, src, bytes);
    BlockRw w = {.bytes = bytes, .iov = &iov};
    ck_assert_int_eq(crypt_io_co_write(&c, child, 0, 0, &w), 0);
    ck_assert_int_eq(block_co_pread(child, 0, dst, bytes, 0), 0);
    ck_assert(memcmp(dst, want, bytes) == 0);
    iovec_destroy(&iov);
    iovec_init_buf(&iov, dst, bytes);
    ck_assert_int_eq(crypt_io_co_read(&c, child, 0, 0, &w), 0);
    ck_assert(memcmp(dst, src, bytes) == 0);
    block_co_close(child);
    crypto_block_free(c.crypto);
}

START_CO_TEST(failed_write_of_the_child_is_reported_from_every_path)
{
    CryptIo c = new_crypt(OFFLOAD_AUTO);
    BlockNode *child = mem_node_new(0, NULL);
    g_auto(IoVec) iov;

    mem_state(child)->fail_write = ENOSPC;
    iovec_init_buf(&iov, plain, BYTES);
    BlockRw w = {.bytes = BYTES, .iov = &iov};
    ck_assert_int_eq(crypt_io_co_write(&c, child, 0, 0, &w), -ENOSPC);
    w.flags = BLOCK_REQ_OWN_BUFFER;
    ck_assert_int_eq(crypt_io_co_write(&c, child, 0, 0, &w), -ENOSPC);
    block_co_close(child);
    crypto_block_free(c.crypto);
}

START_TEST(mode_names_are_on_off_and_auto)
{
    OffloadMode mode;

    ck_assert(offload_mode_from_name("on", &mode) && mode == OFFLOAD_ON);
    ck_assert(offload_mode_from_name("off", &mode) && mode == OFFLOAD_OFF);
    ck_assert(offload_mode_from_name("auto", &mode) && mode == OFFLOAD_AUTO);
    ck_assert(!offload_mode_from_name("maybe", &mode));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("crypt-io");
    TCase *tc = tcase_create("crypt-io");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, every_mode_gives_the_same_ciphertext);
    tcase_add_test(tc, scattered_source_gives_the_same_ciphertext_and_is_not_touched);
    tcase_add_test(tc, writes_and_reads_of_every_kind_of_memory_agree);
    tcase_add_test(tc, requests_longer_than_a_bounce_buffer_are_cut_and_agree);
    tcase_add_test(tc, failed_write_of_the_child_is_reported_from_every_path);
    tcase_add_test(tc, mode_names_are_on_off_and_auto);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
