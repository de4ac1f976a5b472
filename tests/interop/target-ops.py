#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random histories of targets that held old bytes, against a plain array of bytes.

    target-ops.py [--ours DIR] [--seeds N] [--first SEED] [-j JOBS] [--seconds S] [--no-loop] [-v]

A seed decides a place (file, loop device of 512- or 4096-byte sectors, by name, link or host_device, or the testdev
driver), a format (raw, luks, qcow2, qcow2 with luks, an overlay of a shorter or longer backing file), its geometry, and
a sequence of create, convert, convert -n, dd, resize, write, write -z and discard. The place is full of a pattern at
first. The model knows of each byte what it may be: one value, one of two (what was discarded is the old content or
zeros), or anything (what was never written to a luks volume). After each step that is read back, what is found must be
allowed, and is the one value from then on. qcow2 images must check clean at the end.

A failing seed is printed with its commands; the same seed does the same again. Exit status 1 on failure. Without loop
devices a note says so, and the other places are used.
"""

import argparse
import concurrent.futures
import os
import random
import shutil
import signal
import sys
import tempfile
import time

import targets
from targets import Mismatch

KIB = 1024
DEVICE = 8 << 20
MAX_SIZE = 3 << 20
FORMATS = (*targets.FORMATS, 'raw', 'qcow2', 'overlay')
REFUSED = 'Unsupported preallocation mode'


class Model:
    """What each byte may be: equal to @one, equal to @two, or anything where @free is set."""

    def __init__(self, data):
        self.set_all(data)

    def set_all(self, data):
        self.one, self.two, self.free = bytearray(data), bytearray(data), bytearray(len(data))

    def __len__(self):
        return len(self.one)

    def resize(self, size, free=False):
        more = size - len(self)
        if more <= 0:
            del self.one[size:], self.two[size:], self.free[size:]
            return
        self.one += bytes(more)
        self.two += bytes(more)
        self.free += bytes([free]) * more

    def write(self, at, data):
        end = at + len(data)
        self.one[at:end] = self.two[at:end] = data
        self.free[at:end] = bytes(len(data))

    def discard(self, at, length, anything):
        self.two[at:at + length] = bytes(length)
        if anything:
            self.free[at:at + length] = b'\1' * length

    def forget(self, at):
        self.free[at:] = b'\1' * (len(self) - at)

    def accept(self, got, what):
        """Check what was read; it is known then."""
        if len(got) != len(self):
            raise Mismatch(f'{what}: {len(got)} bytes, not {len(self)}')
        step = 4 * KIB
        for at in range(0, len(got), step):
            part = got[at:at + step]
            if part in (self.one[at:at + step], self.two[at:at + step]):
                continue
            for i, byte in enumerate(part, at):
                if not self.free[i] and byte not in (self.one[i], self.two[i]):
                    raise Mismatch(f'{what}: byte {i:#x} is {byte:#04x}, not {self.one[i]:#04x} or {self.two[i]:#04x}')
        self.set_all(got)

    def is_zero(self, length):
        return not (self.one[:length].strip(b'\0') or self.two[:length].strip(b'\0') or self.free[:length].strip(b'\0'))


class History:
    """One seed."""

    def __init__(self, seed, tools, folder, storages):
        self.rng = random.Random(seed)
        self.tools, self.folder = tools, folder
        self.log = []
        storage = self.rng.choice(storages)
        self.place = targets.Place(storage, folder, DEVICE, junk=self.rng.random() < 0.5)
        self.fmt = self.rng.choice(FORMATS)
        self.is_overlay = self.fmt == 'overlay'
        self.fmt = 'qcow2' if self.is_overlay else self.fmt
        self.driver = targets.driver(self.fmt)
        self.cluster = self.rng.choice((512, 4 * KIB, 64 * KIB, 64 * KIB, 256 * KIB))
        self.version = self.rng.choice(('1.1', '1.1', '1.1', '0.10'))
        self.model = None
        self.scratch = os.path.join(folder, 'back.raw')
        self.log.append(f'{storage} {self.fmt}{" overlay" if self.is_overlay else ""}')

    # ---- helpers ----

    def run(self, program, *args):
        self.log.append(f'{program} {" ".join(args)}')
        return self.tools.run(program, *args)

    def must(self, program, *args):
        status, out = self.run(program, *args)
        if status != 0:
            raise Mismatch(f'status {status}\n{out}')
        return out

    def refused(self, text, program, *args):
        before = self.place.content()
        status, out = self.run(program, *args)
        if status != 1 or text not in out:
            raise Mismatch(f'status {status}, not refused with "{text}"\n{out}')
        if self.place.content() != before:
            raise Mismatch('refused, and the place was changed all the same')

    def opts(self):
        return [*targets.secret(self.fmt), '--image-opts', targets.image_opts(self.fmt, self.place)]

    def size(self):
        unit = self.rng.choice((512, 512, 4 * KIB, 64 * KIB))
        return self.rng.randrange(unit, MAX_SIZE, unit)

    def random_range(self):
        unit = self.rng.choice((1, 512, 4 * KIB, self.cluster))
        length = min(len(self.model), self.rng.choice((unit, unit * self.rng.randrange(1, 40), 300 * KIB)))
        return self.rng.randrange(0, len(self.model) - length + 1, unit), length

    def source(self, size):
        """A raw file of data, zeros and holes; its name and content."""
        path = os.path.join(self.folder, 'src.raw')
        with open(path, 'wb') as f:
            f.truncate(size)
            for _ in range(self.rng.randrange(6)):
                at = self.rng.randrange(0, size, 512)
                f.seek(at)
                length = min(size - at, self.rng.choice((100, 512, 8 * KIB, 200 * KIB)))
                f.write(self.rng.randbytes(length) if self.rng.random() < 0.7 else bytes(length))
        with open(path, 'rb') as f:
            data = f.read()
        if self.rng.random() < 0.3:
            self.must('qemu-img', 'convert', '-f', 'raw', '-O', 'qcow2', path, path + '.qcow2')
            return 'qcow2', path + '.qcow2', data
        return 'raw', path, data

    # ---- images made anew ----

    def geometry(self):
        return f'cluster_size={self.cluster},compat={self.version}' if self.driver == 'qcow2' else ''

    def prealloc(self):
        """A mode, and whether the place must refuse it."""
        if self.is_overlay or self.rng.random() < 0.6:
            return '', False
        mode = self.rng.choice(('metadata', 'falloc', 'full'))
        if self.driver == 'raw' and mode == 'metadata' and not self.place.is_device:
            mode = 'full'
        if self.fmt == 'qcow2+luks' and self.version == '0.10':
            return '', False  # what is mapped there is undefined: there is no flag for zeros
        refused = self.place.is_device and (mode != 'metadata' or self.driver == 'raw')
        return mode, refused

    def settle_new(self, data):
        """The model of a new image that @data was put in, or nothing yet with @data None and a size."""
        whole = self.place.is_device and self.driver in ('raw', 'luks')
        if not whole:
            self.model = Model(data)
        elif self.driver == 'raw':
            self.model = Model(self.place.content())
            self.model.write(0, data)
        else:
            info = targets.read_image(self.tools, self.fmt, self.place, self.scratch)
            self.model = Model(info)
            self.model.forget(0)
            self.model.write(0, data)

    def create(self):
        size = self.size()
        if not self.place.can_create:
            return self.create_in_file(size)
        mode, refused = self.prealloc()
        more = ','.join(x for x in (self.geometry(), mode and f'preallocation={mode}') if x)
        args = ['create', '-q', '-f', self.driver, *targets.create_options(self.fmt, more), *self.backing_args(size),
                self.place.name(), str(size)]
        old = self.place.content() if self.place.is_device else None
        if refused:
            return self.refused(REFUSED, 'qemu-img', *args)
        self.must('qemu-img', *args)
        if self.driver == 'luks':
            self.settle_new(b'')
            if not self.place.is_device:
                self.model.resize(size, free=True)
        elif self.driver == 'raw' and self.place.is_device:
            self.model = Model(bytes(512) + old[512:])
        else:
            self.settle_new(self.backing_content(size))
        return None

    def create_in_file(self, size):
        """For testdev, whose name cannot be given: made in its file."""
        targets.make_image(self.tools, self.fmt, self.place, size, self.geometry())
        self.log.append(f'(made in the file, {size} bytes)')
        if self.is_overlay:
            self.is_overlay = False
        if self.fmt == 'raw':
            self.model = Model(self.place.content())
        elif self.driver == 'luks':
            self.settle_new(b'')
        else:
            self.model = Model(bytes(size))

    def backing_args(self, size):
        self.base = b''
        if not self.is_overlay:
            return []
        path = os.path.join(self.folder, 'base.raw')
        unit = self.rng.choice((512, 64 * KIB))
        self.base = self.rng.randbytes(max(unit, self.rng.randrange(0, 2 * size, unit)))
        with open(path, 'wb') as f:
            f.write(self.base)
        return ['-b', path, '-F', 'raw']

    def backing_content(self, size):
        base = self.base[:size] if self.is_overlay else b''
        return base + bytes(size - len(base))

    def convert_new(self):
        if not self.place.can_create:
            return self.convert_into()
        src_fmt, src, data = self.source(self.size())
        mode, refused = self.prealloc()
        more = ','.join(x for x in (self.geometry(), mode and f'preallocation={mode}') if x)
        compress = self.fmt == 'qcow2' and not mode and self.rng.random() < 0.2
        args = ['convert', '-f', src_fmt, '-O', self.driver, *self.copy_args(), *(['-c'] if compress else []),
                *targets.create_options(self.fmt, more), src, self.place.name()]
        if refused:
            return self.refused(REFUSED, 'qemu-img', *args)
        self.must('qemu-img', *args)
        self.is_overlay = False
        self.settle_new(data)
        return None

    def copy_args(self):
        args = self.rng.choice(([], [], ['-S', '0'], ['-S', '512'], ['-S', '64k']))
        args = [*args, *self.rng.choice(([], [], ['-t', 'none'], ['-t', 'writethrough']))]
        return [*args, *self.rng.choice(([], ['-W'], ['-m', '1'], ['-m', '16', '-W']))]

    def dd(self):
        if not self.place.can_create or self.fmt not in ('raw', 'qcow2'):
            return self.convert_new()
        src_fmt, src, data = self.source(self.size())
        block = self.rng.choice((512, 4 * KIB, 1 << 20))
        skip, count = self.rng.randrange(3), self.rng.randrange(3, 40)
        part = data[skip * block:min(len(data), count * block)]
        if not part:
            return None
        self.must('qemu-img', 'dd', '-f', src_fmt, '-O', self.fmt, f'bs={block}', f'skip={skip}', f'count={count}',
                  f'if={src}', f'of={self.place.name()}')
        self.is_overlay = False
        self.cluster, self.version = 64 * KIB, '1.1'
        part += bytes(-len(part) % 512)
        self.settle_new(part)
        return None

    # ---- images that are there ----

    def convert_into(self):
        if not self.model:
            return
        src_fmt, src, data = self.source(self.rng.randrange(512, min(MAX_SIZE, len(self.model)) + 512, 512))
        zero = 'luks' in self.fmt or self.model.is_zero(len(data))
        believe = not self.is_overlay and zero and self.rng.random() < 0.5
        self.must('qemu-img', 'convert', '-n', '-f', src_fmt, *targets.secret(self.fmt), *self.copy_args(),
                  *(['--target-is-zero'] if believe else []), '--target-image-opts', src,
                  targets.image_opts(self.fmt, self.place))
        self.model.write(0, data)

    def resize(self):
        new = self.size()
        shrinks = ['--shrink'] if new < len(self.model) else []
        if self.place.is_device and self.driver != 'qcow2':
            if new != len(self.model):
                self.refused('Cannot resize device files', 'qemu-img', 'resize', *shrinks, *self.opts(), str(new))
            return
        mode = self.rng.choice(('off', 'off', 'metadata', 'falloc', 'full'))
        grows = new > len(self.model)
        undefined = self.fmt == 'qcow2+luks' and self.version == '0.10'
        if not grows or undefined or (mode == 'metadata' and self.driver != 'qcow2'):
            mode = 'off'
        args = ['resize', '-q', *shrinks, *self.opts(), f'--preallocation={mode}', str(new)]
        if self.place.is_device and mode in ('falloc', 'full'):
            return self.refused(f"Preallocation mode '{mode}' unsupported", 'qemu-img', *args)
        self.must('qemu-img', *args)
        self.model.resize(new, free=self.driver == 'luks')
        return None

    def io(self):
        """Some writes in one session."""
        cmds = []
        for _ in range(self.rng.randrange(1, 8)):
            at, length = self.random_range()
            kind = self.rng.choice(('write', 'write', 'zero', 'unmap', 'discard'))
            if kind == 'write':
                byte = self.rng.randrange(1, 256)
                cmds.append(f'write -q -P {byte} {at} {length}')
                self.model.write(at, bytes([byte]) * length)
            elif kind == 'discard':
                cmds.append(f'discard -q {at} {length}')
                self.model.discard(at, length, self.place.junk and self.driver == 'raw')
            else:
                cmds.append(f'write -q -z{" -u" if kind == "unmap" else ""} {at} {length}')
                self.model.write(at, bytes(length))
        flags = self.rng.choice(([], ['-d', 'unmap'], ['-d', 'unmap'], ['-d', 'ignore', '-t', 'none']))
        self.must('qemu-io', *flags, *self.opts(), *(x for c in cmds for x in ('-c', c)))

    # ---- the whole ----

    def read_back(self, what):
        got = targets.read_image(self.tools, self.fmt, self.place, self.scratch)
        if self.fmt == 'raw' and not self.place.is_device:
            got += bytes(-len(got) % 512)
        self.model.accept(got, what)

    def first(self):
        """What is there at first: old bytes, or an image whose every byte is old."""
        self.place.fill()
        self.model = Model(self.place.content()) if self.fmt == 'raw' else None
        while self.model is None:
            self.rng.choice((self.create, self.create, self.convert_new, self.dd))()

    def steps(self):
        self.first()
        for _ in range(self.rng.randrange(3, 9)):
            step = self.rng.choice((self.create, self.convert_new, self.dd, self.convert_into, self.convert_into,
                                    self.resize, self.resize, self.io, self.io, self.io))
            step()
            if self.rng.random() < 0.7:
                self.read_back(step.__name__)
        self.read_back('end')
        if self.driver == 'qcow2':
            self.must('qemu-img', 'check', '-q', *self.opts())


def run_seed(seed, folder, tools, storages, verbose):
    """None, or what to print of a failure."""
    os.mkdir(folder)
    history = None
    try:
        history = History(seed, tools, folder, storages)
        history.steps()
        if verbose:
            print('\n  '.join([f'seed {seed}:', *history.log]), flush=True)
        return None
    except Mismatch as e:
        return '\n  '.join([f'seed {seed} FAILED:', *history.log, str(e)])
    finally:
        if history:
            history.place.close()
        shutil.rmtree(folder, ignore_errors=True)


def usable_storages(folder, with_loops):
    if with_loops:
        try:
            targets.LoopDevice(os.path.join(folder, 'probe'), 1 << 20, 4096).close()
            return tuple(targets.STORAGES)
        except OSError as e:
            print(f'skipped: target-ops: loop devices, none to be had: {e}')
    return tuple(s for s in targets.STORAGES if not targets.is_loop(s))


def run_all(a, folder, storages):
    """How many seeds passed, and how many failed."""
    tools = targets.Tools(a.ours)
    start, seeds, results = time.monotonic(), iter(range(a.first, a.first + a.seeds)), []

    def work():
        for seed in seeds:
            if a.seconds and time.monotonic() - start > a.seconds:
                return
            failure = run_seed(seed, os.path.join(folder, str(seed)), tools, storages, a.verbose)
            results.append(failure)
            if failure:
                print(failure, flush=True)

    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        for worker in [pool.submit(work) for _ in range(a.jobs)]:
            worker.result()
    failed = sum(r is not None for r in results)
    print(f'target-ops: {time.monotonic() - start:.0f} s')
    return len(results) - failed, failed


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--ours', default=os.path.join(targets.TREE, 'build/tools'))
    p.add_argument('--seeds', type=int, default=200)
    p.add_argument('--first', type=int, default=1)
    p.add_argument('--seconds', type=int, default=0, help='start no more after so long')
    p.add_argument('-j', type=int, default=1, dest='jobs')
    p.add_argument('--no-loop', action='store_true')
    p.add_argument('-v', action='store_true', dest='verbose', help='print the commands of every seed')
    a = p.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that devices are taken away
    folder = tempfile.mkdtemp(prefix='target-ops-')
    try:
        storages = usable_storages(folder, not a.no_loop)
        passed, failed = run_all(a, folder, storages)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    skipped = int(not a.no_loop and len(storages) < len(targets.STORAGES))
    print(f'{passed} passed, {failed} failed, {skipped} skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
