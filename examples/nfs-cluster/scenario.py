"""The main job on one log, and one fault in the middle of it."""
import os
import subprocess
import time

import fleet as fleets
from cluster import STRANGER, Referee
from places import wait_until

SOON = 120  # seconds: for what takes a few where nothing is emulated
LATE = 300  # after NFS or TCP have waited before they try again


class Reader:
    """One "cat --follow": what it printed must be how the log begins."""

    def __init__(self, cluster, log, turn, name):
        self.path = os.path.join(cluster.work, f"{name}.cat")
        uid = STRANGER if cluster.who == "other" else None
        with open(self.path, "wb") as out:
            self.child = cluster.background(name, "cat", "--log", log, "--follow", turn=turn, uid=uid, stdout=out)

    def seen(self):
        with open(self.path, "rb") as f:
            return f.read()


class Scenario:
    def __init__(self, cluster, name, fault, seconds, say):
        self.cluster, self.log, self.fault, self.seconds, self.say = cluster, name, fault, seconds, say
        self.referee = Referee(cluster)
        self.writers, self.readers = [], []
        self.row = {}
        self.stopped = set()  # writers that ended though they had more to say: their lease was lost, or their clock wrong

    def writer(self, name, turn, **options):
        writer = fleets.Writer(self.cluster, f"{self.log}-{name}", self.log, turn=turn, pace=2.5, **options)
        self.writers.append(writer)
        return writer

    def play(self):
        began = time.monotonic()
        clients = range(len(self.cluster.lab.clients))
        plain = [self.writer(f"plain{turn + 1}", turn) for turn in clients]
        holder = self.under_lease("holder", 0, lambda: lambda w: committed(w) > 0)
        self.committed(3, SOON, holder, *plain)
        heir = self.under_lease("heir", 1, waits)
        self.readers = [Reader(self.cluster, self.log, turn, f"{self.log}-reader{turn + 1}") for turn in clients]
        self.committed(3, SOON, holder, *plain)  # with receipts in sight the fault meets appends
        self.disturb(plain, holder, heir)
        if not self.fault.lapses:
            holder.finish()
            self.committed(3, LATE, heir)
        self.end()
        self.judge()
        self.row["seconds"] = time.monotonic() - began
        return self.row

    def under_lease(self, name, turn, good):
        """One that takes the lease or waits for it. A request of a cold process can take too long where all is emulated."""
        for attempt in range(4):
            done = good()
            writer = self.writer(f"{name}{attempt or ''}", turn, leases=[f"shared/{self.log}"], more=["--wait", "15m"])
            wait_until(f"{writer.name} asks", lambda: done(writer) or writer.child.poll() is not None, SOON)
            if writer.child.poll() is None:
                return writer
        raise OSError(f"{writer.name} can't ask for its lease, see {writer.base}.err")

    def disturb(self, plain, holder, heir):
        self.say(f"{self.log}: all write; now the fault")
        others = [] if self.fault.stills else plain[1:]
        injected = time.monotonic()
        self.fault.inject()
        self.committed(3, LATE, *others)  # nobody waits for the victim (rule F4)
        if self.fault.lapses:
            self.committed(1, LATE, heir)
            self.row["takeover after"] = time.monotonic() - injected
            self.committed(3, SOON, heir)
        time.sleep(max(0, injected + self.seconds - time.monotonic()))
        self.fault.heal()
        healed = time.monotonic()
        self.say(f"{self.log}: healed after {healed - injected:.0f} s")
        going = list(plain)
        if self.fault.reboots:
            self.cluster.look_after(0)
            going[0] = self.writer("plain1-again", 0)
            self.readers[0] = Reader(self.cluster, self.log, 0, f"{self.log}-reader1-again")
        if not self.fault.lapses:
            going.append(holder)
        self.committed(3, LATE, *going)
        self.row["going on after"] = time.monotonic() - healed

    def committed(self, more, seconds, *writers):
        """Waits until each has so many more receipts that say committed; one that had to stop does not count."""
        before = {w: committed(w) for w in writers}
        for w in writers:
            wait_until(
                f"{w.name}: {more} messages committed",
                lambda w=w: committed(w) >= before[w] + more or w.child.poll() is not None,
                seconds,
            )
            if w.child.poll() is not None:
                if not committed(w):
                    raise OSError(f"{w.name} ended before it wrote, see {w.base}.err")
                self.stopped.add(w.name)

    def end(self):
        """Every writer ends by itself, and every message gets its verdict (rule A1)."""
        for writer in self.writers:
            writer.finish()
        for writer in self.writers:
            wait_until(f"{writer.name} ends", writer.ended, LATE)

    def judge(self):
        cluster = self.cluster
        time.sleep(cluster.settled_after)
        cluster.must("close", "--trust-clock", "--log", self.log, turn=1)
        settled = time.monotonic()
        path = os.path.join(cluster.work, f"{self.log}.cat")
        with open(path, "wb") as out:
            child = cluster.background(f"{self.log}-cat", "cat", "--log", self.log, turn=1, stdout=out)
        child.wait()
        cluster.children.remove(child)
        if child.returncode:
            cluster.violation(f"cat --log {self.log}: exit code {child.returncode}")
        before = len(cluster.violations)
        self.referee.look(self.log, final=True, cat=path)
        self.row.update(self.referee.totals)
        self.readers_saw(path, settled)
        self.row["stopped"] = len(self.stopped)
        self.row["violations"] = len(cluster.violations) - before

    def readers_saw(self, path, settled):
        with open(path, "rb") as f:
            whole = f.read()
        late = 0.0
        for reader in self.readers:
            wait_until(
                f"{reader.path}: all {len(whole)} bytes seen",
                lambda r=reader: len(r.seen()) >= len(whole) or r.child.poll() is not None,
                LATE,
            )
            late = max(late, time.monotonic() - settled)
            if reader.seen() != whole:
                self.cluster.violation(
                    f"{reader.path}: {len(reader.seen())} bytes, not the {len(whole)} of \"cat\";"
                    f" the reader's exit code is {reader.child.poll()}"
                )
        self.row["readers late"] = late
        for machine in self.cluster.lab.clients:
            subprocess.run(machine.shell(f"pkill -KILL -f -- '[c]at --log {self.log} --follow'"), check=False)
        for reader in self.readers:
            reader.child.wait()
            self.cluster.children.remove(reader.child)


def committed(writer):
    try:
        with open(writer.base + ".receipts", "rb") as f:
            return f.read().count(b'"committed"')
    except FileNotFoundError:
        return 0


def waits(seconds=15):
    """Whether a process lived for so long."""
    end = time.monotonic() + seconds
    return lambda writer: time.monotonic() > end
