#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random write, zero, discard, flush and reopen sequences, run on our tools and on the reference's.

    random-ops.py [--ours DIR] [--ref DIR] [--seeds N] [--first SEED] [-j JOBS] [--keep] [-v]

A seed decides the geometry (cluster size, version, refcount width, size, backing file, encryption) and the commands of
some sessions; a session is one qemu-io process. One tool makes the image, the other gets a copy, and both run the same
sessions on theirs. After the last one:

  - both printed the same and ended with the same status,
  - the data is equal, and equal to a model kept here where the model knows it,
  - the block status is equal (where, not at which host offset),
  - check is clean on both images with both tools, and each tool reads the other's image alike.

Every failing seed is printed with its script; the same seed gives the same run again. Exit status 1 on failure, 77 when
a tool is missing.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SECRET = ['--object', 'secret,id=s0,data=pw123']
TIMEOUT = 120


class Mismatch(Exception):
    """What the two tools, or a tool and the model, do not agree on."""


class Tools:
    """One implementation: where its programs are and how they are run."""

    def __init__(self, name, folder):
        self.name, self.folder = name, folder

    def run(self, program, args, cwd):
        done = subprocess.run([os.path.join(self.folder, program), *args], cwd=cwd, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT, check=False)
        return done.returncode, done.stdout.decode('utf-8', 'replace')

    def must(self, program, args, cwd):
        status, out = self.run(program, args, cwd)
        if status != 0:
            raise Mismatch(f'{self.name}: {program} {" ".join(args)}: status {status}\n{out}')
        return out


