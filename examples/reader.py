#!/usr/bin/env python3
"""Reads the settled messages of one log of a Cinch store, with Python's standard library alone.

    reader.py STORE LOG [--json]

Prints a line a message: its timestamp, data file, position and payload; with --json an object a
line, its payload in base64. Checks every digest and checksum on the way, and where the store says
"leases: required" every signature. Reads settled files alone: segments behind a checkpoint, and
the locks of buckets that records list. Writes nothing. Exit code 1 if something is damaged or can't
be read, standard output can't be written, or there are messages and none of them has a valid
witness. So it does if messages expired while it read, and what it printed lacks the rest. Where
messages were lost before their bucket was closed it prints all others first.

Written from docs/format.md and docs/format-segments.md.
"""
import base64
import contextlib
import glob
import hashlib
import json
import os
import re
import stat
import struct
import sys
import time
import zlib

NONE = -(1 << 63)
DATA_FILE = re.compile(r"([a-z0-9][a-z0-9._-]{0,62})-([0-9a-f]{32})\.log")
NUMBERED = re.compile(r"[0-9]{10}")
LEASE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,254}")
SHA256 = re.compile(r"[0-9a-f]{64}")
SEAL = re.compile(r"([0-9]{10})\.([0-9a-f]{64})")
MOST_BUCKETS = 10_000
LONGEST_TIME = (1 << 63) - 1
# How long a file of a type may be, first line included, where that is not the first.
LONGEST = {"": 1 << 16, "record": 1 << 22, "key": 1 << 12, "checkpoint": 1 << 28}
# The fields of documents that a reader needs.
FIELDS = {
    "log": {"log": str, "name": str, "created": int},
    "record": {
        "log": str, "number": int, "from": int, "to": int, "previous": str, "trustedKeys": int, "keys": str, "buckets": list,
        "settledBuckets": int, "settledMessages": int, "settledBytes": int, "newest": int, "closer": str, "settledAt": int,
    },
    "key": {"store": str, "number": int, "publicKey": str, "signedBy": int, "signature": str},
    "checkpoint": {"log": str, "number": int, "to": int, "digest": str, "segment": int, "segments": list},
    "floor": {"log": str, "segment": int, "to": int, "record": int, "messages": int, "bytes": int},
    "segment": {"digest": str, "messages": int, "bytes": int},
    "listed bucket": {"start": int, "lock": str},
}
# The versions of a type, where there are others than 1; the fields that a version adds.
VERSIONS = {
    "record": {3: {}},
    "checkpoint": {4: {}},
    "floor": {2: {}},
    "key": {1: {}, 2: {"untilMs": int}},
}
SETTINGS = {
    "store": str, "bucketWidthMs": int, "leases": str, "firstKey": str,
    "clockAheadMs": int, "clockBehindMs": int, "timestampDistanceMs": int,
}


class Damaged(Exception):
    """A file does not hold what it must."""


def check(ok, path, offset, expected):
    if not ok:
        raise Damaged(f"{path}: damaged at byte {offset}: expected {expected}")


@contextlib.contextmanager
def sense(path):
    """For bytes whose checksums are right and that mean nothing all the same: whoever wrote them is wrong."""
    try:
        yield
    except (struct.error, ValueError, LookupError, TypeError, AttributeError, OverflowError) as e:
        raise Damaged(f"{path}: damaged: {e!r}") from None


def opened(path):
    """A file that should be there; where a cache says that it is not, listing its directory ends that (rule N3)."""
    try:
        return regular(path)
    except FileNotFoundError:
        listed(os.path.dirname(os.path.abspath(path)))
        return regular(path)


def regular(path):
    """Opens a file, and neither waits for a pipe nor reads a device."""
    file = open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise Damaged(f"{path}: expected a regular file, found another kind")
    return file


@contextlib.contextmanager
def there(path):
    """For a file that something names: that it is missing is damage."""
    try:
        yield
    except FileNotFoundError:
        raise Damaged(f"{path}: damaged: expected the file, found none") from None


def listed(directory):
    """Lists a directory; what is below one that is thought missing is missing too, so first the one above."""
    try:
        os.listdir(directory)
    except FileNotFoundError:
        listed(os.path.dirname(directory))
        os.listdir(directory)


def read(path, kind):
    """All of a small file of that kind."""
    longest = LONGEST.get(kind, LONGEST[""])
    with opened(path) as f:
        data = f.read(longest + 1)
    check(len(data) <= longest, path, longest, "the end of the file")
    return data


def typed(fields, path, types):
    """That an object has these fields, of these types; integers have 64 bits."""
    check(isinstance(fields, dict), path, 0, "an object")
    for name, kind in types.items():
        value = fields.get(name)
        check(type(value) is kind, path, 0, f'"{name}", a {"text" if kind is str else kind.__name__}')
        check(kind is not int or NONE <= value <= LONGEST_TIME, path, 0, f'an integer of 64 bits in "{name}"')


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def document(data, path, offset):
    """A JSON object in UTF-8, without a mark before it, in which no field stands twice."""

    def fields(pairs):
        check(len(dict(pairs)) == len(pairs), path, offset, "every field once")
        return dict(pairs)

    def no_number(text):
        raise ValueError(text)  # NaN and the like

    try:
        return json.loads(data.decode(), object_pairs_hook=fields, parse_constant=no_number)
    except (ValueError, RecursionError):
        raise Damaged(f"{path}: damaged at byte {offset}: expected JSON in UTF-8") from None


