#!/usr/bin/env python3
"""Torn batches: steps 2.3, 3.3 and 3.4 of the protocol, rules A2, C1, C2 and C3.

One writer appends batches to one file, small ones (S) in one step and large ones (L) in two; closers measure and link a lock.
A batch is in pieces, of which the last is its trailer. Pieces reach the server in any order, at any time or never, also after an
error; the size covers the holes between them. A force that succeeds makes all pieces of the batch durable; what was not forced
can be lost whenever the server loses power, and come again. A writer that loses power is one that takes no more steps.

Checked: what the lock covers can be read whole ever after, all that was told COMMITTED is covered, nothing told REJECTED is.
"""
from collections import namedtuple
from itertools import product

from explorer import main

MUTATIONS = {
    "no-force-between": ("a large batch's last bytes are written before the others are forced", None),
    "one-step": ("a large batch is written like a small one; the copy has its last bytes", None),
    "no-copy": ("readers don't take the lock's copy where the file lost what the lock covers", None),
    "copy-of-trailer": ("the lock has a copy of the trailer of a small batch alone", None),
    "tail-without-checksum": ("a closer takes a small batch for whole without its digest", None),
    "size-is-valid": ("a closer takes a torn file's size for its valid length", None),
    "torn-is-empty": ("a closer drops a whole file for its torn end", None),
    "reads-past-the-lock": ("readers read all that is whole", None),
    "lock-not-forced": ("a lock is linked before it is forced", None),
    "does-not-force": ("a batch is confirmed before it is forced", None),
    "appends-after-a-failure": ("a writer goes on with its file after a failed force", None),
    "no-verdict-after-a-failure": ("an error of force is told as REJECTED", None),
}

BOUNDS = {
    "small": dict(files=("SL", "LS"), closers=1),
    "default": dict(files=tuple("".join(kinds) for kinds in product("SL", repeat=3)), closers=2),
    "large": dict(files=tuple("".join(kinds) for kinds in product("SL", repeat=4)), closers=3),
}
PIECES = {"S": 2, "L": 3}

# pieces: "." not written, "D" under way, "M" at the server, "F" durable. size: pieces that the server's size covers
# told: verdicts, None where there is none. closers: (pc, size or lock). lock: None, "torn", or a Lock
State = namedtuple("State", "kinds pieces size writer told prelock closers lock")
Writer = namedtuple("Writer", "pc batch")
Lock = namedtuple("Lock", "batches copy")  # how many batches are valid, and which pieces it has a copy of


