/* SPDX-License-Identifier: MIT */
#include "crypto/secret/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "crypto/base/base64.h"
#include "crypto/cipher/cipher.h"
#include "util/base/error.h"

enum { SECRET_KEY_BYTES = 32, SECRET_IV_BYTES = 16, SECRET_BLOCK_BYTES = 16 };

static GMutex registry_lock;
static GHashTable *registry; /* id -> SecBuf; under registry_lock */

static void free_secret(gpointer p)
{
    secbuf_free(p);
}

static bool fail_read(GError **errp, const char *what, const char *path, int err)
{
    error_set(errp, "Unable to read %s: %s “%s”: %s", path, what, path, g_strerror(err));
    return false;
}

/* The whole file, of unknown length (it may be a pipe). */
static SecBuf *read_fd(int fd, const char *path, GError **errp)
{
    g_autoptr(SecBuf) buf = secbuf_new(4096);
    size_t n = 0;

    for (;;) {
        ssize_t got = read(fd, secbuf_data(buf) + n, secbuf_size(buf) - n);

        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            fail_read(errp, "Error reading file", path, errno);
            return NULL;
        }
        if (got == 0) {
            break;
        }
        n += got;
        if (n == secbuf_size(buf)) {
            if (n >= SECRET_MAX_BYTES) {
                error_set(errp, "Unable to read %s: secret is larger than %u bytes", path, SECRET_MAX_BYTES);
                return NULL;
            }
            SecBuf *larger = secbuf_new(2 * n);
            memcpy(secbuf_data(larger), secbuf_data(buf), n);
            secbuf_free(buf);
            buf = larger;
        }
    }
    secbuf_truncate(buf, n);
    return g_steal_pointer(&buf);
}

static SecBuf *read_file(const char *path, GError **errp)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    SecBuf *buf;

    if (fd < 0) {
        fail_read(errp, "Failed to open file", path, errno);
        return NULL;
    }
    buf = read_fd(fd, path, errp);
    close(fd);
    return buf;
}

/* Cut the PKCS#7 padding off decrypted @data. */
static bool unpad(SecBuf *data, GError **errp)
{
    size_t len = secbuf_size(data);
    uint8_t pad = secbuf_data(data)[len - 1];

    if (pad == 0 || pad > SECRET_BLOCK_BYTES) {
        error_set(errp, "Incorrect number of padding bytes (%u) found on decrypted data", pad);
        return false;
    }
    for (size_t i = len - pad; i < len; i++) {
        if (secbuf_data(data)[i] != pad) {
            error_set(errp, "Incorrect padding found on decrypted data");
            return false;
        }
    }
    secbuf_truncate(data, len - pad);
    return true;
}

/* Decrypt @data in place: AES-256-CBC under the secret @key_id. */
static bool decrypt_data(SecBuf *data, const char *key_id, const char *iv_text, GError **errp)
{
    g_autoptr(SecBuf) key = secret_lookup(key_id, errp);
    g_autoptr(SecBuf) iv = NULL;
    g_autoptr(Cipher) cipher = NULL;

    if (!key) {
        return false;
    }
    if (secbuf_size(key) != SECRET_KEY_BYTES) {
        error_set(errp, "Key should be %d bytes in length", SECRET_KEY_BYTES);
        return false;
    }
    if (!iv_text) {
        error_set(errp, "IV is required to decrypt secret");
        return false;
    }
    iv = base64_decode_secret(iv_text, strlen(iv_text), errp);
    if (!iv) {
        return false;
    }
    if (secbuf_size(iv) != SECRET_IV_BYTES) {
        error_set(errp, "IV should be %d bytes in length not %zu", SECRET_IV_BYTES, secbuf_size(iv));
        return false;
    }
    if (secbuf_size(data) == 0 || secbuf_size(data) % SECRET_BLOCK_BYTES) {
        error_set(errp, "Length %zu must be a multiple of block size %d", secbuf_size(data), SECRET_BLOCK_BYTES);
        return false;
    }
    cipher = cipher_new(CIPHER_AES_256, CIPHER_CBC, secbuf_data(key), SECRET_KEY_BYTES, errp);
    if (!cipher) {
        return false;
    }
    if (cipher_decrypt_sectors(cipher, secbuf_data(iv), secbuf_size(data), 1, secbuf_data(data), secbuf_data(data))) {
        error_set(errp, "Unable to decrypt secret");
        return false;
    }
    return unpad(data, errp);
}

static bool check_id(const char *id, GError **errp)
{
    if (!id) {
        error_set(errp, "Parameter 'id' is missing");
        return false;
    }
    if (!g_ascii_isalpha(id[0]) || id[strspn(id, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "-._")]) {
        error_set(errp, "Parameter 'id' expects an identifier\n"
                        "Identifiers consist of letters, digits, '-', '.', '_', starting with a letter.");
        return false;
    }
    return true;
}

