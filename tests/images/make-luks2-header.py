#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""LUKS2 volumes with one malformed thing each; none may open.

    make-luks2-header.py                      the names of the cases
    make-luks2-header.py CASE FILE            write that one
    make-luks2-header.py --all FOLDER         write all, as FOLDER/CASE.luks
    make-luks2-header.py --corpus FOLDER      write all as inputs of the fuzz target: 512 bytes of header, then the metadata

The header is whole but for the one thing: AES-256-XTS, two key slots of PBKDF2, checksums right in both copies unless they
are the thing. Nothing in it is secret and no password opens it. 'good' has no edit; the names that begin with 'needs-' are
well-formed, but need what is not there: their facts can be told.
"""
import base64
import hashlib
import json
import pathlib
import random
import struct
import sys

COPY, DATA = 16384, 16 << 20
MAGICS = b'LUKS\xba\xbe', b'SKUL\xba\xbe'
AREA = 258048


class Volume:
    """What is edited; the image is built from it afterwards."""

    def __init__(self):
        rng = random.Random(2)

        def blob(n):
            return base64.b64encode(rng.randbytes(n)).decode()

        def slot(n):
            return {'type': 'luks2', 'key_size': 64, 'af': {'type': 'luks1', 'stripes': 4000, 'hash': 'sha256'},
                    'area': {'type': 'raw', 'offset': str(2 * COPY + n * AREA), 'size': str(AREA),
                             'encryption': 'aes-xts-plain64', 'key_size': 64},
                    'kdf': {'type': 'pbkdf2', 'hash': 'sha256', 'iterations': 1000, 'salt': blob(32)}}
        self.meta = {
            'keyslots': {'0': slot(0), '1': slot(1)},
            'tokens': {},
            'segments': {'0': {'type': 'crypt', 'offset': str(DATA), 'size': 'dynamic', 'iv_tweak': '0',
                               'encryption': 'aes-xts-plain64', 'sector_size': 512}},
            'digests': {'0': {'type': 'pbkdf2', 'keyslots': ['0', '1'], 'segments': ['0'], 'hash': 'sha256',
                              'iterations': 1000, 'salt': blob(32), 'digest': blob(32)}},
            'config': {'json_size': str(COPY - 4096), 'keyslots_size': str(DATA - 2 * COPY)}}
        self.salts = rng.randbytes(64), rng.randbytes(64)
        self.header = {}         # offset: bytes, in both copies
        self.text = None         # in place of the JSON of meta
        self.break_checksums = False
        self.length = DATA + 16384

    def json_text(self):
        return self.text if self.text is not None else json.dumps(self.meta, separators=(',', ':')).encode()

    def binary(self, copy):
        head = bytearray(4096)
        struct.pack_into('>6sHQQ48s32s64s40s48sQ', head, 0, MAGICS[copy], 2, COPY, 1, b'', b'sha256', self.salts[copy],
                         b'6ba7b810-9dad-41d1-80b4-00c04fd430c8', b'', copy * COPY)
        for at, value in self.header.items():
            head[at:at + len(value)] = value
        return head

    def copy(self, copy):
        area = (self.binary(copy) + self.json_text()).ljust(COPY, b'\0')[:COPY]
        digest = hashlib.sha256(area).digest()
        area[448:480] = bytes(32) if self.break_checksums else digest
        return bytes(area)


def field(path, value):
    """Set meta's a.b.c; None removes it."""
    def edit(v):
        at = v.meta
        *parents, last = path.split('.')
        for name in parents:
            at = at[name]
        if value is None:
            del at[last]
        else:
            at[last] = value
    return edit


def put(at, value):
    return lambda v: v.header.update({at: value})


def text(value):
    return lambda v: setattr(v, 'text', value)


def attribute(name, value):
    return lambda v: setattr(v, name, value)


def argon2(time, memory, cpus):
    return field('keyslots.0.kdf', {'type': 'argon2id', 'time': time, 'memory': memory, 'cpus': cpus,
                                    'salt': base64.b64encode(bytes(32)).decode()})


