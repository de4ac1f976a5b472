/* SPDX-License-Identifier: MIT */
/* The qcow2 driver: its table, and the entries too thin for a file of their own. */
#include "block/qcow2/control/qcow2-control.h"
#include "block/qcow2/control/qcow2-crypto.h"
#include "block/qcow2/data/qcow2-io.h"
#include "block/qcow2/control/qcow2-options.h"
#include "block/qcow2/control/qcow2-spec.h"
#include "util/base/endian.h"

/* Any later version is claimed too, to be refused by name at open. */
static int qcow2_probe(const uint8_t *buf, size_t len, const char *filename)
{
    return len >= QCOW2_HEADER_BYTES && load_be32(buf) == QCOW2_MAGIC && load_be32(buf + 4) >= 2 ? 100 : 0;
}

static int64_t coroutine_fn qcow2_getlength(BlockNode *node)
{
    return qcow2_state(node)->header.size;
}

static const char *const qcow2_strong_open_opts[] = {"encrypt.key-secret", NULL};

const BlockDriver block_driver_qcow2 = {
    .format_name = "qcow2",
    .state_bytes = sizeof(Qcow2State),
    .supports_backing = true,
    .strong_open_opts = qcow2_strong_open_opts,
    .open_opts = qcow2_open_opts,
    .create_opts = qcow2_create_opts,
    .amend_opts = qcow2_amend_opts,
    .probe = qcow2_probe,
    .co_open = qcow2_open,
    .co_close = qcow2_close,
    .co_create = qcow2_create,
    .co_read = qcow2_co_read,
    .co_write = qcow2_co_write,
    .supports_compressed = true,
    .supported_write_flags = BLOCK_REQ_OWN_BUFFER,
    .co_write_zeroes = qcow2_co_write_zeroes,
    .co_discard = qcow2_co_discard,
    .co_flush = qcow2_co_flush,
    .co_status = qcow2_co_status,
    .co_reads_zero = qcow2_co_reads_zero,
    .co_getlength = qcow2_getlength,
    .co_truncate = qcow2_truncate,
    .co_get_info = qcow2_get_info,
    .co_specific_info = qcow2_specific_info,
    .co_amend = qcow2_amend,
    .co_check = qcow2_check,
    .co_measure = qcow2_measure,
};
