#!/usr/bin/env python3
"""Appending, closing and the horizon: sections 2 to 4 of the protocol on one bucket. It came with the design.

Writers append batches, closers advance the horizon past the bucket, one file operation at a time. A lock holds the messages, and
anybody deletes data files once a record lists the bucket. The file server is linearizable; there is no clock and no chmod, so
what holds here holds for superusers and for closers that own nothing. Torn and damaged files, and what is durable, are in
torn_files.py; what is removed later is in retention.py.

Checked: nobody is told COMMITTED for a batch that the horizon does not cover, nor REJECTED for one that it does.
"""
from collections import namedtuple

from explorer import main

MUTATIONS = {
    "no-prelock": ("a closer does not set the prelock before it lists the bucket", None),
    "sizes-before-prelock": ("a closer lists and reads first and sets the prelock then", None),
    "looks-before-the-write": ("a writer looks at the prelock before its write and not after it", None),
    "looks-once": ("a writer looks at the prelock after its first batch only", None),
    "no-look-at-the-horizon": ("a writer does not look at intents and records", None),
    "no-look-at-intents": ("a writer looks at the records only", None),
    "records-before-intents": ("a writer lists the records first and the intents second", None),
    "no-intent": ("a closer lists the tree without announcing the advance first", None),
    "intent-after-listing": ("a closer announces the advance after listing the tree", None),
    "intent-removed-early": ("a closer removes its intent before it links the record", None),
    "deletes-before-the-record": ("data files go once there is a lock", "the lock has the messages, and a record can name no other"),
    "deletes-before-the-lock": ("data files go once the prelock is set", None),
    "verdict-from-the-file": ("a writer reads its verdict from its data file", None),
    "gone-is-empty": ("a closer takes a file that is gone for empty", "there is a lock by then, and the first one wins"),
    "helper-trusts-itself": ("who lost the race for a lock believes what it read itself", None),
}

BOUNDS = {
    "small": dict(writers=2, closers=1, batches=2),
    "default": dict(writers=2, closers=2, batches=2),
    "large": dict(writers=3, closers=2, batches=2),
}

# files: each writer's length, None, or "gone". lock and record: lengths as read; a record may say "absent"
State = namedtuple("State", "there prelock files lock intents record writers closers")
# written: batches. passed: the horizon. told: verdicts of batches 1, 2, …. help: the advance that it makes for a verdict
Writer = namedtuple("Writer", "pc written passed told help")
ABSENT = "absent"
GONE = "gone"
ADVANCE = ("intent", None)


