#!/usr/bin/env python3
"""Several processes that write under one grant, and one that gives its leases back: rule L14 of the protocol.

They share a directory: a mark once the leases are given back, an entry for each process that has not ended, and what the others left: their highest timestamp
and the instance of the service that they went by. A process may be killed anywhere (it takes no step any more), begin at any
time, and go on at the later instance at any time. Whoever gives back may find that it can't, and try again.

Checked (L2, L13): once the leases were given back nothing is written under them, every message is at or below the watermark, has
its verdict, and no process goes by another instance than the one that they were given back to.
"""
from collections import namedtuple

from explorer import main

MUTATIONS = {
    "looks-before-entry": ("a process looks for the mark before it makes its entry", None),
    "lists-before-marking": ("who gives back lists the entries before it makes the mark", None),
    "makes-no-mark": ("who gives back makes no mark", None),
    "ignores-entries": ("who gives back does not mind processes that have not ended", None),
    "ends-without-verdict": ("a process ends before its messages have their verdicts", None),
    "entry-goes-first": ("a process removes its entry before it says what it wrote", None),
    "no-watermark": ("who gives back states no watermark of others", None),
    "any-instance": ("who gives back does not ask which instance the others went by", None),
}

BOUNDS = {"small": dict(processes=2, writes=1), "default": dict(processes=2, writes=2), "large": dict(processes=3, writes=2)}

# open: whether there is no mark. now: the last timestamp given. processes: of each. parent: who gives back
State = namedtuple("State", "open now processes parent")
# pc: idle, looked (mutation), entered, writing, said (what it wrote), over. entry, left: in the directory; left: (highest, instance) or None
Process = namedtuple("Process", "pc entry left highest pending writes instance")
# pc: holding, marked, listed (found), released (watermark)
Parent = namedtuple("Parent", "pc found watermark instance")


class SharedGrant:
    def __init__(self, broken, bounds):
        self.broken = broken
        self.bounds = bounds

    def initial(self):
        one = Process("idle", False, None, 0, False, 0, 1)
        return State(True, 0, (one,) * self.bounds["processes"], Parent("holding", None, 0, 1))

    def wrong(self, state):
        if state.parent.pc != "released":
            return None
        for p in state.processes:
            if p.pc == "writing":
                return "a process may write under leases that were given back"
            if p.pending:
                return "leases were given back before a message had its verdict"
            if p.highest > state.parent.watermark:
                return "leases were given back with a watermark below a message"
            if p.highest and p.instance != state.parent.instance:
                return "leases were given back to an instance that a process does not go by"
        return None

    def steps(self, state):
        for n, process in enumerate(state.processes):
            for label, after, now in self.process_steps(state, process):
                yield "process %d %s" % (n, label), state._replace(
                    processes=state.processes[:n] + (after,) + state.processes[n + 1:], now=now)
        for label, after in self.parent_steps(state):
            yield "parent " + label, after

    def process_steps(self, state, p):
        now = state.now
        early = "looks-before-entry" in self.broken
        if p.pc == "idle" and early:
            if state.open:
                yield "finds no mark", p._replace(pc="looked"), now
        elif p.pc == "idle":
            yield "makes its entry", p._replace(pc="entered", entry=True), now
        elif p.pc == "looked":
            yield "makes its entry", p._replace(pc="writing", entry=True), now
        elif p.pc == "entered":
            if state.open:
                yield "finds no mark", p._replace(pc="writing"), now
            else:
                yield "finds the mark", p._replace(pc="over", entry=False), now
        elif p.pc == "writing":
            if p.writes < self.bounds["writes"] and not p.pending:
                yield "writes", p._replace(writes=p.writes + 1, highest=now + 1, pending=True), now + 1
            if p.pending:
                yield "has its verdict", p._replace(pending=False), now
            if p.instance == 1:
                yield "goes on at the later instance", p._replace(instance=2), now
            if not p.pending or "ends-without-verdict" in self.broken:
                if "entry-goes-first" in self.broken:
                    yield "removes its entry", p._replace(pc="said", entry=False), now
                else:
                    yield "says what it wrote", p._replace(pc="said", left=(p.highest, p.instance)), now
        elif p.pc == "said":
            if "entry-goes-first" in self.broken:
                yield "says what it wrote", p._replace(pc="over", left=(p.highest, p.instance)), now
            else:
                yield "removes its entry", p._replace(pc="over", entry=False), now

    def parent_steps(self, state):
        parent = state.parent
        found = (any(p.entry for p in state.processes), frozenset(p.left for p in state.processes if p.left))
        still = "makes-no-mark" in self.broken
        if parent.pc in ("holding", "listed") and parent.instance == 1:
            yield "goes on at the later instance", state._replace(parent=parent._replace(instance=2))
        if parent.pc == "holding" and "lists-before-marking" in self.broken:
            yield "lists", state._replace(parent=parent._replace(pc="marked", found=found))
        elif parent.pc == "holding":
            yield "makes the mark", state._replace(open=still, parent=parent._replace(pc="marked"))
        elif parent.pc == "marked" and "lists-before-marking" in self.broken:
            yield "makes the mark", state._replace(open=False, parent=parent._replace(pc="listed"))
        elif parent.pc == "marked":
            yield "lists", state._replace(parent=parent._replace(pc="listed", found=found))
        elif parent.pc == "listed":
            some, left = parent.found
            used = some and "ignores-entries" not in self.broken
            agreed = all(instance == parent.instance for _, instance in left) or "any-instance" in self.broken
            if used or not agreed:
                yield "takes the mark away", state._replace(open=True, parent=parent._replace(pc="holding", found=None))
            else:
                watermark = 0 if "no-watermark" in self.broken else max([highest for highest, _ in left], default=0)
                yield "releases", state._replace(parent=parent._replace(pc="released", watermark=watermark))


if __name__ == "__main__":
    main(SharedGrant, MUTATIONS, BOUNDS)