class TwoStepBatch:
    def __init__(self, broken, bounds):
        self.broken, self.bounds = broken, bounds

    def initial(self):
        return State(None, "", 0, Writer("write", 0), (), False, (("prelock", None),) * self.bounds["closers"], None)

    @staticmethod
    def span(kinds, batch):
        start = sum(PIECES[kind] for kind in kinds[:batch])
        return range(start, start + PIECES[kinds[batch]])

    def wrong(self, s):
        if s.lock is None:
            return None
        if s.lock == "torn":
            return "the lock is torn"
        copy = () if "no-copy" in self.broken else s.lock.copy
        for batch in range(len(s.kinds)):
            whole = all(s.pieces[i] in "MF" or i in copy for i in self.span(s.kinds, batch))
            covered = batch < s.lock.batches
            if covered and not whole:
                return "batch %d is covered, and can't be read" % batch
            told = s.told[batch]
            if told is not None and told != (covered or "reads-past-the-lock" in self.broken and whole):
                return "batch %d was told %s" % (batch, "COMMITTED" if told else "REJECTED")
        return None

    def steps(self, s):
        if s.kinds is None:
            for kinds in self.bounds["files"]:
                pieces = "." * sum(PIECES[kind] for kind in kinds)
                yield "the batches are " + kinds, s._replace(kinds=kinds, pieces=pieces, told=(None,) * len(kinds))
            return
        yield from self.server_steps(s)
        yield from self.writer_steps(s, s.writer)
        for c, closer in enumerate(s.closers):
            for label, after, me in self.closer_steps(s, *closer):
                yield "closer %d %s" % (c, label), after._replace(closers=s.closers[:c] + (me,) + s.closers[c + 1:])

    @staticmethod
    def server_steps(s):
        for i, piece in enumerate(s.pieces):
            if piece == "D":
                yield "piece %d arrives" % i, s._replace(pieces=s.pieces[:i] + "M" + s.pieces[i + 1:], size=max(s.size, i + 1))
        for left in product(*("FD" if piece == "M" else piece for piece in s.pieces)):
            left = "".join(left)
            for size in range(left.rfind("F") + 1, s.size + 1):
                if left != s.pieces or size != s.size:
                    yield "the server loses power: %s, size %d" % (left, size), s._replace(pieces=left, size=size)

    def writer_steps(self, s, me):
        """Section 2, steps 3 to 5."""
        pc, batch = me
        if pc == "end":
            return
        span = self.span(s.kinds, batch)
        two_steps = s.kinds[batch] == "L" and "one-step" not in self.broken

        def put(which, state):
            return "".join(state if i in which else piece for i, piece in enumerate(s.pieces))

        def to(pc, **changes):
            return s._replace(writer=Writer(pc, batch) if pc != "end" else Writer("end", 0), **changes)

        def tell(committed, on):
            after = Writer("write", batch + 1) if on and batch + 1 < len(s.kinds) else Writer("end", 0)
            return s._replace(told=s.told[:batch] + (committed,) + s.told[batch + 1:], writer=after)

        if pc == "write":
            if two_steps and "no-force-between" not in self.broken:
                yield "the writer writes all but the trailer of %d" % batch, to("force-first", pieces=put(span[:-1], "D"))
            else:
                yield "the writer writes %d" % batch, to("look" if "does-not-force" in self.broken else "force", pieces=put(span, "D"))
        elif pc in ("force-first", "force"):
            forced = span[:-1] if pc == "force-first" else span
            yield "the writer forces %d" % batch, to("trailer" if pc == "force-first" else "look", pieces=put(forced, "F"), size=max(s.size, forced[-1] + 1))
            if "no-verdict-after-a-failure" in self.broken:
                yield "force fails: REJECTED", tell(False, False)
            elif "appends-after-a-failure" in self.broken:
                yield "force fails, the writer goes on", tell(None, True)
            else:
                yield "force fails", to("resolve")
        elif pc == "trailer":
            yield "the writer writes the trailer of %d" % batch, to("look" if "does-not-force" in self.broken else "force", pieces=put(span[-1:], "D"))
        elif pc == "look":
            yield ("the writer finds the prelock set", to("resolve")) if s.prelock else ("%d is COMMITTED" % batch, tell(True, True))
        elif pc == "resolve" and s.lock not in (None, "torn"):
            committed = batch < s.lock.batches
            yield "%d is %s" % (batch, "COMMITTED" if committed else "REJECTED"), tell(committed, False)

    def closer_steps(self, s, pc, value):
        """Section 3: the prelock, the size, the last whole batch, the lock."""
        if pc == "prelock":
            yield "sets the prelock", s._replace(prelock=True), ("size", None)
        elif pc == "size":
            yield "reads the size, %d" % s.size, s, ("end", s.size)
        elif pc == "end":
            ends = [batch for batch in range(len(s.kinds)) if self.span(s.kinds, batch).stop == value and self.ends_whole(s, batch)]
            if ends or "torn-is-empty" in self.broken:
                yield "reads the end", s, ("link", self.locked(s, ends[0] + 1 if ends else 0))
            else:
                yield "finds the end torn", s, ("walk", value)
        elif pc == "walk":
            batches = 0
            while batches < len(s.kinds) and self.span(s.kinds, batches).stop <= value and (
                    "size-is-valid" in self.broken
                    or s.pieces[self.span(s.kinds, batches)[0]] in "MF" and self.ends_whole(s, batches)):
                batches += 1
            yield "walks to %d" % batches, s, ("link", self.locked(s, batches))
        elif pc == "link":
            yield "links a lock of %d batches" % value.batches, s if s.lock else s._replace(lock=value), ("end-of-it", None)
        if pc == "link" and not s.lock and "lock-not-forced" in self.broken:
            yield "links a lock, and the server loses power", s._replace(lock="torn"), ("end-of-it", None)

    def ends_whole(self, s, batch):
        """Whether a batch is taken for whole by its trailer, and if it was written in one step by its digest."""
        span = self.span(s.kinds, batch)
        proves = s.kinds[batch] == "L" and "one-step" not in self.broken or "tail-without-checksum" in self.broken
        return all(s.pieces[i] in "MF" for i in (span[-1:] if proves else span))

    def locked(self, s, batches):
        if not batches:
            return Lock(0, ())
        span = self.span(s.kinds, batches - 1)
        whole = s.kinds[batches - 1] == "S" and "copy-of-trailer" not in self.broken
        return Lock(batches, tuple(i for i in (span if whole else span[-1:]) if s.pieces[i] in "MF"))


if __name__ == "__main__":
    main(TwoStepBatch, MUTATIONS, BOUNDS)