static bool check_keys(const OptDict *o, GError **errp)
{
    static const char *const known[] = {"id", "data", "file", "format", "keyid", "iv"};

    for (size_t i = 0; i < optdict_size(o); i++) {
        const char *key = optdict_key_at(o, i);
        bool found = false;

        for (size_t k = 0; k < G_N_ELEMENTS(known) && !found; k++) {
            found = !strcmp(key, known[k]);
        }
        if (!found) {
            error_set(errp, "Parameter '%s' is unexpected", key);
            return false;
        }
        if (optdict_get_kind(o, key) != OPT_STRING) {
            error_set(errp, "Invalid parameter type for '%s', expected: string", key);
            return false;
        }
    }
    return true;
}

/* The bytes the options describe, decoded and decrypted. */
static SecBuf *load_secret(const OptDict *o, GError **errp)
{
    const char *data = optdict_get(o, "data"), *file = optdict_get(o, "file");
    const char *format = optdict_get(o, "format"), *key_id = optdict_get(o, "keyid");
    bool base64 = format && !strcmp(format, "base64");
    g_autoptr(SecBuf) buf = NULL;

    if (format && !base64 && strcmp(format, "raw")) {
        error_set(errp, "Parameter 'format' does not accept value '%s'", format);
        return NULL;
    }
    if (data && file) {
        error_set(errp, "'file' and 'data' are mutually exclusive");
        return NULL;
    }
    if (!data && !file) {
        error_set(errp, "Either 'file' or 'data' must be provided");
        return NULL;
    }
    buf = file ? read_file(file, errp) : secbuf_new_copy(data, strlen(data));
    if (buf && base64) {
        SecBuf *decoded = base64_decode_secret((const char *)secbuf_data(buf), secbuf_size(buf), errp);
        secbuf_free(buf);
        buf = decoded;
    }
    if (!buf || (key_id && !decrypt_data(buf, key_id, optdict_get(o, "iv"), errp))) {
        return NULL;
    }
    return g_steal_pointer(&buf);
}

bool secret_add(const OptDict *options, GError **errp)
{
    MEM_WIPE_STACK_GUARD();
    const char *id = optdict_get(options, "id");
    g_autoptr(SecBuf) buf = NULL;
    g_autoptr(GMutexLocker) guard = NULL;

    if (!check_id(id, errp) || !check_keys(options, errp)) {
        return false;
    }
    buf = load_secret(options, errp);
    if (!buf) {
        return false;
    }
    guard = g_mutex_locker_new(&registry_lock);
    if (!registry) {
        registry = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_secret);
    }
    if (g_hash_table_contains(registry, id)) {
        error_set(errp, "attempt to add duplicate property '%s' to object (type 'container')", id);
        return false;
    }
    g_hash_table_insert(registry, g_strdup(id), g_steal_pointer(&buf));
    return true;
}

SecBuf *secret_lookup(const char *id, GError **errp)
{
    MEM_WIPE_STACK_GUARD();
    g_autoptr(GMutexLocker) guard G_GNUC_UNUSED = g_mutex_locker_new(&registry_lock);
    const SecBuf *found = registry ? g_hash_table_lookup(registry, id) : NULL;

    if (!found) {
        error_set(errp, "No secret with id '%s'", id);
        return NULL;
    }
    return secbuf_new_copy(secbuf_data(found), secbuf_size(found));
}

SecBuf *secret_lookup_utf8(const char *id, GError **errp)
{
    g_autoptr(SecBuf) buf = secret_lookup(id, errp);

    /* With a length, g_utf8_validate() takes NUL for invalid. */
    if (buf && !g_utf8_validate((const char *)secbuf_data(buf), secbuf_size(buf), NULL)) {
        error_set(errp, "Data from secret %s is not valid UTF-8", id);
        return NULL;
    }
    return g_steal_pointer(&buf);
}

/* The parsed text dies with the dictionary: its copy of the secret goes first. */
static void wipe_data(OptDict *o)
{
    char *data = optdict_take(o, "data");

    if (data) {
        mem_wipe(data, strlen(data));
        g_free(data);
    }
}

bool secret_add_object(const char *text, GError **errp)
{
    bool ok;
    g_autoptr(OptDict) o =
        text[0] == '{' ? optdict_parse_json(text, errp) : optdict_parse_keyval_strict(text, "qom-type", errp);
    g_autofree char *type = NULL;

    if (!o) {
        return false;
    }
    type = optdict_take(o, "qom-type");
    if (!type) {
        error_set(errp, "Parameter 'qom-type' is missing");
        return false;
    }
    if (strcmp(type, "secret")) {
        error_set(errp, "Parameter 'qom-type' does not accept value '%s'", type);
        return false;
    }
    ok = secret_add(o, errp);
    wipe_data(o);
    return ok;
}

void secret_forget_all(void)
{
    g_autoptr(GMutexLocker) guard G_GNUC_UNUSED = g_mutex_locker_new(&registry_lock);

    g_clear_pointer(&registry, g_hash_table_unref);
}
