# SPDX-License-Identifier: MIT
"""A small qcow2 image built by hand, with one thing to be broken in it.

The base image: version 3, 64 KiB clusters, 4 MiB disk whose first MiB is filled. Clusters: 0 header, 1 refcount table,
2 refcount block, 3 L1, 4 L2, 5..20 data.
"""

import struct
import sys

CLUSTER = 65536
REFTABLE, REFBLOCK, L1, L2, DATA = (CLUSTER * i for i in (1, 2, 3, 4, 5))
DATA_CLUSTERS = 16
USED_CLUSTERS = 5 + DATA_CLUSTERS
COPIED = 1 << 63
COMPRESSED = 1 << 62
ZERO = 1


class Image:
    """Bytes of the image; numbers are big-endian at byte offsets."""

    def __init__(self, filled=True):
        self.data = bytearray(USED_CLUSTERS * CLUSTER if filled else L1 + 8)
        self.put(0, 'IIQIIQIIQQIIQ', 0x514649fb, 3, 0, 0, 16, 4 << 20, 0, 1, L1, REFTABLE, 1, 0, 0)
        self.put(72, 'QQQII', 0, 0, 0, 4, 112)
        self.put(REFTABLE, 'Q', REFBLOCK)
        used = USED_CLUSTERS if filled else 4
        for i in range(used):
            self.refcount(i, 1)
        if filled:
            self.put(L1, 'Q', L2 | COPIED)
            for i in range(DATA_CLUSTERS):
                self.l2(i, (DATA + i * CLUSTER) | COPIED)
                self.data[DATA + i * CLUSTER:DATA + (i + 1) * CLUSTER] = bytes([i + 1]) * CLUSTER

    def put(self, at, fmt, *values):
        packed = struct.pack('>' + fmt, *values)
        self.data[at:at + len(packed)] = packed

    def get(self, at, fmt):
        return struct.unpack_from('>' + fmt, self.data, at)[0]

    def refcount(self, cluster, value):
        self.put(REFBLOCK + 2 * cluster, 'H', value)

    def l2(self, index, entry):
        self.put(L2 + 8 * index, 'Q', entry)

    def extension(self, at, kind, payload):
        self.put(at, 'II', kind, len(payload))
        self.data[at + 8:at + 8 + len(payload)] = payload
        return at + 8 + (len(payload) + 7) // 8 * 8


def main(cases, filled=True):
    """make-x.py --list | NAME FILE: write the image of one case."""
    if len(sys.argv) == 2 and sys.argv[1] == '--list':
        print('\n'.join(cases))
        return
    if len(sys.argv) != 3 or sys.argv[1] not in cases:
        sys.exit('usage: %s --list | NAME FILE' % sys.argv[0])
    image = Image(filled)
    cases[sys.argv[1]](image)
    with open(sys.argv[2], 'wb') as out:
        out.write(image.data)
