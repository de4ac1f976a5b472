#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A change of key slots cut at every write: the image still opens with the old or the new key, and its data is there.

    amend.py [--tools DIR] [--disks N] [--seed S] [-j JOBS] [--keep]
    amend.py --prove

For each kind of image (LUKS1, LUKS2, LUKS in qcow2) and each change (a key added, the only key replaced, the old key
erased), qemu-img amend runs on an image whose file is below the record driver. From the log, N disks are rebuilt for each
record as a power cut, or a kill, may leave them (crashlog.py); each must open and hold the data.

--prove pretends that flushes do nothing; then an image that no key opens must be found, or the test itself is broken.
Exit status 1 on failure, 77 when the tools are missing.
"""

import argparse
import concurrent.futures
import os
import random
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import crashlog  # noqa: E402  (its folder is on the path from here on)
import crashrun  # noqa: E402

SECRETS = {'old': ['--object', 'secret,id=k,data=old-passphrase'], 'new': ['--object', 'secret,id=k,data=new-passphrase']}
NEW = ['--object', 'secret,id=n,data=new-passphrase']
SIZE = 256 << 10
PATTERN = f'0x5a 0 {SIZE}'
TIMEOUT = 120


class Kind:
    """A format and how its options are called."""

    def __init__(self, name, fmt, create, prefix=''):
        self.name, self.fmt, self.create, self.prefix = name, fmt, create, prefix

    def opts(self, **words):
        return ','.join(f'{self.prefix}{k.replace("_", "-")}={v}' for k, v in words.items())

    def spec(self, name, record=False):
        file = f'file.driver=record,file.log=log,file.file.driver=file,file.file.filename={name}' if record else f'file.filename={name}'
        return f'driver={self.fmt},{file},{self.prefix}key-secret=k'


KINDS = [
    Kind('luks', 'luks', 'key-secret=k,iter-time=1'),
    Kind('luks2', 'luks', 'key-secret=k,luks-version=2,pbkdf=pbkdf2,iter-time=1'),
    Kind('qcow2', 'qcow2', 'encrypt.format=luks,encrypt.key-secret=k,encrypt.iter-time=1', 'encrypt.'),
]

# Name, what is done first, the change, forced, and the keys of which one must open it while and after that.
ADD = {'state': 'active', 'new_secret': 'n', 'iter_time': 1}
CHANGES = [
    ('add', None, ADD, False, ('old',), ('old', 'new')),
    ('replace', None, {**ADD, 'keyslot': 0}, True, ('old', 'new'), ('new',)),
    ('erase', ADD, {'state': 'inactive', 'old_secret': 'k'}, False, ('new',), ('new',)),
]


class Run:
    """One change of one kind of image."""

    def __init__(self, args, root, kind, change):
        self.args, self.kind = args, kind
        self.change, self.before, self.words, self.force, self.keys, self.after = change
        self.name = f'{kind.name} {self.change}'
        self.folder = os.path.join(root, f'{kind.name}-{self.change}')
        os.mkdir(self.folder)

    def tool(self, program, *words):
        done = subprocess.run([os.path.join(self.args.tools, program), *words], cwd=self.folder, stdin=subprocess.DEVNULL,
                              timeout=TIMEOUT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.returncode, done.stdout.decode('utf-8', 'replace')

    def must(self, program, *words):
        status, out = self.tool(program, *words)
        if status != 0:
            raise RuntimeError(f'{program} {" ".join(words)}: status {status}: {out}')

    def amend(self, words, force, record):
        self.must('qemu-img', 'amend', *SECRETS['old'], *NEW, *(['--force'] if force else []), '--image-opts',
                  self.kind.spec('img', record), '-o', self.kind.opts(**words))

    def record(self):
        self.must('qemu-img', 'create', '-q', '-f', self.kind.fmt, *SECRETS['old'], '-o', self.kind.create, 'img', str(SIZE))
        self.must('qemu-io', *SECRETS['old'], '--image-opts', '-c', f'write -q -P {PATTERN}', self.kind.spec('img'))
        if self.before:
            self.amend(self.before, False, False)
        with open(os.path.join(self.folder, 'img'), 'rb') as f:
            start = f.read()
        self.amend(self.words, self.force, True)
        return start, crashlog.Log(os.path.join(self.folder, 'log'))

    def opens(self, key):
        status, _ = self.tool('qemu-io', '-r', *SECRETS[key], '--image-opts', '-c', f'read -q -P {PATTERN}', self.kind.spec('crashed'))
        return status == 0

    def problem(self, disk, keys, need_all):
        with open(os.path.join(self.folder, 'crashed'), 'wb') as f:
            f.write(disk)
        good = [key for key in keys if self.opens(key)]
        if not good or (need_all and len(good) < len(keys)):
            return f'{"not each" if good else "none"} of the keys {", ".join(keys)} opens it'
        if self.kind.fmt == 'qcow2':
            status, out = self.tool('qemu-img', 'check', *SECRETS[good[0]], '--image-opts', self.kind.spec('crashed'))
            if status not in (0, 3):
                return f'check: status {status}: {out}'
        return None

    def cut_everywhere(self):
        """(disks looked at, records, problems)."""
        looked, problems = 0, []
        try:
            start, log = self.record()
        except (RuntimeError, subprocess.SubprocessError, ValueError) as e:
            return 0, 0, [f'{self.name}: the change itself failed: {e}']
        rng = random.Random(f'{self.name}/{self.args.seed}')
        replayer = crashlog.Replayer(start, log, self.args.prove)
        with open(os.path.join(self.folder, 'img'), 'rb') as f:
            end = f.read()
        wrong = self.problem(end, self.after, True)
        if wrong:
            problems.append(f'{self.name}: after the change {wrong}')
        for cut in range(len(log.records) + 1):
            for _ in range(self.args.disks):
                looked += 1
                wrong = self.problem(replayer.disk_at(cut, rng), self.keys, False)
                if wrong:
                    problems.append(f'{self.name}: cut after record {cut} of {len(log.records)}: {wrong}')
                    if self.args.keep:
                        shutil.copyfile(os.path.join(self.folder, 'crashed'), os.path.join(self.folder, f'crashed-{cut}'))
            if len(problems) >= (1 if self.args.prove else 5):
                break
        return looked, len(log.records), problems


def parse_args():
    p = argparse.ArgumentParser(description='Cut changes of key slots at every write.')
    crashrun.add_options(p)
    p.add_argument('--disks', type=int, default=4, help='disks rebuilt for each record of the log')
    return p.parse_args()


def main():
    args = parse_args()
    if not os.access(os.path.join(args.tools, 'qemu-img'), os.X_OK):
        print(f'amend: no qemu-img in {args.tools}')
        return 77
    looked, problems = 0, []
    with crashrun.work_folder(args, 'amend', problems) as root, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        runs = [Run(args, root, kind, change) for kind in KINDS for change in CHANGES]
        for run, (count, records, found) in zip(runs, pool.map(Run.cut_everywhere, runs)):
            looked += count
            problems += found
            print(f'{run.name}: {records} records, {count} disks, {len(found)} wrong', flush=True)
            crashrun.print_problems(found)
    return crashrun.finish(args, looked, problems, lambda p: 'opens it' in p)


if __name__ == '__main__':
    sys.exit(main())
