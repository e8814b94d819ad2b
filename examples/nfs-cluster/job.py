"""The main job, and faults in the middle of it, one after the other."""
import json
import os
import time

import fleet as fleets
from cluster import STRANGER
from judge import Judge
from places import wait_until

SOON = 180  # seconds: for what takes a few where nothing is emulated
LATE = 300  # after NFS or TCP have waited before they try again
LOG = "main"
LAST_RECEIPTS = 6  # seconds: what was committed before the fault may arrive for so long


class Writer(fleets.Writer):
    """Counts what it was told so far."""

    def told(self, what=b'"COMMITTED"'):
        return count(self.base + ".receipts", what)

    def over(self):
        return self.fleet.fate(self.child) is not None

    def ended(self):
        return self.over() and super().ended()

    def why(self):
        return f"{self.name} ended by itself, exit code {self.child.returncode}: {first_line(self.base + '.err')}"

    def last(self):
        """The timestamp of the last message that was committed; 0 if none was."""
        with open(self.base + ".receipts", "rb") as f:
            whole = [json.loads(line) for line in f if line.endswith(b"\n")]
        return max((int(r["timestampNanos"]) for r in whole if r["state"] == "COMMITTED"), default=0)


class Reader:
    """One "cat --follow": what it printed must be what the log is in the end."""

    def __init__(self, cluster, turn, name):
        self.path, self.lost = os.path.join(cluster.work, f"{name}.cat"), False
        uid = STRANGER if cluster.who == "other" else None
        with open(self.path, "xb") as out:
            self.child = cluster.background(name, "cat", "--log", LOG, "--follow", "--from", "0", turn=turn, uid=uid, stdout=out)

    def seen(self):
        with open(self.path, "rb") as f:
            return f.read()


