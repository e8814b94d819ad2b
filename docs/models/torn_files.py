#!/usr/bin/env python3
"""Torn and damaged data files: steps 2.3, 3.3 and 3.4 of the protocol, rules A2, C1, C2, C4 and R0.

One writer appends batches to one file; closers read it through, batch by batch, and link what is whole as the lock, then a
record that names it; anybody deletes the file behind a record. A batch is in pieces, which reach the server in any order, at
any time or never, also after an error. A force that succeeds makes all of the batch durable; what was not forced, names too,
can be lost whenever the server loses power, and written pieces come again. One batch with another one behind it may be damaged.
A writer that loses power is one that takes no more steps.

Checked: what was told COMMITTED is in the lock, or reported missing there, and nothing told REJECTED is; nothing is reported
that was not damaged; lock and record say the same, for ever once somebody has acted on them.
"""
from collections import namedtuple
from itertools import product

from explorer import main

SAME = "the lock is durable before the record is there, and another record can name no other"
MUTATIONS = {
    "link-before-force": ("a lock is linked before it is forced", None),
    "does-not-force": ("a batch is confirmed before it is forced", None),
    "appends-after-a-failure": ("a writer goes on with its file after a failed force", None),
    "no-verdict-after-a-failure": ("an error of force is told as REJECTED", None),
    "size-is-valid": ("a closer takes what the file's size covers for whole", None),
    "hole-is-torn-end": ("a closer ends at the first batch that is not whole", None),
    "torn-end-is-hole": ("a closer reports a torn end as damage", None),
    "own-content": ("who lost the race for a lock names its own in the record", None),
    "lock-not-durable": ("a record is linked before the lock's name is durable", None),
    "verdict-not-forced": ("a verdict is read before the record's name is durable", SAME),
    "deletes-before-the-record": ("data files go once there is a record, durable or not", SAME),
    "deletes-behind-any-lock": ("data files go once there is a lock, durable or not", None),
    "deletes-before-the-lock": ("data files go once the prelock is set", None),
}

BOUNDS = {
    "small": dict(batches=2, closers=1),
    "default": dict(batches=3, closers=2),
    "large": dict(batches=4, closers=3),
}
PIECES = 2

# pieces: "." not written, "D" under way, "M" at the server, "F" durable, "X" durable and damaged. there: the file
# told: verdicts, None where there is none. closers: (pc, what it read or prepared). lock, record: None, or Named
State = namedtuple("State", "pieces there writer told prelock closers lock record")
Writer = namedtuple("Writer", "pc batch")
Named = namedtuple("Named", "content durable")
Content = namedtuple("Content", "held holes")  # batches that it has, and those that it reports missing
TORN = Content("torn", ())


