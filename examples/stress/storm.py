"""A while of everything at once: who is killed, stopped and continued is drawn from a seed."""
import errno
import os
import signal
import subprocess
import time

import fleet as fleets

SHARED = ("shared/a", "shared/b", "shared/c")
ONE_SHOTS = (
    ("view", "build", "--wait", "0s"),
    ("view", "build", "--wait", "0s", "--log", "retired"),
    ("gc", "--retention", "2s", "--log", "retired"),
    ("gc", "--retention", "2s", "--log", "retired"),
    ("close", "--trust-clock"),
    ("cat", "--log", "kept", "--live"),
    ("cat", "--log", "retired"),
    ("verify",),
)


class Storm:
    def __init__(self, fleet, referee):
        self.fleet, self.referee, self.rng = fleet, referee, fleet.rng
        self.writers = {}
        self.runs = 0
        self.closer = self.server = self.shot = self.shot_err = None
        self.stopped = {}  # child: when to continue it
        self.filler = None
        self.fill_at = 0.0
        self.ever = set()

    def logs(self):
        return sorted(self.ever)

    def serve(self):
        self.server = self.fleet.start(
            "serve", "--key", self.fleet.key, "--port", str(self.fleet.port), turn=0,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )

    def rage(self, seconds, say):
        now = began = time.monotonic()
        next_look, told = began + 10, began
        while now < began + seconds:
            self.replace()
            self.weather(now)
            if self.fleet.place.small:
                self.fill(now)
            if now > next_look:
                for log in self.logs():
                    self.referee.look(log)
                spent = time.monotonic() - now
                next_look = time.monotonic() + 10 + 4 * spent  # reading must not become the load
            if now > told + 60:
                say(", ".join(f"{count} {name}" for name, count in self.fleet.counts.items()))
                told = now
            time.sleep(self.rng.uniform(0.05, 0.4))
            now = time.monotonic()
        self.calm()
        say("storm over")

    def replace(self):
        """Starts again whatever has ended."""
        for slot in range(3):
            writer = self.writers.get(slot)
            if writer is None or writer.ended():
                self.runs += 1
                self.writers[slot] = self.writer(slot)
        if self.closer is None or self.closer.poll() is not None:
            self.closer = self.fleet.closer()
        if self.server.poll() is not None:
            self.serve()
        if self.shot is None or self.shot.poll() is not None:
            self.judge_shot()
            path = os.path.join(self.fleet.work, "shot.err")
            with open(path, "wb") as f:
                self.shot = self.fleet.start(*self.rng.choice(ONE_SHOTS), stdout=subprocess.DEVNULL, stderr=f)
            self.shot_err = path

    def judge_shot(self):
        if self.shot is not None:
            with open(self.shot_err, encoding="utf-8", errors="replace") as f:
                self.fleet.complaints(" ".join(self.shot.arguments), self.shot.returncode, f.read())
            if self.shot in self.fleet.children:
                self.fleet.children.remove(self.shot)

    def writer(self, slot):
        leases = []
        if slot > 0:
            leases = sorted(self.rng.sample(SHARED, self.rng.choice((1, 1, 2))))
        log = self.rng.choice(("kept", "retired"))
        self.ever.add(log)
        # Many end by themselves, so that leases are released as well as lost.
        count = self.rng.choice((None, 20, 200))
        return fleets.Writer(self.fleet, f"{'lease' if leases else 'plain'}{self.runs}", log, leases, count=count)

    def weather(self, now):
        for child, until in list(self.stopped.items()):
            if now >= until:
                self.fleet.signal(child, signal.SIGCONT)
                del self.stopped[child]
        draw = self.rng.random()
        if draw > 0.35:
            return
        victims = [w.child for w in self.writers.values()] * 4 + [self.shot] * 3 + [self.closer]
        if self.rng.random() < 0.05:  # seldom: after a start it grants nothing for the longest lease
            victims = [self.server]
        child = self.rng.choice(victims)
        if child in self.stopped:
            if draw < 0.05 and self.fleet.signal(child, signal.SIGKILL):  # while it is stopped
                self.fleet.counts["kills"] += 1
                del self.stopped[child]
            return
        if draw < 0.17:
            if self.fleet.signal(child, signal.SIGKILL):
                self.fleet.counts["kills"] += 1
                self.fleet.counts["server kills"] += child is self.server
        elif self.fleet.signal(child, signal.SIGSTOP):
            self.fleet.counts["stops"] += 1
            self.stopped[child] = now + self.rng.choice((0.3, 1.5, 4, 8))

    def fill(self, now):
        """Takes all the room there is for a while, then gives it back."""
        if self.filler is None and now > self.fill_at:
            self.filler = os.path.join(self.fleet.place.directories[0], "filler")
            self.fleet.counts["times full"] += 1
            size = 1 << 24
            with open(self.filler, "wb") as f:
                at = 0
                while size >= 4096:
                    try:
                        os.posix_fallocate(f.fileno(), at, size)
                        at += size
                    except OSError as e:
                        if e.errno != errno.ENOSPC:
                            raise
                        size //= 2
            self.fill_at = now + self.rng.choice((0.5, 2, 6))
        elif self.filler is not None and now > self.fill_at:
            self.free()
            self.fill_at = now + self.rng.choice((1, 4, 8))

    def free(self):
        if self.filler:
            os.remove(self.filler)
            self.filler = None

    def calm(self):
        """Everybody goes on, and ends by himself: every message gets its verdict (rule A1)."""
        self.free()
        for child in self.stopped:
            self.fleet.signal(child, signal.SIGCONT)
        self.stopped.clear()
        for writer in self.writers.values():
            writer.finish()
        end = time.monotonic() + 120
        waiting = list(self.writers.values())
        while waiting:
            waiting = [w for w in waiting if not w.ended()]
            if time.monotonic() > end:
                for writer in waiting:
                    writer.child.send_signal(signal.SIGQUIT)  # where its threads are, to its receipts
                    time.sleep(1)
                    self.fleet.violation(f"{writer.name} on {writer.log} does not end within 120 s")
                    writer.child.kill()
                    writer.child.wait()
                continue
            if self.server.poll() is not None:
                self.serve()
            time.sleep(0.1)
        for child in (self.shot, self.closer, self.server):
            if child is not None:
                if child is not self.shot:
                    child.kill()
                child.wait()
        self.judge_shot()
