"""What readers print while all goes on: judged when they end, against receipts and against what others print."""
import base64
import json
import os


def lines(path, size=None):
    """The whole lines of a file, or of its first bytes."""
    with open(path, "rb") as f:
        parts = f.read() if size is None else f.read(size)
    return parts.split(b"\n")[:-1]


def spot(m):
    """Where a message is, as "cat --json" and a receipt say it: its place in the order."""
    return int(m["timestampNanos"]), m["dataFile"], m["position"]


def message(line):
    """What "cat --json" prints: ((timestamp, file, position), (run, line))."""
    m = json.loads(line)
    payload = m["payload"].encode() if "payload" in m else base64.b64decode(m["payloadBase64"])
    _, run, number, _ = payload.split(b" ", 3)
    return spot(m), (run.decode(), int(number))


def alike(one, other):
    """How many bytes two files have in common at their beginning, of how many of the shorter one."""
    at, size = 0, min(os.path.getsize(one), os.path.getsize(other))
    with open(one, "rb") as a, open(other, "rb") as b:
        while at < size:
            x, y = a.read(1 << 20), b.read(1 << 20)
            common = min(len(x), len(y))
            if x[:common] != y[:common]:
                return at + next(i for i in range(common) if x[i] != y[i]), size
            at += common
    return size, size


class Live:
    """One "cat --live --json": what had a verdict when it began must be there, or must not."""

    def __init__(self, sent, log):
        self.directory = os.path.join(sent, log)
        names = os.listdir(self.directory) if os.path.isdir(self.directory) else []
        self.receipts = {n: os.path.getsize(os.path.join(self.directory, n)) for n in names if n.endswith(".receipts")}

    def verdicts(self):
        """Those that had been printed when it began: {(run, line): where it is, or None where it must not be}."""
        told = {}
        for name, size in self.receipts.items():
            for line in lines(os.path.join(self.directory, name), size):
                receipt = json.loads(line)
                if receipt["state"] == "UNKNOWN":
                    continue
                committed = receipt["state"] == "COMMITTED"
                place = spot(receipt) if committed else None
                told[name.rpartition(".")[0], receipt["line"]] = place
        return told

    def wrong(self, path, complete):
        """Yields a line for each thing that is wrong in what it printed; complete: it came to its end, and may lack nothing."""
        told, before = self.verdicts(), None
        for key, (run, line) in map(message, lines(path)):
            if before and key <= before:
                yield f"{run} line {line} at {key} after {before}"
            before = key
            place = told.pop((run, line), key)
            if place != key:  # what was sent again has one receipt, for the last time
                verdict = f"committed at {place}" if place else "rejected"
                yield f"{run} line {line} at {key} had been {verdict} before the read began"
        if complete:
            for (run, line), place in told.items():
                if place:
                    yield f"{run} line {line} at {place} had been committed before the read began, and is not there"


class Settled:
    """What settled reads printed, the longest for each log: each begins with what a shorter one is."""

    def __init__(self, work):
        self.work = work
        self.longest = {}

    def wrong(self, log, path):
        """Takes what a read printed, cut off wherever it was killed; yields a line if it is not as the ones before."""
        kept = self.longest.setdefault(log, os.path.join(self.work, f"settled-{log}"))
        if not os.path.exists(kept):
            os.rename(path, kept)
            return
        common, size = alike(path, kept)
        if common < size:
            yield f"a settled read of {log} differs from another one at byte {common}, see {path} and {kept}"
        elif os.path.getsize(path) > os.path.getsize(kept):
            os.replace(path, kept)
        else:
            os.remove(path)

    def unlike(self, log, cat):
        """Yields a line if the longest is not what the last read of all begins with."""
        kept = self.longest.get(log)
        if kept and os.path.exists(kept):
            common, size = alike(kept, cat)
            if common < os.path.getsize(kept):
                yield f"{kept} is not how {cat} begins: they differ at byte {common} of {size}"
