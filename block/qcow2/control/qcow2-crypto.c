/* SPDX-License-Identifier: MIT */
#include "block/qcow2/control/qcow2-crypto.h"

#include <errno.h>
#include <inttypes.h>

#include "block/qcow2/alloc/qcow2-clusters.h"
#include "block/qcow2/map/qcow2-flush.h"
#include "crypto/formats/block-open.h"
#include "util/base/error.h"

static const struct {
    uint32_t method;
    CryptoFormat format;
    const char *name;
} methods[] = {{QCOW2_CRYPT_AES, CRYPTO_FORMAT_QCOW, "aes"}, {QCOW2_CRYPT_LUKS, CRYPTO_FORMAT_LUKS, "luks"}};

bool qcow2_crypto_format_from_name(const char *name, CryptoFormat *format)
{
    for (size_t i = 0; i < G_N_ELEMENTS(methods); i++) {
        if (g_str_equal(methods[i].name, name)) {
            *format = methods[i].format;
            return true;
        }
    }
    return false;
}

const char *qcow2_crypto_method_name(uint32_t crypt_method)
{
    for (size_t i = 0; i < G_N_ELEMENTS(methods); i++) {
        if (methods[i].method == crypt_method) {
            return methods[i].name;
        }
    }
    return NULL;
}

/* --- header area I/O: offsets count from the start of the area --- */

static bool area_has(const Qcow2State *s, uint64_t offset, size_t bytes)
{
    return offset <= s->header.crypto_bytes && bytes <= s->header.crypto_bytes - offset;
}

static int coroutine_fn area_read(void *opaque, uint64_t offset, void *buf, size_t bytes)
{
    Qcow2State *s = opaque;

    if (!area_has(s, offset, bytes)) {
        return -EINVAL;
    }
    return block_co_pread(s->node->file, s->header.crypto_off + offset, buf, bytes, 0);
}

static int coroutine_fn area_write(void *opaque, uint64_t offset, const void *buf, size_t bytes)
{
    Qcow2State *s = opaque;

    if (!area_has(s, offset, bytes)) {
        return -EINVAL;
    }
    return block_co_pwrite(s->node->file, s->header.crypto_off + offset, buf, bytes, 0);
}

static int coroutine_fn area_flush(void *opaque)
{
    Qcow2State *s = opaque;

    return block_co_flush(s->node->file);
}

static bool coroutine_fn area_reserve(void *opaque, uint64_t header_bytes, GError **errp)
{
    Qcow2State *s = opaque;

    CO_MUTEX_GUARD(&s->meta_lock);
    int64_t host_off = qcow2_clusters_alloc_locked(s, header_bytes);
    if (host_off < 0) {
        error_set_errno(errp, -host_off, "Cannot allocate cluster for LUKS header size %" PRIu64, header_bytes);
        return false;
    }
    s->header.crypto_off = host_off;
    s->header.crypto_bytes = header_bytes;
    /* Key slots that are not used must not show what a reused cluster held. */
    int ret = block_co_pwrite_zeroes(s->node->file, host_off, qcow2_cluster_end(&s->geo, header_bytes), 0);
    if (ret < 0) {
        error_set_errno(errp, -ret, "Unable to zero fill encryption header");
        return false;
    }
    return true;
}

static CryptoIo area_io(Qcow2State *s)
{
    return (CryptoIo){
        .read = area_read, .write = area_write, .flush = area_flush, .reserve = area_reserve, .opaque = s};
}

/* --- open --- */

/* "encrypt.format" is not needed, but must be right when it is given. */
static bool check_format_option(const Qcow2State *s, const char *wanted, GError **errp)
{
    const char *name = qcow2_crypto_method_name(s->header.crypt_method);

    if (!wanted || (name && g_str_equal(wanted, name))) {
        return true;
    }
    if (name) {
        error_set(errp, "Header reported '%s' encryption format but options specify '%s'", name, wanted);
    } else {
        error_set(errp, "No encryption in image header, but options specified format '%s'", wanted);
    }
    return false;
}

static bool refuse_leftover(const OptDict *d, GError **errp)
{
    if (optdict_size(d) == 0) {
        return true;
    }
    error_set(errp, "Parameter '%s' is unexpected", optdict_key_at(d, 0));
    return false;
}

bool coroutine_fn qcow2_crypto_open(Qcow2State *s, OptDict *options, unsigned flags, GError **errp)
{
    g_autoptr(OptDict) enc = optdict_take_prefix(options, "encrypt.");
    g_autofree char *wanted = optdict_take(enc, "format");
    CryptoIo io = area_io(s);
    bool luks = s->header.crypt_method == QCOW2_CRYPT_LUKS;

    if (!check_format_option(s, wanted, errp)) {
        return false;
    }
    if (s->header.crypt_method == QCOW2_CRYPT_NONE) {
        return true;
    }
    s->crypt_guest_iv = !luks;
    s->crypt.crypto = crypto_block_open(luks ? CRYPTO_FORMAT_LUKS : CRYPTO_FORMAT_QCOW, enc, "encrypt.", &io,
                                        s->header.crypto_bytes, flags & BLOCK_OPEN_NO_IO ? CRYPTO_OPEN_NO_IO : 0, errp);
    return s->crypt.crypto && refuse_leftover(enc, errp);
}

void qcow2_crypto_close(Qcow2State *s)
{
    g_clear_pointer(&s->crypt.crypto, crypto_block_free);
}

/* --- create --- */

bool coroutine_fn qcow2_crypto_create(Qcow2State *s, CryptoFormat format, OptDict *options, GError **errp)
{
    CryptoIo io = area_io(s);

    g_assert(!s->crypt.crypto && s->header.crypt_method == QCOW2_CRYPT_NONE);
    s->crypt.crypto = crypto_block_create(format, options, "encrypt.", &io, errp);
    if (!s->crypt.crypto) {
        return false;
    }
    if (optdict_size(options) > 0) {
        error_set(errp, "Parameter 'encrypt.%s' is unexpected", optdict_key_at(options, 0));
        return false;
    }

    CO_MUTEX_GUARD(&s->meta_lock);
    s->header.crypt_method = format == CRYPTO_FORMAT_LUKS ? QCOW2_CRYPT_LUKS : QCOW2_CRYPT_AES;
    s->crypt_guest_iv = format == CRYPTO_FORMAT_QCOW;
    s->node->encrypted = true;
    /* I1: the area's refcounts before the pointer. */
    int ret = qcow2_flush_metadata_locked(s, false);
    ret = ret < 0 ? ret : qcow2_write_header_locked(s);
    if (ret < 0) {
        error_set_errno(errp, -ret, "Could not write the encryption header pointer");
        return false;
    }
    return true;
}

/* --- amend --- */

const OptDesc qcow2_amend_opts[] = {CRYPTO_LUKS_AMEND_OPTS("encrypt."), {NULL}};

bool coroutine_fn qcow2_amend(BlockNode *node, OptDict *options, bool force, GError **errp)
{
    Qcow2State *s = node->state;
    CryptoIo io = area_io(s);
    g_autoptr(OptDict) enc = optdict_take_prefix(options, "encrypt.");

    if (!s->crypt.crypto) {
        error_set(errp, "Can't amend encryption options - encryption not present");
        return false;
    }
    return crypto_block_amend(s->crypt.crypto, enc, &io, force, errp);
}
