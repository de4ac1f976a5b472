#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Power cuts at random moments: whatever was not flushed may be lost or torn, the image is never corrupt.

    crash.py [--tools DIR] [--ref DIR] [--points N] [--seed S] [-w WORKLOAD]... [-j JOBS] [--keep]
    crash.py --prove

A workload is a run of random qemu-io commands on a qcow2 whose file is below the record driver. From the log, disks are
rebuilt as a power cut may leave them (crashlog.py). On each:

  - check, ours and the reference's, finds no corruption (leaks are allowed: status 0 or 3),
  - every sector has the content of the last flush that had completed, or of a later write.

--prove pretends that flushes do nothing; then corruption must be found, or the test itself is broken.
Exit status 1 on failure, 77 when the tools are missing.
"""

import argparse
import concurrent.futures
import os
import random
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import crashlog  # noqa: E402  (its folder is on the path from here on)
import crashrun  # noqa: E402

SECRET = ['--object', 'secret,id=s0,data=pw123']
SECTOR = crashlog.SECTOR
TIMEOUT = 120


class Workload:
    """What kind of image and which commands, as weights."""

    def __init__(self, name, size, options='', backing=False, encrypted=False, lazy=False, **weights):
        self.name, self.size, self.options = name, size, options
        self.backing, self.encrypted, self.lazy, self.weights = backing, encrypted, lazy, weights


WORKLOADS = [
    Workload('alloc-512', 1 << 20, 'cluster_size=512', write=6, aio=3, flush=1),
    Workload('alloc-4k', 4 << 20, 'cluster_size=4k', write=6, aio=3, flush=1),
    Workload('alloc-64k', 6 << 20, '', write=6, aio=3, flush=1),
    Workload('refcount-1', 1 << 20, 'cluster_size=512,refcount_bits=1', write=6, zero=2, flush=1),
    Workload('refcount-64', 1 << 20, 'cluster_size=512,refcount_bits=64', write=6, zero=2, discard=1, flush=1),
    Workload('cow', 3 << 20, 'cluster_size=4k', backing=True, write=6, aio=3, zero=1, flush=1),
    Workload('cow-64k', 6 << 20, '', backing=True, write=6, aio=3, flush=1),
    Workload('zero', 2 << 20, 'cluster_size=4k', write=4, zero=4, discard=3, aio=1, flush=1),
    Workload('zero-512', 1 << 20, 'cluster_size=512', write=4, zero=4, discard=3, flush=1),
    Workload('luks', 2 << 20, 'cluster_size=4k', encrypted=True, write=6, aio=3, zero=1, discard=1, flush=1),
    Workload('luks-cow', 6 << 20, '', backing=True, encrypted=True, write=6, aio=3, flush=1),
    Workload('compressed', 2 << 20, 'cluster_size=4k', compressed=5, write=4, zero=1, discard=1, flush=1),
    Workload('compressed-zstd', 6 << 20, 'compression_type=zstd', compressed=5, write=4, flush=1),
    Workload('v2', 2 << 20, 'cluster_size=4k,compat=0.10', write=6, zero=2, aio=1, flush=1),
    Workload('lazy', 2 << 20, 'cluster_size=4k,lazy_refcounts=on', lazy=True, write=6, zero=1, flush=1),
    Workload('resize', 1 << 20, 'cluster_size=512', write=6, zero=1, grow=1, flush=1),
]


class Guest:
    """What each sector may hold. A sector has the list of its contents since the last flush, the flushed one first."""

    def __init__(self, data):
        self.versions = [[bytes(data[i:i + SECTOR])] for i in range(0, len(data), SECTOR)]
        self.events = [] # (log position before, action)

    def note(self, position, kind, sector=0, content=None):
        self.events.append((position, kind, sector, content))

    def replay(self):
        """A cursor over the events; see Expectation."""
        return Expectation([list(v) for v in self.versions], self.events)


class Expectation:
    """The allowed contents at a moment, moved forward through the events."""

    def __init__(self, versions, events):
        self.versions, self.events, self.next = versions, events, 0

    def advance(self, index_of, cut, flush_cut_short):
        """Include each command that may have begun, and each flush that had ended, at the cut."""
        while self.next < len(self.events):
            position, kind, sector, content = self.events[self.next]
            if index_of(position) + (kind == 'flush' and flush_cut_short) > cut:
                return
            if kind == 'content':
                while sector >= len(self.versions):
                    self.versions.append([bytes(SECTOR)])
                if content not in self.versions[sector]:
                    self.versions[sector].append(content)
                else: # the newest is last, so that a flush keeps the right one
                    self.versions[sector].remove(content)
                    self.versions[sector].append(content)
            else:
                self.flush(content)
            self.next += 1

    def flush(self, open_sectors):
        for i, v in enumerate(self.versions):
            if len(v) > 1 and i not in open_sectors:
                del v[:-1]

    def wrong_sector(self, data):
        for i, v in enumerate(self.versions):
            part = data[i * SECTOR:(i + 1) * SECTOR]
            if len(part) == SECTOR and part not in v:
                return f'sector {i} begins {part[:4].hex()}, allowed: {", ".join(c[:4].hex() for c in v)}'
        return None


class Session:
    """qemu-io on a pipe: one command at a time, with the length of the log before each."""

    def __init__(self, args, folder, image_opts):
        self.log = os.path.join(folder, 'log')
        self.proc = subprocess.Popen([os.path.join(args.tools, 'qemu-io'), *SECRET, '--image-opts', image_opts], cwd=folder,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0)
        self.output = b''
        self.until_prompt()

    def until_prompt(self):
        got = b''
        while not got.endswith(b'qemu-io> '):
            piece = self.proc.stdout.read(65536)
            if not piece:
                raise RuntimeError(f'qemu-io ended: {(self.output + got).decode("utf-8", "replace")}')
            got += piece
        self.output += got
        return got

    def position(self):
        return os.stat(self.log).st_size

    def do(self, command):
        """True if it said nothing, as a command with -q does when it works."""
        self.proc.stdin.write(command.encode() + b'\n')
        return self.until_prompt() == b'qemu-io> '

    def close(self):
        self.proc.stdin.write(b'quit\n')
        self.proc.stdin.close()
        self.proc.stdout.read()
        return self.proc.wait(TIMEOUT)


class Recorder:
    """Runs the commands of one workload and keeps the guest's view of them."""

    def __init__(self, workload, seed, args, folder):
        self.work, self.args, self.folder = workload, args, folder
        self.rng = random.Random(f'{workload.name}/{seed}')
        self.now = bytearray(workload.size)
        self.open_sectors = set() # discarded: any older content may come back until written again
        self.stamp = 0

    def tool(self, program, *words):
        subprocess.run([os.path.join(self.args.tools, program), *words], cwd=self.folder, check=True, timeout=TIMEOUT,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def image_opts(self, name='img'):
        return f'driver=qcow2,file.filename={name}' + (',encrypt.key-secret=s0' if self.work.encrypted else '')

    def prepare(self):
        opts = [o for o in (self.work.options,) if o]
        if self.work.encrypted:
            opts.append('encrypt.format=luks,encrypt.key-secret=s0,encrypt.iter-time=1')
        words = ['-o', ','.join(opts)] if opts else []
        if self.work.backing:
            data = bytearray(self.work.size)
            for i in range(0, len(data), SECTOR):
                data[i:i + SECTOR] = bytes([0x80 | i // SECTOR % 97]) * SECTOR
            with open(os.path.join(self.folder, 'base.raw'), 'wb') as f:
                f.write(data)
            self.now = data
            words += ['-b', 'base.raw', '-F', 'raw']
        self.tool('qemu-img', 'create', '-q', '-f', 'qcow2', *SECRET, *words, 'img', str(self.work.size))
        with open(os.path.join(self.folder, 'img'), 'rb') as f:
            return f.read()

    def record(self):
        """(start bytes, log, guest)."""
        start = self.prepare()
        self.guest = Guest(self.now)
        opts = self.image_opts().replace('file.filename=img', 'file.driver=record,file.log=log,file.file.driver=file,file.file.filename=img')
        self.session = Session(self.args, self.folder, opts)
        kinds, weights = zip(*self.work.weights.items())
        for _ in range(self.args.commands):
            getattr(self, 'do_' + self.rng.choices(kinds, weights)[0])()
        self.do_flush()
        status = self.session.close()
        # A compressed write onto data is an error that the workload expects.
        if status != 0 and not (status == 1 and 'compressed' in self.work.weights):
            raise RuntimeError(f'qemu-io ended with {status}: {self.session.output.decode("utf-8", "replace")}')
        return start, crashlog.Log(self.session.log), self.guest

    def extent(self):
        rng, sectors = self.rng, len(self.now) // SECTOR
        length = rng.choice((1, 1, rng.randint(1, 8), rng.randint(1, 40), rng.randint(1, 300)))
        at = rng.randrange(sectors)
        return at, min(length, sectors - at)

    def fill(self, position, at, length, byte):
        content = bytes([byte]) * SECTOR
        self.now[at * SECTOR:(at + length) * SECTOR] = content * length
        for s in range(at, at + length):
            self.guest.note(position, 'content', s, content)
            self.open_sectors.discard(s)

    def next_byte(self):
        self.stamp = self.stamp % 127 + 1
        return self.stamp

    def run(self, command):
        if not self.session.do(command):
            raise RuntimeError(f'{command}: {self.session.output.decode("utf-8", "replace")[-500:]}')

    def do_write(self):
        at, length = self.extent()
        byte, position = self.next_byte(), self.session.position()
        self.fill(position, at, length, byte)
        self.run(f'write -q -P {byte} {at * SECTOR} {length * SECTOR}')

    def do_zero(self):
        at, length = self.extent()
        position = self.session.position()
        self.fill(position, at, length, 0)
        self.run(f'write -q {self.rng.choice(("-z", "-zu"))} {at * SECTOR} {length * SECTOR}')

    def do_discard(self):
        """Whole clusters become zeros, parts may stay: both are allowed until the next write."""
        at, length = self.extent()
        position = self.session.position()
        for s in range(at, at + length):
            self.guest.note(position, 'content', s, bytes(SECTOR))
            self.open_sectors.add(s)
        self.run(f'discard -q {at * SECTOR} {length * SECTOR}')

    def do_aio(self):
        """Up to six writes at a time that do not overlap but share clusters and tables."""
        at, length = self.extent()
        parts = min(length, self.rng.randint(2, 6))
        cuts = [0, *sorted(self.rng.sample(range(1, length), parts - 1)), length] if parts > 1 else [0, length]
        position = self.session.position()
        for low, high in zip(cuts, cuts[1:]):
            byte = self.next_byte()
            self.fill(position, at + low, high - low, byte)
            self.run(f'aio_write -q -P {byte} {(at + low) * SECTOR} {(high - low) * SECTOR}')
        self.run('aio_flush')

    def do_compressed(self):
        """Works on a cluster never written before; else it fails and changes nothing."""
        cluster = 4096 if 'cluster_size=4k' in self.work.options else 65536
        at = self.rng.randrange(len(self.now) // cluster) * (cluster // SECTOR)
        byte, position = self.next_byte(), self.session.position()
        if self.session.do(f'write -q -c -P {byte} {at * SECTOR} {cluster}'):
            self.fill(position, at, cluster // SECTOR, byte)

    def do_grow(self):
        more = self.rng.randrange(1, 256)
        self.now += bytes(more * SECTOR)
        self.run(f'truncate {len(self.now)}')

    def do_flush(self):
        self.run('flush')
        self.guest.note(self.session.position(), 'flush', content=frozenset(self.open_sectors))


class Checker:
    """Judges one rebuilt disk."""

    def __init__(self, recorder, args, folder):
        self.rec, self.args, self.folder = recorder, args, folder

    def status(self, tools, program, *words):
        done = subprocess.run([os.path.join(tools, program), *words], cwd=self.folder, stdin=subprocess.DEVNULL, timeout=TIMEOUT,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.returncode, done.stdout.decode('utf-8', 'replace')

    def problem(self, disk, expectation, with_ref):
        """None, or what is wrong."""
        with open(os.path.join(self.folder, 'crashed'), 'wb') as f:
            f.write(disk)
        opts = self.rec.image_opts('crashed')
        if self.rec.work.lazy: # the next writer repairs it
            self.status(self.args.tools, 'qemu-io', *SECRET, '--image-opts', opts, '-c', 'flush')
        for tools in [self.args.tools] + ([self.args.ref] if with_ref else []):
            status, out = self.status(tools, 'qemu-img', 'check', *SECRET, '--image-opts', opts)
            if status not in (0, 3):
                return f'check by {tools}: status {status}\n{out}'
        status, out = self.status(self.args.tools, 'qemu-img', 'convert', *SECRET, '--image-opts', '-O', 'raw', opts, 'out.raw')
        if status != 0:
            return f'reading it: status {status}\n{out}'
        with open(os.path.join(self.folder, 'out.raw'), 'rb') as f:
            return expectation.wrong_sector(f.read())


def run_workload(workload, seed, points, args, root):
    """(points looked at, [problems])."""
    folder = os.path.join(root, f'{workload.name}-{seed}')
    os.mkdir(folder)
    try:
        recorder = Recorder(workload, seed, args, folder)
        start, log, guest = recorder.record()
    except (RuntimeError, subprocess.SubprocessError, ValueError) as e:
        return 0, [f'{workload.name} seed {seed}: the workload itself failed: {e}']
    rng = random.Random(f'{workload.name}/{seed}/cuts')
    replayer = crashlog.Replayer(start, log, args.prove)
    expectation, checker = guest.replay(), Checker(recorder, args, folder)
    cuts = sorted(rng.sample(range(len(log.records) + 1), min(points, len(log.records) + 1)))
    problems = []
    for number, cut in enumerate(cuts):
        with_ref = bool(args.ref) and (args.every_ref or number % 2 == 0)
        disk = replayer.disk_at(cut, rng)
        expectation.advance(log.index_at, cut, replayer.flush_cut_short)
        wrong = checker.problem(disk, expectation, with_ref)
        if wrong:
            problems.append(f'{workload.name} seed {seed}: cut after record {cut} of {len(log.records)}: {wrong}')
            if args.keep:
                shutil.copyfile(os.path.join(folder, 'crashed'), os.path.join(folder, f'crashed-{cut}'))
            if len(problems) >= (1 if args.prove else 3):
                break
    if not (args.keep and problems):
        shutil.rmtree(folder, ignore_errors=True)
    return len(cuts), problems


def parse_args():
    p = argparse.ArgumentParser(description='Rebuild images as power cuts may leave them, and check them.')
    crashrun.add_options(p)
    p.add_argument('--ref', default=os.environ.get('REF'), help='the reference; default: .reference/bin if it is there')
    p.add_argument('--points', type=int, default=500, help='cut points over all workloads')
    p.add_argument('--commands', type=int, default=60, help='commands of a run')
    p.add_argument('--per-run', type=int, default=32, help='cut points of a run')
    p.add_argument('-w', '--workload', action='append', choices=[w.name for w in WORKLOADS])
    p.add_argument('--every-ref', action='store_true', help='the reference checks every disk, not every second')
    args = p.parse_args()
    default_ref = os.path.join(crashrun.TREE, '.reference', 'bin')
    if args.ref is None and os.access(os.path.join(default_ref, 'qemu-img'), os.X_OK):
        args.ref = default_ref
    args.ref = args.ref and os.path.abspath(args.ref)
    return args


def plan(args):
    """(workload, seed, points) of each run: the points are dealt out evenly."""
    works = [w for w in WORKLOADS if not args.workload or w.name in args.workload]
    runs = max(len(works), -(-args.points // args.per_run))
    for i in range(runs):
        share = args.points * (i + 1) // runs - args.points * i // runs
        yield works[i % len(works)], args.seed + i // len(works), share


def main():
    args = parse_args()
    if not os.access(os.path.join(args.tools, 'qemu-io'), os.X_OK):
        print(f'crash: no qemu-io in {args.tools}')
        return 77
    if not args.ref:
        print('crash: without the reference, only our own check looks at the disks')
    start, looked, problems = time.monotonic(), 0, []
    with crashrun.work_folder(args, 'crash', problems) as root, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for count, found in pool.map(lambda run: run_workload(*run, args, root), plan(args)):
            looked += count
            problems += found
            crashrun.print_problems(found)
    print(f'crash: {looked} cut points, {time.monotonic() - start:.0f} s')
    return crashrun.finish(args, looked, problems, lambda p: 'check by' in p or 'sector' in p)


if __name__ == '__main__':
    sys.exit(main())