class TornFiles:
    def __init__(self, broken, bounds):
        self.broken, self.batches, self.closers = broken, bounds["batches"], bounds["closers"]

    def initial(self):
        return State("." * PIECES * self.batches, True, Writer("write", 0), (None,) * self.batches, False, (("prelock", ()),) * self.closers, None, None)

    @staticmethod
    def span(batch):
        return range(batch * PIECES, (batch + 1) * PIECES)

    def wrong(self, s):
        if s.lock and s.lock.content == TORN:
            return "the lock holds what is not whole"
        if s.record and s.lock is None:
            return "the record lists a bucket without a lock"
        if s.record and s.record.content != s.lock.content:
            return "the record and the lock differ"
        for batch, told in enumerate(s.told):
            held = batch in s.lock.content.held if s.lock else self.whole(s, batch)
            hole = batch in s.lock.content.holes if s.lock else self.damaged(s, batch)
            if s.lock and batch in s.lock.content.holes and "X" not in s.pieces:
                return "batch %d is reported, and was not damaged" % batch
            if told and not (held or hole):
                return "batch %d was told COMMITTED, and is lost" % batch
            if told is False and s.lock and held:
                return "batch %d was told REJECTED, and is there" % batch
        return None

    def whole(self, s, batch):
        return s.there and all(s.pieces[i] in "MFD" for i in self.span(batch))

    def damaged(self, s, batch):
        return s.there and any(s.pieces[i] == "X" for i in self.span(batch))

    def steps(self, s):
        yield from self.server_steps(s)
        yield from self.writer_steps(s, s.writer)
        for c, closer in enumerate(s.closers):
            for label, after, me in self.closer_steps(s, *closer):
                yield "closer %d %s" % (c, label), after._replace(closers=s.closers[:c] + (me,) + s.closers[c + 1:])
        early = (
            "deletes-before-the-lock" in self.broken and s.prelock
            or "deletes-behind-any-lock" in self.broken and s.lock
            or "deletes-before-the-record" in self.broken and s.record)
        if s.there and (s.record and s.record.durable or early):
            yield "the data file is deleted", s._replace(there=False)

    def server_steps(self, s):
        for i, piece in enumerate(s.pieces):
            if piece == "D":
                yield "piece %d arrives" % i, s._replace(pieces=s.pieces[:i] + "M" + s.pieces[i + 1:])
        kept = [[name] if name is None or name.durable else [None, name._replace(durable=True)] for name in (s.lock, s.record)]
        for left, lock, record in product(product(*("FD" if piece == "M" else piece for piece in s.pieces)), *kept):
            after = s._replace(pieces="".join(left), lock=lock, record=record)
            if after != s:
                yield "the server loses power: %s, lock %s, record %s" % (after.pieces, lock, record), after
        # One batch of which a whole one stands behind: what a disk loses at the end of a file nobody can tell from a torn end.
        if s.there and "X" not in s.pieces and s.lock is None:
            for batch in range(self.batches - 1):
                if all(s.pieces[i] == "F" for i in (*self.span(batch), *self.span(batch + 1))) and s.told[batch + 1]:
                    i = self.span(batch)[0]
                    yield "batch %d is damaged" % batch, s._replace(pieces=s.pieces[:i] + "X" + s.pieces[i + 1:])

    def writer_steps(self, s, me):
        """Section 2, steps 3 to 5."""
        pc, batch = me
        if pc == "end":
            return

        def put(which, how, only):
            return "".join(how if i in which and piece in only else piece for i, piece in enumerate(s.pieces))

        def to(pc, **changes):
            return s._replace(writer=Writer(pc, batch), **changes)

        def tell(committed, on):
            after = Writer("write", batch + 1) if on and batch + 1 < self.batches else Writer("end", 0)
            return s._replace(told=s.told[:batch] + (committed,) + s.told[batch + 1:], writer=after)

        if pc == "write":
            yield "the writer writes %d" % batch, to("look" if "does-not-force" in self.broken else "force", pieces=put(self.span(batch), "D", "."))
        elif pc == "force":
            yield "the writer forces %d" % batch, to("look", pieces=put(self.span(batch), "F", "DM"))
            if "no-verdict-after-a-failure" in self.broken:
                yield "force fails: REJECTED", tell(False, False)
            elif "appends-after-a-failure" in self.broken:
                yield "force fails, the writer goes on", tell(None, True)
            else:
                yield "force fails", to("resolve")
        elif pc == "look":
            yield ("the writer finds the prelock set", to("resolve")) if s.prelock else ("%d is COMMITTED" % batch, tell(True, True))
        elif pc == "resolve" and s.record and (s.record.durable or "verdict-not-forced" in self.broken):
            committed = batch in s.record.content.held
            yield "%d is %s" % (batch, "COMMITTED" if committed else "REJECTED"), tell(committed, False)

    def closer_steps(self, s, pc, value):
        """Section 3, and the record of section 4: the prelock, every batch, the lock, the record."""
        if pc == "prelock":
            yield "sets the prelock", s._replace(prelock=True), ("read", ())
        elif pc == "read" and not s.there:
            # Only a record lets it go, so there is a lock then; under broken rules it is taken for empty.
            yield "finds the file gone", s, ("force", s.lock.content) if s.lock else ("link", Content((), ()))
        elif pc == "read":
            batch = len(value)
            seen = [s.pieces[i] for i in self.span(batch)]
            found = "whole" if all(piece in "MF" for piece in seen) else "broken" if any(piece in "MFX" for piece in seen) else "nothing"
            value += (found,)
            yield "reads batch %d: %s" % (batch, found), s, ("link", self.content(value)) if len(value) == self.batches else (pc, value)
        elif pc == "link":
            if s.lock:
                yield "finds another lock", s, ("force", value if "own-content" in self.broken else s.lock.content)
            else:
                yield "links the lock", s._replace(lock=Named(value, False)), ("force", value)
                if "link-before-force" in self.broken:
                    yield "links the lock, and the server loses power", s._replace(lock=Named(TORN, True)), ("end", ())
        elif pc == "force":
            if s.lock is None:
                yield "finds its lock lost, and begins anew", s, ("read", ())
            else:
                content = value if "own-content" in self.broken else s.lock.content
                durable = s.lock.durable or "lock-not-durable" not in self.broken
                yield "makes the lock's name durable", s._replace(lock=s.lock._replace(durable=durable)), ("record", content)
        elif pc == "record":
            yield "links the record", s if s.record else s._replace(record=Named(value, False)), ("durable", ())
        elif pc == "durable":
            if s.record is None:
                yield "finds its record lost, and begins anew", s, ("read", ())
            else:
                yield "makes the record's name durable", s._replace(record=s.record._replace(durable=True)), ("end", ())

    def content(self, found):
        """What is whole, and what is not before a whole one (rule C4)."""
        if "size-is-valid" in self.broken and "broken" in found:
            return TORN
        end = max((i for i, what in enumerate(found) if what == "whole"), default=-1)
        if "hole-is-torn-end" in self.broken:
            end = next((i for i, what in enumerate(found) if what != "whole"), len(found)) - 1
        held = tuple(i for i in range(end + 1) if found[i] == "whole")
        holes = tuple(i for i in range(end + 1) if found[i] != "whole")
        if "torn-end-is-hole" in self.broken and end + 1 < len(found) and found[end + 1] == "broken":
            holes += (end + 1,)
        return Content(held, holes)


if __name__ == "__main__":
    main(TornFiles, MUTATIONS, BOUNDS)