S, K, D = 'segments.0.', 'keyslots.0.', 'digests.0.'
CASES = {
    'good': lambda v: None,
    'version-3': put(6, b'\0\3'),
    'size-0': put(8, bytes(8)),
    'size-12k': put(8, struct.pack('>Q', 12288)),
    'size-8m': put(8, struct.pack('>Q', 8 << 20)),
    'size-max': put(8, b'\xff' * 8),
    'size-32k': put(8, struct.pack('>Q', 32768)),
    'checksum-name': put(72, b'rot13\x1b\0'),
    'own-offset': put(256, b'\xff' * 8),
    'checksums': attribute('break_checksums', True),
    'file-4095': attribute('length', 4095),
    'file-in-copy': attribute('length', 10000),
    'file-in-slots': attribute('length', 100000),
    'json-empty': text(b''),
    'json-list': text(b'[]'),
    'json-cut': text(b'{"keyslots":{'),
    'json-comment': text(b'{/* " */"keyslots":{}}'),
    'json-deep': text(b'{"a":' + b'[' * 10000),
    'json-long': text(b'{"a":"' + b'x' * COPY),
    'json-utf8': text(b'{"a":"\xff"}'),
    'json-number': text(b'1e999999'),
    'json-behind': text(b'{}\0x'),
    'no-keyslots': field('keyslots', None),
    'no-tokens': field('tokens', None),
    'no-segments': field('segments', None),
    'no-digests': field('digests', None),
    'no-config': field('config', None),
    'slot-id-32': field('keyslots.32', {'type': 'x'}),
    'slot-id-01': field('keyslots.01', {'type': 'x'}),
    'slot-id-escape': field('keyslots.\x1b[2J', {'type': 'x'}),
    'slot-number': field('keyslots.2', 7),
    'slot-key-0': field(K + 'key_size', 0),
    'slot-key-huge': field(K + 'key_size', 2**32),
    'slot-key-text': field(K + 'key_size', '64'),
    'slot-stripes': field(K + 'af.stripes', 3999),
    'area-low': field(K + 'area.offset', '4096'),
    'area-high': field(K + 'area.offset', str(DATA - 4096)),
    'area-overflow': field(K + 'area.offset', str(2**64 - 4096)),
    'area-size-overflow': field(K + 'area.size', str(2**64 - 32768)),
    'area-2-64': field(K + 'area.size', str(2**64)),
    'area-short': field(K + 'area.size', '4096'),
    'area-empty': field(K + 'area.size', '0'),
    'area-overlap': field(K + 'area.offset', str(2 * COPY + 4096)),
    'area-number': field(K + 'area.offset', 32768),
    'kdf-iterations-0': field(K + 'kdf.iterations', 0),
    'kdf-salt': field(K + 'kdf.salt', 'A*A='),
    'kdf-salt-long': field(K + 'kdf.salt', 'A' * 4000),
    'argon2-memory-1t': argon2(4, 1 << 30, 4),
    'argon2-memory-0': argon2(4, 0, 1),
    'argon2-time-0': argon2(0, 65536, 1),
    'argon2-time-max': argon2(2**32 - 1, 65536, 1),
    'argon2-cpus-0': argon2(4, 65536, 0),
    'argon2-cpus-max': argon2(4, 65536, 2**24),
    'segments-empty': lambda v: (field('segments', {})(v), field(D + 'segments', [])(v)),
    'segments-gap': field('segments.2', {'type': 'linear', 'offset': '0', 'size': '512'}),
    'segment-in-header': field(S + 'offset', '4096'),
    'segment-offset-1': field(S + 'offset', str(DATA + 1)),
    'segment-offset-max': field(S + 'offset', str(2**64 - 512)),
    'segment-size-0': field(S + 'size', '0'),
    'segment-size-odd': field(S + 'size', '1000'),
    'segment-sector-0': field(S + 'sector_size', 0),
    'segment-sector-8k': field(S + 'sector_size', 8192),
    'segment-sector-max': field(S + 'sector_size', 2**31),
    'digest-two': lambda v: v.meta['digests'].update({'1': dict(v.meta['digests']['0'])}),
    'digest-none': field(D + 'segments', []),
    'digest-slot-9': field(D + 'keyslots', ['9']),
    'digest-segment-1': field(D + 'segments', ['0', '1']),
    'digest-short': field(D + 'digest', 'AAAA'),
    'digest-iterations-0': field(D + 'iterations', 0),
    'digests-9': lambda v: v.meta['digests'].update(
        {str(i): {**v.meta['digests']['0'], 'segments': []} for i in range(1, 9)}),
    'token-slot-9': field('tokens.0', {'type': 'x', 'keyslots': ['9']}),
    'token-no-type': field('tokens.0', {'keyslots': []}),
    'json-size': field('config.json_size', '12287'),
    'keyslots-size-odd': field('config.keyslots_size', '4097'),
    'keyslots-size-max': field('config.keyslots_size', str(2**64 - 4096)),
    'needs-requirement': field('config.requirements', {'mandatory': ['x-magic\x1b']}),
    'needs-reencryption': field('config.requirements', {'mandatory': ['online-reencrypt-v2']}),
    'needs-integrity': field(S + 'integrity', {'type': 'hmac(sha256)', 'journal_encryption': 'none'}),
    'needs-cipher': field(S + 'encryption', 'rot13-xts-plain64'),
    'needs-opal': field(S + 'type', 'hw-opal'),
    'needs-digest': field(D + 'type', 'checksum'),
    'needs-slot-type': lambda v: [field(f'keyslots.{i}.type', 'x')(v) for i in '01'],
    'needs-kdf': lambda v: [field(f'keyslots.{i}.kdf.type', 'scrypt')(v) for i in '01'],
    'needs-hash': lambda v: [field(f'keyslots.{i}.af.hash', 'whirlpool')(v) for i in '01'],
}


def volume(case):
    v = Volume()
    CASES[case](v)
    return v


def write_image(case, path):
    v = volume(case)
    with open(path, 'wb') as f:
        f.write((v.copy(0) + v.copy(1))[:v.length])
        f.truncate(v.length)


def main(args):
    if not args:
        print('\n'.join(CASES))
    elif len(args) == 2 and args[0] in ('--all', '--corpus'):
        for case in CASES:
            to = pathlib.Path(args[1])
            if args[0] == '--all':
                write_image(case, to / f'{case}.luks')
            else:
                v = volume(case)
                (to / case).write_bytes(bytes(v.binary(0)[:512]) + v.json_text())
    elif len(args) == 2 and args[0] in CASES:
        write_image(*args)
    else:
        sys.exit(__doc__)


if __name__ == '__main__':
    main(sys.argv[1:])