class Job:
    """Writers and readers on every client; one writer on the first holds a lease, one on the second waits for it."""

    def __init__(self, cluster, say):
        self.cluster, self.say = cluster, say
        self.referee = Judge(cluster)
        self.clients = range(len(cluster.lab.clients))
        self.writers = []
        self.stopped, self.before = 0, {}

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
        self.readers = [Reader(self.cluster, turn, f"reader{turn + 1}") for turn in self.clients if turn or not self.cluster.lean]
        self.before = self.numbers()

    def under_lease(self, name, turn, lease):
        return self.writer(name, turn, leases=[lease], more=["--wait", "30m"])

    def ready(self):
        """A holder with receipts, and an heir that waits for its lease; with all plain writers they live when the fault begins."""
        lease = self.holder.leases[0]
        for _ in range(3):
            holder = self.takes(self.holder)
            heir = self.under_lease("heir", 1, lease)
            self.goes_on(holder, *self.plain)  # with receipts in sight the fault meets appends
            if not any(w.over() for w in (holder, heir, *self.plain)) and not heir.told():
                return holder, heir
            self.say(f"{lease}: not held and waited for, or a writer ended; again")
            for writer in (holder, heir):
                writer.finish()
                wait_until(f"{writer.name} ends", writer.ended, LATE)
            self.holder = self.under_lease("holder", 0, lease)
        raise OSError(f"{lease} can't be held until the fault")

    def meet(self, fault, seconds, following):
        """One fault, to which the first client's lease is lost or given back: a row of numbers."""
        row = {}
        holder, heir = self.ready()
        self.say(f"{fault.name}: all write; now the fault")
        injected = time.monotonic()
        fault.inject()
        time.sleep(LAST_RECEIPTS)
        silent = {w: w.told() for w in self.plain[fault.silences]}
        self.goes_on(*([] if fault.stills else self.plain[1:]))  # nobody waits for the victim (rule F4)
        if fault.lapses:
            heir = self.takes(heir)
            row["takeover after"] = time.monotonic() - injected
        time.sleep(max(0, injected + max(seconds, 2 * LAST_RECEIPTS) - time.monotonic()))
        for writer, told in silent.items():
            if writer.told() > told:
                raise OSError(f"{fault.name}: it did not befall {writer.name}, which had {writer.told() - told} receipts meanwhile")
        fault.heal()
        healed = time.monotonic()
        self.say(f"{fault.name}: healed after {healed - injected:.0f} s")
        if fault.reboots:
            self.cluster.look_after(0)
            self.plain[0] = self.writer("plain1", 0)
            self.readers[0].lost = True
            self.readers.insert(0, Reader(self.cluster, 0, f"reader1-after-{fault.name}"))
        if following:
            self.holder = self.under_lease("holder", 0, f"shared/{following}")
        self.goes_on(*self.plain, *([] if fault.lapses else [holder]))
        row["going on after"] = time.monotonic() - healed
        holder.finish()
        if not fault.lapses:
            heir = self.takes(heir)
        heir.finish()
        self.cluster.look_at_backgrounds()
        self.referee.look(LOG)
        now = self.numbers()
        row.update({name: now[name] - self.before[name] for name in now})
        self.before = now
        return row

    def numbers(self):
        total = {
            "sent": sum(count(w.base + ".sent", b"\n") for w in self.writers),
            "committed": sum(w.told() for w in self.writers),
            "rejected": sum(w.told(b'"REJECTED"') + w.told(b'"REFUSED"') for w in self.writers),
        }
        return dict(total, stopped=self.stopped, violations=len(self.cluster.violations))

    def goes_on(self, *writers, times=3):
        """Waits until each has so many more receipts that say committed. One under a lease may stop: it lost it."""
        before = {w: w.told() for w in writers}
        for w in writers:
            wait_until(f"{w.name}: {times} messages committed", lambda w=w: w.told() >= before[w] + times or w.over(), LATE)
            if w.over():
                self.ended(w)

    def ended(self, writer):
        """Nothing ends one without a lease but its input's end, whatever befalls it: or else nobody would meet the faults to come."""
        if writer.leases:
            self.stopped += 1
            self.say(writer.why())
            return
        self.cluster.violation(writer.why())
        at = self.plain.index(writer)
        self.plain[at] = self.writer(f"plain{at + 1}", at)
        self.goes_on(self.plain[at], times=1)

    def takes(self, writer):
        """The writer, or another, once it writes: a request of a cold process can take too long where all is emulated: then another asks."""
        for _ in range(4):
            wait_until(f"{writer.name} writes", lambda: writer.told() or writer.over(), LATE)
            if writer.told():
                return writer
            self.ended(writer)
            writer = self.under_lease(writer.name.split("-")[0], writer.child.turn, writer.leases[0])
        raise OSError(f"{writer.name} can't take its lease, see {writer.base}.err")

    def end(self):
        """Every writer ends by itself, and every message gets its verdict (rule A1); then all is judged: a row."""
        for writer in [w for w in self.plain if w.over()]:
            self.ended(writer)
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
        if not self.referee.totals.get("committed"):
            self.cluster.violation("nothing was judged")
        if not self.cluster.lean and not self.referee.segments(LOG):
            self.cluster.violation("the aggregator made no segment")
        late = self.readers_saw(path, settled)
        self.cluster.judge_backgrounds(self.say)
        for what in ("verify", "audit"):
            said = self.referee.cinch(what).decode().strip().splitlines() or ["nothing"]
            self.say(f"{what}: {said[-1]}")
        return dict(self.referee.totals, stopped=self.stopped, violations=len(self.cluster.violations)) | {"readers late": late}

    def readers_saw(self, path, settled):
        with open(path, "rb") as f:
            whole = f.read()
        for reader in self.readers:
            if not reader.lost:
                wait_until(
                    f"{reader.path}: all {len(whole)} bytes seen",
                    lambda r=reader: len(r.seen()) >= len(whole) or r.child.poll() is not None,
                    LATE,
                )
            seen = reader.seen()
            if not (whole.startswith(seen) if reader.lost else seen == whole):
                self.cluster.violation(f"{reader.path}: {len(seen)} bytes, not the {len(whole)} of \"cat\", nor what these begin with")
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
