#!/usr/bin/env python3
"""A log on an object store: sections 2 to 4 of the protocol, R0 to R3 and H4, by rules O1 to O8 of docs/storage-object.md.

Two buckets. Every PUT and DELETE may be carried out again at any later time, also after its sender was answered, gave up or died, and
the answer to a PUT may be lost. So what was put and may be deleted is there or not, as it pleases, whenever somebody looks: no state
says which. Data files go behind a record, all else behind a checkpoint, in any order. A writer puts two batches at once, and its data
file ends before the first one that is missing. Closers advance the horizon through one bucket or both, and stop where a PUT was not
answered and a GET finds nothing. A writer in doubt waits for the record: closers are others. A notice is there for ever, and says what
its checkpoint, which may come at any time after it, will reach.

Checked: COMMITTED is told for what a record's lock lists, REJECTED for what it does not (so what is sent again is not there twice);
until it is retired a lock is there that has the record's digest; a live reader finds what was COMMITTED before it began, and a settled
one what is settled.
"""
from collections import namedtuple
from itertools import product

from explorer import main

MUTATIONS = {
    "mark-before-put": ("a writer looks at the mark before it puts its batch, and not after", None),
    "notice-before-mark": ("a writer looks for the next notice before it looks at the mark", None),
    "mark-alone": ("a writer that has passed once looks at the mark alone", None),
    "no-first-look": ("a writer does not look at intents and records: where there is no mark, the bucket is open", None),
    "records-before-intents": ("a writer looks at the records first and at the intents second", None),
    "number-after-records": ("a writer remembers the last notice that it sees after its look at the records", None),
    "new-notice-alone": ("a writer that finds a notice remembers it, and does not look at intents and records again", None),
    "number-of-others": ("a writer goes by the last notice that anybody in its process has seen", None),
    "confirms-latecomers": ("a look confirms also what was answered after it began", None),
    "confirms-over-a-gap": ("a look confirms a batch though an earlier one of its data file was not answered", None),
    "own-412-is-a-loss": ("a writer takes 412 for the answer that its batch is not there", None),
    "unanswered-is-lost": ("a writer takes a PUT without an answer, or 409, for one that is not carried out", None),
    "verdict-from-the-lock": ("a writer reads its verdict from the lock, whatever records say", None),
    "verdict-from-any-record": ("a writer reads its verdict from a record, whatever checkpoints say", None),
    "no-intent": ("a closer lists the buckets without an intent", None),
    "intent-after-listing": ("a closer publishes its intent after it has listed the buckets", None),
    "intent-withdrawn-unanswered": ("a closer that had no answer to a record withdraws its intent", None),
    "mark-unanswered": ("a closer that had no answer to a mark takes it for set", None),
    "lock-unconditional": ("locks are put without the condition", None),
    "lock-not-read": ("a closer that had an answer to its lock takes it for the one that is there", None),
    "notice-after-checkpoint": ("notice is given once the checkpoint is there", None),
    "notice-of-the-future": ("notice is given before it is known how far the checkpoint will reach", None),
    "deletes-before-checkpoint": ("marks are deleted before the checkpoint is there", None),
    "live-looks-early": ("a live reader looks at the chain before it lists the buckets, and not after", None),
}

