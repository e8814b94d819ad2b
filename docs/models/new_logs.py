#!/usr/bin/env python3
"""Logs that are made while a lease changes hands: sections 6 and 7 of the protocol, rules L8 and F1.

One holder, A, may write a message below its expiry to any log that its lease names, and gain logs that were made meanwhile.
The next one, B, fences: in the logs that A's leases named, if the same instance of the service granted both; in all logs, if
another one did, and then A's goes on signing. Two logs are there from the start, two are made by somebody. There is no clock:
the horizon may pass A's expiry at any time, and A's may be slow for ever.

Checked (F1): no message of A comes into existence once B, or whoever comes after B, may have looked.
"""
from collections import namedtuple

from explorer import main

MUTATIONS = {
    "fences-what-it-listed-before": ("B fences the logs that it listed before it asked for its lease", None),
    "fences-once": ("B does not list again after it fenced", None),
    "leaves-half-made": ("B passes over logs that are being made", None),
    "created-by-clock": ("who makes a log does not look how far another one is settled", None),
    "looks-before-directories": ("who makes a log looks how far another one is settled before it makes directories", None),
    "older-than-its-log": ("a message may be older than its log", None),
}

# Made: how many of the new logs somebody makes.
BOUNDS = {"small": dict(made=1), "default": dict(made=2), "large": dict(made=2)}

OLD = "wx"
NEW = "yz"
MESSAGE = 1  # A's only timestamp; the lower ones are settled in every log
EXPIRY = 2   # of A's lease

# horizon, created: of each log; created is None until the identity is there. makers: of each new log
State = namedtuple("State", "horizon created makers a b")
# pc: idle, looked (before it made directories), directories, ready (looked, directories are there), over
Maker = namedtuple("Maker", "pc looked")
A = namedtuple("A", "names pending")
# pc: idle, listed, granted, listing, fencing, began. fence: logs, or "all"; todo, done: logs
B = namedtuple("B", "pc listed fence todo done")


def put(pairs, key, value):
    return tuple((k, value if k == key else v) for k, v in pairs)


class NewLogs:
    def __init__(self, broken, bounds):
        self.broken = broken
        self.new = NEW[:bounds["made"]]
        self.logs = OLD + self.new

    def initial(self):
        return State(tuple((log, 0) for log in self.logs), tuple((log, 0 if log in OLD else None) for log in self.logs),
                     tuple((log, Maker("idle", 0)) for log in self.new), A(OLD, None), B("idle", "", "", "", ""))

    def wrong(self, state):
        if state.a.pending == "landed" and state.b.pc == "began":
            return "a message of A may have come into existence after B looked"
        return None

    def steps(self, state):
        for log, maker in state.makers:
            for label, after in self.maker_steps(state, log, maker):
                yield "maker of %s %s" % (log, label), after
        yield from self.a_steps(state)
        for label, after in self.b_steps(state):
            yield "B " + label, after
        for log, at in state.horizon:
            if at < EXPIRY and dict(state.created)[log] is not None:
                yield "somebody settles %s" % log, state._replace(horizon=put(state.horizon, log, EXPIRY))

    def settled(self, state, log):
        """What a look at any other log may say."""
        if "created-by-clock" in self.broken:
            return {0}
        created, horizon = dict(state.created), dict(state.horizon)
        return {max(created[o], horizon[o]) for o in self.logs if o != log and created[o] is not None}

    @staticmethod
    def published(state, log, value):
        """The first identity stays."""
        return state.created if dict(state.created)[log] is not None else put(state.created, log, value)

    def maker_steps(self, state, log, maker):
        def then(pc, looked=maker.looked):
            return state._replace(makers=put(state.makers, log, Maker(pc, looked)))
        early = "looks-before-directories" in self.broken
        if maker.pc == "idle" and early:
            for value in self.settled(state, log):
                yield "sees that another one is settled to %d" % value, then("looked", value)
        elif maker.pc == "idle":
            yield "makes directories", then("directories")
        elif maker.pc == "looked":
            yield "makes directories", then("ready")
        elif maker.pc == "directories":
            for value in self.settled(state, log):
                yield "sees that another one is settled to %d" % value, then("ready", value)
        elif maker.pc == "ready":
            yield "publishes its identity", then("over")._replace(created=self.published(state, log, maker.looked))

    def a_steps(self, state):
        a, b = state.a, state.b
        created = dict(state.created)
        renews = b.fence in ("", "all")  # else its lease is known to be over
        for log in self.new:
            if created[log] is not None and log not in a.names and renews and a.pending is None:
                yield "A gains %s" % log, state._replace(a=a._replace(names="".join(sorted(a.names + log))))
        if a.pending is None:
            for log in a.names:
                if created[log] < MESSAGE or "older-than-its-log" in self.broken:
                    yield "A writes to %s" % log, state._replace(a=a._replace(pending=log))
        elif a.pending in self.logs:
            lands = dict(state.horizon)[a.pending] <= MESSAGE
            told = "A's message lands" if lands else "A's message is REJECTED"
            # That it landed before B began does no harm, and is the same as if it had not been written.
            kept = "landed" if lands and b.pc == "began" else "over"
            yield told, state._replace(a=a._replace(pending=kept))

    def b_steps(self, state):
        b = state.b
        there = "".join(log for log in self.logs if self.seen(state, log))
        if b.pc == "idle":
            yield "lists " + there, state._replace(b=b._replace(pc="listed", listed=there))
        elif b.pc == "listed":
            early = "fences-what-it-listed-before" in self.broken
            for fence in (state.a.names, "all"):
                of = "".join(log for log in b.listed if fence == "all" or log in fence)
                after = b._replace(pc="fencing", fence=fence, todo=of) if early else b._replace(pc="listing", fence=fence)
                yield "takes the name, with a fence for %s" % fence, state._replace(b=after)
        elif b.pc == "listing":
            more = "".join(log for log in there if log not in b.done and (b.fence == "all" or log in b.fence))
            if more:
                yield "lists, and has to fence " + more, state._replace(b=b._replace(pc="fencing", todo=more))
            else:
                yield "lists, and begins", self.begins(state)
        elif b.pc == "fencing" and b.todo:
            log = b.todo[0]
            if dict(state.created)[log] is None:  # half made
                for value in self.settled(state, log):
                    yield "makes %s to its end" % log, state._replace(created=self.published(state, log, value))
            else:
                after = b._replace(todo=b.todo[1:], done="".join(sorted(b.done + log)))
                yield "fences " + log, state._replace(horizon=put(state.horizon, log, EXPIRY), b=after)
        elif b.pc == "fencing":
            if self.broken & {"fences-once", "fences-what-it-listed-before"}:
                yield "begins", self.begins(state)
            else:
                yield "has fenced", state._replace(b=b._replace(pc="listing"))

    @staticmethod
    def begins(state):
        return state._replace(b=state.b._replace(pc="began", todo="", done=""))

    def seen(self, state, log):
        if dict(state.created)[log] is not None:
            return True
        return dict(state.makers)[log].pc in ("directories", "ready") and "leaves-half-made" not in self.broken


if __name__ == "__main__":
    main(NewLogs, MUTATIONS, BOUNDS)
