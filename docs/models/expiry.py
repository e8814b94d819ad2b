#!/usr/bin/env python3
"""Messages that expire while others read them: rule R4 of the protocol, with H1 and A1.

One log of a few segments, one message each; the first checkpoint covers some of them, the second all. Two processes expire up
to any segment that they may, one after the other segment, and stop anywhere. A reader goes from the first segment to the last.
The power may fail once, and then any part of what was not forced is lost: the name of the second checkpoint, and of floors.
What was removed stays removed, since that is the worse case. A reader
that gave something is told of an error where the next segment expired.

Checked: no reader is told of damage; an answer has every message from its first on, and from the floor on that it saw; what was
read behind a floor that lasts is never read again by who begins later.
"""
from collections import namedtuple

from explorer import main

MUTATIONS = {
    "segments-before-floor": ("segments go, and the floor is published then", None),
    "floor-not-forced": ("segments go behind a floor that was not forced", None),
    "floor-outlives-checkpoint": ("a floor is published below a checkpoint that was not forced", None),
    "checkpoints-last-expires": ("the last segment that a checkpoint names expires", None),
    "expires-without-checkpoint": ("segments expire that no checkpoint names", None),
    "no-second-look": ("a reader does not look at the floor again where a segment is missing", None),
    "no-first-look": ("a reader looks at the floor only where a segment is missing", None),
    "looks-once-again": ("a reader looks at the floor a second time, and not a third time", None),
    "goes-on-at-floor": ("a reader that gave something goes on at the floor behind it", None),
}

# segments: how many. first: how many of them the first checkpoint names. cuts: how often the power fails
BOUNDS = {"small": dict(segments=3, first=2, cuts=1), "default": dict(segments=4, first=2, cuts=1), "large": dict(segments=6, first=3, cuts=2)}

# line: segments that the last checkpoint names. floor: 0 is none. durable: (line, floor). there: of each segment
State = namedtuple("State", "line floor durable there expirers reader cuts fails")
# pc: idle, checkpoint (forced), publish, force, remove
Expirer = namedtuple("Expirer", "pc floor")
# pc: idle, floor, read, look, over. at: the next segment. saw: the floor it knows. gave: segments. least: the floor that lasted before
Reader = namedtuple("Reader", "pc at saw gave least wrong")
IDLE = Expirer("idle", 0)


class Expiry:
    def __init__(self, broken, bounds):
        self.broken, self.bounds = broken, bounds
        self.last = bounds["segments"]

    def initial(self):
        first = self.bounds["first"]
        return State(first, 0, (first, 0), (True,) * self.last, (IDLE, IDLE), Reader("idle", 1, 0, (), 0, None), self.bounds["cuts"], 1)

    def wrong(self, s):
        if s.floor >= s.line:
            return "a floor at or above the last segment that a checkpoint names is taken for damage"
        return s.reader.wrong

    def steps(self, s):
        if s.line < self.last:
            yield "a checkpoint names all segments", s._replace(line=self.last)
        if s.durable != (s.line, s.floor):
            yield "somebody forces names", s._replace(durable=(s.line, s.floor))
        for i, me in enumerate(s.expirers):
            for label, after, mine in self.expirer_steps(s, me):
                yield "process %d %s" % (i, label), after._replace(expirers=s.expirers[:i] + (mine,) + s.expirers[i + 1:])
        for label, after, reader in self.reader_steps(s, s.reader):
            yield "reader " + label, after._replace(reader=reader)
        if s.cuts and s.durable != (s.line, s.floor):
            for line in {s.line, s.durable[0]}:
                for floor in {s.floor, s.durable[1]}:
                    if (line, floor) != (s.line, s.floor):
                        # Everybody is gone with the power.
                        yield "the power fails: checkpoint %d, floor %d" % (line, floor), s._replace(
                            line=line, floor=floor, durable=(line, floor), expirers=(IDLE, IDLE), cuts=s.cuts - 1,
                            reader=Reader("idle", 1, 0, (), 0, None))

    def expirer_steps(self, s, me):
        if me.pc == "idle":
            highest = s.line if "checkpoints-last-expires" in self.broken else s.line - 1
            if "expires-without-checkpoint" in self.broken:
                highest = self.last - 1
            for floor in range(s.floor + 1, highest + 1):
                yield "is to expire up to %d" % floor, s, Expirer("checkpoint", floor)
            if s.floor:
                yield "finds the floor %d" % s.floor, s, Expirer("force", s.floor)  # what another one left
        elif me.pc == "checkpoint":
            forced = s.durable if "floor-outlives-checkpoint" in self.broken else (s.line, s.floor)
            yield "forces the checkpoint", s._replace(durable=forced), me._replace(pc="remove" if "segments-before-floor" in self.broken else "publish")
        elif me.pc == "publish":
            # A lower one beside a higher one means nothing.
            after = s._replace(floor=max(s.floor, me.floor))
            yield "publishes the floor %d" % me.floor, after, IDLE if "segments-before-floor" in self.broken else me._replace(pc="force")
        elif me.pc == "force":
            forced = s.durable if "floor-not-forced" in self.broken else (s.line, s.floor)
            yield "forces the floor", s._replace(durable=forced), me._replace(pc="remove")
        elif me.pc == "remove":
            left = [n for n in range(me.floor) if s.there[n]]
            if left:
                yield "removes segment %d" % (left[0] + 1), s._replace(there=tuple(t and n != left[0] for n, t in enumerate(s.there))), me
            else:
                yield "has removed all", s, me._replace(pc="publish") if "segments-before-floor" in self.broken else IDLE

    def reader_steps(self, s, me):
        if me.pc == "idle":
            yield "begins", s, me._replace(pc="read" if "no-first-look" in self.broken else "floor", least=s.durable[1])
        elif me.pc == "floor":
            yield "sees the floor %d" % s.floor, s, me._replace(pc="read", saw=s.floor, at=s.floor + 1)
        elif me.pc == "read" and me.at > self.last:
            missing = [n for n in range(me.saw + 1, self.last + 1) if n not in me.gave]
            below = [n for n in me.gave if n <= me.least]
            wrong = "a reader misses %s" % missing if missing else "a reader gives %s, which expired before" % below if below else None
            if me.gave and me.gave != tuple(range(me.gave[0], self.last + 1)):
                wrong = "a reader's answer has a hole: %s" % (me.gave,)
            yield "has read all", s, me._replace(pc="over", wrong=wrong)
        elif me.pc == "read":
            if s.there[me.at - 1]:
                yield "reads segment %d" % me.at, s, me._replace(at=me.at + 1, gave=me.gave + (me.at,))
            else:
                yield "misses segment %d" % me.at, s, me._replace(pc="look")
            if s.fails:  # for another reason
                yield "fails to read segment %d" % me.at, s._replace(fails=s.fails - 1), me._replace(pc="again")
        elif me.pc == "again":
            # As if it missed it, if that expired; else it is told of the error, and ends.
            yield "looks at the floor", s, me._replace(pc="look" if s.floor >= me.at else "over")
        elif me.pc == "look":
            blind = "no-second-look" in self.broken or "looks-once-again" in self.broken and me.saw > 0
            if blind or s.floor < me.at:
                yield "looks at the floor", s, me._replace(pc="over", wrong="a reader is told that segment %d is missing" % me.at)
            elif me.gave and "goes-on-at-floor" not in self.broken:
                yield "is told that messages expired", s, me._replace(pc="over")
            else:
                yield "sees the floor %d" % s.floor, s, me._replace(pc="read", saw=s.floor, at=s.floor + 1)


if __name__ == "__main__":
    main(Expiry, MUTATIONS, BOUNDS)