# writers: the bucket of each batch, and whether the first one was COMMITTED. closers: how many buckets each advances through.
# checkpoints: how many notices there are at most. reader: live, settled, or None.
BOUNDS = {
    "small": (
        dict(writers=((0, 0, 0),), passed=True, closers=(1, 1), checkpoints=1, reader=None),
        dict(writers=((0, 0),), passed=False, closers=(1,), checkpoints=1, reader=None),
        dict(writers=((0,),), passed=False, closers=(1, 2), checkpoints=1, reader=None),
        dict(writers=((0,),), passed=False, closers=(1, 1), checkpoints=1, reader="live"),
        dict(writers=((0,),), passed=False, closers=(1, 1), checkpoints=1, reader="settled")),
    "default": (
        dict(writers=((0, 0), (0,)), passed=False, closers=(1, 1), checkpoints=1, reader=None),
        dict(writers=((0, 0, 0),), passed=True, closers=(1, 2), checkpoints=2, reader=None),
        dict(writers=((0, 1, 1),), passed=False, closers=(1, 2), checkpoints=2, reader=None),
        dict(writers=((0, 1),), passed=False, closers=(1, 2), checkpoints=2, reader="live"),
        dict(writers=((0, 1),), passed=False, closers=(1, 2), checkpoints=2, reader="settled")),
    "large": (
        dict(writers=((0, 0), (0, 1)), passed=False, closers=(1, 2), checkpoints=2, reader=None),
        dict(writers=((0, 0, 0), (1, 1)), passed=True, closers=(1, 2), checkpoints=2, reader=None),
        dict(writers=((0, 0), (1,)), passed=False, closers=(2, 2), checkpoints=2, reader="live"),
        dict(writers=((0, 0), (1,)), passed=False, closers=(1, 2), checkpoints=2, reader="settled")),
}

# objects: the (writer, batch) that are there. marks: of each bucket "", "sent" or "set". locks: of each, None or a content. sent: locks
# and records that were ever put. intents: of which closers. records: (to, contents). notices and checkpoints: (to, record). wrong: found by a step
State = namedtuple("State", "world objects marks locks sent intents records notices checkpoints writers closers reader wrong")
# batches: a letter each: - not sent, a sent, k answered, ? in doubt, C and R told. passed: the bucket in which it saw no intent and
# no record. number: of the last notice that it remembers. look: None, or (what comes next, the batches that it confirms)
Writer = namedtuple("Writer", "batches passed number look")
# number: of the last record it knows. since: where that ends. found: of each bucket None, ABSENT, OPEN, or a content
Closer = namedtuple("Closer", "pc number since found")
ABSENT, OPEN = "absent", "open"
NOTHING = (None, None)
OVER = Closer("end", 0, 0, NOTHING)


def put(values, i, value):
    return values[:i] + (value,) + values[i + 1:]


