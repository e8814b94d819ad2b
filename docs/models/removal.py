#!/usr/bin/env python3
"""A log that is removed while others write to it and read it: rule H8 of the protocol, with H1 and step 4 of appending.

One bucket, writers with a batch each that is in it or comes into it, at any time, also when all files of the log went; they
have the log open from before. Two processes remove the log, and stop anywhere. A reader reads what the last record lists. The
power may fail once, and then any part of what was not forced is lost, and everybody is gone. What takes a day, takes until
names are durable, and the reads are over that began before. That the log advances by and by as well, and crashes of closers, are in bag.py.

Checked: once the last record stands, what was told COMMITTED is in it, and what was told REJECTED is not; the log never looks
lost; a tombstone says that the last record stands; no reader and no writer is told of damage.
"""
from collections import namedtuple

from explorer import main

MUTATIONS = {
    "end-without-intent": ("who removes leaves no intent", None),
    "intent-after-listing": ("who removes leaves its intent after it has listed the buckets", None),
    "intent-goes-first": ("who removes takes its intent away before it links the record", None),
    "end-intent-needs-its-time": ("writers take such an intent for one that nobody can have left", None),
    "no-look-at-the-record": ("writers look at intents only", None),
    "record-not-forced": ("the tombstone is published before the last record is durable", None),
    "verdict-not-forced": ("a writer takes its verdict from a record that is not durable", None),
    "tombstone-first": ("the tombstone is published before the log is settled", None),
    "identity-before-tombstone": ("the identity goes before the tombstone stands", None),
    "tombstone-not-forced": ("the identity goes when the tombstone is not durable", None),
    "last-record-goes": ("the last record goes with the files", None),
    "files-of-what-opens": ("files go although who removed stopped before the identity went", None),
    "removed-files-at-once": ("files go while reads are at work that began before", None),
}

BOUNDS = {"small": dict(writers=1, cuts=1), "default": dict(writers=2, cuts=1), "large": dict(writers=3, cuts=1)}

# writers, removers: of each. prelock: None, or (which one, whether it is set). batches: writers whose batch is in the bucket
# lock, record: None, or the writers that it covers. intents: of which removers. tomb, identity: in the log's directory
# durable: of (record, tomb, no identity). gone: whether files went. reader: idle, began, over, or what it is told
State = namedtuple("State", "writers removers prelock batches lock record intents tomb identity durable gone reader cuts made")
# pc: idle, entered, wrote, open (its prelock is), listed (intents), late, COMMITTED, REJECTED, or what it is told
Writer = namedtuple("Writer", "pc prelock")
# pc: idle, intent, list, announce (mutation), prelock, measure, lock, record, force, sweep, tomb, identity, over. found: the bucket; covers: measured
Remover = namedtuple("Remover", "pc found covers")
FRESH = Remover("idle", False, None)


