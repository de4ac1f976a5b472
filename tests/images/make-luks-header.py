#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""LUKS1 volumes with one malformed header field each; none may open.

    make-luks-header.py                 the names of the cases
    make-luks-header.py CASE FILE       write that one
    make-luks-header.py --all FOLDER    write all, as FOLDER/CASE.luks

The header is whole but for the one field: AES-256-XTS, 8 slots, one active. Its password is "password" and its payload
16 KiB of noise; nothing in it is secret. 'good' is the header without an edit: it has no matching key either.
"""
import hashlib
import pathlib
import random
import struct
import sys

KEY_BYTES, STRIPES, SPACING = 64, 4000, 504
PAYLOAD = 8 + 8 * SPACING
SLOT = 208


def good():
    rng = random.Random(1)
    salt, key = rng.randbytes(32), rng.randbytes(KEY_BYTES)
    image = bytearray(rng.randbytes(PAYLOAD * 512 + 16384))
    image[:4096] = bytes(4096)
    digest = hashlib.pbkdf2_hmac('sha256', key, salt, 1000, 20)
    struct.pack_into('>6sH32s32s32sII20s32sI40s', image, 0, b'LUKS\xba\xbe', 1, b'aes', b'xts-plain64', b'sha256', PAYLOAD,
                     KEY_BYTES, digest, salt, 1000, b'6ba7b810-9dad-41d1-80b4-00c04fd430c8')
    for i in range(8):
        active = i == 0
        struct.pack_into('>II32sII', image, SLOT + 48 * i, 0x00AC71F3 if active else 0xDEAD, 1000 if active else 0,
                         rng.randbytes(32) if active else bytes(32), 8 + i * SPACING, STRIPES)
    return image


def put(at, fmt, value):
    return lambda image: struct.pack_into('>' + fmt, image, at, value)


def cut(length):
    def edit(image):
        del image[length:]
    return edit


CASES = {
    'good': lambda image: None,
    'magic': put(0, 'B', 0x4D),
    'version-0': put(6, 'H', 0),
    'version-2': put(6, 'H', 2),
    'cipher-name-no-nul': put(8, '32s', b'x' * 32),
    'cipher-mode-no-nul': put(40, '32s', b'x' * 32),
    'hash-spec-no-nul': put(72, '32s', b'x' * 32),
    'cipher-name-unknown': put(8, '32s', b'rot13'),
    'cipher-name-escape': put(8, '32s', b'a\x1b[2Jes'),
    'cipher-mode-unknown': put(40, '32s', b'gcm-plain64'),
    'cipher-mode-no-dash': put(40, '32s', b'xtsplain64'),
    'ivgen-unknown': put(40, '32s', b'xts-foo64'),
    'essiv-without-hash': put(40, '32s', b'cbc-essiv'),
    'hash-unknown': put(72, '32s', b'whirlpool'),
    'payload-1': put(104, 'I', 1),
    'payload-in-slots': put(104, 'I', 8 + SPACING),
    'payload-2-32-1': put(104, 'I', 2**32 - 1),
    'key-bytes-0': put(108, 'I', 0),
    'key-bytes-65': put(108, 'I', 65),
    'key-bytes-2-31-1': put(108, 'I', 2**31 - 1),
    'key-bytes-2-32-1': put(108, 'I', 2**32 - 1),
    'digest-iterations-0': put(164, 'I', 0),
    'slot-state': put(SLOT, 'I', 1),
    'slot-7-state': put(SLOT + 48 * 7, 'I', 0),
    'slot-iterations-0': put(SLOT + 4, 'I', 0),
    'slot-material-0': put(SLOT + 40, 'I', 0),
    'slot-material-2-32-1': put(SLOT + 48 * 7 + 40, 'I', 2**32 - 1),
    'slot-material-same': put(SLOT + 48 + 40, 'I', 8),
    'slot-material-overlap': put(SLOT + 48 * 2 + 40, 'I', 8 + 2 * SPACING - 5),
    'slot-stripes-3999': put(SLOT + 44, 'I', 3999),
    'slot-stripes-2-32-1': put(SLOT + 48 * 3 + 44, 'I', 2**32 - 1),
    'file-591': cut(591),
    'file-in-slots': cut(100000),
}


def make(case):
    image = good()
    CASES[case](image)
    return image


def main(args):
    if not args:
        print('\n'.join(CASES))
    elif len(args) == 2 and args[0] == '--all':
        for case in CASES:
            (pathlib.Path(args[1]) / f'{case}.luks').write_bytes(make(case))
    elif len(args) == 2 and args[0] in CASES:
        pathlib.Path(args[1]).write_bytes(make(args[0]))
    else:
        sys.exit(__doc__)


if __name__ == '__main__':
    main(sys.argv[1:])
