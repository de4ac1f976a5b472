/* SPDX-License-Identifier: MIT */
#include "crypto/kdf/pbkdf.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "crypto/hash/hmac.h"
#include "tests/unit/crypto-fixture.h"
#include "util/thread/thread-pool.h"

typedef struct Vector {
    HashAlg alg;
    const char *pass, *salt; /* salt in hex */
    uint64_t iterations;
    const char *key; /* hex */
} Vector;

#define SEQ32     "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define TEXT_SALT "73616c74" /* "salt" */

static const Vector vectors[] = {
    /* RFC 6070 */
    {HASH_SHA1, "password", TEXT_SALT, 1, "0c60c80f961f0e71f3a9b524af6012062fe037a6"},
    {HASH_SHA1, "password", TEXT_SALT, 2, "ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957"},
    {HASH_SHA1, "password", TEXT_SALT, 4096, "4b007901b765489abead49d926f721d065a429c1"},
    {HASH_SHA1, "passwordPASSWORDpassword", "73616c7453414c5473616c7453414c5473616c7453414c5473616c7453414c5473616c74",
     4096, "3d2eec4fe41c849b80c8d83662c0e44a8b291a964cf2f07038"},
    /* RFC 7914 section 11 */
    {HASH_SHA256, "passwd", TEXT_SALT, 1,
     "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc"
     "49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783"},
    {HASH_SHA256, "Password", "4e61436c", 80000,
     "4ddcd8f60b98be21830cee5ef22701f9641a4418d04c0414aeff08876b34ab56"
     "a1d425a1225833549adb841b51c9b3176a272bdebba1d078478f62b397f33c8d"},
    /* LUKS sheet section 9 */
    {HASH_SHA1, "secret", SEQ32, 1000,
     "05177a58694c49ee6ea9540ef7be0ea1edcbc0f8b84256739e23ac8df9b2c4749ad90ce3d6216b40"},
    {HASH_SHA256, "secret", SEQ32, 1000,
     "279815a2b1b2236a0ff80b851255fc227ed9052f3ede9a2192ffbd63107f574598627ed701fb5cfd"},
    {HASH_SHA512, "secret", SEQ32, 1000,
     "e4279823480ec50393eaf087e9bab8c916e601437c3768a86a9968125c225200e7ea1b2df5905146"},
};

START_TEST(pbkdf2_gives_the_published_keys)
{
    const Vector *v = &vectors[_i];
    uint8_t salt[64], out[64];
    size_t salt_len = unhex(v->salt, salt), key_len = strlen(v->key) / 2;

    pbkdf2_derive(v->alg, v->pass, strlen(v->pass), salt, salt_len, v->iterations, out, key_len);
    assert_hex(out, v->key);
}
END_TEST

/* Only the first bytes are asked for: they must be a prefix, whatever the number of blocks. */
START_TEST(pbkdf2_of_fewer_bytes_is_a_prefix)
{
    uint8_t whole[200], part[200];

    pbkdf2_derive(HASH_SHA1, "p", 1, "s", 1, 600, whole, sizeof(whole));
    for (size_t n = 1; n < sizeof(whole); n += 13) {
        memset(part, 0xee, sizeof(part));
        pbkdf2_derive(HASH_SHA1, "p", 1, "s", 1, 600, part, n);
        ck_assert_mem_eq(part, whole, n);
        ck_assert_int_eq(part[n], 0xee);
    }
}
END_TEST

START_TEST(pbkdf2_takes_an_empty_password)
{
    uint8_t out[20];

    /* hashlib.pbkdf2_hmac("sha1", b"", b"salt", 1000, 20) */
    pbkdf2_derive(HASH_SHA1, "", 0, "salt", 4, 1000, out, sizeof(out));
    assert_hex(out, "ea0add357d61a71039c093d7841509873e2a5285");
}
END_TEST

static uint64_t cpu_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

