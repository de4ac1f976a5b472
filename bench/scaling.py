#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How far do the jobs scale? Stage costs measured on this machine, put together for 1 to 64 cores.

    scaling.py [--build DIR] [--mib 512] [--runs 5] [--json]

Measured, each the best of RUNS on one CPU (interruptions only ever add): what the kernel alone takes to read, overwrite and
append 64 KiB of a tmpfs file (bench-file), the cipher (bench-cipher), what our code takes for one request besides (user time
of qemu-img bench), and how long meta_lock is held for one allocation (trace, less the cost of a trace line).

Modelled: a closed queueing network, solved exactly by mean value analysis. Each loop has a core of its own and works on one
unit of 64 KiB (4 KiB in the 4k jobs) at a time; what is done under a lock is a station where one is served at a time: the
inode lock of the written file, meta_lock, the l2 guard. There are as many loops as cores, at most as many as the job has
workers. The station with the longest service is what saturates first.

Checked: the same jobs are run on one and on two CPUs (taskset), and the prediction is printed beside what was measured. Not in
the model: memory bandwidth beyond what two cores use together, sleep and wake-up, cores of different speed.
"""
import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

CORES = (1, 2, 4, 8, 16, 32, 64)
UNIT = 65536
SECRET = ['--object', 'secret,id=s0,data=test']
LUKS = 'encrypt.format=luks,encrypt.key-secret=s0,encrypt.iter-time=10'


def enc(path):
    return f'driver=qcow2,file.filename={path},encrypt.key-secret=s0'


def solve(cores, parallel, serial):
    """Units a microsecond of @cores customers with think time @parallel and one queue for each of @serial (microseconds)."""
    queue = [0.0] * len(serial)
    rate = 0.0
    for n in range(1, cores + 1):
        stay = [s * (1 + q) for s, q in zip(serial, queue)]
        rate = n / (parallel + sum(stay))
        queue = [rate * t for t in stay]
    return rate


class Machine:
    """Runs the tools in a folder on tmpfs and keeps what was measured, in microseconds."""

    def __init__(self, build, mib, runs):
        self.tools = os.path.join(build, 'tools')
        self.bench = os.path.join(build, 'bench')
        self.mib, self.runs = mib, runs
        self.units = mib * 1048576 // UNIT
        self.cost = {}

    def run(self, argv, cpus):
        """(wall, user) seconds; wall is what the tool says itself where it does."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.monotonic()
        out = subprocess.run(['taskset', '-c', f'0-{cpus - 1}', *argv], check=True, capture_output=True, text=True).stdout
        wall = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        said = re.search(r'completed in ([0-9.]+) seconds', out)
        return float(said.group(1)) if said else wall, after.ru_utime - before.ru_utime

    def img(self, *args, cpus=1):
        return self.run([os.path.join(self.tools, 'qemu-img'), *args], cpus)

    def best(self, func, key=0):
        return min((func() for _ in range(self.runs)), key=lambda t: t[key])

    def kernel(self, mode, chunk, path):
        argv = ['taskset', '-c', '0', os.path.join(self.bench, 'bench-file'), mode, str(chunk), '1', str(self.mib), path]
        seconds = min(float(subprocess.run(argv, check=True, capture_output=True, text=True).stdout) for _ in range(self.runs))
        return seconds * 1e6 / (self.mib * 1048576 / chunk)

    def cipher(self):
        out = subprocess.run([os.path.join(self.bench, 'bench-cipher'), '--alg=aes-256', '--mode=xts', '--chunk=65536',
                              '--sector=512', '--threads=1', '--output=json'], check=True, capture_output=True, text=True).stdout
        rates = [row['mb_per_s'] for row in json.loads(out)]
        return UNIT / max(rates)

    def user_per_request(self, kind, size):
        """User time of one request of bench, microseconds."""
        count = self.mib * 1048576 // size
        best = None
        for _ in range(self.runs):
            self.prepare(kind)
            user = self.img(*self.bench_args(kind, size))[1]
            best = user if best is None else min(best, user)
        return best * 1e6 / count

    def bench_args(self, kind, size, encrypted=False):
        path = {'read': 'enc.qcow2' if encrypted else 'src.qcow2'}.get(kind, 'dst')
        image = [*SECRET, '--image-opts', enc(path)] if encrypted else ['-f', 'qcow2', path]
        write = [] if kind == 'read' else ['-w']
        return ['bench', '-c', str(self.mib * 1048576 // size), '-d', '32', '-s', str(size), *write, *image]

    def prepare(self, kind):
        if os.path.exists('dst'):
            os.unlink('dst')
        if kind == 'over':
            shutil.copy('src.qcow2', 'dst')
        elif kind == 'new':
            self.img('create', '-q', '-f', 'qcow2', 'dst', f'{self.mib}M')
        elif kind == 'new-enc':
            self.img('create', '-q', '-f', 'qcow2', *SECRET, '-o', LUKS, 'dst', f'{self.mib}M')

    def meta_hold(self):
        """Median time under meta_lock of an allocation, without what printing a line takes."""
        self.prepare('new')
        argv = ['taskset', '-c', '0', os.path.join(self.tools, 'qemu-img'), '-T', 'qcow2:*', 'bench', '-w', '-d', '1', '-c', '2000', '-s',
                str(UNIT), '-f', 'qcow2', 'dst']
        lines = subprocess.run(argv, check=True, capture_output=True, text=True).stderr.splitlines()
        taken, held, lines_us, last = None, [], [], None
        for line in lines:
            m = re.match(r'([0-9.]+) \d+ qcow2:(\w+)(.*)', line)
            if not m:
                continue
            at, event = float(m.group(1)) * 1e6, m.group(2)
            if event == 'write' and last and last[1] == 'write_done':
                lines_us.append(at - last[0])
            if event == 'meta_lock':
                taken = (at, 0)
            elif event == 'meta_unlock' and taken and 'alloc' in m.group(3):
                held.append((at - taken[0]) / (taken[1] + 1))
            elif taken:
                taken = (taken[0], taken[1] + 1)
            last = (at, event)
        line_us = statistics.median(lines_us) if lines_us else 0
        return max(0.1, statistics.median(held) - line_us) if held else 0.5

    def measure(self):
        c = self.cost
        for size, name in ((UNIT, '64k'), (4096, '4k')):
            c[f'kernel read {name}'] = self.kernel('read', size, 'src.raw')
            shutil.copy('src.raw', 'file')
            c[f'kernel over {name}'] = self.kernel('over', size, 'file')
            c[f'kernel new {name}'] = self.kernel('new', size, 'file')
            os.unlink('file')
        c['cipher 64k'] = self.cipher()
        c['user read'] = self.user_per_request('read', 4096)
        c['user over'] = self.user_per_request('over', 4096)
        c['user new'] = self.user_per_request('new', UNIT)
        c['meta_lock'] = self.meta_hold()
        c['l2 guard'] = 0.05 * c['user read']  # its share of the samples of perf, docs/performance.rst


def jobs(c, machine):
    """name -> (units, workers, parallel, {station: service}, prepare, command); microseconds for a unit."""
    k64r, k64o, k64n, cipher = c['kernel read 64k'], c['kernel over 64k'], c['kernel new 64k'], c['cipher 64k']
    meta, guard = c['meta_lock'], c['l2 guard']
    window = UNIT / 1048576  # convert and compare take 1 MiB at a time
    n, small = machine.units, machine.mib * 1048576 // 4096
    src, user_r, user_w, user_n = 'src.raw', c['user read'], c['user over'], c['user new']

    def conv(*args):
        return ['convert', *args]

    return {
        'enc': (n, 8, k64r + cipher + window * (user_r + user_n - meta), {'inode lock': k64n, 'meta_lock': window * meta},
                'new-enc', conv('-n', '-f', 'raw', *SECRET, '--target-image-opts', src, enc('dst'))),
        'dec': (n, 8, k64r + cipher + window * (user_r + user_w), {'inode lock': k64n},
                '', conv(*SECRET, '--image-opts', enc('enc.qcow2'), '-O', 'raw', 'dst')),
        'plain': (n, 8, k64r + window * (user_r + user_n - meta), {'inode lock': k64n, 'meta_lock': window * meta},
                  '', conv('-f', 'raw', '-O', 'qcow2', src, 'dst')),
        'b64k-read': (n, 32, k64r + user_r, {'l2 guard': guard}, '', machine.bench_args('read', UNIT)),
        'b64k-over': (n, 32, user_w, {'inode lock': k64o, 'l2 guard': guard}, 'over', machine.bench_args('over', UNIT)),
        'b64k-alloc': (n, 32, user_n - meta, {'inode lock': k64n, 'meta_lock': meta}, 'new', machine.bench_args('new', UNIT)),
        'b4k-read': (small, 32, c['kernel read 4k'] + user_r, {'l2 guard': guard}, '', machine.bench_args('read', 4096)),
        'b4k-over': (small, 32, user_w, {'inode lock': c['kernel over 4k'], 'l2 guard': guard}, 'over',
                     machine.bench_args('over', 4096)),
        'e64k-read': (n, 32, k64r + cipher + user_r, {'l2 guard': guard}, '', machine.bench_args('read', UNIT, True)),
    }


def check(machine, job, cpus):
    units, workers, parallel, serial, prepare, argv = job
    best = None
    for _ in range(machine.runs):
        machine.prepare(prepare)
        wall = machine.img(*argv, cpus=cpus)[0]
        best = wall if best is None else min(best, wall)
    return best * 1e3


def predict(job, cores):
    """Milliseconds."""
    units, workers, parallel, serial, _, _ = job
    return units / solve(min(cores, workers), parallel, list(serial.values())) / 1e3


def make_sources(machine):
    with open('src.raw', 'wb') as f:
        for _ in range(machine.mib):
            f.write(os.urandom(1 << 20))
    machine.img('convert', '-f', 'raw', '-O', 'qcow2', 'src.raw', 'src.qcow2')
    machine.prepare('new-enc')
    machine.img('convert', '-n', '-f', 'raw', *SECRET, '--target-image-opts', 'src.raw', enc('dst'))
    os.rename('dst', 'enc.qcow2')


def report(machine):
    c, out = machine.cost, []
    for name, job in jobs(c, machine).items():
        row = {'job': name, 'predicted_ms': {n: round(predict(job, n), 1) for n in CORES}, 'measured_ms': {}}
        for cpus in (1, 2):
            if cpus <= len(os.sched_getaffinity(0)):
                row['measured_ms'][cpus] = round(check(machine, job, cpus), 1)
        station, service = max(job[3].items(), key=lambda kv: kv[1])
        row['saturates'] = station
        # from where on more cores give less than a tenth
        row['at_cores'] = next((n for n in range(1, 65) if predict(job, n) < 1.1 * predict(job, 2 * n)), 64)
        row['limit_ms'] = round(job[0] * max(service, (job[2] + sum(job[3].values())) / job[1]) / 1e3, 1)
        out.append(row)
    return out


def print_text(machine, rows):
    print('stage costs, microseconds:')
    for name, us in machine.cost.items():
        print(f'  {name:16} {us:8.2f}')
    print(f"\n{'job':11}{'1 core':>17}{'2 cores':>17}" + ''.join(f'{n:>8}' for n in CORES[2:]) + '   saturates first')
    print(f"{'(ms)':11}" + f"{'model':>9}{'real':>8}" * 2)
    for r in rows:
        line = f"{r['job']:11}"
        for n in (1, 2):
            real = r['measured_ms'].get(n)
            line += f"{r['predicted_ms'][n]:9.0f}" + (f'{real:8.0f}' if real is not None else f"{'-':>8}")
        line += ''.join(f"{r['predicted_ms'][n]:8.0f}" for n in CORES[2:])
        print(f"{line}   {r['saturates']} (from {r['at_cores']} cores on; limit {r['limit_ms']:.0f})")


def main():
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--build', default=os.environ.get('QBLOCK_BUILD', os.path.join(here, 'build')))
    p.add_argument('--mib', type=int, default=512)
    p.add_argument('--runs', type=int, default=5)
    p.add_argument('--json', action='store_true')
    a = p.parse_args()
    machine = Machine(os.path.abspath(a.build), a.mib, a.runs)
    with tempfile.TemporaryDirectory(prefix='qblock-scaling.', dir='/dev/shm') as folder:
        os.chdir(folder)
        make_sources(machine)
        machine.measure()
        rows = report(machine)
        os.chdir('/')
    if a.json:
        json.dump({'cost_us': machine.cost, 'jobs': rows}, sys.stdout, indent=2)
        print()
    else:
        print_text(machine, rows)
    return 0


if __name__ == '__main__':
    sys.exit(main())
