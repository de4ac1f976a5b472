/* SPDX-License-Identifier: MIT */
/* Guest reads, for the driver and for copy-on-write. */
#ifndef QBLOCK_BLOCK_QCOW2_READ_H
#define QBLOCK_BLOCK_QCOW2_READ_H

#include "block/qcow2/state/qcow2-int.h"

/* Read guest bytes into @iov from @iov_off on: mapped data, decrypted or inflated, the backing image, or zeros.
 * @flags: of BLOCK_REQ_*, OWN_BUFFER counts. Encrypted images: multiples of 512. 0 or -errno.
 * Context: coroutine, no lock held. */
int coroutine_fn qcow2_read_guest(Qcow2State *s, uint64_t guest_off, uint64_t bytes, const IoVec *iov, size_t iov_off,
                                  unsigned flags);

/* The IV base of host data: legacy AES counts guest sectors, LUKS host sectors (qcow2 sheet section 12). */
static inline uint64_t qcow2_iv_off(const Qcow2State *s, uint64_t host_off, uint64_t guest_off)
{
    return s->crypt_guest_iv ? guest_off : host_off;
}

#endif