START_TEST(rate_is_measured_in_little_cpu_time_and_kept)
{
    uint64_t start = cpu_ns(), rate = pbkdf2_rate(HASH_SHA256, 20, NULL), used = cpu_ns() - start;

    ck_assert_uint_gt(rate, 0);
    ck_assert_uint_lt(used, 100 * 1000 * 1000);
    start = cpu_ns();
    ck_assert_uint_eq(pbkdf2_rate(HASH_SHA256, 20, NULL), rate);
    ck_assert_uint_lt(cpu_ns() - start, 1000 * 1000);
}
END_TEST

START_TEST(rate_counts_all_blocks_of_an_output)
{
    ck_assert_uint_eq(pbkdf2_rate(HASH_SHA256, 64, NULL), pbkdf2_rate(HASH_SHA256, 32, NULL) / 2);
    ck_assert_uint_eq(pbkdf2_rate(HASH_SHA256, 33, NULL), pbkdf2_rate(HASH_SHA256, 64, NULL));
}
END_TEST

/* CPU time of what should take 100 ms by a rate measured just before, in a process that has none yet. */
static uint64_t time_predicted_100_ms(void)
{
    uint64_t used = 0;
    int fd[2];

    ck_assert_int_eq(pipe(fd), 0);
    pid_t pid = fork();
    if (pid == 0) {
        uint64_t rate = pbkdf2_rate(HASH_SHA512, 64, NULL), start = cpu_ns();
        uint8_t u[HASH_MAX_BYTES] = {0}, acc[HASH_MAX_BYTES] = {0};
        HmacKey *k = hmac_key_new(HASH_SHA512, "k", 1);

        hmac_key_chain_portable(k, u, acc, rate / 10);
        used = cpu_ns() - start;
        _exit(write(fd[1], &used, sizeof(used)) != sizeof(used));
    }
    ck_assert_int_eq(read(fd[0], &used, sizeof(used)), sizeof(used));
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    close(fd[0]);
    close(fd[1]);
    return used;
}

/* What the rate promises holds: so many iterations take about that time of one thread. The clock of a virtual machine
 * may double between the two, so the best of a few tries counts. */
START_TEST(rate_predicts_the_time_of_a_derivation)
{
    bool held = false;

    for (int i = 0; i < 5 && !held; i++) {
        uint64_t used = time_predicted_100_ms();

        held = used > 70 * 1000 * 1000 && used < 140 * 1000 * 1000;
    }
    ck_assert(held);
}
END_TEST

START_TEST(iterations_have_a_floor_and_a_ceiling)
{
    uint32_t n;
    GError *err = NULL;

    ck_assert(pbkdf2_iterations_for_time(5000000, 2000, 1, &n, &err));
    ck_assert_uint_eq(n, 10000000);
    ck_assert(pbkdf2_iterations_for_time(5000000, 2000, 8, &n, &err));
    ck_assert_uint_eq(n, 1250000);
    ck_assert(pbkdf2_iterations_for_time(5000000, 0, 1, &n, &err));
    ck_assert_uint_eq(n, 1000);
    ck_assert(pbkdf2_iterations_for_time(4294967295, 1000, 1, &n, &err));
    ck_assert_uint_eq(n, 4294967295);
    ck_assert(!pbkdf2_iterations_for_time(4294967296, 1000, 1, &n, &err));
    assert_error(err, "PBKDF iterations 4294967296 larger than 4294967295");
    ck_assert(!pbkdf2_iterations_for_time(5000000, UINT64_MAX, 1, &n, &err));
    assert_error(err, "PBKDF iterations 5000000 too large to scale");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pbkdf");
    TCase *t = tcase_create("pbkdf");
    int ret;

    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, pbkdf2_gives_the_published_keys, 0, G_N_ELEMENTS(vectors));
    tcase_add_test(t, pbkdf2_of_fewer_bytes_is_a_prefix);
    tcase_add_test(t, pbkdf2_takes_an_empty_password);
    tcase_add_test(t, rate_is_measured_in_little_cpu_time_and_kept);
    tcase_add_test(t, rate_counts_all_blocks_of_an_output);
    tcase_add_test(t, rate_predicts_the_time_of_a_derivation);
    tcase_add_test(t, iterations_have_a_floor_and_a_ceiling);
    suite_add_tcase(s, t);
    ret = run_suite(s);
    thread_pool_shutdown();
    return ret;
}
