/* SPDX-License-Identifier: MIT */
#include "crypto/secret/secret.h"

#include <stdio.h>
#include <unistd.h>

#include "crypto/base/base64.h"
#include "tests/unit/crypto-fixture.h"

static void add_ok(const char *text)
{
    GError *err = NULL;

    if (!secret_add_object(text, &err)) {
        ck_abort_msg("%s: %s", text, err->message);
    }
}

static void assert_secret(const char *id, const void *data, size_t len)
{
    g_autoptr(SecBuf) b = secret_lookup(id, NULL);

    ck_assert_ptr_nonnull(b);
    ck_assert_uint_eq(secbuf_size(b), len);
    ck_assert_mem_eq(secbuf_data(b), data, len);
}

/* A file in a place of its own, with @len bytes; the caller frees and unlinks. */
static char *make_file(const void *data, size_t len)
{
    char *path = g_strdup("/tmp/test-secret.XXXXXX");
    int fd = g_mkstemp(path);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, data, len), len);
    close(fd);
    return path;
}

START_TEST(data_is_taken_as_it_is)
{
    add_ok("secret,id=a,data=pass word");
    add_ok("secret,id=b,data=x,,y,format=raw");
    add_ok("secret,id=empty,data=");
    assert_secret("a", "pass word", 9);
    assert_secret("b", "x,y", 3);
    assert_secret("empty", "", 0);
}
END_TEST

START_TEST(json_form_is_accepted)
{
    add_ok("{\"qom-type\": \"secret\", \"id\": \"a\", \"data\": \"p\\u00e4ss\"}");
    assert_secret("a", "p\xc3\xa4ss", 5);
}
END_TEST

START_TEST(a_file_is_taken_whole_with_its_last_newline)
{
    g_autofree char *path = make_file("pw123\n", 6), *text = g_strdup_printf("secret,id=f,file=%s", path);

    add_ok(text);
    assert_secret("f", "pw123\n", 6);
    unlink(path);
}
END_TEST

START_TEST(a_large_file_is_read_in_full_and_a_huge_one_refused)
{
    g_autofree char *data = g_malloc(SECRET_MAX_BYTES + 1);
    GError *err = NULL;

    memset(data, 'k', SECRET_MAX_BYTES + 1);
    for (size_t len = 4095; len <= 20000; len += 5301) {
        g_autofree char *path = make_file(data, len), *text = g_strdup_printf("secret,id=l%zu,file=%s", len, path);
        g_autofree char *id = g_strdup_printf("l%zu", len);

        add_ok(text);
        assert_secret(id, data, len);
        unlink(path);
    }
    g_autofree char *path = make_file(data, SECRET_MAX_BYTES + 1), *text = g_strdup_printf("secret,id=h,file=%s", path);
    g_autofree char *message = g_strdup_printf("Unable to read %s: secret is larger than 1048576 bytes", path);
    ck_assert(!secret_add_object(text, &err));
    assert_error(err, message);
    unlink(path);
}
END_TEST

START_TEST(base64_is_decoded)
{
    g_autofree char *path = make_file("cHcx\nMjM=\n", 10),
                    *text = g_strdup_printf("secret,id=f,file=%s,format=base64", path);

    add_ok("secret,id=a,data=cHcxMjM=,format=base64");
    add_ok("secret,id=nul,data=AGE=,format=base64");
    add_ok(text);
    assert_secret("a", "pw123", 5);
    assert_secret("nul", "\0a", 2);
    assert_secret("f", "pw123", 5);
    unlink(path);
}
END_TEST

/* RFC 4648 section 10, then every value of every position. */
START_TEST(base64_decodes_all_byte_values)
{
    static const struct {
        const char *text, *plain;
    } rows[] = {{"", ""},
                {"Zg==", "f"},
                {"Zm8=", "fo"},
                {"Zm9v", "foo"},
                {"Zm9vYg==", "foob"},
                {"Zm9vYmE=", "fooba"},
                {"Zm9vYmFy", "foobar"}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(SecBuf) b = base64_decode_secret(rows[i].text, strlen(rows[i].text), NULL);

        ck_assert_uint_eq(secbuf_size(b), strlen(rows[i].plain));
        ck_assert_mem_eq(secbuf_data(b), rows[i].plain, strlen(rows[i].plain));
    }
    for (size_t len = 1; len <= 300; len++) {
        uint8_t plain[300];
        g_autofree char *text = NULL;
        g_autoptr(SecBuf) b = NULL;

        for (size_t i = 0; i < len; i++) {
            plain[i] = i * 89 + len;
        }
        text = g_base64_encode(plain, len);
        b = base64_decode_secret(text, strlen(text), NULL);
        ck_assert_uint_eq(secbuf_size(b), len);
        ck_assert_mem_eq(secbuf_data(b), plain, len);
    }
}
END_TEST