class Removal:
    def __init__(self, broken, bounds):
        self.broken, self.bounds = broken, bounds

    def initial(self):
        return State((Writer("idle", None),) * self.bounds["writers"], (FRESH, FRESH), None, frozenset(), None, None, frozenset(),
                     False, True, (False, False, False), False, "idle", self.bounds["cuts"], 0)

    def wrong(self, s):
        if not s.identity and not s.tomb:
            return "the log looks lost"
        if s.tomb and s.record is None:
            return "there is a tombstone, and the log was not settled"
        for i, w in enumerate(s.writers):
            if w.pc == "COMMITTED" and s.record is not None and i not in s.record:
                return "writer %d was told COMMITTED, and the last record does not cover it" % i
            if w.pc == "REJECTED" and s.record is not None and i in s.record:
                return "writer %d was told REJECTED, and the last record covers it" % i
            if w.pc == "damage":
                return "writer %d finds no verdict" % i
        return "a reader is told of damage" if s.reader == "damage" else None

    def steps(self, s):
        for i, w in enumerate(s.writers):
            for label, after, mine in self.writer_steps(s, i, w):
                yield "writer %d %s" % (i, label), after._replace(writers=s.writers[:i] + (mine,) + s.writers[i + 1:])
        for i, r in enumerate(s.removers):
            for label, after, mine in self.remover_steps(s, i, r):
                yield "remover %d %s" % (i, label), after._replace(removers=s.removers[:i] + (mine,) + s.removers[i + 1:])
        if s.reader == "idle" and s.identity:
            yield "a reader opens the log", s._replace(reader="began")
        elif s.reader == "began" and s.record is not None:
            told = "damage" if s.record and s.gone else "over"
            yield "a reader reads what the last record lists", s._replace(reader=told)
        # In a day names become durable by themselves, and reads are over that began before.
        opens = s.identity and "files-of-what-opens" not in self.broken
        day = s.reader != "began" or "removed-files-at-once" in self.broken
        if s.tomb and s.durable[1] and opens:
            yield "gc removes the identity", s._replace(identity=False)
        elif s.tomb and s.durable[1] and (s.durable[2] or s.identity) and day and s.prelock is not None:
            yield "the files go", s._replace(prelock=None, batches=frozenset(), lock=None, gone=True,
                                             record=None if "last-record-goes" in self.broken else s.record)
        if s.cuts:
            yield from self.cuts(s)

    def cuts(self, s):
        record, tomb, bare = s.durable
        for keeps_record in {True, record or s.record is None}:
            for keeps_tomb in {True, tomb or not s.tomb}:
                for keeps_removal in {True, bare or s.identity}:
                    # Who had its verdict knows it; everybody else is gone.
                    writers = tuple(w if w.pc in ("COMMITTED", "REJECTED") else w._replace(pc="dead") for w in s.writers)
                    after = s._replace(
                        writers=writers, removers=(FRESH, FRESH), reader="idle", cuts=s.cuts - 1,
                        record=s.record if keeps_record else None, tomb=s.tomb and keeps_tomb, identity=s.identity or not keeps_removal)
                    yield "the power fails", after._replace(
                        durable=(after.record is not None, after.tomb, not after.identity))

    def writer_steps(self, s, i, w):
        if w.pc == "idle":
            if s.prelock is None:
                yield "makes the bucket", s._replace(prelock=(s.made + 1, False), made=s.made + 1), Writer("entered", s.made + 1)
            else:
                yield "enters the bucket", s, Writer("REJECTED" if s.prelock[1] else "entered", s.prelock[0])
        elif w.pc == "entered":
            if s.prelock is not None and s.prelock[0] == w.prelock:
                yield "writes", s._replace(batches=s.batches | {i}), w._replace(pc="wrote")
            else:
                yield "can't write: the bucket is gone", s, w._replace(pc="late")
        elif w.pc == "wrote":
            unlocked = s.prelock == (w.prelock, False)
            yield "looks at the prelock", s, w._replace(pc="open" if unlocked else "late")
        elif w.pc == "open":
            seen = s.intents and "end-intent-needs-its-time" not in self.broken
            yield "lists the intents", s, w._replace(pc="late" if seen else "listed")
        elif w.pc == "listed":
            seen = s.record is not None and "no-look-at-the-record" not in self.broken
            yield "looks at the records", s, w._replace(pc="late" if seen else "COMMITTED")
        elif w.pc == "late":
            if s.record is not None:
                forced = s.durable if "verdict-not-forced" in self.broken else (True,) + s.durable[1:]
                yield "has its verdict", s._replace(durable=forced), w._replace(pc="COMMITTED" if i in s.record else "REJECTED")
            elif s.gone:
                yield "finds no record", s, w._replace(pc="damage")

    def remover_steps(self, s, i, r):
        broken = self.broken
        if r.pc == "idle":
            if s.identity and not s.tomb:
                first = "tomb" if "tombstone-first" in broken else "force" if s.record is not None else "intent"
                yield "begins", s, r._replace(pc=first)
        elif r.pc == "intent":
            leaves = "end-without-intent" not in broken and "intent-after-listing" not in broken
            yield "leaves its intent", s._replace(intents=s.intents | {i} if leaves else s.intents), r._replace(pc="list")
        elif r.pc == "list":
            if s.record is not None:
                yield "finds it settled", s, r._replace(pc="force")
            else:
                found = s.prelock is not None
                following = "announce" if "intent-after-listing" in broken else "prelock" if found else "record"
                yield "lists the buckets", s, r._replace(pc=following, found=found)
        elif r.pc == "announce":
            yield "leaves its intent", s._replace(intents=s.intents | {i}), r._replace(pc="prelock" if r.found else "record")
        elif r.pc == "prelock":
            if s.prelock is None:
                yield "finds the bucket gone", s, r._replace(pc="list")
            else:
                yield "sets the prelock", s._replace(prelock=(s.prelock[0], True)), r._replace(pc="measure")
        elif r.pc == "measure":
            yield "measures", s, r._replace(pc="lock", covers=s.batches)
        elif r.pc == "lock":
            if s.prelock is None:
                yield "finds the bucket gone", s, r._replace(pc="list")
            else:
                lock = r.covers if s.lock is None else s.lock  # whoever was first
                yield "links the lock", s._replace(lock=lock), r._replace(pc="record", covers=lock)
        elif r.pc == "record":
            covers = r.covers if r.found else frozenset()
            intents = s.intents - {i} if "intent-goes-first" in broken else s.intents
            if "intent-goes-first" in broken and i in s.intents:
                yield "takes its intent away", s._replace(intents=intents), r
            else:
                yield "links the last record", s._replace(record=covers if s.record is None else s.record), r._replace(pc="force")
        elif r.pc == "force":
            forced = s.durable if "record-not-forced" in broken or s.record is None else (True,) + s.durable[1:]
            yield "forces the record", s._replace(durable=forced), r._replace(pc="sweep")
        elif r.pc == "sweep":
            yield "takes its intent away", s._replace(intents=s.intents - {i}), r._replace(
                pc="over" if "tombstone-first" in broken else "identity" if "identity-before-tombstone" in broken else "tomb")
        elif r.pc == "tomb":
            after = s._replace(tomb=True)
            if "tombstone-not-forced" in broken:
                yield "publishes the tombstone", after, r._replace(pc="identity")
            elif s.tomb:
                yield "forces the tombstone", s._replace(durable=(s.durable[0], True, s.durable[2])), r._replace(
                    pc="over" if "identity-before-tombstone" in broken else "identity")
            else:
                yield "publishes the tombstone", after, r
        elif r.pc == "identity":
            yield "removes the identity", s._replace(identity=False), r._replace(
                pc="intent" if "tombstone-first" in broken else "tomb" if "identity-before-tombstone" in broken else "over")
        if not s.identity and not s.durable[2]:
            yield "forces the directory", s._replace(durable=s.durable[:2] + (True,)), r


if __name__ == "__main__":
    main(Removal, MUTATIONS, BOUNDS)
