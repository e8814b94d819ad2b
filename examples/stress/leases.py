"""Whether the holders of a lease followed one another (rule F1), over all logs.

A holder is a run of a writer under one of its leases, as "referee.py --holders" writes it: its name and log, the lease's
name and correlation, the timestamps and lines of its messages under that lease, and when it was started, was seen to have
this lease, and to have ended (None: not known). A run that takes leases anew is several holders.
"""


def granted(correlation):
    """When a lease was granted: nanoseconds by the service's clock, which never goes back. With it a correlation begins."""
    return int(correlation[:16], 16)


def had(holder):
    """When it surely had its lease already; None if nobody knows. Who wrote under one had it when it ended."""
    return min((t for t in (holder["held"], holder["ended"]) if t is not None), default=None)


def precedes(one, other):
    """Whether one had its lease before the other was started, and so asked for its own."""
    return had(one) is not None and other["started"] is not None and had(one) < other["started"]


def by_name(holders):
    names = {}
    for holder in holders:
        names.setdefault(holder["name"], []).append(holder)
    return names


def disorder(holders):
    """Yields a line for each pair of holders whose messages are not one after the other, or in the wrong order."""
    for name, ones in by_name(holders).items():
        ordered = sorted(ones, key=lambda h: h["messages"][0][0])
        before = None
        for holder in ordered:
            if before and holder["messages"][0][0] <= before["messages"][-1][0]:
                yield f"lease {name}: messages of {who(holder)} stand between those of {who(before)}"
            if not before or holder["messages"][-1][0] > before["messages"][-1][0]:
                before = holder
        for at, later in enumerate(ordered):
            for earlier in ordered[:at]:
                if granted(later["correlation"]) <= granted(earlier["correlation"]):
                    yield f"lease {name}: {who(later)} was granted it no later than {who(earlier)}, whose messages stand before"
                elif precedes(later, earlier):
                    yield f"lease {name}: {who(later)} had it before {who(earlier)} was started, whose messages stand before"


def who(holder):
    return f"{holder['run']} on {holder['log']}, lease {holder['correlation']},"


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
            earlier = had(holder) is not None and had(holder) < self.started
            if holder["log"] == self.log and earlier and holder["name"] in self.leases:
                for timestamp, line in holder["messages"]:
                    if timestamp >= self.settled and (holder["run"], line) not in self.seen:
                        yield f"{who(holder)} line {line} at {timestamp} came after the next holder of {holder['name']} had it"
