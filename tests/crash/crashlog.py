# SPDX-License-Identifier: MIT
"""The log of the record driver (format: top of block/filter/record.c) and the disks a power cut may leave.

Sectors of 512 bytes are written whole or not at all. What a completed flush covered is on the disk; of what came later,
each operation may be there, may be missing, or may be there for some of its sectors only. A cache in front of the disk
keeps the order of two writes to one sector, so a sector always has the content it had after one of its writes.
"""

import struct

SECTOR = 512
HEADER = struct.Struct('<16sQQ')
RECORD = struct.Struct('<4sIQQQ')
MAGIC = b'qblock record 1\n'


class Record:
    """One operation; data only for WRIT."""
    __slots__ = ('index', 'tag', 'flags', 'issued', 'offset', 'bytes', 'data')

    def __init__(self, index, tag, flags, issued, offset, length, data):
        self.index, self.tag, self.flags, self.issued = index, tag, flags, issued
        self.offset, self.bytes, self.data = offset, length, data

    def sectors(self):
        if self.bytes == 0:
            return range(0)
        return range(self.offset // SECTOR, (self.offset + self.bytes - 1) // SECTOR + 1)


class Log:
    """All records of one run, with the file positions at which they end."""

    def __init__(self, path):
        with open(path, 'rb') as f:
            raw = f.read()
        if len(raw) < HEADER.size:
            raise ValueError(f'{path}: no header')
        magic, self.start_bytes, _ = HEADER.unpack_from(raw)
        if magic != MAGIC:
            raise ValueError(f'{path}: wrong magic {magic!r}')
        self.records, self.ends = [], []
        pos, failed = HEADER.size, []
        while pos < len(raw):
            if pos + RECORD.size > len(raw):
                raise ValueError(f'{path}: record {len(self.records)} is cut off')
            tag, flags, issued, offset, length = RECORD.unpack_from(raw, pos)
            pos += RECORD.size
            data = None
            if tag == b'WRIT':
                data = raw[pos:pos + length]
                if len(data) != length:
                    raise ValueError(f'{path}: data of record {len(self.records)} is cut off')
                pos += length
            elif tag == b'FAIL':
                failed.append(offset)
            elif tag not in (b'ZERO', b'DISC', b'FLSH', b'TRUN'):
                raise ValueError(f'{path}: unknown tag {tag!r} in record {len(self.records)}')
            self.records.append(Record(len(self.records), tag, flags, issued, offset, length, data))
            self.ends.append(pos)
        for index in failed:
            self.records[index].tag = b'NONE'

    def index_at(self, file_pos):
        """How many records the log had when its file was so long."""
        low, high = 0, len(self.ends)
        while low < high:
            mid = (low + high) // 2
            if self.ends[mid] <= file_pos:
                low = mid + 1
            else:
                high = mid
        return low


class Disk:
    """Bytes that grow with zeros."""

    def __init__(self, data=b''):
        self.data = bytearray(data)

    def copy(self):
        return Disk(self.data)

    def reach(self, end):
        if end > len(self.data):
            self.data += bytes(end - len(self.data))

    def apply(self, rec):
        """Do the operation wholly. A discard zeroes; whether it did is for the caller to choose."""
        if rec.tag == b'WRIT':
            self.reach(rec.offset + rec.bytes)
            self.data[rec.offset:rec.offset + rec.bytes] = rec.data
        elif rec.tag in (b'ZERO', b'DISC'):
            if rec.tag == b'ZERO':
                self.reach(rec.offset + rec.bytes)
            end = min(rec.offset + rec.bytes, len(self.data))
            if end > rec.offset:
                self.data[rec.offset:end] = bytes(end - rec.offset)
        elif rec.tag == b'TRUN':
            if rec.bytes < len(self.data):
                del self.data[rec.bytes:]
            self.reach(rec.bytes)

    def take_sectors(self, other, sectors):
        """Copy sectors from @other; its end of file need not be on a sector."""
        for s in sectors:
            part = other.data[s * SECTOR:(s + 1) * SECTOR]
            if part:
                self.reach(s * SECTOR + len(part))
                self.data[s * SECTOR:s * SECTOR + len(part)] = part


class Replayer:
    """Walks the log once, in the order of the cut points asked for, and makes disks.

    @ignore_flushes: pretend that no flush ever did anything. A sound test must then find corruption; this is its proof.
    """

    def __init__(self, start, log, ignore_flushes=False):
        self.log, self.ignore_flushes = log, ignore_flushes
        self.stable = Disk(start)
        self.stable_index = 0 # records below are on the disk for certain
        self.flush_cut_short = False

    def advance(self, cut, rng):
        """Make everything stable that the last flush before @cut covers. Returns how late an operation may have been
        handed down to be under way: a flush that is the very last record may have been cut short, and then nothing that
        waited for it has begun."""
        latest, end = cut, cut
        self.flush_cut_short = cut > 0 and self.log.records[cut - 1].tag == b'FLSH' and rng.random() < 0.5
        if self.flush_cut_short:
            latest = end = cut - 1
        flush = next((i for i in range(end - 1, self.stable_index - 1, -1) if self.log.records[i].tag == b'FLSH'), None)
        if flush is None or self.ignore_flushes:
            return latest
        for rec in self.log.records[self.stable_index:flush + 1]:
            self.stable.apply(rec)
        self.stable_index = flush + 1
        return latest

    def disk_at(self, cut, rng):
        """A disk that a power cut may leave when @cut records were logged. Cuts must increase."""
        latest = self.advance(cut, rng)
        crashed, full = self.stable.copy(), self.stable.copy()
        keep = rng.choice((0.0, 0.2, 0.5, 0.8, 1.0))
        tear = rng.random() < 0.5
        for rec in self.unsettled(cut, latest):
            if rec.tag == b'DISC' and rng.random() < 0.5:
                continue
            full.apply(rec)
            if rng.random() >= keep:
                continue
            if rec.tag == b'TRUN':
                crashed.apply(rec)
                continue
            sectors = rec.sectors()
            if tear and rng.random() < 0.4:
                sectors = [s for s in sectors if rng.random() < 0.5]
            crashed.take_sectors(full, sectors)
        return crashed.data

    def unsettled(self, cut, latest):
        """Operations that may be on the disk at the cut, beyond the stable ones: completed and not flushed, and those
        under way."""
        for rec in self.log.records[self.stable_index:cut]:
            if rec.tag not in (b'FLSH', b'FAIL', b'NONE'):
                yield rec
        for rec in self.log.records[cut:cut + 64]:
            if rec.issued <= latest and rec.tag not in (b'FLSH', b'FAIL', b'NONE'):
                yield rec