def settings(store):
    path = os.path.join(store, "store.json")
    fields = document(read(path, "settings"), path, 0)
    check(isinstance(fields, dict) and fields.get("format") == 3, path, 0, "store format 3")
    plain = all(type(v) is str or type(v) is int and NONE <= v <= LONGEST_TIME for v in fields.values())
    check(plain, path, 0, "texts and 64-bit integers")
    text = "".join(f"{k}={v}\n" for k, v in fields.items() if k != "sha256")
    with sense(path):
        check(sha256(text.encode()) == fields.get("sha256"), path, 0, "sha256 of the other fields")
    typed(fields, path, SETTINGS)
    pin = fields["firstKey"]
    check(not pin or re.fullmatch("[0-9a-f]{64}", pin), path, 0, 'a SHA-256 or nothing in "firstKey"')
    check(100 <= fields["bucketWidthMs"] <= 3_600_000, path, 0, "a width of buckets")
    check(fields["leases"] in ("optional", "required"), path, 0, 'a known word in "leases"')
    check(re.fullmatch("[0-9a-f]{32}", fields["store"]), path, 0, 'an id in "store"')
    return fields


def envelope(path, kind):
    """The document in an envelope, and the digest of the whole file."""
    return opened_envelope(path, kind, read(path, kind))


def opened_envelope(path, kind, data):
    end = data.find(b"\n", 0, 128)
    words = data[:end].decode("ascii", "replace").split(" ")
    check(end > 0 and len(words) == 5 and words[:2] == ["cinch", kind], path, 0, f"a {kind}")
    version = int(words[2]) if words[2] in ("1", "2", "3", "4") else 0
    more = VERSIONS.get(kind, {1: {}}).get(version)
    check(more is not None, path, 0, f"a {kind} of a version that this reader knows")
    body = data[end + 1 :]
    check(words[3] == str(len(body)) and words[4] == sha256(body), path, end + 1, words[3] + " bytes of that digest")
    fields = document(body, path, end + 1)
    typed(fields, path, FIELDS[kind] | more)
    fields["version"] = version
    return fields, sha256(data)


def identity(store, name):
    """The id of the log in a directory, which its own name must bear out."""
    path = os.path.join(store, "logs", name, "identity")
    fields, _ = envelope(path, "log")
    check(fields["name"] == name, path, 0, f"the identity of log {name}, not of {fields['name']}")
    return fields["log"]


def time_name(nanos):
    seconds, rest = divmod(nanos, 1_000_000_000)
    return time.strftime("%Y%m%dT%H%M%S", time.gmtime(seconds)) + f".{rest // 1_000_000:03d}Z"


def numbers(directory):
    """The numbered names in a directory; none if Git or a copy has left the empty directory out."""
    names = os.listdir(directory) if os.path.isdir(directory) else []
    return [int(name) for name in names if NUMBERED.fullmatch(name) and int(name)]


def numbered(directory, number):
    return os.path.join(directory, f"{number:010d}")


def last_checkpoint(log_dir, log_id):
    """What the checkpoint with the highest number says; None if nothing was ever retired."""
    root = os.path.join(log_dir, "horizon", "checkpoints")
    while found := numbers(root):
        path = numbered(root, max(found))
        try:
            checkpoint, _ = envelope(path, "checkpoint")
        except OSError:
            if max(numbers(root), default=0) == max(found):
                raise
            continue  # it was removed behind a newer one
        same = (checkpoint["log"], checkpoint["number"]) == (log_id, max(found))
        check(same, path, 0, f"checkpoint {max(found)} of {log_id}")
        check(0 < checkpoint["segment"] <= max(found), path, 0, "a segment, of a record at least each")
        known = checkpoint["segments"]
        check(len(known) == checkpoint["segment"], path, 0, "digests of all segments")
        for segment in known:
            typed(segment, path, FIELDS["segment"])
            check(SHA256.fullmatch(segment["digest"]), path, 0, "a SHA-256 of each segment")
            check(min(segment["messages"], segment["bytes"]) >= 0, path, 0, "numbers of messages and bytes of each segment")
        for what in ("messages", "bytes"):
            check(sum(s[what] for s in known) < 1 << 63, path, 0, f"{what} of all segments that a number holds")
        return checkpoint
    return None


def last_floor(log_dir, log_id):
    """What the floor with the highest number says: the segments up to it expired. None if nothing ever did."""
    root = os.path.join(log_dir, "horizon", "checkpoints")
    while found := floors(root):
        path = os.path.join(root, f"floor-{max(found):010d}")
        try:
            floor, _ = envelope(path, "floor")
        except OSError:
            if max(floors(root), default=0) == max(found):
                raise
            continue  # it was removed behind a later one
        same = (floor["log"], floor["segment"]) == (log_id, max(found))
        check(same, path, 0, f"floor {max(found)} of {log_id}")
        return floor
    return None


def floors(root):
    try:
        names = os.listdir(root)
    except FileNotFoundError:
        return []
    found = [n[6:] for n in names if n.startswith("floor-")]
    return [int(n) for n in found if len(n) == 10 and n.isascii() and n.isdigit() and int(n)]