class Bag:
    def __init__(self, broken, bounds):
        self.broken = broken
        self.writers, self.closers, self.batches = bounds["writers"], bounds["closers"], bounds["batches"]

    def initial(self):
        writer = Writer("mkdir", 0, False, (), None)
        return State(False, False, (None,) * self.writers, None, frozenset(), None, (writer,) * self.writers, (ADVANCE,) * self.closers)

    def wrong(self, s):
        if s.record is not None:
            for i, writer in enumerate(s.writers):
                for end, committed in enumerate(writer.told, 1):
                    if committed != self.covers(s.record, i, end):
                        return "batch %d of writer %d was told %s" % (end, i, "COMMITTED" if committed else "REJECTED")
        return None

    @staticmethod
    def covers(content, i, end):
        return content != ABSENT and (content[i] or 0) >= end

    def steps(self, s):
        for i, writer in enumerate(s.writers):
            for label, after, me in self.writer_steps(s, i, writer):
                yield "writer %d %s" % (i, label), after._replace(writers=s.writers[:i] + (me,) + s.writers[i + 1:])
        for i, closer in enumerate(s.closers):
            for label, after, me in self.advance_steps(s, closer, self.writers + i):
                yield "closer %d %s" % (i, label), after._replace(closers=s.closers[:i] + (me,) + s.closers[i + 1:])

        # rule R0
        early = (
            "deletes-before-the-record" in self.broken and s.lock is not None
            or "deletes-before-the-lock" in self.broken and s.prelock)
        if s.record not in (None, ABSENT) or early:
            for i, n in enumerate(s.files):
                if n not in (None, GONE):
                    yield "data file %d is deleted" % i, s._replace(files=s.files[:i] + (GONE,) + s.files[i + 1:])

    def advance_steps(self, s, advance, me):
        pc, content = advance
        if pc in ("intent", "tree") and s.record is not None:
            yield "reads the record", s._replace(intents=s.intents - {me}), ("done", None)
        elif pc == "intent":
            if "no-intent" in self.broken:
                yield "leaves no intent", s, ("tree", None)
            elif "intent-after-listing" in self.broken:
                yield "lists the tree", s, ("intent-late", s.there)
            else:
                yield "leaves an intent", s._replace(intents=s.intents | {me}), ("tree", None)
        elif pc == "intent-late":
            yield "leaves an intent", s._replace(intents=s.intents | {me}), ("prelock", None) if content else ("record", ABSENT)
        elif pc == "tree":
            late = {"no-prelock", "sizes-before-prelock"} & self.broken
            yield "lists the tree", s, ("list" if late else "prelock", None) if s.there else ("record", ABSENT)
        elif pc == "prelock":
            yield "sets the prelock", s._replace(prelock=True), ("lock" if "sizes-before-prelock" in self.broken else "list", content)
        elif pc == "list":
            yield "lists the bucket", s, ("read", tuple(None if n in (None, GONE) else "?" for n in s.files))
        elif pc == "read":
            if "?" in content:
                i = content.index("?")
                if s.files[i] == GONE and s.lock is not None and "gone-is-empty" not in self.broken:
                    yield "finds file %d gone, and reads the lock" % i, s, ("record", s.lock)
                elif s.files[i] == GONE:
                    yield "finds file %d gone" % i, s, (pc, content[:i] + (None,) + content[i + 1:])
                else:
                    yield "reads file %d: %d" % (i, s.files[i]), s, (pc, content[:i] + (s.files[i],) + content[i + 1:])
            else:
                yield "prepares a lock", s, ("prelock" if "sizes-before-prelock" in self.broken else "lock", content)
        elif pc == "lock":
            mine = s.lock is None or "helper-trusts-itself" in self.broken
            yield "links the lock", s._replace(lock=content if s.lock is None else s.lock), ("record", content if mine else s.lock)
        elif pc == "record":
            if "intent-removed-early" in self.broken and me in s.intents:
                yield "removes its intent", s._replace(intents=s.intents - {me}), advance
            else:
                mine = s.record is None or "helper-trusts-itself" in self.broken
                record = content if s.record is None else s.record
                yield "links the record", s._replace(record=record), ("retire", content if mine else record)
        elif pc == "retire":
            yield "removes its intent", s._replace(intents=s.intents - {me}), ("done", content)

    def writer_steps(self, s, i, me):
        early = "looks-before-the-write" in self.broken

        def tell(committed):
            more = committed and me.written < self.batches
            label = "is told %s" % ("COMMITTED" if committed else "REJECTED")
            return label, s, me._replace(pc="write" if more else "end", passed=me.passed or me.pc == last, told=me.told + (committed,), help=None)

        last = "intents" if "records-before-intents" in self.broken else "records"
        resolve = me._replace(pc="help", help=ADVANCE)
        if me.pc == "mkdir":
            yield "makes the directory", s._replace(there=True), me._replace(pc="create")
        elif me.pc == "create":
            files = s.files[:i] + (0,) + s.files[i + 1:]
            yield "creates its file", s._replace(files=files), me._replace(pc="early-look" if early else "write")
        elif me.pc == "early-look":
            yield "looks at the prelock", s, me._replace(pc="end" if s.prelock else "write")
        elif me.pc == "write":
            gone = s.files[i] == GONE
            files = s.files if gone else s.files[:i] + (s.files[i] + 1,) + s.files[i + 1:]
            yield "writes into nothing" if gone else "writes", s._replace(files=files), me._replace(pc="prelock", written=me.written + 1)
        elif me.pc == "prelock":
            if s.prelock and not early and not ("looks-once" in self.broken and me.written > 1):
                yield "finds the prelock set", s, resolve
            elif me.passed or "no-look-at-the-horizon" in self.broken:
                yield tell(True)
            else:
                first = {"records-before-intents", "no-look-at-intents"} & self.broken
                yield "finds the prelock empty", s, me._replace(pc="records" if first else "intents")
        elif me.pc == "intents" and s.intents:
            yield "finds an intent", s, resolve
        elif me.pc == "records" and s.record is not None:
            yield "finds a record", s, resolve
        elif me.pc == last:
            yield tell(True)
        elif me.pc in ("intents", "records"):
            yield "finds none", s, me._replace(pc=last)
        elif me.pc == "help" and me.help[0] == "done":
            outcome = me.help[1] if "helper-trusts-itself" in self.broken and me.help[1] is not None else s.record
            in_file = s.files[i] != GONE and s.files[i] >= me.written
            yield tell(in_file if "verdict-from-the-file" in self.broken else self.covers(outcome, i, me.written))
        elif me.pc == "help":
            for label, after, advance in self.advance_steps(s, me.help, self.closers + self.writers + i):
                yield "helps: " + label, after, me._replace(help=advance)


if __name__ == "__main__":
    main(Bag, MUTATIONS, BOUNDS)
