/* SPDX-License-Identifier: MIT */
#include "block/qcow2/control/qcow2-control.h"
#include "block/qcow2/control/qcow2-crypto.h"

static const char *compression_name(const Qcow2State *s)
{
    return s->header.compression_type == QCOW2_COMPRESSION_ZSTD ? "zstd" : "zlib";
}

/* VM state is mapped behind the disk, from the first L1 slot that the disk does not touch (section 13). */
static int64_t vm_state_offset(const Qcow2State *s)
{
    return qcow2_l1_entries_for(&s->geo, s->header.size) << (s->geo.cluster_bits + s->geo.l2_bits);
}

int coroutine_fn qcow2_get_info(BlockNode *node, BlockInfo *info)
{
    Qcow2State *s = qcow2_state(node);

    CO_MUTEX_GUARD(&s->meta_lock);
    info->cluster_bytes = s->geo.cluster_bytes;
    info->vm_state_offset = vm_state_offset(s);
    info->is_dirty = s->header.incompatible & QCOW2_INCOMPAT_DIRTY;
    info->needs_compressed_whole_clusters = true;
    return 0;
}

static InfoTree *encrypt_info(const Qcow2State *s)
{
    InfoTree *t = crypto_block_info(s->crypt.crypto);

    if (!info_get(t, "format")) {
        info_set_str(t, "format", qcow2_crypto_method_name(s->header.crypt_method));
    }
    return t;
}

static void add_v3_info(const Qcow2State *s, InfoTree *t)
{
    const Qcow2Header *h = &s->header;

    info_set_bool(t, "lazy-refcounts", h->compatible & QCOW2_COMPAT_LAZY_REFCOUNTS);
    info_set_bool(t, "corrupt", h->incompatible & QCOW2_INCOMPAT_CORRUPT);
    info_set_bool(t, "extended-l2", h->incompatible & QCOW2_INCOMPAT_EXTL2);
    if (h->incompatible & QCOW2_INCOMPAT_DATA_FILE) {
        info_set_str(t, "data-file", h->data_file_name);
        info_set_bool(t, "data-file-raw", h->autoclear & QCOW2_AUTOCLEAR_RAW_DATA);
    }
}

InfoTree *coroutine_fn qcow2_specific_info(BlockNode *node, GError **errp)
{
    Qcow2State *s = qcow2_state(node);
    g_autoptr(InfoTree) t = info_object_new();

    CO_MUTEX_GUARD(&s->meta_lock);
    info_set_str(t, "compat", s->geo.version < 3 ? "0.10" : "1.1");
    info_set_str(t, "compression-type", compression_name(s));
    info_set_uint(t, "refcount-bits", s->geo.refcount_bits);
    if (s->geo.version >= 3) {
        add_v3_info(s, t);
    }
    if (s->crypt.crypto) {
        info_set(t, "encrypt", encrypt_info(s));
    }
    return g_steal_pointer(&t);
}