START_TEST(base64_refuses_malformed_text)
{
    static const struct {
        const char *text;
        size_t len;
        const char *message;
    } rows[] = {
        {"!!!", 3, "Base64 data contains invalid characters"},
        {"YW Jj", 5, "Base64 data contains invalid characters"},
        {"YW==JJ", 6, "Base64 data contains invalid characters"},
        {"=", 1, "Base64 data contains invalid characters"},
        {"Y===", 4, "Base64 data contains invalid characters"},
        {"YWJj=", 5, "Base64 data contains invalid characters"},
        {"YW===", 5, "Base64 data contains invalid characters"},
        {"YWJj-_", 6, "Base64 data contains invalid characters"},
        {"YWJ", 3, "Base64 data is cut short"},
        {"YW=", 3, "Base64 data is cut short"},
        {"YWJjZ", 5, "Base64 data is cut short"},
        {"YW\0j", 4, "Base64 data contains embedded NUL characters"},
        {"YW\xc3\xa4", 4, "Base64 data contains invalid characters"},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        GError *err = NULL;

        ck_assert_ptr_null(base64_decode_secret(rows[i].text, rows[i].len, &err));
        assert_error(err, rows[i].message);
    }
}
END_TEST

#define KEY        "0123456789abcdef0123456789abcdef"
/* printf hunter2 | openssl enc -aes-256-cbc -K $(printf KEY | xxd -p) -iv 000102..0f -base64 */
#define IV         "AAECAwQFBgcICQoLDA0ODw=="
#define ENC_SHORT  "/78F88ytEssMV4h6iLGlvA=="
#define ENC_BLOCK  "1B261pQfj+woWgj1bBrtlwItmIUYQN9yykAFpg+hMBI=" /* sixteen bytes: a whole block of padding */
#define ENC_BADPAD "R9W+CcueuxBTP4L0CQfgQA=="                     /* without padding: ...\2\3\3 at the end */

START_TEST(a_secret_encrypted_by_another_is_decrypted)
{
    add_ok("secret,id=key,data=" KEY);
    add_ok("secret,id=a,data=" ENC_SHORT ",format=base64,keyid=key,iv=" IV);
    add_ok("secret,id=b,data=" ENC_BLOCK ",format=base64,keyid=key,iv=" IV);
    assert_secret("a", "hunter2", 7);
    assert_secret("b", "sixteen bytes ok", 16);
}
END_TEST

START_TEST(an_encrypted_secret_may_come_raw_from_a_file)
{
    gsize len;
    g_autofree guchar *raw = g_base64_decode(ENC_SHORT, &len);
    g_autofree char *path = make_file(raw, len);
    g_autofree char *text = g_strdup_printf("secret,id=a,file=%s,keyid=key,iv=" IV, path);

    add_ok("secret,id=key,data=" KEY);
    add_ok(text);
    assert_secret("a", "hunter2", 7);
    unlink(path);
}
END_TEST

typedef struct Bad {
    const char *text, *message;
} Bad;

