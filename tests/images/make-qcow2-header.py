#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Images with one hostile header field each; none may open."""

from qcow2image import CLUSTER, main


def field(at, fmt, value):
    return lambda image: image.put(at, fmt, value)


CASES = {
    'version-4': field(4, 'I', 4),
    'cluster-bits-8': field(20, 'I', 8),
    'cluster-bits-22': field(20, 'I', 22),
    'cluster-bits-63': field(20, 'I', 63),
    'size-2-63': field(24, 'Q', 1 << 63),
    'l1-size-0': field(36, 'I', 0),
    'l1-size-2-31-1': field(36, 'I', (1 << 31) - 1),
    'l1-size-2-32-1': field(36, 'I', (1 << 32) - 1),
    'l1-offset-unaligned': field(40, 'Q', 0x30200),
    'l1-offset-huge': field(40, 'Q', 1 << 63),
    'l1-offset-2-56': field(40, 'Q', 1 << 56),
    'reftable-offset-unaligned': field(48, 'Q', 0x10200),
    'reftable-clusters-0': field(56, 'I', 0),
    'reftable-clusters-2-31-1': field(56, 'I', (1 << 31) - 1),
    'snapshots-2-32-1': field(60, 'I', (1 << 32) - 1),
    'backing-length-1024': lambda image: (image.put(8, 'Q', 0x400), image.put(16, 'I', 1024)),
    'crypt-3': field(32, 'I', 3),
    'crypt-2-without-pointer': field(32, 'I', 2),
    'incompatible-63': field(72, 'Q', 1 << 63),
    'refcount-order-7': field(96, 'I', 7),
    'header-length-0': field(100, 'I', 0),
    'header-length-128k': field(100, 'I', 2 * CLUSTER),
    'compression-7': field(104, 'B', 7),
    'extension-past-cluster': lambda image: image.put(112, 'II', 0x12345678, CLUSTER),
}

if __name__ == '__main__':
    main(CASES, filled=False)