def announced(log_dir):
    """Whether somebody is settling the log: then buckets are closed before their record is there."""
    root = os.path.join(log_dir, "horizon", "intents")
    return os.path.isdir(root) and any(not name.startswith("tmp-") for name in os.listdir(root))


def records(log_dir, log_id, checkpoint, width=1):
    """The chain of records, checked link by link; their ends and buckets are multiples of the width.

    First the checkpoint's own record, if there is a checkpoint."""
    chain = []
    root = os.path.join(log_dir, "horizon", "records")
    check(os.path.isdir(root), root, 0, "the directory of the log's records")
    seals = {}
    last = 0
    for group in [group for group in os.listdir(root) if re.fullmatch(r"[0-9]{7}", group)]:
        # What stands in another group than its number's is nobody's.
        names = [n for n in os.listdir(os.path.join(root, group)) if re.match("[0-9]{10}", n)]
        names = [n for n in names if (int(n[:10]) - 1) // 1000 == int(group)]
        for number, digest in (m.groups() for m in map(SEAL.fullmatch, names) if m):
            seals.setdefault(int(number), set()).add(digest)
        last = max([last] + [int(name) for name in names if NUMBERED.fullmatch(name)])
    number, before, keys = 0, (NONE, ""), 0
    if checkpoint:
        number, before = checkpoint["number"], (checkpoint["to"], checkpoint["digest"])
        record, path = one_record(root, log_id, number, seals, before[1])
        check(record["to"] == before[0], path, 0, f"a range up to {before[0]}")
        keys = record["trustedKeys"]
        chain.append(record)
    # A seal proves that its record was there.
    for n in range(number + 1, max([last, *seals]) + 1):
        record, path = one_record(root, log_id, n, seals)
        check((record["from"], record["previous"]) == before, path, 0, "to follow the record before")
        check(record["trustedKeys"] >= keys, path, 0, f"{keys} trusted keys or more")
        in_range(record, path, width)
        keys = record["trustedKeys"]
        before = (record["to"], record["digest"])
        chain.append(record)
    return chain


def one_record(root, log_id, number, seals, digest=None):
    """A record that must be there, with the digest that its seal names, or the checkpoint; and its path."""
    path = numbered(os.path.join(root, f"{(number - 1) // 1000:07d}"), number)
    try:
        record, found = envelope(path, "record")
    except FileNotFoundError:
        raise Damaged(f"{path}: damaged: expected record {number}, found no file") from None
    check(record["log"] == log_id and record["number"] == number, path, 0, f"record {number} of {log_id}")
    for expected in seals.get(number, set()) | ({digest} if digest else set()):
        check(found == expected, path, 0, "SHA-256 " + expected)
    record["digest"] = found
    return record, path


def in_range(record, path, width):
    """That a record settles whole buckets, and lists such of its range, each once, in order."""
    check(record["from"] < record["to"] and record["to"] % width == 0, path, 0, "a range that ends at a bucket, above its beginning")
    check(len(record["buckets"]) <= MOST_BUCKETS, path, 0, f"at most {MOST_BUCKETS} buckets")
    check(0 <= record["trustedKeys"] < 1 << 31, path, 0, "a number of keys")
    check(SHA256.fullmatch(record["keys"]), path, 0, "the SHA-256 of the keys")
    check(min(record["settledBuckets"], record["settledMessages"], record["settledBytes"]) >= 0, path, 0, "sums of what was settled")
    least = record["from"]
    for bucket in record["buckets"]:
        typed(bucket, path, FIELDS["listed bucket"])
        start = bucket["start"]
        check(SHA256.fullmatch(bucket["lock"]), path, 0, "the SHA-256 of a lock")
        check(least <= start < record["to"] and start % width == 0, path, 0, "buckets of its range in order")
        era = start // (width * 65536) * (width * 65536)
        check(era >= NONE, path, 0, "buckets of eras that begin in time")
        least = start + 1


# Settled files


def unpack(data, most):
    """A block of LZ4, unpacked. Whatever is longer than it may be is cut short, or no block."""
    out, at = bytearray(), 0

    def more(n):
        nonlocal at
        while n >= 15 and n < most + 15:
            at += 1
            n += data[at - 1]
            if data[at - 1] < 255:
                break
        return n

    while len(out) <= most:
        token = data[at]
        at += 1
        n = more(token >> 4)
        out += data[at : at + n]
        at += n
        if at >= len(data):
            return bytes(out) if at == len(data) and token & 15 == 0 else b""
        back = data[at] | data[at + 1] << 8
        at += 2
        n = more(token & 15) + 4
        if not 0 < back <= len(out) or len(out) + n > most:
            return b""
        match = out[-back:][:n]
        out += (match * (n // len(match) + 1))[:n]
    return b""


class SettledFile:
    """A segment, or the lock of a bucket: number 0. Its blocks are checked when they are read, all else here."""

    def __init__(self, path, number, place, digest):
        self.path = path
        self.holes = []
        with there(path):
            self.file = opened(path)
        with sense(path):
            self.begin(path, number, place, digest)

    def begin(self, path, number, place, expected):
        head = self.at(0, 128)
        check(len(head) == 128 and head[:12] == b"CINCHSEG\3\0\x80\0", path, 0, "the header of a settled file")
        crc, *fields = struct.unpack("<I16s16sqqqqq32sq", head[12:])
        self.seed = zlib.crc32(head[:12] + head[16:])
        check(crc == self.seed, path, 12, "a header of that checksum")
        store, log, n, self.first, self.last, self.start, self.to, digest, width = fields
        check((store.hex(), log.hex(), width, n) == (*place, number), path, 16, "the header of this file")
        self.digest = digest.hex()
        self.width = width
        end = os.fstat(self.file.fileno()).st_size - 52
        check(end >= 128, path, 128, "a trailer")
        trailer = self.at(end, 52)
        magic, offset, length, self.messages, self.buckets, self.newest, crc = struct.unpack("<8sqqqqqI", trailer)
        sound = magic == b"CINCHEND" and crc == zlib.crc32(struct.pack("<I", self.seed) + trailer[:48])
        check(sound and offset + length == end, path, end, "a trailer of that checksum")
        index = self.block(b"SEGI", length, offset)
        digest_here = sha256(head + self.at(offset, length) + trailer)
        check(digest_here == expected, path, 0, f"header, index and trailer of SHA-256 {expected}")
        check(len(index) % 28 == 0, path, offset, "index entries")
        self.blocks = list(struct.iter_unpack("<4sIqqI", index))
        self.end = offset
        lock = (self.first, self.last, self.to, any(digest)) == (0, 0, self.start + width, False)
        sound = 1 <= self.first <= self.last and self.start < self.to if number else lock
        check(sound, path, 48, "ranges that are not empty" if number else "the range of a bucket, and no records")
        self.check_order()

    def check_order(self):
        """That leases stand right before messages, and are of their time; and buckets ascend."""
        bucket = None
        for (kind, *_, time_, _), (after, *_, time_after, _) in zip(self.blocks, self.blocks[1:] + [(b"", 0, 0, 0, 0)]):
            if kind == b"SEGB":
                check(bucket is None or time_ > bucket, self.path, self.end, "buckets in ascending order")
                bucket = time_
            elif kind == b"SEGL":
                check(after == b"SEGM" and time_after == time_, self.path, self.end, "leases right before messages")

    def at(self, offset, length):
        self.file.seek(offset)
        return self.file.read(length)

    def block(self, kind, length, offset, indexed=None):
        """The body of a block, unpacked."""
        data = self.at(offset, length)
        check(len(data) == length >= 16 and data[:4] == kind, self.path, offset, f"a block of {length} bytes")
        n, how, crc = struct.unpack("<III", data[4:16])
        check(n == length - 16, self.path, offset, f"a body of {length - 16} bytes")
        computed = zlib.crc32(struct.pack("<Iq", self.seed, offset) + data[:12] + data[16:])
        check(crc == computed, self.path, offset, "a block of that checksum")
        check(indexed in (None, crc), self.path, offset, "the block of which the index has the checksum")
        body, unpacked = data[16:], how & 0xFFFFFFF
        if how >> 28 == 1:
            check(unpacked <= 255 * n, self.path, offset, "a body that can be packed so")
            with contextlib.suppress(IndexError):
                body = unpack(body, unpacked)
        check(how >> 28 < 2 and len(body) == unpacked, self.path, offset, f"{unpacked} bytes, as they are or packed")
        return body

    def read(self):
        """Yields (timestamp, file name, position, payload, witnesses, number of trusted keys)."""
        with sense(self.path):
            yield from self.checked()

    def checked(self):
        next_offset, before, buckets, total, newest = 128, NONE, 0, 0, NONE
        left = []
        for kind, length, offset, time_, crc in self.blocks:
            check(offset == next_offset and time_ >= before, self.path, self.end, "an index of blocks in order")
            next_offset, before = offset + length, time_
            body = self.block(kind, length, offset, crc)
            check(kind == b"SEGB" or buckets > 0, self.path, offset, "a bucket first")
            if kind == b"SEGB":
                check(not any(left), self.path, offset, "all messages of the bucket before")
                keys, names, left, holes = self.bucket(body, offset, time_)
                start = time_
                positions, witnesses, sets, key = [0] * len(names), [], [], None
                buckets += 1
            elif kind == b"SEGL":
                self.leases(body, offset, witnesses, sets)
            else:
                check(kind == b"SEGM", self.path, offset, "a block of a known kind")
                first = len(body) > 8 and struct.unpack_from("<q", body)[0] == time_
                check(first, self.path, offset, f"a first message of the time {time_}")
                for file, number, timestamp, position, payload in self.texts(body, offset):
                    known = file < len(names) and number <= len(sets)
                    check(known, self.path, offset, "a known data file and lease set")
                    while position > positions[file] and holes[file]:
                        positions[file] += max(0, holes[file].pop(0))
                    check(position == positions[file], self.path, offset, "the next message of a file")
                    check(key is None or key < (timestamp, file, position), self.path, offset, "the total order")
                    check(start <= timestamp < start + self.width, self.path, offset, "a timestamp in the bucket")
                    key = timestamp, file, position
                    newest = timestamp
                    positions[file] += 1
                    left[file] -= 1
                    total += 1
                    yield timestamp, names[file], position, payload, sets[number - 1] if number else None, keys
        check(next_offset == self.end and not any(left), self.path, self.end, "all messages of the last bucket")
        check((total, buckets, newest) == (self.messages, self.buckets, self.newest), self.path, self.end, "as many as the trailer says")
        check(self.first > 0 or buckets == 1, self.path, self.end, "one bucket in a lock")

    def bucket(self, body, offset, time_):
        """How many keys apply; the names of the data files, how many messages each has, and how many its holes miss."""
        check(len(body) >= 28, self.path, offset, "a bucket")
        start, _, keys, count, holes = struct.unpack_from("<qqIII", body)
        check(keys < 1 << 31, self.path, offset, "a number of keys")
        check(start == time_, self.path, offset, f"the bucket {time_}")
        here = self.start <= start < self.to and start % self.width == 0
        check(here, self.path, offset, "a bucket in the range of the file")
        at, names, valids, messages = 28, [], [], []
        for _ in range(count):
            check(at + 17 <= len(body), self.path, offset, f"{count} data files")
            valid, n, length = struct.unpack_from("<qqB", body, at)
            fits = 1 <= n <= valid // 16 if valid else n == 0
            check(valid >= 0 and fits, self.path, offset, "a length and a number of messages that fit together")
            name = body[at + 17 : at + 17 + length].decode("ascii", "replace")
            named = DATA_FILE.fullmatch(name) and not name.startswith("tmp-") and name > (names[-1] if names else "")
            check(named, self.path, offset, "names of data files, ascending")
            names.append(name)
            valids.append(valid)
            messages.append(n)
            at += 17 + length
        check(at + 28 * holes == len(body), self.path, offset, f"{count} data files, {holes} holes and nothing else")
        missing, before = [[] for _ in names], (-1, 0)
        for file, begin, end, n in struct.iter_unpack("<Iqqq", body[at:]):
            ascending = file < count and (file, begin) >= (max(before[0], 0), before[1] if file == before[0] else 0)
            check(ascending and begin < end, self.path, offset, "holes, ascending")
            fits = n >= 0 and end <= valids[file] or n == -1 and begin >= valids[file]
            check(fits, self.path, offset, "a hole that says what is missing, or behind the end of a file")
            missing[file].append(n)
            self.holes.append((start, names[file], begin, end, n))
            before = file, end
        return keys, names, messages, missing

    def leases(self, body, offset, witnesses, sets):
        """Adds the witnesses of a block, and the lease sets."""
        at = 0
        while at < len(body):
            word = struct.unpack_from("<I", body, at)[0]
            kind, n = word >> 28, word & 0xFFFFFFF
            value = body[at + 4 : at + 4 + n]
            fits = kind in (2, 3) and len(value) == n and (kind == 2 or n % 4 == 0)
            check(fits, self.path, offset + 16 + at, "a witness or a lease set within the block")
            if kind == 2:
                witnesses.append(value)
            else:
                numbers = struct.unpack(f"<{n // 4}I", value)
                check(all(0 < n <= len(witnesses) for n in numbers), self.path, offset, "known witnesses")
                sets.append([witnesses[n - 1] for n in numbers])
            at += 4 + n

    def texts(self, body, offset):
        at, timestamp = 8, struct.unpack_from("<q", body)[0]
        while at < len(body):
            head = []
            for most in (1 << 31, 1 << 31, 1 << 31, 1 << 64, 1 << 63):
                n, shift = 0, 0
                while True:
                    check(at < len(body) and shift < 64, self.path, offset, "a message within its block")
                    byte = body[at]
                    at += 1
                    n |= (byte & 127) << shift
                    shift += 7
                    if byte < 128:
                        break
                check(n < most, self.path, offset, "a number that can be")
                head.append(n)
            n, file, number, later, position = head
            timestamp += later
            check(at + n <= len(body) and timestamp < 1 << 63, self.path, offset, "a message within its block")
            yield file, number, timestamp, position, body[at : at + n]
            at += n

    def close(self):
        self.file.close()


# Witnesses


class Witness:
    """The fields of a signed witness that a reader needs."""

    def __init__(self, signed):
        self.signed = signed
        self.payload_length = struct.unpack_from("<I", signed)[0]
        rest = len(signed) - self.payload_length
        self.key_id = signed[self.payload_length : self.payload_length + 8]
        depth = 0 if rest == 72 else (rest - 76) // 32
        self.one = Signature(signed[self.payload_length + 8 :], depth)
        whole = self.one.whole and rest == 8 + self.one.length
        well_formed = signed[4:8] in (b"CLW\3", b"CLW\4") and whole
        well_formed = well_formed and 139 <= self.payload_length <= 32_648 and signed[11] in (1, 2)
        if not well_formed or signed[8] > 1 or signed[9] > 3 or signed[10] > 1:
            raise ValueError("not a witness")
        if min(struct.unpack_from("<qq", signed, 12)) < 1 or not signed[10] and any(signed[60:76]):
            raise ValueError("not a lease")
        self.tentative = signed[8] != 0
        self.instance = struct.unpack_from("<q", signed, 12)[0]
        self.expiry = struct.unpack_from("<q", signed, 28)[0]
        self.correlation = signed[44:60].hex()
        watermark, _, fence = struct.unpack_from("<qqq", signed, 84)
        self.lower = max(watermark, fence)
        earliest, latest, told = struct.unpack_from("<qqq", signed, 108)
        if earliest > latest:
            raise ValueError("a bound of time that ends before it begins")
        # How far the watermark is ahead of the latest that it could be when it was told (rule L2).
        self.ahead = watermark - told if told != NONE else NONE
        self.logs, at = self.log_set(132)
        fenced, at = self.log_set(at)
        if fence == NONE and fenced != []:
            raise ValueError("logs of no fence")
        self.name, at = self.text(at)
        _, at = self.text(at)  # the holder
        if not LEASE_NAME.fullmatch(self.name) or at != self.payload_length:
            raise ValueError("not a lease's name, or more behind the holder")

    def log_set(self, at):
        count = struct.unpack_from("<H", self.signed, at)[0]
        if count == 0xFFFF:
            return None, at + 2  # all logs
        ids = [self.signed[i : i + 16].hex() for i in range(at + 2, at + 2 + 16 * count, 16)]
        if count > 1_000 or at + 2 + 16 * count > self.payload_length or ids != sorted(set(ids)):
            raise ValueError("ids that do not ascend")
        return ids, at + 2 + 16 * count

    def text(self, at):
        end = at + 1 + self.signed[at]
        if end > self.payload_length:
            raise ValueError("a text that ends behind the payload")
        return self.signed[at + 1 : end].decode(), end

    def permits(self, log, timestamp, most_ahead):
        named = self.logs is None or log in self.logs
        bounds = self.ahead <= most_ahead and self.lower < timestamp < self.expiry
        return not self.tentative and named and bounds

    def is_signed(self, keys):
        payload = self.signed[: self.payload_length]
        return any(
            key_id(key) == self.key_id and self.expiry <= getattr(key, "end", self.expiry) and self.one.is_by(key, payload)
            for key in keys
        )


class Signature:
    """A signature of a payload, or of a tree that it is in; then the leaf's number and its path."""

    def __init__(self, data, depth):
        self.depth = depth
        self.length = 68 + 32 * depth if depth else 64
        self.bytes = data[:64]
        self.leaf = struct.unpack_from("<I", data, 64)[0] if depth and len(data) >= 68 else 0
        self.path = data[68 : self.length]
        self.whole = 0 <= depth <= 16 and len(data) >= self.length and self.leaf >> depth == 0

    def is_by(self, key, payload):
        return ed25519(key, self.statement(payload), self.bytes)

    def statement(self, payload):
        """What has to be signed: the payload, or the root of the tree to which the path leads."""
        if not self.depth:
            return payload
        hashed = hashlib.sha256(b"\0" + payload).digest()
        for level in range(self.depth):
            sibling = self.path[32 * level : 32 * level + 32]
            pair = sibling + hashed if self.leaf >> level & 1 else hashed + sibling
            hashed = hashlib.sha256(b"\1" + pair).digest()
        return b"cinch witness tree 1\n" + hashed


def key_id(key):
    return hashlib.sha256(key).digest()[:8]


class DelegatedKey(bytes):
    """A key that signs leases that are over by its end, and no other key."""

    def __new__(cls, key, end):
        made = super().__new__(cls, key)
        made.end = end
        return made


class Keys:
    """The keys that count for a chain of records (rule F3). All of them must be there: without one messages would be left out."""

    def __init__(self, store, settings, chain):
        self.store = store
        self.settings = settings
        self.keys = []
        self.load(chain[-1]["trustedKeys"])
        self.check(chain[-1])

    def check(self, record):
        """That the keys are those which a record counted."""
        count = record["trustedKeys"]
        self.load(count)
        path = os.path.join(self.store, "keys") if count != 1 else self.path(1)
        expected = f"{count} keys of SHA-256 {record['keys']}, as in record {record['number']}"
        check(sha256(b"".join(self.keys[:count])) == record["keys"], path, 0, expected)

    def first(self, count):
        self.load(count)
        return tuple(self.keys[:count])

    def path(self, number):
        return numbered(os.path.join(self.store, "keys"), number)

    def load(self, count):
        while len(self.keys) < count:
            self.keys.append(self.key(len(self.keys) + 1))

    def key(self, number):
        """One that a record counts: the first, or one that an earlier one signed."""
        path = self.path(number)
        try:
            data = read(path, "key")
        except FileNotFoundError:
            raise Damaged(f"{path}: there is no key {number}, and a record names it") from None
        key = self.signed(path, number, opened_envelope(path, "key", data)[0])
        pin = self.settings["firstKey"]
        check(number > 1 or not pin or sha256(key) == pin, path, 0, f"the store's first key, of SHA-256 {pin}")
        return key

    def signed(self, path, number, fields):
        hexadecimal = re.fullmatch("[0-9a-f]{64}", fields["publicKey"]) and re.fullmatch("[0-9a-f]{128}", fields["signature"])
        check(hexadecimal, path, 0, "a key and a signature in hexadecimal")
        same = fields["store"] == self.settings["store"] and fields["number"] == number
        check(same, path, 0, f"key {number} of this store")
        key, by = bytes.fromhex(fields["publicKey"]), fields["signedBy"]
        domain = b"cinch trusted key 1\n"
        said = struct.pack("<q", number)
        if fields["version"] == 2:
            check(0 < fields["untilMs"] < 2**63 // 10**6 and by, path, 0, "an end, and an earlier key that signed")
            key, domain = DelegatedKey(key, fields["untilMs"] * 10**6), b"cinch delegated key 1\n"
            said += struct.pack("<q", key.end)
        if number == 1 and by == 0:
            signer = key
        else:
            check(0 < by < number, path, 0, "the number of an earlier key")
            signer = self.keys[by - 1]
        statement = domain + bytes.fromhex(fields["store"]) + said + key
        good = not isinstance(signer, DelegatedKey) and ed25519(signer, statement, bytes.fromhex(fields["signature"]))
        check(good, path, 0, f"a signature of key {by or number}")
        return key


P = 2**255 - 19
Q = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def add(a, b):
    """Adds two points of the curve, as fractions (X : Y : Z : XY/Z)."""
    x = (a[1] - a[0]) * (b[1] - b[0]) % P
    y = (a[1] + a[0]) * (b[1] + b[0]) % P
    t = 2 * a[3] * b[3] * D % P
    z = 2 * a[2] * b[2] % P
    e, f, g, h = y - x, z - t, z + t, y + x
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(n, point):
    result = (0, 1, 1, 0)
    while n:
        if n & 1:
            result = add(result, point)
        point = add(point, point)
        n >>= 1
    return result


def decompress(data):
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if y >= P or (x * x - square) % P or (x == 0 and sign):
        return None
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P


BASE = decompress((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def ed25519(key, message, signature):
    """Whether a signature is by a key (RFC 8032)."""
    a, r = decompress(key), decompress(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if a is None or r is None or s >= Q:
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % Q
    left, right = times(s, BASE), add(r, times(k, a))
    return (left[0] * right[2] - right[0] * left[2]) % P == 0 and (left[1] * right[2] - right[1] * left[2]) % P == 0


# The messages of a log


class Log:
    def __init__(self, store, name):
        self.settings = settings(store)
        self.directory = os.path.join(store, "logs", name)
        if os.path.exists(os.path.join(self.directory, "removed")):
            raise Damaged(f"{self.directory}: the log was removed")
        self.id = identity(store, name)
        self.width = self.settings["bucketWidthMs"] * 1_000_000
        self.place = (self.settings["store"], self.id, self.width)
        off = sum(self.settings[name] for name in ("clockAheadMs", "clockBehindMs", "timestampDistanceMs"))
        self.ahead = (off + 1_000) * 1_000_000  # how far ahead a watermark may be (rule L2)
        self.store = store
        self.keys = None
        self.known = {}
        self.passed = self.ignored = 0
        self.lost = {}

    def messages(self):
        """Yields (timestamp, file name, position, payload, name and correlation of each lease) in the total order.

        That messages were lost before their bucket was closed is told when all others were given."""
        yield from self.in_order()
        if self.lost:
            raise Damaged("\n".join(self.lost))

    def in_order(self):
        last = began = None
        given = 0
        while True:
            checkpoint = last_checkpoint(self.directory, self.id)
            floor = last_floor(self.directory, self.id)
            passed = floor["messages"] if floor else 0  # how many messages of the log those were that are gone
            began = passed if last is None else began
            if last and floor and floor["to"] > last[0] and passed > began + given:
                raise Damaged(f"{self.directory}: messages expired while they were read; what is kept begins at {floor['to']}")
            try:
                before = None
                for message in self.all(checkpoint, floor, last):
                    key = message[:3]
                    if before is not None and key <= before:
                        raise Damaged(f"{self.directory}: {key} stands after {before}")
                    before = key
                    if last is None or key > last:  # else it was given before somebody retired what we read
                        last = key
                        given += 1
                        if message[3] is not None:
                            yield message
                return
            except (Damaged, OSError):
                # Retired under our hands (on NFS that is ESTALE): the order is the same in segments.
                # What expired meanwhile is gone.
                now = last_checkpoint(self.directory, self.id), last_floor(self.directory, self.id)
                if now == (checkpoint, floor):
                    raise

    def all(self, checkpoint, floor, after):
        chain = records(self.directory, self.id, checkpoint, self.width)
        self.reaching(chain[-1]["number"] if chain else 0)
        if last_checkpoint(self.directory, self.id) != checkpoint:
            raise Damaged("records were retired")  # those read may be a sleeper's; begin again
        if chain and self.settings["leases"] == "required":
            self.keys = Keys(self.store, self.settings, chain)
        if checkpoint:
            yield from self.retired(checkpoint, floor, after)
        for record in chain[1:] if checkpoint else chain:
            if self.keys:
                self.keys.check(record)
            if after is None or record["to"] > after[0]:
                for listed in record["buckets"]:
                    yield from self.bucket(record, listed)

    def reaching(self, last):
        """That records reach as far as what was made of them."""
        root = os.path.join(self.directory, "segments")
        names = os.listdir(root) if os.path.isdir(root) else []
        made = [int(name[:10]) for name in names if NUMBERED.fullmatch(name[:10]) and name[10:11] in ("", ".")]
        lost = os.path.join(self.directory, "horizon", "records")
        floored = last_floor(self.directory, self.id)
        closed = os.path.join(self.directory, "buckets", "*", "*", "*", "lock")
        check(last or not (made or floored), lost, 0, "records, which segments were made of")
        check(last or announced(self.directory) or not glob.glob(closed), lost, 0, "records, which list closed buckets")
        if made and last:
            path = numbered(root, max(made))
            with contextlib.suppress(FileNotFoundError), regular(path) as f:
                head = f.read(128)
                if len(head) == 128 and head[32:48].hex() == self.id:
                    ends = struct.unpack_from("<q", head, 64)[0]
                    check(ends <= last, lost, 0, f"record {ends}, which {path} was made of")

    def retired(self, checkpoint, floor, after):
        """What the segments behind a checkpoint have, from the one on where a message stands."""
        before = (0, NONE)
        expired = 0
        if floor:
            before, expired = (floor["record"], floor["to"]), floor["segment"]
            check(expired < checkpoint["segment"], self.directory, 0, "a floor below the checkpoint's segment")
            for what in ("messages", "bytes"):
                counted = sum(s[what] for s in checkpoint["segments"][:expired])
                check(floor[what] == counted, self.directory, 0, f"a floor of {counted} {what}")
        for number in range(expired + 1, checkpoint["segment"] + 1):
            path = numbered(os.path.join(self.directory, "segments"), number)
            known = checkpoint["segments"][number - 1]
            segment = SettledFile(path, number, self.place, known["digest"])
            check((segment.first, segment.start) == (before[0] + 1, before[1]), path, 56, "to follow the one before")
            check(segment.messages == known["messages"], path, 0, f"{known['messages']} messages")
            before = (segment.last, segment.to)
            if after is None or segment.to > after[0]:
                yield from self.settled(segment, None)
            if number == checkpoint["segment"]:
                end = (checkpoint["number"], checkpoint["to"], checkpoint["digest"])
                check((*before, segment.digest) == end, path, 64, "to end with the checkpoint's record")

    def bucket(self, record, listed):
        path = os.path.join(self.directory_of(listed["start"]), "lock")
        lock = SettledFile(path, 0, self.place, listed["lock"])
        check(lock.start == listed["start"], lock.path, 72, "the lock of this bucket")
        return self.settled(lock, record["trustedKeys"])

    def directory_of(self, start):
        levels = [time_name(start // (self.width * n) * (self.width * n)) for n in (65536, 256, 1)]
        return os.path.join(self.directory, "buckets", *levels)

    def settled(self, file, keys):
        """The messages of a settled file; where a record says how many keys count, it is that many."""
        with contextlib.closing(file):
            for timestamp, name, position, payload, under, counted in file.read():
                yield from self.existing(timestamp, name, position, payload, under, counted if keys is None else keys)
            for start, name, begin, end, n in file.holes:
                path = os.path.join(self.directory_of(start), name)
                many = "an unknown number of" if n < 0 else n
                self.lost[f"{path}: damaged at byte {begin}: expected batches up to byte {end}, with {many} messages"] = True

    def existing(self, timestamp, name, position, payload, under, keys):
        """The message, if it exists."""
        leases = [self.witness(w) for w in under or []]
        if self.settings["leases"] == "required" and not self.permitted(keys, leases, timestamp):
            self.ignored += 1
            print(f"{name}: the message with timestamp {timestamp} has no valid witness", file=sys.stderr)
            yield timestamp, name, position, None, []
        else:
            self.passed += 1
            yield timestamp, name, position, payload, [(w.name, w.correlation) for w in leases if w]

    def witness(self, signed):
        if signed not in self.known:
            try:
                self.known[signed] = Witness(signed)
            except (ValueError, struct.error, IndexError):
                self.known[signed] = None
        return self.known[signed]

    def permitted(self, count, leases, timestamp):
        keys = self.keys.first(count)
        return bool(leases) and all(w and self.permits(w, keys, timestamp) for w in leases)

    def permits(self, witness, keys, timestamp):
        if (witness, keys) not in self.known:
            self.known[witness, keys] = witness.is_signed(keys)
        return self.known[witness, keys] and witness.permits(self.id, timestamp, self.ahead)


def main(arguments):
    as_json = "--json" in arguments
    places = [a for a in arguments if a != "--json"]
    if len(places) != 2:
        print("usage: reader.py STORE LOG [--json]", file=sys.stderr)
        return 2
    if sys.stdout is None:  # and the next file that is opened would get its number
        print("standard output is closed", file=sys.stderr)
        return 1
    out = sys.stdout.buffer
    try:
        log = Log(*places)
        for timestamp, name, position, payload, leases in log.messages():
            if as_json:
                line = {
                    "timestamp": timestamp,
                    "file": name,
                    "position": position,
                    "payload": base64.b64encode(payload).decode(),
                    "leases": [lease for lease, _ in leases],
                }
                out.write(json.dumps(line).encode() + b"\n")
            else:
                out.write(f"{timestamp} {name} {position} ".encode() + payload + b"\n")
        out.flush()
        if log.ignored and not log.passed:
            print(f"no message passed: all {log.ignored} have no valid witness", file=sys.stderr)
            return 1
    except BrokenPipeError:
        abandon(out)
        return 0  # the reader has had enough
    except (Damaged, OSError) as e:
        abandon(out)
        print(e, file=sys.stderr)
        return 1
    except MemoryError:
        abandon(out)
        print("out of memory", file=sys.stderr)
        return 1
    return 0


def abandon(out):
    """Writes what can be written; what can't is forgotten, or Python would complain of it at its end."""
    try:
        out.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