static const Bad bad[] = {
    {"secret,data=x", "Parameter 'id' is missing"},
    {"secret", "Parameter 'id' is missing"},
    {"secret,id=x", "Either 'file' or 'data' must be provided"},
    {"secret,id=x,data=a,file=b", "'file' and 'data' are mutually exclusive"},
    {"secret,id=x,data=a,bogus=1", "Parameter 'bogus' is unexpected"},
    {"secret,id=x,data=a,format=hex", "Parameter 'format' does not accept value 'hex'"},
    {"secret,id=x,file=/nonexistent/y",
     "Unable to read /nonexistent/y: Failed to open file “/nonexistent/y”: No such file or directory"},
    {"secret,id=x,file=/tmp", "Unable to read /tmp: Error reading file “/tmp”: Is a directory"},
    {"secret,id=x,data=a,keyid=zz", "No secret with id 'zz'"},
    {"secret,id=x,data=a,keyid=short,iv=" IV, "Key should be 32 bytes in length"},
    {"secret,id=x,data=a,keyid=key", "IV is required to decrypt secret"},
    {"secret,id=x,data=a,keyid=key,iv=AAAA", "IV should be 16 bytes in length not 3"},
    {"secret,id=x,data=a,keyid=key,iv=!!", "Base64 data contains invalid characters"},
    {"secret,id=x,data=a,keyid=key,iv=" IV, "Length 1 must be a multiple of block size 16"},
    {"secret,id=x,data=,keyid=key,iv=" IV, "Length 0 must be a multiple of block size 16"},
    {"secret,id=x,data=" ENC_BADPAD ",format=base64,keyid=key,iv=" IV, "Incorrect padding found on decrypted data"},
    {"secret,id=x,data=YWJjYWJjYWJjYWJjYWJjYQ==,format=base64,keyid=key,iv=AAAAAAAAAAAAAAAAAAAAAA==",
     "Incorrect number of padding bytes (235) found on decrypted data"},
    {"secret,id=key,data=x", "attempt to add duplicate property 'key' to object (type 'container')"},
    {"foo,id=x", "Parameter 'qom-type' does not accept value 'foo'"},
    {"{\"id\":\"x\",\"data\":\"y\"}", "Parameter 'qom-type' is missing"},
    {"{\"qom-type\":\"secret\",\"id\":\"x\",\"data\":5}", "Invalid parameter type for 'data', expected: string"},
    {"secret,id=1x,data=y",
     "Parameter 'id' expects an identifier\nIdentifiers consist of letters, digits, '-', '.', '_', "
     "starting with a letter."},
};

START_TEST(a_bad_object_is_refused_by_name_and_adds_nothing)
{
    GError *err = NULL;

    add_ok("secret,id=key,data=" KEY);
    add_ok("secret,id=short,data=short");
    ck_assert(!secret_add_object(bad[_i].text, &err));
    assert_error(err, bad[_i].message);
    ck_assert_ptr_null(secret_lookup("x", NULL));
    assert_secret("key", KEY, 32);
}
END_TEST

START_TEST(an_unknown_secret_is_named)
{
    GError *err = NULL;

    ck_assert_ptr_null(secret_lookup("zz", &err));
    assert_error(err, "No secret with id 'zz'");
}
END_TEST

START_TEST(a_password_must_be_utf8_without_nul)
{
    GError *err = NULL;
    g_autoptr(SecBuf) ok = NULL;

    add_ok("secret,id=bin,data=/////w==,format=base64");
    add_ok("secret,id=nul,data=YQBi,format=base64");
    add_ok("secret,id=ok,data=p\xc3\xa4ss");
    ck_assert_ptr_null(secret_lookup_utf8("bin", &err));
    assert_error(err, "Data from secret bin is not valid UTF-8");
    ck_assert_ptr_null(secret_lookup_utf8("nul", &err));
    assert_error(err, "Data from secret nul is not valid UTF-8");
    ok = secret_lookup_utf8("ok", NULL);
    ck_assert_ptr_nonnull(ok);
}
END_TEST

START_TEST(forgotten_secrets_are_gone)
{
    add_ok("secret,id=a,data=x");
    secret_forget_all();
    ck_assert_ptr_null(secret_lookup("a", NULL));
    add_ok("secret,id=a,data=y");
    assert_secret("a", "y", 1);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("secret");
    TCase *t = tcase_create("secret");

    tcase_add_checked_fixture(t, NULL, secret_forget_all);
    tcase_add_test(t, data_is_taken_as_it_is);
    tcase_add_test(t, json_form_is_accepted);
    tcase_add_test(t, a_file_is_taken_whole_with_its_last_newline);
    tcase_add_test(t, a_large_file_is_read_in_full_and_a_huge_one_refused);
    tcase_add_test(t, base64_is_decoded);
    tcase_add_test(t, base64_decodes_all_byte_values);
    tcase_add_test(t, base64_refuses_malformed_text);
    tcase_add_test(t, a_secret_encrypted_by_another_is_decrypted);
    tcase_add_test(t, an_encrypted_secret_may_come_raw_from_a_file);
    tcase_add_loop_test(t, a_bad_object_is_refused_by_name_and_adds_nothing, 0, G_N_ELEMENTS(bad));
    tcase_add_test(t, an_unknown_secret_is_named);
    tcase_add_test(t, a_password_must_be_utf8_without_nul);
    tcase_add_test(t, forgotten_secrets_are_gone);
    suite_add_tcase(s, t);
    return run_suite(s);
}
