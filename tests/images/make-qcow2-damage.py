#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Images that open, with one inconsistency each for check to find and repair."""

from qcow2image import (CLUSTER, COMPRESSED, COPIED, DATA, L1, L2, REFBLOCK, REFTABLE, USED_CLUSTERS, ZERO, main)


def put(at, fmt, value):
    return lambda image: image.put(at, fmt, value)


def several(*steps):
    return lambda image: [step(image) for step in steps]


def refcount(cluster, value):
    return lambda image: image.refcount(cluster, value)


def l2(index, entry):
    return lambda image: image.l2(index, entry)


def append(clusters):
    return lambda image: image.data.extend(bytes(clusters * CLUSTER))


CASES = {
    'clean': several(),
    'leak-inside': several(l2(3, 0)),
    'leak-behind-data': several(append(1), refcount(USED_CLUSTERS, 1)),
    'leak-past-end': refcount(100, 1),
    'refcount-high': refcount(7, 2),
    'refcount-zero': refcount(7, 0),
    'refcount-low-shared': several(l2(1, DATA | COPIED)),
    'copied-missing-data': l2(2, DATA + 2 * CLUSTER),
    'copied-missing-l1': put(L1, 'Q', L2),
    'copied-on-shared': several(l2(1, DATA | COPIED), refcount(5, 2), refcount(6, 0)),
    'l1-reserved': put(L1, 'Q', L2 | COPIED | (1 << 60)),
    'l1-unaligned': put(L1, 'Q', (L2 + 512) | COPIED),
    'l1-past-end': put(L1, 'Q', (1 << 40) | COPIED),
    'l1-huge': put(L1, 'Q', (((1 << 56) - 1) & ~0xffff) | COPIED),
    'l2-reserved': l2(2, (DATA + 2 * CLUSTER) | COPIED | (1 << 60)),
    'l2-unaligned': l2(2, (DATA + 2 * CLUSTER + 512) | COPIED),
    'l2-zero-unaligned': l2(2, (DATA + 2 * CLUSTER + 512) | COPIED | ZERO),
    'l2-past-end': l2(2, (1 << 40) | COPIED),
    'l2-just-past-end': l2(2, (USED_CLUSTERS * CLUSTER) | COPIED),
    'l2-huge': l2(2, (((1 << 56) - 1) & ~0xffff) | COPIED),
    'l2-plain-zero': several(l2(2, ZERO), refcount(7, 0)),
    'l2-zero-alloc': l2(2, (DATA + 2 * CLUSTER) | COPIED | ZERO),
    'l2-on-header': l2(2, COPIED | 0),
    'l2-on-l1': l2(2, L1 | COPIED),
    'compressed': several(l2(2, COMPRESSED | (DATA + 2 * CLUSTER))),
    'compressed-copied': several(l2(2, COMPRESSED | COPIED | (DATA + 2 * CLUSTER))),
    'compressed-two': several(l2(2, COMPRESSED | (DATA + 2 * CLUSTER)), l2(3, COMPRESSED | (DATA + 2 * CLUSTER + 4096)),
                              refcount(7, 2), refcount(8, 0)),
    'compressed-across': several(l2(2, COMPRESSED | (DATA + 2 * CLUSTER + 65000) | (8 << 54)), refcount(8, 2)),
    'compressed-past-end': several(l2(2, COMPRESSED | (1 << 40))),
    'reftable-zero': put(REFTABLE, 'Q', 0),
    'reftable-unaligned': put(REFTABLE, 'Q', REFBLOCK + 512),
    'reftable-reserved': put(REFTABLE, 'Q', REFBLOCK | 1),
    'reftable-past-end': put(REFTABLE, 'Q', 1 << 40),
    'reftable-second-past-end': put(REFTABLE + 8, 'Q', 1 << 40),
    'reftable-second-just-past-end': put(REFTABLE + 8, 'Q', USED_CLUSTERS * CLUSTER),
    'reftable-second-same': put(REFTABLE + 8, 'Q', REFBLOCK),
    'reftable-second-unaligned': put(REFTABLE + 8, 'Q', REFBLOCK + 512),
    'refblock-refcount-0': refcount(2, 0),
    'refblock-refcount-2': refcount(2, 2),
    'reftable-refcount-0': refcount(1, 0),
    'header-refcount-0': refcount(0, 0),
    'l1-refcount-0': refcount(3, 0),
    'l2-refcount-0': refcount(4, 0),
    'reftable-offset-past-end': put(48, 'Q', 1 << 40),
    'reftable-offset-on-data': put(48, 'Q', DATA),
    'reftable-clusters-2': put(56, 'I', 2),
    'all-refcounts-zero': lambda image: [image.refcount(i, 0) for i in range(USED_CLUSTERS)],
    'dirty': put(72, 'Q', 1),
    'dirty-and-stale': several(put(72, 'Q', 1), refcount(7, 0), refcount(9, 3)),
    'corrupt': put(72, 'Q', 2),
    'corrupt-and-low': several(put(72, 'Q', 2), refcount(7, 0)),
    'short-file': lambda image: image.data.__delitem__(slice(USED_CLUSTERS * CLUSTER - 4096, None)),
    'long-file': append(3),
    'odd-file': lambda image: image.data.extend(b'x' * 100),
}

if __name__ == '__main__':
    main(CASES)
