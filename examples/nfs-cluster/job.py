"""The main job, and faults in the middle of it, one after the other."""
import json
import os
import time

import fleet as fleets
from cluster import STRANGER, Referee
from places import wait_until

SOON = 180  # seconds: for what takes a few where nothing is emulated
LATE = 300  # after NFS or TCP have waited before they try again
LOG = "main"


class Writer(fleets.Writer):
    """Counts what it was told so far."""

    def told(self, what=b'"committed"'):
        return count(self.base + ".receipts", what)

    def over(self):
        return self.child.poll() is not None

    def last(self):
        """The timestamp of the last message that was committed; 0 if none was."""
        with open(self.base + ".receipts", "rb") as f:
            whole = [json.loads(line) for line in f if line.endswith(b"\n")]
        return max((r["timestamp"] for r in whole if r["state"] == "committed"), default=0)


class Reader:
    """One "cat --follow": what it printed must be what the log is in the end."""

    def __init__(self, cluster, turn, name):
        self.path = os.path.join(cluster.work, f"{name}.cat")
        uid = STRANGER if cluster.who == "other" else None
        with open(self.path, "wb") as out:
            self.child = cluster.background(name, "cat", "--log", LOG, "--follow", turn=turn, uid=uid, stdout=out)

    def seen(self):
        with open(self.path, "rb") as f:
            return f.read()


class Job:
    """Writers and readers on every client; one writer on the first holds a lease, one on the second waits for it."""

    def __init__(self, cluster, say):
        self.cluster, self.say = cluster, say
        self.referee = Referee(cluster)
        self.clients = range(len(cluster.lab.clients))
        self.writers = []
        self.before = {}

    def writer(self, name, turn, **options):
        same = sum(w.name.split("-")[0] == name for w in self.writers)
        writer = Writer(self.cluster, f"{name}-{same + 1}", LOG, turn=turn, pace=2.5, **options)
        self.writers.append(writer)
        return writer

    def start(self, first):
        self.cluster.serve()
        self.plain = [self.writer(f"plain{turn + 1}", turn) for turn in self.clients]
        self.cluster.served()
        self.holder = self.under_lease("holder", 0, f"shared/{first}")
        for turn in self.clients:
            self.cluster.look_after(turn)
        self.goes_on(*self.plain, times=1)  # so the log is there
        self.readers = {turn: Reader(self.cluster, turn, f"reader{turn + 1}") for turn in self.clients if turn or not self.cluster.lean}
        self.before = self.numbers()

    def under_lease(self, name, turn, lease):
        return self.writer(name, turn, leases=[lease], more=["--wait", "30m"])

    def meet(self, fault, seconds, following):
        """One fault, to which the first client's lease is lost or given back: a row of numbers."""
        row = {}
        holder = self.takes(self.holder)
        heir = self.under_lease("heir", 1, holder.leases[0])
        self.goes_on(holder, *self.plain)  # with receipts in sight the fault meets appends
        self.say(f"{fault.name}: all write; now the fault")
        injected = time.monotonic()
        fault.inject()
        self.goes_on(*([] if fault.stills else self.plain[1:]))  # nobody waits for the victim (rule F4)
        if fault.lapses:
            heir = self.takes(heir)
            row["takeover after"] = time.monotonic() - injected
        time.sleep(max(0, injected + seconds - time.monotonic()))
        fault.heal()
        healed = time.monotonic()
        self.say(f"{fault.name}: healed after {healed - injected:.0f} s")
        if fault.reboots:
            self.cluster.look_after(0)
            self.plain[0] = self.writer("plain1", 0)
            self.readers[0] = Reader(self.cluster, 0, f"reader1-after-{fault.name}")
        if following:
            self.holder = self.under_lease("holder", 0, f"shared/{following}")
        self.goes_on(*self.plain, *([] if fault.lapses else [holder]))
        row["going on after"] = time.monotonic() - healed
        holder.finish()
        if not fault.lapses:
            heir = self.takes(heir)
        heir.finish()
        self.referee.look(LOG)
        now = self.numbers()
        row.update({name: now[name] - self.before[name] for name in now})
        self.before = now
        return row

    def numbers(self):
        total = {
            "sent": sum(count(w.base + ".sent", b"\n") for w in self.writers),
            "committed": sum(w.told() for w in self.writers),
            "rejected": sum(w.told(b'"rejected"') + w.told(b'"refused"') for w in self.writers),
        }
        return dict(total, violations=len(self.cluster.violations))

    def goes_on(self, *writers, times=3):
        """Waits until each has so many more receipts that say committed, or has stopped after it had some."""
        before = {w: w.told() for w in writers}
        for w in writers:
            wait_until(f"{w.name}: {times} messages committed", lambda w=w: w.told() >= before[w] + times or w.over(), LATE)
            if w.over():
                self.say(f"{w.name} stopped: {first_line(w.base + '.err')}")

    def takes(self, writer):
        """The writer, or another, once it writes: a request of a cold process can take too long where all is emulated: then another asks."""
        for _ in range(4):
            wait_until(f"{writer.name} writes", lambda: writer.told() or writer.over(), LATE)
            if writer.told():
                return writer
            self.say(f"{writer.name} stopped: {first_line(writer.base + '.err')}")
            writer = self.under_lease(writer.name.split("-")[0], writer.child.turn, writer.leases[0])
        raise OSError(f"{writer.name} can't take its lease, see {writer.base}.err")

    def end(self):
        """Every writer ends by itself, and every message gets its verdict (rule A1); then all is judged: a row."""
        for writer in self.writers:
            writer.finish()
        for writer in self.writers:
            wait_until(f"{writer.name} ends", writer.ended, LATE)
        self.say("all writers ended")
        last = max(w.last() for w in self.writers)
        time.sleep(max(0.0, last / 1e9 + self.cluster.settled_after - time.time()))
        wait_until("all is settled", lambda: self.referee.settled(LOG) > last, SOON)
        settled = time.monotonic()
        path = os.path.join(self.cluster.work, "cat")
        with open(path, "wb") as out:
            out.write(self.referee.cinch("cat", "--log", LOG))
        self.referee.look(LOG, final=True, cat=path)
        late = self.readers_saw(path, settled)
        for what in ("verify", "audit"):
            said = self.referee.cinch(what).decode().strip().splitlines() or ["nothing"]
            self.say(f"{what}: {said[-1]}")
        return dict(self.referee.totals, violations=len(self.cluster.violations)) | {"readers late": late}

    def readers_saw(self, path, settled):
        with open(path, "rb") as f:
            whole = f.read()
        for reader in self.readers.values():
            wait_until(
                f"{reader.path}: all {len(whole)} bytes seen",
                lambda r=reader: len(r.seen()) >= len(whole) or r.child.poll() is not None,
                LATE,
            )
            if reader.seen() != whole:
                self.cluster.violation(
                    f"{reader.path}: {len(reader.seen())} bytes, not the {len(whole)} of \"cat\";"
                    f" the reader's exit code is {reader.child.poll()}"
                )
        return time.monotonic() - settled


def count(path, what):
    try:
        with open(path, "rb") as f:
            return f.read().count(what)
    except FileNotFoundError:
        return 0


def first_line(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.readline().strip()
