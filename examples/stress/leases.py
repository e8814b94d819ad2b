"""Whether the holders of a lease followed one another (rule F1), over all logs.

A holder is a run of a writer as "referee.py --holders" writes it: its name, log and leases, how often it took them anew after
it had lost them, the timestamps and lines of its messages, and when it was started, was seen to have its leases, and to have
ended (None: not known). Of a holder that took them anew nobody knows which messages came before.
"""
import bisect


def had(holder):
    """When it surely had its leases already; None if nobody knows. Who wrote under them had them when it ended."""
    return min((t for t in (holder["held"], holder["ended"]) if t is not None), default=None)


def turns(holders):
    """The holders, but one that took its leases anew once for each stretch of its messages where no other's stand between."""
    for holder in holders:
        stretches = {}
        others = sorted(t for h in holders if h is not holder for t, _ in h["messages"])
        for message in holder["messages"]:
            stretches.setdefault(bisect.bisect(others, message[0]), []).append(message)
        if len(stretches) > 1 + holder["anew"]:
            yield holder
        else:
            yield from (dict(holder, messages=stretch) for stretch in stretches.values())


def precedes(one, other):
    """Whether one had its leases before the other was started, and so asked for them."""
    if one["anew"] or other["anew"]:
        return False
    return had(one) is not None and other["started"] is not None and had(one) < other["started"]


def by_name(holders):
    names = {}
    for holder in holders:
        for name in holder["leases"]:
            names.setdefault(name, []).append(holder)
    return names


def disorder(holders):
    """Yields a line for each pair of holders whose messages are not one after the other, or in the wrong order."""
    for name, ones in by_name(holders).items():
        ordered = sorted(turns(ones), key=lambda h: h["messages"][0][0])
        before = None
        for holder in ordered:
            if before and holder["messages"][0][0] <= before["messages"][-1][0]:
                yield f"lease {name}: messages of {who(holder)} stand between those of {who(before)}"
            if not before or holder["messages"][-1][0] > before["messages"][-1][0]:
                before = holder
        for at, later in enumerate(ordered):
            for earlier in ordered[:at]:
                if precedes(later, earlier):
                    yield f"lease {name}: {who(later)} had it before {who(earlier)} was started, whose messages stand before"


def who(holder):
    return f"{holder['run']} on {holder['log']}"


class Handover:
    """What a log had of earlier holders once a lease had a new one: nothing may come after that."""

    def __init__(self, started, leases, log, settled, seen):
        """
        started: when the new holder was; settled: through which time the log was, after the new holder had its leases;
        seen: run and line of each message behind that, as a live read showed them that began then.
        """
        self.started, self.leases, self.log = started, set(leases), log
        self.settled, self.seen = settled, seen

    def growth(self, holders):
        """Yields a line for each message of an earlier holder that came later."""
        for holder in holders:
            earlier = not holder["anew"] and had(holder) is not None and had(holder) < self.started
            if holder["log"] == self.log and earlier and self.leases & set(holder["leases"]):
                for timestamp, line in holder["messages"]:
                    if timestamp >= self.settled and (holder["run"], line) not in self.seen:
                        yield f"{who(holder)} line {line} at {timestamp} came after the next holder of {' '.join(self.leases)} had it"
