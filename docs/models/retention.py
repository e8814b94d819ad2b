#!/usr/bin/env python3
"""Retention: rules R0 to R3 and H1, for everyone who may sleep while a bucket is retired.

One bucket, settled by record 1; record 2 follows, a segment covers both, and a checkpoint of number 2 retires the bucket and
record 1. A lock holds the messages of its bucket, so data files may go as soon as the record lists it. Writers, closers,
retention, which may crash anywhere and begin again, and a reader run one file operation at a time. Each may sleep anywhere: with
an open file whose name was removed, before a link of a lock or record whose name was removed, before it makes the directory and
a prelock again. Inode numbers and change times are used again, but never both at once. The file server is linearizable; there is
no clock and no chmod.

Checked: COMMITTED is told for what the settled answer has, REJECTED for what it has not, all readers get that answer, a live
reader finds what was COMMITTED before it began, and the horizon is where an advance that is done was to bring it.
"""
from collections import namedtuple

from explorer import main

UNREAD = "whoever reads what a retired bucket holds looks at the checkpoint after it, or has the lock's digest"
MUTATIONS = {
    "any-prelock-will-do": ("a writer does not ask for the same prelock as when it entered", None),
    "inode-alone": ("a writer compares the prelock's file key and not its change time", None),
    "change-time-alone": ("a writer compares the prelock's change time and not its file key", None),
    "no-look-at-the-horizon": ("a writer looks at the prelock alone", None),
    "no-checkpoint": ("bucket and record are removed without a checkpoint", None),
    "no-segment": ("bucket and record are removed before a segment covers them", None),
    "no-look-after-link": ("what a sleeper linked below a checkpoint counts", None),
    "no-look-in-verdict": ("a verdict is read without a look at the checkpoint", None),
    "live-looks-early": ("a live reader looks at the checkpoint before it lists the bucket, and not after it", None),
    "live-looks-for-checkpoints": ("a live reader looks for a checkpoint after it lists the bucket, and not for a record", None),
    "no-digest": ("a lock is believed whose digest the record does not state", None),
    "lock-before-data": ("lock and prelock are removed before the data files", UNREAD),
    "prelock-before-data": ("the prelock is removed before the data files", UNREAD),
}

# What writer 0 does: it appends its "first" batch; or its "second", since whoever was told COMMITTED by its own looks saw no
# intent, so nobody had begun to close; or it sleeps in its second until a record is there ("late"). Beside it somebody who
# also appends ("writer"), who stops with directory, prelock and file made ("visitor"), or nobody. Then a closer, and a reader.
BOUNDS = {
    "small": (("first", "nobody", None), ("late", "visitor", None), ("first", "nobody", "live")),
    "default": (("first", "nobody", "settled"), ("second", "visitor", None), ("first", "visitor", "live")),
    "large": (("first", "writer", "settled"), ("second", "writer", "settled"), ("first", "writer", "live")),
}

# bucket: None or a Bucket. intents: who left one. record: record 1, as (reach, content), or None. truth: what it said first.
# horizon: how far the chain really reaches; the bucket ends at 1, closers advance to 2
# told: (writer, batch, whether COMMITTED)
State = namedtuple("State", "bucket intents record truth horizon segment checkpoint gc processes other told wrong")
# prelock: None or (inode, change time, set?). files: the length of each writer's, or None. lock: None or how much of each file it holds
Bucket = namedtuple("Bucket", "prelock files lock temporary")
# batch: the one it is at. entered: the prelock then. passed: the horizon. help: (pc, ...) of an advance
Writer = namedtuple("Writer", "pc batch entered passed help")
ABSENT = "absent"
NO_FILES = (None, None)
FIRST, SECOND = Writer("mkdir", 1, None, False, None), Writer("open", 2, (0, 0, False), True, None)
END = Writer("end", 0, None, False, None)
ADVANCE = ("intent",)
LIVE = "begin", "live tip", "live tree", "live early", "live lock", "live list", "live look", "live data"
READS = {None: ("end",), "settled": ("tip",), "live": ("begin",)}


