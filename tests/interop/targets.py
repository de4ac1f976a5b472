# SPDX-License-Identifier: MIT
"""Places where images are made, filled with a pattern beforehand: what target-matrix.py and target-ops.py share.

A place ("storage") is a file, a loop device with sectors of 512 or 4096 bytes, by its path, through a link or as
host_device, or the testdev driver over a file, which stands in for a device where there is none. On each there is a
format.
"""

import os
import subprocess

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SECRET = ['--object', 'secret,id=s0,data=pw123']
TIMEOUT = 120
OLD = 0xdd  # what every byte of a place is before an image is made there

FORMATS = ('raw', 'luks', 'qcow2', 'qcow2+luks')
# Which sectors each storage has; 0: a file, which has none.
STORAGES = {
    'file': 0,
    'loop': 512, 'loop-4k': 4096, 'link': 512, 'host_device': 512, 'host_device-4k': 4096,
    'testdev': 512, 'testdev-4k': 4096, 'testdev-nozero': 512,
}


class Mismatch(Exception):
    """Something is not as it should be."""


def is_loop(storage):
    return not storage.startswith('testdev') and storage != 'file'


class Tools:
    def __init__(self, folder):
        self.folder = folder

    def run(self, program, *args):
        done = subprocess.run([os.path.join(self.folder, program), *args], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT, check=False)
        return done.returncode, done.stdout.decode('utf-8', 'replace')

    def must(self, program, *args):
        status, out = self.run(program, *args)
        if status != 0:
            raise Mismatch(f'{program} {" ".join(args)}: status {status}\n{out}')
        return out


class LoopDevice:
    """A loop device over a file of its own; close() detaches it."""

    def __init__(self, path, size, sector):
        self.name = None
        with open(path, 'wb') as f:
            f.truncate(size)
        done = subprocess.run(['losetup', '--show', '-f', '-b', str(sector), path], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT, check=False)
        if done.returncode != 0:
            raise OSError(done.stdout.decode('utf-8', 'replace').strip())
        self.name = done.stdout.decode().strip()

    def close(self):
        if self.name:
            subprocess.run(['losetup', '-d', self.name], timeout=TIMEOUT, check=False)
            self.name = None


def fill(path, size, byte=OLD):
    """Make every byte of a device or file @byte."""
    is_device = os.path.exists(path) and not os.path.isfile(path)
    with open(path, 'r+b' if is_device else 'wb') as f:
        f.write(bytes([byte]) * size)
        f.flush()
        os.fsync(f.fileno())


class Place:
    """One storage of @size bytes. close() takes it away."""

    def __init__(self, storage, folder, size, junk=False):
        self.storage, self.size, self.junk = storage, size, junk
        self.sector = STORAGES[storage]
        self.loop = None
        self.path = os.path.join(folder, storage + '.img')
        if is_loop(storage):
            self.loop = LoopDevice(self.path, size, self.sector)
            self.path = self.loop.name
        if storage == 'link':
            self.path = os.path.join(folder, 'a-link')
            os.symlink(self.loop.name, self.path)

    def close(self):
        if self.loop:
            self.loop.close()
        if self.storage == 'link':
            os.unlink(self.path)

    @property
    def is_device(self):
        return self.sector != 0

    @property
    def can_create(self):
        """Images are made in what a name leads to; testdev has none."""
        return not self.storage.startswith('testdev')

    def fill(self, byte=OLD):
        fill(self.path, self.size, byte)

    def content(self):
        with open(self.path, 'rb') as f:
            return f.read()

    def name(self):
        return ('host_device:' if self.storage.startswith('host_device') else '') + self.path

    def file_options(self):
        if self.storage.startswith('host_device'):
            return f'file.driver=host_device,file.filename={self.path}'
        if self.storage.startswith('testdev'):
            more = ',file.zero=off' if self.storage.endswith('nozero') else ''
            more += ',file.discard-to=junk' if self.junk else ''
            return f'file.driver=testdev,file.sector={self.sector}{more},file.file.filename={self.path}'
        return f'file.filename={self.path}'


def create_options(fmt, more=''):
    """-o and --object of a new image, as a list."""
    opts = [more] if more else []
    if fmt == 'luks':
        opts += ['key-secret=s0,iter-time=10']
    if fmt == 'qcow2+luks':
        opts += ['encrypt.format=luks,encrypt.key-secret=s0,encrypt.iter-time=10']
    return [*(SECRET if 'luks' in fmt else []), *(['-o', ','.join(opts)] if opts else [])]


def driver(fmt):
    return fmt.split('+')[0]


def image_opts(fmt, place):
    key = {'luks': ',key-secret=s0', 'qcow2+luks': ',encrypt.key-secret=s0'}.get(fmt, '')
    return f'driver={driver(fmt)},{place.file_options()}{key}'


def secret(fmt):
    return SECRET if 'luks' in fmt else []


def make_image(tools, fmt, place, size, more=''):
    """An image of @size bytes in a place, with old bytes wherever it does not write; also where its name cannot be
    given: then it is made in the file, and old bytes are put behind it."""
    place.fill()
    if fmt == 'raw':
        return
    tools.must('qemu-img', 'create', '-q', '-f', driver(fmt), *create_options(fmt, more), place.path
               if not place.can_create else place.name(), str(size))
    if not place.can_create:
        with open(place.path, 'ab') as f:
            f.write(bytes([OLD]) * (place.size - f.tell()))


def read_image(tools, fmt, place, scratch):
    """All bytes of the image, by way of a raw copy."""
    if fmt == 'raw':
        return place.content()
    if os.path.exists(scratch):
        os.unlink(scratch)
    tools.must('qemu-img', 'convert', *secret(fmt), '--image-opts', image_opts(fmt, place), '-O', 'raw', scratch)
    with open(scratch, 'rb') as f:
        return f.read()