class Geometry:
    """Everything about the image that is fixed at creation."""

    CLUSTERS = ((512, 512 << 10), (1024, 1 << 20), (4096, 3 << 20), (65536, 8 << 20), (65536, 8 << 20), (2 << 20, 16 << 20))

    def __init__(self, rng):
        self.cluster, limit = rng.choice(self.CLUSTERS)
        self.size = rng.randrange(1, limit // 512 + 1) * 512 if rng.random() < 0.7 else limit
        self.compat = '0.10' if rng.random() < 0.15 else '1.1'
        self.refcount_bits = 16 if self.compat == '0.10' or rng.random() < 0.5 else rng.choice((1, 2, 4, 8, 32, 64))
        self.lazy = self.compat != '0.10' and rng.random() < 0.15
        self.encrypted = rng.random() < 0.35
        self.backing = rng.choice((None, None, 'raw', 'qcow2'))
        self.backing_size = rng.choice((self.size, max(512, self.size // 2 // 512 * 512), self.size + 70000 // 512 * 512))
        # Clusters preallocated in an encrypted image read as whatever their zeros decrypt to.
        self.prealloc = 'metadata' if not (self.backing or self.encrypted) and rng.random() < 0.15 else 'off'
        # Making a key takes the reference two seconds of CPU.
        self.reference_makes_it = rng.random() < (0.05 if self.encrypted else 0.5)

    def options(self):
        opts = [f'cluster_size={self.cluster}', f'compat={self.compat}', f'preallocation={self.prealloc}']
        if self.compat != '0.10':
            opts += [f'refcount_bits={self.refcount_bits}', f'lazy_refcounts={"on" if self.lazy else "off"}']
        if self.encrypted:
            opts += ['encrypt.format=luks', 'encrypt.key-secret=s0', 'encrypt.iter-time=10']
        return ','.join(opts)

    def image_opts(self, name):
        return f'driver=qcow2,file.filename={name}' + (',encrypt.key-secret=s0' if self.encrypted else '')

    def __str__(self):
        return (f'size={self.size} {self.options()} backing={self.backing}'
                f'{":%d" % self.backing_size if self.backing else ""}')


class Model:
    """The bytes a reader must see. known[i] is 0 where a discard or a compressed write leaves it open."""

    def __init__(self, size):
        self.data, self.known = bytearray(size), bytearray(b'\1' * size)

    def fill(self, off, length, byte):
        self.data[off:off + length] = bytes([byte]) * length
        self.known[off:off + length] = b'\1' * length

    def forget(self, off, length):
        self.known[off:off + length] = bytes(length)

    def grow(self, size):
        self.known += b'\1' * (size - len(self.data))
        self.data += bytes(size - len(self.data))

    def uniform(self, off, length):
        """The byte the whole range has, or None."""
        if self.known.find(0, off, off + length) >= 0:
            return None
        part = self.data[off:off + length]
        return part[0] if part.count(part[0]) == length else None

    def first_difference(self, data):
        if len(data) != len(self.data):
            return f'length {len(data)} instead of {len(self.data)}'
        step = 4096
        for base in range(0, len(data), step):
            a, b = data[base:base + step], self.data[base:base + step]
            if a == b:
                continue
            for i, (x, y) in enumerate(zip(a, b)):
                if x != y and self.known[base + i]:
                    return f'offset {base + i}: 0x{x:02x} instead of 0x{y:02x}'
        return None


class Script:
    """The sessions of one seed, and the model after them."""

    def __init__(self, rng, geometry, model):
        self.rng, self.geo, self.model = rng, geometry, model
        self.sessions = []
        for _ in range(rng.randint(1, 4)):
            self.sessions.append(self.session())

    def session(self):
        rng = self.rng
        flags = ['-t', rng.choice(('writeback', 'writeback', 'unsafe', 'writethrough', 'none'))]
        flags += rng.choice(([], ['-d', 'unmap'], ['-d', 'ignore']))
        commands = []
        for _ in range(rng.randint(3, 20)):
            commands += self.step()
        commands += self.verification()
        return flags, commands

    def extent(self, biggest=None):
        """An offset and a length inside the disk, aligned to a cluster, a sector or nothing."""
        rng, size = self.rng, len(self.model.data)
        unit = rng.choice((1, 1, 512, self.geo.cluster, self.geo.cluster))
        biggest = min(size, biggest or rng.choice((600, 5000, 3 * self.geo.cluster, 40 * self.geo.cluster, 1 << 20)))
        off = rng.randrange(size) // unit * unit
        length = max(1, rng.randint(1, max(1, biggest)) // unit * unit)
        return off, min(length, size - off)

    def step(self):
        """One or a few commands; the model follows."""
        roll, rng = self.rng.random(), self.rng
        if roll < 0.42:
            return [self.write(*self.extent())]
        if roll < 0.56:
            return [self.zero(*self.extent())]
        if roll < 0.66:
            off, length = self.extent(rng.choice((None, len(self.model.data))))
            self.model.forget(off, length)
            return [f'discard -q {off} {length}']
        if roll < 0.72:
            return ['flush']
        if roll < 0.80:
            return self.parallel_writes()
        if roll < 0.86:
            return self.compressed() or ['flush']
        if roll < 0.88:
            return self.grow() or ['flush']
        off, length = self.extent()
        byte = self.model.uniform(off, length)
        return [f'read -q {"" if byte is None else "-P %d " % byte}{off} {length}']

    def write(self, off, length):
        byte = self.rng.choice((0, 1, 0x22, 0x7f, 0xff, self.rng.randrange(256)))
        self.model.fill(off, length, byte)
        fua = '-f ' if self.rng.random() < 0.1 else ''
        if length > 3 and self.rng.random() < 0.2:
            cut = self.rng.randrange(1, length - 1)
            return f'writev -q {fua}-P {byte} {off} {cut} {length - cut}'
        return f'write -q {fua}-P {byte} {off} {length}'

    def zero(self, off, length):
        self.model.fill(off, length, 0)
        return f'write -q {self.rng.choice(("-z", "-zu", "-zu", "-z -f"))} {off} {length}'

    def parallel_writes(self):
        """Several writes in flight at once; they do not overlap, but may share clusters."""
        off, length = self.extent(4 * self.geo.cluster)
        parts = self.rng.randint(2, 5)
        if length < parts:
            return [self.write(off, length)]
        cuts = sorted(self.rng.sample(range(1, length), parts - 1))
        out = []
        for low, high in zip([0] + cuts, cuts + [length]):
            byte = self.rng.randrange(256)
            if self.rng.random() < 0.2:
                out.append(f'aio_write -q -z {off + low} {high - low}')
                byte = 0
            else:
                out.append(f'aio_write -q -P {byte} {off + low} {high - low}')
            self.model.fill(off + low, high - low, byte)
        self.rng.shuffle(out)
        return out + ['aio_flush']

    def compressed(self):
        """Onto allocated clusters this fails, in both tools alike; the model forgets."""
        if self.geo.encrypted:
            return None
        index = self.rng.randrange((len(self.model.data) + self.geo.cluster - 1) // self.geo.cluster)
        off = index * self.geo.cluster
        length = min(self.geo.cluster, len(self.model.data) - off)
        self.model.forget(off, length)
        return [f'write -q -c -P {self.rng.randrange(256)} {off} {length}']

    def grow(self):
        if self.geo.backing and self.geo.backing_size > self.geo.size:
            return None
        size = len(self.model.data) + self.rng.choice((512, self.geo.cluster, 5 * self.geo.cluster))
        self.model.grow(size)
        return [f'truncate {size}']

    def verification(self):
        out = []
        for _ in range(4):
            off, length = self.extent()
            byte = self.model.uniform(off, length)
            if byte is not None:
                out.append(f'read -q -P {byte} {off} {length}')
        return out


class Seed:
    """One run of both tools."""

    def __init__(self, seed, ours, ref, folder):
        self.seed, self.ours, self.ref, self.folder = seed, ours, ref, folder
        rng = random.Random(seed)
        self.geo = Geometry(rng)
        self.model = Model(self.geo.size)
        self.base = self.base_data(rng)
        self.script = Script(rng, self.geo, self.model)

    def base_data(self, rng):
        if self.geo.backing is None:
            return None
        data = bytearray(self.geo.backing_size)
        for _ in range(8):
            off = rng.randrange(len(data)) // 512 * 512
            length = min(len(data) - off, rng.choice((512, 4096, 70000, len(data))))
            data[off:off + length] = bytes([rng.randrange(1, 256)]) * length
        seen = data[:self.geo.size]
        self.model.data[:len(seen)] = seen
        return data

    def make_images(self):
        maker, name = (self.ref, 'ref.qcow2') if self.geo.reference_makes_it else (self.ours, 'ours.qcow2')
        extra = []
        if self.base is not None:
            with open(os.path.join(self.folder, 'base.raw'), 'wb') as f:
                f.write(self.base)
            if self.geo.backing == 'qcow2':
                maker.must('qemu-img', ['convert', '-f', 'raw', '-O', 'qcow2', 'base.raw', 'base.qcow2'], self.folder)
            extra = ['-b', f'base.{self.geo.backing}', '-F', self.geo.backing]
        maker.must('qemu-img', ['create', '-q', '-f', 'qcow2', *SECRET, '-o', self.geo.options(), *extra, name,
                                str(self.geo.size)], self.folder)
        other = 'ours.qcow2' if name == 'ref.qcow2' else 'ref.qcow2'
        shutil.copyfile(os.path.join(self.folder, name), os.path.join(self.folder, other))

    def image_args(self, image):
        return [*SECRET, '--image-opts', self.geo.image_opts(image)]

    def run_sessions(self):
        for flags, commands in self.script.sessions:
            args = list(flags)
            for command in commands:
                args += ['-c', command]
            a = self.ours.run('qemu-io', [*args, *self.image_args('ours.qcow2')], self.folder)
            b = self.ref.run('qemu-io', [*args, *self.image_args('ref.qcow2')], self.folder)
            if a != b:
                raise Mismatch(f'qemu-io: ours ended with {a[0]}:\n{a[1]}the reference with {b[0]}:\n{b[1]}')
            if 'Pattern verification' in a[1]:
                raise Mismatch(f'both read other data than were written:\n{a[1]}')

    def export(self, tools, image):
        name = f'{image}.by-{tools.name}.raw'
        tools.must('qemu-img', ['convert', *self.image_args(image), '-O', 'raw', name], self.folder)
        path = os.path.join(self.folder, name)
        with open(path, 'rb') as f:
            data = f.read()
        os.unlink(path)
        return data

    def block_map(self, tools, image):
        """The block status as a list of runs that differ in more than where they are stored."""
        text = tools.must('qemu-img', ['map', '--output=json', *self.image_args(image)], self.folder)
        runs = []
        for e in json.loads(text):
            # With preallocated metadata, what is data depends on the holes that the file system keeps.
            # With any image, whether data is known to be zeros depends on the holes that the writer happened to leave.
            zero = e['zero'] and not e['data']
            facts = [e['depth'], e['present']] + ([] if self.geo.prealloc == 'metadata' else [zero, e['data'], e.get('compressed')])
            if runs and runs[-1][2:] == facts:
                runs[-1][1] += e['length']
            else:
                runs.append([e['start'], e['length'], *facts])
        return runs

    def compare(self):
        exports = {(t.name, i): self.export(t, i) for t in (self.ours, self.ref) for i in ('ours.qcow2', 'ref.qcow2')}
        for (name, image), data in exports.items():
            wrong = self.model.first_difference(data)
            if wrong:
                raise Mismatch(f'{image} read by {name}: {wrong}')
        hashes = {key: hashlib.sha256(data).hexdigest() for key, data in exports.items()}
        if len(set(hashes.values())) != 1:
            a, b = exports[('ours', 'ours.qcow2')], exports[('ref', 'ref.qcow2')]
            at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), None)
            raise Mismatch(f'data differs (ours / reference at {at}): {hashes}')
        maps = {(t.name, i): self.block_map(t, i) for t in (self.ours, self.ref) for i in ('ours.qcow2', 'ref.qcow2')}
        for key, value in maps.items():
            if value != maps[('ref', 'ref.qcow2')]:
                raise Mismatch(f'map of {key[1]} by {key[0]} is\n{self.map_diff(value, maps[("ref", "ref.qcow2")])}')
        for tools in (self.ours, self.ref):
            for image in ('ours.qcow2', 'ref.qcow2'):
                tools.must('qemu-img', ['check', *self.image_args(image)], self.folder)

    @staticmethod
    def map_diff(a, b):
        only_a = [r for r in a if r not in b][:5]
        only_b = [r for r in b if r not in a][:5]
        return f'  {only_a}\nwhere the reference has on its own image\n  {only_b}'

    def story(self):
        lines = [f'seed {self.seed}: {self.geo}']
        for flags, commands in self.script.sessions:
            lines.append('  qemu-io ' + ' '.join(flags))
            lines += ['    ' + c for c in commands]
        return '\n'.join(lines)

    def run(self):
        self.make_images()
        self.run_sessions()
        self.compare()


def one_seed(seed, args, ours, ref, root):
    """None if all is well, else the report."""
    folder = os.path.join(root, f'seed-{seed}')
    os.mkdir(folder)
    run = Seed(seed, ours, ref, folder)
    report = None
    try:
        run.run()
    except Mismatch as e:
        report = f'{run.story()}\n{e}'
    except subprocess.TimeoutExpired as e:
        report = f'{run.story()}\nno end after {TIMEOUT} s: {" ".join(e.cmd)}'
    if not (args.keep and report):
        shutil.rmtree(folder, ignore_errors=True)
    return report


def parse_args():
    p = argparse.ArgumentParser(description='Random operations on our tools and on the reference, compared.')
    p.add_argument('--ours', default=os.environ.get('OURS') or os.path.join(TREE, 'build', 'tools'))
    p.add_argument('--ref', default=os.environ.get('REF') or os.path.join(TREE, '.reference', 'bin'))
    p.add_argument('--seeds', type=int, default=200)
    p.add_argument('--first', type=int, default=1)
    p.add_argument('-j', '--jobs', type=int, default=2)
    p.add_argument('--scratch', default=None)
    p.add_argument('--max-failures', type=int, default=5, help='stop after so many')
    p.add_argument('--keep', action='store_true', help='keep the folders of failing seeds')
    p.add_argument('-v', '--verbose', action='store_true')
    return p.parse_args()


def main():
    args = parse_args()
    for folder in (args.ours, args.ref):
        if not os.access(os.path.join(folder, 'qemu-io'), os.X_OK):
            print(f'random-ops: no qemu-io in {folder}')
            return 77
    ours, ref = Tools('ours', os.path.abspath(args.ours)), Tools('ref', os.path.abspath(args.ref))
    root = tempfile.mkdtemp(prefix='qblock-random-ops-', dir=args.scratch)
    passed, failed, start = 0, [], time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        todo = {}
        seeds = iter(range(args.first, args.first + args.seeds))
        for seed in seeds:
            todo[pool.submit(one_seed, seed, args, ours, ref, root)] = seed
        for future in concurrent.futures.as_completed(todo):
            if future.cancelled():
                continue
            report = future.result()
            if report is None:
                passed += 1
            else:
                failed.append(todo[future])
                print(report, flush=True)
                if len(failed) == args.max_failures:
                    print(f'stopping after {len(failed)} failures')
                    for other in todo:
                        other.cancel()
            if args.verbose:
                print(f'seed {todo[future]}: {"ok" if report is None else "FAIL"}')
    if not (args.keep and failed):
        shutil.rmtree(root, ignore_errors=True)
    else:
        print(f'kept in {root}')
    if failed:
        print('failed seeds:', *sorted(failed))
    print(f'random-ops: {time.monotonic() - start:.0f} s')
    print(f'{passed} passed, {len(failed)} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
