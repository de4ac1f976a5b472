#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every kind of target, filled with old bytes before, against every way to convert into it.

    target-matrix.py [--ours DIR] [--dir DIR] [--storage A,B] [-v]

The target holds old bytes wherever nothing is written. After each convert it is read back and compared, byte for byte,
with the source: with zeros and holes of all lengths in it, ends that are no multiple of sectors and clusters, as raw
and as qcow2. New targets, and with -n targets that are there and hold old data; -S 0, -S 512, -W, -t none, -c,
--target-is-zero (which is the user's word: the target is zero then, but for encrypted ones, where nobody believes it).

One line for each storage and format: how many ways, or what was wrong; a storage for which no loop device is to be had
is skipped, and the reason printed. Exit status 1 on failure.
"""

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile

import targets
from targets import Mismatch

SIZE = (5 << 20) + 3 * 512  # of the sources
ROOM = 16 << 20             # of devices

WAYS = (
    ('', []), ('-S 0', ['-S', '0']), ('-S 512', ['-S', '512']), ('-W', ['-W']), ('-m 1', ['-m', '1']),
    ('-t none', ['-t', 'none']), ('-t none -W', ['-t', 'none', '-W']), ('-c', ['-c']),
)


def source_bytes():
    rng = random.Random(1)
    data = bytearray(SIZE)
    for at, length in ((0, 100), (70000, 512), (200000, 65536), (1 << 20, 4096), ((1 << 20) + 12288, 512),
                       ((2 << 20) - 512, 1024), (3 << 20, 300000), (SIZE - 512, 512)):
        data[at:at + length] = rng.randbytes(length)
    return bytes(data)


def make_sources(tools, folder, data):
    """Names and -f of sources with the same content: with zeros written out, with holes, and as qcow2."""
    full, holes, qcow2 = (os.path.join(folder, n) for n in ('full.raw', 'holes.raw', 'src.qcow2'))
    with open(full, 'wb') as f:
        f.write(data)
    with open(holes, 'wb') as f:
        f.truncate(len(data))
        for at in range(0, len(data), 4096):
            if data[at:at + 4096].strip(b'\0'):
                f.seek(at)
                f.write(data[at:at + 4096])
    tools.must('qemu-img', 'convert', '-f', 'raw', '-O', 'qcow2', full, qcow2)
    return (('raw', full), ('raw', holes), ('qcow2', qcow2))


class Matrix:
    def __init__(self, tools, folder, verbose):
        self.tools, self.folder, self.verbose = tools, folder, verbose
        self.data = source_bytes()
        self.sources = make_sources(tools, folder, self.data)
        self.tried = 0

    def next_source(self):
        self.tried += 1
        return self.sources[self.tried % len(self.sources)]

    def compare(self, fmt, place, what):
        got = targets.read_image(self.tools, fmt, place, os.path.join(self.folder, 'back.raw'))
        if got[:SIZE] != self.data:
            at = next(i for i in range(SIZE) if got[i:i + 1] != self.data[i:i + 1])
            raise Mismatch(f'{what}: byte {at:#x} is {got[at:at + 4].hex()}, not {self.data[at:at + 4].hex()}')
        if driver_checks(fmt):
            self.tools.must('qemu-img', 'check', '-q', *targets.secret(fmt), '--image-opts',
                            targets.image_opts(fmt, place))

    def convert(self, fmt, place, what, args):
        if self.verbose:
            print('  ', what, *args)
        self.tools.must('qemu-img', 'convert', *args)
        self.compare(fmt, place, what)

    def new_target(self, fmt, place, way, args):
        place.fill()
        src_fmt, src = self.next_source()
        self.convert(fmt, place, f'new {way}', ['-f', src_fmt, '-O', targets.driver(fmt), *args,
                                                *targets.create_options(fmt), src, place.name()])

    def old_target(self, fmt, place, way, args):
        """-n into an image whose every byte was written before."""
        targets.make_image(self.tools, fmt, place, SIZE)
        if '-c' not in args and fmt != 'raw':
            self.tools.must('qemu-io', *targets.secret(fmt), '--image-opts', targets.image_opts(fmt, place),
                            '-c', f'write -q -P {targets.OLD:#x} 0 {SIZE}')
        self.convert_into(fmt, place, f'-n {way}', args)

    def zero_target(self, fmt, place):
        """--target-is-zero: true of plain targets, and not believed of enciphered ones."""
        targets.make_image(self.tools, fmt, place, SIZE)
        if fmt == 'raw':
            place.fill(0)
        if 'luks' in fmt:
            self.tools.must('qemu-io', *targets.secret(fmt), '--image-opts', targets.image_opts(fmt, place),
                            '-c', f'write -q -P {targets.OLD:#x} 0 {SIZE}')
        self.convert_into(fmt, place, '--target-is-zero', ['--target-is-zero'])

    def convert_into(self, fmt, place, what, args):
        src_fmt, src = self.next_source()
        self.convert(fmt, place, what, ['-n', '-f', src_fmt, *targets.secret(fmt), *args, '--target-image-opts', src,
                                        targets.image_opts(fmt, place)])

    def dd_target(self, fmt, place):
        place.fill()
        src_fmt, src = self.next_source()
        self.tools.must('qemu-img', 'dd', '-f', src_fmt, '-O', fmt, 'bs=1M', f'if={src}', f'of={place.name()}')
        self.compare(fmt, place, 'dd')

    def run(self, fmt, place):
        ways = [w for w in WAYS if '-c' not in w[1] or fmt == 'qcow2']
        count = 0
        for way, args in ways:
            if place.can_create:
                self.new_target(fmt, place, way, args)
                count += 1
            self.old_target(fmt, place, way, args)
            count += 1
        self.zero_target(fmt, place)
        if place.can_create and 'luks' not in fmt:
            self.dd_target(fmt, place)
            count += 1
        return count + 1


def driver_checks(fmt):
    return targets.driver(fmt) == 'qcow2'


def null_source(tools, folder):
    """What null-co says of itself as a source: zeros when it reads zeros. As a target it takes everything."""
    place = targets.Place('file', folder, SIZE)
    place.fill()
    null = f'driver=null-co,size={SIZE},read-zeroes=on'
    tools.must('qemu-img', 'convert', '-n', '--image-opts', null, '--target-image-opts',
               targets.image_opts('raw', place))
    if place.content().strip(b'\0'):
        raise Mismatch('null-co: old bytes where it reads zeros')
    tools.must('qemu-img', 'convert', '-n', '-f', 'raw', place.path, '--target-image-opts', null)


def run_storage(matrix, storage, count):
    """Adds a passed, failed or skipped format each to @count."""
    try:
        place = targets.Place(storage, matrix.folder, ROOM if targets.STORAGES[storage] else SIZE)
    except OSError as e:
        print(f'skipped: {storage}: no loop device to be had: {e}')
        count['skipped'] += len(targets.FORMATS)
        return
    try:
        for fmt in targets.FORMATS:
            try:
                print(f'{storage} {fmt}: {matrix.run(fmt, place)} ways, all the same', flush=True)
                count['passed'] += 1
            except Mismatch as e:
                print(f'{storage} {fmt}: WRONG: {e}', flush=True)
                count['failed'] += 1
    finally:
        place.close()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--ours', default=os.path.join(targets.TREE, 'build/tools'))
    p.add_argument('--dir', help='folder to work in (a temporary one)')
    p.add_argument('--storage', default=','.join(targets.STORAGES))
    p.add_argument('-v', action='store_true', dest='verbose', help='print every command')
    a = p.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that devices are taken away
    folder = tempfile.mkdtemp(prefix='target-matrix-', dir=a.dir)
    count = {'passed': 0, 'failed': 0, 'skipped': 0}
    try:
        matrix = Matrix(targets.Tools(a.ours), folder, a.verbose)
        null_source(matrix.tools, folder)
        for storage in a.storage.split(','):
            run_storage(matrix, storage, count)
    except Mismatch as e:
        print(f'WRONG: {e}')
        count['failed'] += 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(', '.join(f'{n} {what}' for what, n in count.items()))
    return 1 if count['failed'] else 0


if __name__ == '__main__':
    sys.exit(main())
