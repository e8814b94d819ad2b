"""A while of everything at once: who is killed, stopped and continued is drawn from a seed."""
import errno
import os
import signal
import subprocess
import time

import fleet as fleets
import reads
from endings import unasked
from standing import Standing
from takeovers import Takeovers

SHARED = ("shared/a", "shared/b", "shared/c")
ONE_SHOTS = (
    ("view", "build", "--wait", "0s"),
    ("view", "build", "--wait", "0s", "--log", "retired"),
    ("gc", "--retention", "2s", "--log", "retired"),
    ("gc", "--retention", "2s", "--log", "retired"),
    ("close", "--trust-clock"),
    ("verify",),
)
READS = (
    ("cat", "--log", "kept", "--live", "--json"),
    ("cat", "--log", "retired", "--live", "--json"),
    ("cat", "--log", "kept"),
    ("cat", "--log", "retired"),
)


MOST_TOLD = 5  # of one read


class Storm:
    lives = None, 20, 200  # so many messages a writer is given; without a number, until it is killed
    wait = ()  # of whoever wants a lease that another one has

    def __init__(self, fleet, referee):
        self.fleet, self.referee, self.rng = fleet, referee, fleet.rng
        self.writers = {}
        self.runs = self.shots = 0
        self.closer = self.server = self.shot = self.live = None
        self.settled = reads.Settled(fleet.work)
        self.takeovers = Takeovers(fleet)
        self.stopped = {}  # child: when to continue it
        self.filler = None
        self.fill_at = 0.0
        self.ever = set()

    def logs(self):
        return sorted(self.ever)

    def serve(self):
        self.server = Standing(self.fleet, "server", "serve", "--key", self.fleet.key, "--port", str(self.fleet.port), turn=0)

    def rage(self, seconds, say):
        now = began = time.monotonic()
        next_look, told = began + 10, began
        while now < began + seconds and not self.enough(now):
            self.replace()
            self.weather(now)
            self.takeovers.notice(self.writers.values(), self.logs())
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

    def enough(self, now):
        """Whether it may end before its time."""
        return False

    def replace(self):
        """Starts again whatever has ended."""
        for slot in range(3):
            writer = self.writers.get(slot)
            if writer is None or self.over(writer):
                self.runs += 1
                self.writers[slot] = self.writer(slot)
        if self.closer is None or self.closer.ended():
            self.closer = self.fleet.closer()
        if self.server.ended():
            self.serve()
        if self.shot is None or self.shot.poll() is not None:
            self.judge_shot()
            self.shots += 1
            self.shoot(self.rng.choice(READS if self.shots % 2 else ONE_SHOTS))

    def over(self, writer):
        if not writer.ended():
            return False
        if unasked(writer.child.returncode, writer.child.signalled):
            self.fleet.violation(f"{writer.name} on {writer.log}: ended with {writer.child.returncode}, unasked")
        return True

    def shoot(self, arguments):
        self.live = reads.Live(self.fleet.sent, arguments[2]) if "--live" in arguments else None
        with open(self.shot_path("out"), "wb") as out, open(self.shot_path("err"), "wb") as err:
            self.shot = self.fleet.start(*arguments, stdout=out, stderr=err)

    def shot_path(self, what):
        return os.path.join(self.fleet.work, "shot." + what)

    def judge_shot(self):
        if self.shot is None:
            return
        child, self.shot = self.shot, None
        what, code = " ".join(child.arguments), child.returncode
        with open(self.shot_path("err"), encoding="utf-8", errors="replace") as f:
            said = f.read()
        if child.arguments[0] == "verify" and code:
            with open(self.shot_path("out"), encoding="utf-8", errors="replace") as f:
                said += f.read()  # where it says what is damaged
        self.fleet.complaints(what, code, said)
        if unasked(code, child.signalled):
            self.fleet.violation(f"{what}: ended with {code}, unasked")
        if child in self.fleet.children:
            self.fleet.children.remove(child)
        if child.arguments[0] == "cat":
            self.fleet.counts["reads"] += 1
            self.judge_read(what, child.arguments[2], code)

    def judge_read(self, what, log, code):
        out = self.shot_path("out")
        if self.live:
            # Two mounts have two caches: only on one a read may lack nothing.
            complete = code == 0 and len(self.fleet.place.directories) == 1
            wrong = list(self.live.wrong(out, complete))
        else:
            wrong = list(self.settled.wrong(log, out))
        for text in wrong[:MOST_TOLD]:
            self.fleet.violation(f"{what}: {text}")
        if wrong:
            os.rename(out, f"{out}-{self.fleet.counts['reads']}")

    def writer(self, slot):
        leases = []
        if slot > 0:
            leases = sorted(self.rng.sample(SHARED, self.rng.choice((1, 1, 2))))
        log = self.rng.choice(("kept", "retired"))
        self.ever.add(log)
        # Many end by themselves, so that leases are released as well as lost.
        count = self.rng.choice(self.lives)
        name, more = (f"lease{self.runs}", self.wait) if leases else (f"plain{self.runs}", ())
        return fleets.Writer(self.fleet, name, log, leases, count=count, more=more)

    def weather(self, now):
        for child, until in list(self.stopped.items()):
            if now >= until:
                self.fleet.signal(child, signal.SIGCONT)
                del self.stopped[child]
        draw = self.rng.random()
        if draw > 0.35:
            return
        victims = [w.child for w in self.writers.values()] * 4 + [self.shot] * 3 + [self.closer.child]
        if self.rng.random() < 0.05:  # seldom: after a start it grants nothing for the longest lease
            victims = [self.server.child]
        child = self.rng.choice(victims)
        if child in self.stopped:
            if draw < 0.05 and self.fleet.signal(child, signal.SIGKILL):  # while it is stopped
                self.fleet.counts["kills"] += 1
                del self.stopped[child]
            return
        if draw < 0.08 and child.arguments[0] == "append":  # it finishes what it took, and gives its leases back
            self.fleet.counts["stopped by SIGTERM"] += self.fleet.signal(child, signal.SIGTERM)
        elif draw < 0.17:
            if self.fleet.signal(child, signal.SIGKILL):
                self.fleet.counts["kills"] += 1
                self.fleet.counts["server kills"] += child is self.server.child
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
            waiting = [w for w in waiting if not self.over(w)]
            if time.monotonic() > end:
                for writer in waiting:
                    writer.child.send_signal(signal.SIGQUIT)  # where its threads are, to its receipts
                    time.sleep(1)
                    self.fleet.violation(f"{writer.name} on {writer.log} does not end within 120 s")
                    self.fleet.signal(writer.child, signal.SIGKILL)
                    writer.child.wait()
                continue
            if self.server.ended():
                self.serve()
            self.takeovers.notice(self.writers.values(), self.logs())
            time.sleep(0.1)
        if self.shot is not None:
            try:
                self.shot.wait(120)
            except subprocess.TimeoutExpired:
                self.fleet.violation(f"{' '.join(self.shot.arguments)}: does not end within 120 s")
                self.fleet.signal(self.shot, signal.SIGKILL)
                self.shot.wait()
            self.judge_shot()
        self.takeovers.end()
        for standing in filter(None, (self.closer, self.server)):
            standing.end()

    def judge(self, cats, holders):
        """What was seen on the way, against the last looks at all logs: what "cat" printed of each, and who held leases."""
        for log, path in cats.items():
            for text in self.settled.unlike(log, path):
                self.fleet.violation(text)
        self.takeovers.judge(holders)
