"""Looks, when a lease has a new holder, what there is of the earlier ones; at the end nothing must have come after (rule F1)."""
import json
import os
import subprocess
import time

import leases
import reads

EVERY = 4  # seconds from one to the next: a look must not become the load


class Takeovers:
    def __init__(self, fleet):
        self.fleet = fleet
        self.handovers = []
        self.child = None
        self.next = 0.0

    def notice(self, writers, logs):
        """Looks at who has leases by now, and at one of the logs if it is time."""
        for writer in writers:
            if writer.leases and not writer.held and writer.holds() and self.child is None and time.monotonic() > self.next:
                self.begin(writer, self.fleet.rng.choice(logs))
        if self.child is not None and self.child.poll() is not None:
            self.take()

    def begin(self, writer, log):
        record = self.fleet.last_record(log)
        if record is None:
            return
        settled = json.loads(record.partition(b"\n")[2])["to"]
        self.next = time.monotonic() + EVERY
        self.path = os.path.join(self.fleet.work, "takeover")
        with open(writer.base + ".started", encoding="ascii") as f:
            self.now = int(f.read()), writer.leases, log, settled
        with open(self.path, "wb") as out, open(self.path + ".err", "wb") as err:
            self.child = self.fleet.start(
                "cat", "--log", log, "--live", "--from", str(settled), "--json", stdout=out, stderr=err
            )

    def take(self):
        child, self.child = self.child, None
        self.fleet.children.remove(child)
        with open(self.path + ".err", encoding="utf-8", errors="replace") as f:
            self.fleet.complaints(" ".join(child.arguments), child.returncode, f.read())
        if child.returncode == 0:
            seen = {message for _, message in map(reads.message, reads.lines(self.path))}
            self.handovers.append(leases.Handover(*self.now, seen))
            self.fleet.counts["handovers seen"] += 1
        os.remove(self.path)

    def end(self):
        if self.child is not None:
            try:
                self.child.wait(self.fleet.patience)
            except subprocess.TimeoutExpired:
                self.fleet.violation(f"{' '.join(self.child.arguments)}: hangs")
                self.child.kill()
                self.child.wait()
            self.take()

    def judge(self, paths):
        """With what the last looks at all logs wrote about holders."""
        holders = []
        for path in paths:
            if os.path.exists(path):
                with open(path, encoding="utf-8") as f:
                    holders += json.load(f)
        self.fleet.counts["holders"] += len(holders)
        for text in leases.disorder(holders):
            self.fleet.violation(text)
        for handover in self.handovers:
            for text in handover.growth(holders):
                self.fleet.violation(text)