class Objects:
    def __init__(self, broken, worlds):
        self.broken, self.worlds = broken, worlds

    def initial(self):
        return State(None, frozenset(), ("", ""), NOTHING, frozenset(), frozenset(), (), (), (), (), (), None, None)

    @staticmethod
    def begin(empty, number, world):
        done = "C" if world["passed"] else ""
        writers = tuple(Writer((done if i == 0 else "").ljust(len(buckets), "-"), 0 if done and i == 0 else None, 0, None)
                        for i, buckets in enumerate(world["writers"]))
        return empty._replace(
            world=number, writers=writers, closers=(Closer("intent", 0, 0, NOTHING),) * len(world["closers"]),
            objects=frozenset({(0, 0)} if done else ()), reader=world["reader"] and (world["reader"],))

    # What there is. Where "or not" is an answer, it is both.

    @staticmethod
    def settled(s):
        return s.records[-1][0] if s.records else 0

    @staticmethod
    def truth(s, b):
        return next((contents[b] for to, contents in s.records if to > b), None)

    @staticmethod
    def retired(s, b):
        return bool(s.checkpoints) and s.checkpoints[-1][0] > b

    def swept(self, s, b):
        """Whether data files may go."""
        return self.truth(s, b) not in (None, ABSENT) or self.retired(s, b)

    def bucket(self, s, w, k):
        return self.worlds[s.world]["writers"][w][k]

    def put_in(self, s, b):
        """The batches that were ever put in a bucket."""
        put_ever = ((w, k) for w, me in enumerate(s.writers) for k, letter in enumerate(me.batches) if letter != "-")
        return [it for it in put_ever if self.bucket(s, *it) == b]

    def contents(self, s, b):
        """What a listing of the bucket shows: of each writer, how many batches before the first that is missing."""
        lengths = []
        for w, me in enumerate(s.writers):
            mine = [k for k in range(len(me.batches)) if self.bucket(s, w, k) == b]
            there = next((n for n, k in enumerate(mine) if (w, k) not in s.objects), len(mine))
            sent = sum(me.batches[k] != "-" for k in mine)
            lengths.append(range(sent + 1) if self.swept(s, b) else (there,))
        return product(*lengths)

    def marked(self, s, b):
        early = "deletes-before-checkpoint" in self.broken and self.truth(s, b) is not None
        return {False, s.marks[b] != ""} if self.retired(s, b) or early else {s.marks[b] == "set"}

    def locked(self, s, b):
        return {None} | {c for what, at, c in s.sent if (what, at) == ("lock", b)} if self.retired(s, b) else {s.locks[b]}

    def listed(self, s, b):
        if self.retired(s, b):
            return {False, bool(s.marks[b] or self.put_in(s, b))}
        swept = self.swept(s, b)  # then there is a lock
        return {swept or s.marks[b] == "set" or s.locks[b] is not None or any(self.bucket(s, w, k) == b for w, k in s.objects)}

    def record(self, s, number):
        if s.checkpoints and s.checkpoints[-1][1] > number:
            return {None} | {r for what, at, r in s.sent if (what, at) == ("record", number)}
        return {s.records[number - 1] if number <= len(s.records) else None}

    def covers(self, s, content, w, k):
        before = sum(self.bucket(s, w, j) == self.bucket(s, w, k) for j in range(k))
        return content not in (None, ABSENT) and content[w] > before

    # What is carried out

    def carry_out(self, s, what, at, content):
        if what == "record" and at == len(s.records) + 1:
            s = s._replace(records=s.records + (content,))
            goals = self.worlds[s.world]["closers"]
            # Intents that it has reached may go, whoever left them, and come again: who sees none finds the record.
            return self.tidy(s._replace(intents=frozenset(i for i in s.intents if goals[i] > content[0])))
        if what == "lock" and not self.retired(s, at) and (s.locks[at] is None or "lock-unconditional" in self.broken):
            return s._replace(locks=put(s.locks, at, content))
        return s

    def publish(self, s, *it):
        """With an answer, and without one."""
        sent = self.tidy(s._replace(sent=s.sent | {it}))
        done = self.carry_out(sent, *it)
        return [("", done)] if done == sent else [("", done), (", without an answer", sent)]

    def tidy(self, s):
        """What is there or not, as it pleases, needs no state; nor what was put in vain where nothing will be deleted."""
        for b in (0, 1):
            if self.swept(s, b):
                s = s._replace(objects=frozenset((w, k) for w, k in s.objects if self.bucket(s, w, k) != b))
            if self.retired(s, b):
                s = s._replace(locks=put(s.locks, b, None))
        if self.settled(s) == max(self.worlds[s.world]["closers"]):
            last = len(s.records)
            s = s._replace(sent=frozenset(it for it in s.sent if it[0] == "lock" or it[1] < last))
        return s

    def wrong(self, s):
        if s.wrong or not s.records:
            return s.wrong
        for w, me in enumerate(s.writers):
            for k, letter in enumerate(me.batches):
                truth = self.truth(s, self.bucket(s, w, k))
                if letter in "CR" and truth is not None and (letter == "C") != self.covers(s, truth, w, k):
                    return "batch %d of writer %d was told %s" % (k, w, "COMMITTED" if letter == "C" else "REJECTED")
        for b in (0, 1):
            truth = self.truth(s, b)
            if truth not in (None, ABSENT) and not self.retired(s, b) and s.locks[b] != truth:
                return "the lock of bucket %d is not the one that its record names" % b
        return None

    def steps(self, s):
        if s.world is None:
            for number, world in enumerate(self.worlds):
                yield "world %d" % number, self.begin(s, number, world)
            return
        world = self.worlds[s.world]
        for b in (0, 1):
            if s.marks[b] == "sent":
                yield "mark %d is carried out" % b, s._replace(marks=put(s.marks, b, "set"))
            for it in self.put_in(s, b):
                if it not in s.objects and not self.swept(s, b):
                    yield "batch %d of writer %d is there" % it[::-1], s._replace(objects=s.objects | {it})
        for what, at, content in s.sent:
            after = self.carry_out(s, what, at, content)
            if after != s:
                yield "%s %d is carried out: %s" % (what, at, content), after
        yield from self.retirement(s, world["checkpoints"])
        for i, me in enumerate(s.writers):
            for label, after in self.writer_steps(s, i, me):
                after = after if set(after.batches) - set("CR") else Writer(after.batches, None, 0, None)
                yield "writer %d %s" % (i, label), s._replace(writers=put(s.writers, i, after))
        for i, me in enumerate(s.closers):
            for label, after, me in self.closer_steps(s, i, me, world["closers"][i]):
                yield "closer %d %s" % (i, label), after._replace(closers=put(s.closers, i, me))
        if s.reader:
            kind = self.live_steps if s.reader[0].startswith("live") else self.settled_steps
            for label, wrong, reader in kind(s, *s.reader):
                yield "reader " + label, s._replace(wrong=wrong, reader=reader)

    def retirement(self, s, most):
        """A notice of what is settled, and its checkpoint at any time after that."""
        due = [(to, number) for number, (to, _) in enumerate(s.records, 1) if to > (s.notices[-1][0] if s.notices else 0)]
        lines = s.notices
        if "notice-after-checkpoint" in self.broken:
            due, lines = s.checkpoints[len(s.notices):][:1], [(to, number) for number, (to, _) in enumerate(s.records, 1)]
        if "notice-of-the-future" in self.broken:
            due = [(0, 0)]
            lines = [(to, number) for number, (to, _) in enumerate(s.records, 1)] if len(s.checkpoints) < len(s.notices) else []
        for line in due:
            if len(s.notices) < most:
                yield "notice %d is given" % (len(s.notices) + 1), s._replace(notices=s.notices + (line,))
        for to, number in lines:
            if to > (s.checkpoints[-1][0] if s.checkpoints else 0) and len(s.checkpoints) < most:
                checkpoints = s.checkpoints + ((to, number),)
                yield "checkpoint %d reaches %d" % (len(checkpoints), to), self.tidy(s._replace(checkpoints=checkpoints))

    def writer_steps(self, s, i, me):
        """Section 2, steps 3 to 5."""
        untold = [k for k, letter in enumerate(me.batches) if letter not in "CR"]
        if not untold:
            return
        b = self.bucket(s, i, untold[0])
        mine = [k for k in range(len(me.batches)) if self.bucket(s, i, k) == b]

        def tell(batches, letter, **changes):
            return me._replace(batches="".join(letter if k in batches else old for k, old in enumerate(me.batches)), **changes)

        early = "mark-before-put" in self.broken
        ready, behind = [], False
        for k in mine:
            letter = me.batches[k]
            if letter == "-":
                if early and me.look is None and False in self.marked(s, b):
                    yield "finds no mark", me._replace(look=("put", ()))
                elif not early or me.look == ("put", ()):
                    yield "puts batch %d" % k, tell({k}, "a", look=None if early else me.look)
                break
            if letter == "a":
                there, swept = (i, k) in s.objects, self.swept(s, b)
                if there or swept:
                    yield "is told that batch %d is there" % k, tell({k}, "k")
                if not there or swept:
                    yield "gets no answer, and does not find batch %d" % k, tell({k}, "?")
                if there and "own-412-is-a-loss" in self.broken or "unanswered-is-lost" in self.broken:
                    yield "takes batch %d for lost" % k, tell({k}, "R")
            if letter == "?":
                yield from self.verdict(s, i, k, b, tell)
            if letter == "k" and (not behind or "confirms-over-a-gap" in self.broken):
                ready.append(k)
            elif letter == "k" and set(me.batches[j] for j in mine if j < k) & set("?R"):
                yield "is in doubt of batch %d, as of one before" % k, tell({k}, "?")
            behind |= letter not in "kC"
        if me.look is None and ready:
            me = me._replace(look=(self.following(None, me.passed == b), tuple(ready)))
        if me.look is not None and me.look != ("put", ()):
            yield from self.look_steps(s, b, me, ready)

    def following(self, look, passed):
        """What is looked at next; None: all was."""
        looks = ["notice", "mark"] if "notice-before-mark" in self.broken else ["mark", "notice"]
        if "mark-before-put" in self.broken:
            looks.remove("mark")
        if "mark-alone" in self.broken and passed:
            looks.remove("notice")
        if not passed and "no-first-look" not in self.broken:
            looks += ["records", "intents"] if "records-before-intents" in self.broken else ["intents", "records"]
            looks += ["number"] if "number-after-records" in self.broken else []
        at = looks.index(look) + 1 if look else 0
        return looks[at] if at < len(looks) else None

    def look_steps(self, s, b, me, ready):
        look, batches = me.look

        def told(me, batches, letter, passed):
            text = "".join(letter if k in batches else old for k, old in enumerate(me.batches))
            return me._replace(batches=text, passed=passed, look=None)

        def go_on(me=me):
            following = self.following(look, me.passed == b)
            if following is None:
                return told(me, ready if "confirms-latecomers" in self.broken else batches, "C", b)
            return me._replace(look=(following, batches))

        doubt = told(me, batches, "?", None)
        if look == "mark":
            for marked in self.marked(s, b):
                yield ("finds the mark", doubt) if marked else ("finds no mark", go_on())
        elif look == "notice":
            if me.passed != b:
                yield "finds the last notice", go_on(me._replace(number=len(s.notices)))
            elif len(s.notices) > me.number and "number-of-others" not in self.broken:
                passed = b if "new-notice-alone" in self.broken else None
                yield "finds notice %d" % (me.number + 1), go_on(me._replace(number=len(s.notices), passed=passed))
            else:
                yield "finds no further notice", go_on()
        elif look == "intents":
            goals = self.worlds[s.world]["closers"]
            yield ("finds an intent", doubt) if any(goals[i] > b for i in s.intents) else ("finds no intent", go_on())
        elif look == "records":
            yield ("finds a record", doubt) if self.settled(s) > b else ("finds no record", go_on())
        else:
            yield "remembers the last notice", go_on(me._replace(number=len(s.notices)))

    def verdict(self, s, i, k, b, tell):
        contents = {self.truth(s, b)}  # by the record, and by the segment if a checkpoint is there after that
        if "verdict-from-the-lock" in self.broken:
            contents = self.locked(s, b)
        if "verdict-from-any-record" in self.broken:
            contents = {r[1][b] for number in (1, 2) for r in self.record(s, number) if r}
        for content in contents - {None}:
            committed = self.covers(s, content, i, k)
            yield "reads the verdict of batch %d" % k, tell({k}, "C" if committed else "R")

    def closer_steps(self, s, i, me, goal):
        """Sections 3 and 4."""
        pc = me.pc
        if pc == "intent" and {"no-intent", "intent-after-listing"} & self.broken:
            yield "leaves no intent", s, me._replace(pc="tip")
        elif pc in ("intent", "late intent"):
            after = s if self.settled(s) >= goal else s._replace(intents=s.intents | {i})
            yield "leaves an intent", after, me._replace(pc="tip" if pc == "intent" else "close")
        elif pc == "tip":
            since = self.settled(s)
            yield "reads the last record", s, OVER if since >= goal else Closer("list log", len(s.records), since, NOTHING)
        elif pc == "list log":
            late = "intent-after-listing" in self.broken
            ways = [self.listed(s, b) if me.since <= b < goal else {None} for b in (0, 1)]
            for found in product(*ways):
                found = tuple(None if there is None else OPEN if there else ABSENT for there in found)
                yield "lists the buckets: %s" % (found,), s, me._replace(pc="late intent" if late else "close", found=found)
        elif pc == "close" and OPEN in me.found:
            b = me.found.index(OPEN)
            for lock in self.locked(s, b) - {None}:
                yield "finds a lock", s, me._replace(found=put(me.found, b, lock))
            yield "sets mark %d" % b, s._replace(marks=put(s.marks, b, "set")), me._replace(pc="list")
            if "mark-unanswered" in self.broken and not s.marks[b]:
                yield "has no answer to mark %d" % b, s._replace(marks=put(s.marks, b, "sent")), me._replace(pc="list")
        elif pc == "list":
            b = me.found.index(OPEN)
            for content in self.contents(s, b):
                yield "lists bucket %d: %s" % (b, content), s, me._replace(pc=("lock", content))
        elif pc[0] == "lock":
            b = me.found.index(OPEN)
            trusts = "lock-not-read" in self.broken
            after = me._replace(pc="close", found=put(me.found, b, pc[1])) if trusts else me._replace(pc="read lock")
            for how, done in self.publish(s, "lock", b, pc[1]):
                yield "puts lock %d: %s%s" % (b, pc[1], how), done, after
        elif pc == "read lock":
            b = me.found.index(OPEN)
            for lock in self.locked(s, b):
                if lock is None:
                    yield "finds no lock, and gives up", s, OVER
                else:
                    yield "reads lock %d: %s" % (b, lock), s, me._replace(pc="close", found=put(me.found, b, lock))
        elif pc == "close":
            record = (goal, me.found)
            for how, done in self.publish(s, "record", me.number + 1, record):
                yield "puts record %d: %s%s" % (me.number + 1, record, how), done, me._replace(pc="read record")
        elif pc == "read record":
            number = me.number + 1
            for record in self.record(s, number):
                if s.checkpoints and s.checkpoints[-1][1] > number:
                    yield "finds that record %d is retired" % number, s, Closer("tip", 0, 0, NOTHING)
                elif record is None:
                    withdraws = "intent-withdrawn-unanswered" in self.broken
                    yield "finds no record, and gives up", s._replace(intents=s.intents - {i}) if withdraws else s, OVER
                elif record[0] >= goal:
                    yield "reads record %d" % number, s, OVER
                else:
                    rest = tuple(f if b >= record[0] else None for b, f in enumerate(me.found))
                    yield "reads record %d" % number, s, Closer("close", number, record[0], rest)

    def live_steps(self, s, pc, due=None, found=(), through=None):
        """Rule H4. due: what it has to find. through: how far the log is settled, by its look."""
        early = "live-looks-early" in self.broken
        if pc == "live":
            told = due or frozenset((w, k) for w, me in enumerate(s.writers) for k, letter in enumerate(me.batches) if letter == "C")
            if told:
                yield "begins", None, ("live list", told, (), self.settled(s) if early else None)
        elif pc == "live list" and len(found) < 2:
            for lock in self.locked(s, len(found)):
                for content in [lock] if lock else self.contents(s, len(found)):
                    yield "lists bucket %d: %s" % (len(found), content), None, (pc, due, found + (content,), through)
        elif pc == "live list" and not early:
            yield "looks at the chain", None, ("live read", due, found, self.settled(s))
        else:
            if any(self.swept(s, b) for b in (0, 1) if b >= through):
                yield "finds something gone", None, ("live", due)
            have = [self.truth(s, b) if b < through else found[b] for b in (0, 1)]
            missed = [it for it in due if not self.covers(s, have[self.bucket(s, *it)], *it)]
            yield "reads", "a live reader misses %s" % missed if missed else None, None

    def settled_steps(self, s, pc, b=None, content=None):
        """It reads a record, looks at the checkpoint, and reads the lock; or a segment."""
        if pc == "settled":
            for b in range(self.settled(s)):
                number = next(n for n, (to, _) in enumerate(s.records, 1) if to > b)
                for record in self.record(s, number):
                    yield "reads record %d: %s" % (number, record), None, ("checkpoint", b, record and record[1][b])
        elif self.retired(s, b):
            yield "finds bucket %d retired, and reads a segment" % b, None, None
        elif pc == "checkpoint" and content != self.truth(s, b):
            yield "goes by its record", "a reader is told of another history", None
        elif pc == "checkpoint":
            yield "finds no checkpoint", None, ("lock", b, content) if content != ABSENT else None
        else:
            for lock in self.locked(s, b):
                yield "reads lock %d" % b, None if lock == content else "a reader does not find the lock", None


if __name__ == "__main__":
    main(Objects, MUTATIONS, BOUNDS)