class Retention:
    def __init__(self, broken, bounds):
        self.broken, self.bounds = broken, bounds

    def initial(self):
        return State(None, frozenset(), None, None, 0, None, False, ("start",), (), "", frozenset(), None)

    def start(self, empty):
        for what, other, reads in self.bounds:
            processes = FIRST, END if other == "nobody" else FIRST, ADVANCE, READS[reads]
            s = empty._replace(processes=processes, other=other, gc=("idle",))
            if what != "first":
                s = s._replace(bucket=Bucket((0, 0, False), (1, None), None, frozenset()), told=frozenset({(0, 1, True)}),
                               processes=(SECOND, *processes[1:]))
            if what == "late":
                s = s._replace(bucket=Bucket((0, 0, True), (1, None), (1, None), frozenset()), record=(2, (1, None)), truth=(1, None),
                               horizon=2, processes=(SECOND._replace(pc="write"), FIRST._replace(pc="prelock"), *processes[2:]))
            yield "%s, %s beside it, reads: %s" % (what, other, reads), s

    def wrong(self, s):
        if s.wrong or s.truth is None:
            return s.wrong
        for writer, batch, committed in s.told:
            if committed != self.covers(s.truth, writer, batch):
                return "batch %d of writer %d was told %s" % (batch, writer, "COMMITTED" if committed else "REJECTED")
        return None

    @staticmethod
    def covers(content, writer, batch):
        return content not in (None, ABSENT) and (content[writer] or 0) >= batch

    def steps(self, s):
        if s.gc == ("start",):
            yield from self.start(s)
            return
        yield from self.gc_steps(s)
        if s.record is not None and s.segment is None and not s.checkpoint:
            content = s.record[1]
            if content == ABSENT or s.bucket and s.bucket.lock == content:
                yield "a segment is made of the lock", s._replace(segment=content)
        if s.bucket and s.truth not in (None, ABSENT):
            for w, n in enumerate(s.bucket.files):
                if n is not None:
                    yield "data file %d goes" % w, s._replace(bucket=self.with_file(s.bucket, w, None))
        for i, it in enumerate(s.processes):
            if i < 2:
                steps, name = self.writer_steps(s, i, it), "writer"
            elif i == 2:
                steps, name = self.advance_steps(s, i, it), "closer"
            else:
                steps, name = self.live_steps(s, it) if it[0] in LIVE else self.reader_steps(s, it), "reader"
            for label, after, me in steps:
                yield "%s %d %s" % (name, i, label), after._replace(processes=s.processes[:i] + (me,) + s.processes[i + 1:])

    def gc_steps(self, s):
        """Rules R1 to R3. What a crash left, and what late processes made again, goes in the next walk."""
        pc = s.gc[0]
        if pc == "idle":
            if s.record is not None and (s.segment is not None or "no-segment" in self.broken):
                yield "a checkpoint is published", s._replace(checkpoint="no-checkpoint" not in self.broken, gc=("walk",))
            return
        if pc == "remove":
            yield "retention crashes", s._replace(gc=("walk",))
        if pc == "walk":
            todo = ("record",)
            if s.bucket:
                files = tuple(i for i, n in enumerate(s.bucket.files) if n is not None)
                files += tuple(("temporary", i) for i in sorted(s.bucket.temporary))
                todo = files + ("prelock", "lock", "rmdir", "record")
                if "lock-before-data" in self.broken:
                    todo = ("lock", "prelock") + files + ("rmdir", "record")
                if "prelock-before-data" in self.broken:
                    todo = ("prelock",) + files + ("lock", "rmdir", "record")
            if s.bucket or s.record is not None:
                yield "retention lists the bucket", s._replace(gc=("remove", todo))
            return
        what, rest = s.gc[1][0], s.gc[1][1:]
        bucket, record = s.bucket, s.record
        if what == "record":
            record = None
        elif bucket is None:
            pass
        elif what == "rmdir":
            empty = bucket == Bucket(None, NO_FILES, None, frozenset())
            bucket = None if empty else bucket
        elif what in ("prelock", "lock"):
            bucket = bucket._replace(**{what: None})
        elif isinstance(what, tuple):
            bucket = bucket._replace(temporary=bucket.temporary - {what[1]})
        else:
            bucket = bucket._replace(files=bucket.files[:what] + (None,) + bucket.files[what + 1:])
        yield "retention removes %s" % (what,), s._replace(bucket=bucket, record=record, gc=("remove", rest) if rest else ("walk",))

    @staticmethod
    def new_prelocks(s, is_set):
        """The first is (0, 0), and no later one is both."""
        return [(0, 0, is_set)] if s.gc == ("idle",) else [(0, 1, is_set), (1, 0, is_set), (1, 1, is_set)]

    def same(self, now, entered):
        if "any-prelock-will-do" in self.broken:
            return True
        inode, time = now[0] == entered[0], now[1] == entered[1]
        return (inode or "change-time-alone" in self.broken) and (time or "inode-alone" in self.broken)

    def writer_steps(self, s, i, me):
        """Section 2, steps 2 to 5."""
        pc, bucket = me.pc, s.bucket
        there = bucket is not None and bucket.files[i] is not None
        help_first = Writer("help", me.batch, None, me.passed, ADVANCE)

        def tell(committed):
            return "is told %s" % ("COMMITTED" if committed else "REJECTED"), s._replace(told=s.told | {(i, me.batch, committed)}), END

        if pc == "mkdir":
            yield "makes the directory", s._replace(bucket=bucket or Bucket(None, NO_FILES, None, frozenset())), me._replace(pc="prelock")
        elif pc in ("prelock", "create") and bucket is None:
            yield "finds no directory", s, END
        elif pc == "prelock":
            for now in [bucket.prelock] if bucket.prelock else self.new_prelocks(s, False):
                after = END if now[2] else me._replace(pc="create", entered=now)
                yield "enters by prelock %d/%d" % now[:2], s._replace(bucket=bucket._replace(prelock=now)), after
        elif pc == "create":
            yield "creates its file", s._replace(bucket=self.with_file(bucket, i, 0)), me._replace(pc="write") if i == 0 or s.other == "writer" else END
        elif pc == "open":
            yield "opens its file" if there else "finds no file", s, me._replace(pc="write") if there else help_first
        elif pc == "write":
            after = s._replace(bucket=self.with_file(bucket, i, bucket.files[i] + 1)) if there else s
            yield "writes" if there else "writes to a removed file", after, me._replace(pc="look")
        elif pc == "look":
            if bucket is None or bucket.prelock is None or bucket.prelock[2] or not self.same(bucket.prelock, me.entered):
                yield "does not find its prelock", s, help_first
            elif me.passed or "no-look-at-the-horizon" in self.broken:
                yield tell(True)
            else:
                yield "finds its prelock", s, me._replace(pc="intents")
        elif pc == "intents":
            yield "lists intents", s, help_first if s.intents else me._replace(pc="records")
        elif pc == "records":
            yield ("finds a record", s, help_first) if s.truth is not None else tell(True)
        elif pc == "help":
            if me.help[0] == "done":
                yield from self.verdict(s, i, me, tell, help_first)
            else:
                for label, after, advance in self.advance_steps(s, i, me.help):
                    yield label, after, me._replace(help=advance)
        elif pc == "lock":
            if bucket is None or bucket.lock is None or bucket.lock != me.help and "no-digest" not in self.broken:
                yield "does not find the lock", s, help_first
            else:
                yield tell(self.covers(bucket.lock, i, me.batch))

    def verdict(self, s, i, me, tell, help_first):
        record = me.help[1] or s.record
        content = record and record[1]
        if s.checkpoint and not ("no-look-in-verdict" in self.broken and content is not None):
            yield tell(self.covers(s.segment, i, me.batch))
        elif content is None:
            yield "does not find the record", s, help_first
        elif content == ABSENT:
            yield tell(False)
        else:
            yield "reads the record", s, me._replace(pc="lock", help=content)

    @staticmethod
    def with_file(bucket, i, length):
        return bucket._replace(files=bucket.files[:i] + (length,) + bucket.files[i + 1:])

    def advance_steps(self, s, i, me):
        """Sections 3 and 4, up to ("done", record): the one that it linked or lost to; None is to be looked up."""
        pc, goal = me[0], 1 if i < 2 else 2

        def done(record):
            wrong = None if s.horizon >= goal else "process %d thinks that the horizon is at %d" % (i, goal)
            return s._replace(intents=s.intents - {i}, wrong=wrong), ("done", record)

        if pc in ("intent", "settle") and s.truth is not None:
            yield "finds a record", *(done(None) if s.horizon >= goal else (s, ("more",)))
        elif pc == "intent":
            yield "leaves an intent", s._replace(intents=s.intents | {i}), ("settle",)
        elif pc == "settle":
            yield "finds no record", s, ("tree",)
        elif pc == "tree":
            yield "lists the tree", s, ("lock?",) if s.bucket else ("link", ABSENT)
        elif pc == "link" and s.record is not None:
            yield "does not link record 1", s, ("look",)
        elif pc == "link":
            after = s._replace(record=(goal, me[1]))
            yield "links record 1: %s" % (me[1],), after if s.truth is not None else after._replace(truth=me[1], horizon=goal), ("look",)
        elif pc == "look":
            if s.checkpoint and "no-look-after-link" not in self.broken:
                yield "sees a checkpoint", s, ADVANCE
            elif s.record is None:
                yield "finds no record 1", s._replace(intents=s.intents - {i}), ADVANCE
            else:
                yield "reads record 1", *(done(s.record) if s.record[0] >= goal else (s, ("more",)))
        elif pc == "more":
            yield "links a record up to %d" % goal, s._replace(horizon=max(goal, s.horizon)), ADVANCE
        elif pc != "done":
            yield from self.close_steps(s, i, me)

    def close_steps(self, s, i, me):
        pc, bucket = me[0], s.bucket
        if bucket is None or pc == "measure" and me[1] and bucket.files[me[1][0]] is None or pc == "linklock" and i not in bucket.temporary:
            if pc != "lock?":
                yield "finds a name missing, tries again", s, ("lock?",)
            yield "finds a name missing, gives up", s._replace(intents=s.intents - {i}), ADVANCE
        elif pc == "lock?":
            yield "looks for a lock", s, ("link", bucket.lock) if bucket.lock is not None else ("prelock",)
        elif pc == "prelock":
            old = bucket.prelock
            for new in [(old[0], old[1], True)] if old else self.new_prelocks(s, True):
                yield "sets the prelock", s._replace(bucket=bucket._replace(prelock=new)), ("list",)
        elif pc == "list":
            names = tuple(w for w, n in enumerate(bucket.files) if n is not None)
            yield "lists the bucket", s._replace(bucket=bucket._replace(temporary=bucket.temporary | {i})), ("measure", names, NO_FILES)
        elif pc == "measure":
            _, names, sizes = me
            w = names[0] if names else 0
            sizes = sizes[:w] + (bucket.files[w],) + sizes[w + 1:] if names else sizes
            yield "measures", s, ("measure", names[1:], sizes) if names[1:] else ("linklock", sizes)
        elif pc == "linklock":
            lock = me[1] if bucket.lock is None else bucket.lock
            yield "links the lock %s" % (lock,), s._replace(bucket=bucket._replace(lock=lock, temporary=bucket.temporary - {i})), ("link", lock)

    def reader_steps(self, s, me):
        """A settled read, which may sleep between its looks."""
        pc, bucket = me[0], s.bucket

        def answer(content):
            wrong = None if content == s.truth else "a reader reads %s and not %s" % (content, s.truth)
            return "reads", s._replace(wrong=wrong), ("end",)

        if pc == "tip" and s.truth is not None:
            yield "finds a record", s, ("record",)
        elif pc == "record":
            yield ("reads record 1", s, ("checkpoint", s.record[1])) if s.record else answer(s.segment if s.checkpoint else None)
        elif pc == "checkpoint":
            settled = s.segment if s.checkpoint else me[1]
            yield answer(settled) if s.checkpoint or settled == ABSENT else ("sees no checkpoint", s, ("lock", settled))
        elif pc == "lock":
            there = bucket is not None and bucket.lock == me[1]
            yield answer(me[1]) if there else ("does not find the lock", s, ("again",))
        elif pc == "again":
            yield answer(s.segment if s.checkpoint else None)

    def live_steps(self, s, me):
        """A live read (rule H4): where there is a record, a settled one. due: what it has to find."""
        pc, bucket = me[0], s.bucket
        early = "live-looks-early" in self.broken

        def gone():
            wrong = None if s.truth is not None else "a live read fails"
            return "finds a name missing", s._replace(wrong=wrong), ("live tip", me[1])

        def deliver(found):
            missed = [d for d in me[1] if not self.covers(found, *d)]
            return "reads", s._replace(wrong="a live reader misses %s" % missed if missed else None), ("end",)

        if pc == "begin":
            due = frozenset((writer, batch) for writer, batch, committed in s.told if committed)
            if due:
                yield "begins", s, ("live tip", due)
        elif pc == "live tip":
            yield ("finds a record", s, ("tip",)) if s.truth is not None else ("finds no record", s, ("live tree", me[1]))
        elif pc == "live tree":
            yield "lists the tree", s, ("live early" if early else "live lock" if bucket else "live look", me[1], NO_FILES)
        elif pc == "live early":
            yield "looks at the chain", s, ("live tip" if s.truth is not None or bucket is None else "live lock", me[1])
        elif pc == "live look":
            moved = s.checkpoint if "live-looks-for-checkpoints" in self.broken else s.truth is not None
            yield "looks at the chain", s, ("live tip", me[1]) if moved else ("live data", *me[1:])
        elif pc == "live data" and me[2] == NO_FILES or len(me) > 3:
            yield deliver(me[2])
        elif bucket is None:
            yield gone()
        elif pc == "live lock":
            found = "live data" if early else "live look"
            yield "looks for a lock", s, (found, me[1], bucket.lock, "held") if bucket.lock else ("live list", me[1])
        elif pc == "live list":
            there = tuple(None if n is None else 0 for n in bucket.files)
            yield "lists the bucket", s, ("live data" if early else "live look", me[1], there)
        elif any(n is not None and have is None for have, n in zip(bucket.files, me[2])):
            yield gone()
        else:
            yield deliver(tuple(None if n is None else have for have, n in zip(bucket.files, me[2])))


if __name__ == "__main__":
    main(Retention, MUTATIONS, BOUNDS)
