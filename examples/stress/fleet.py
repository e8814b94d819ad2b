"""The processes of a run: started, fed, killed, stopped and continued."""
import collections
import contextlib
import ctypes
import os
import random
import signal
import socket
import subprocess
import threading
import time

from endings import Endings
from standing import Standing

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CINCH = os.path.join(ROOT, "cli", "bin", "cinch")
JAR = os.path.join(ROOT, "cli", "target", "cinch.jar")
JAVA_OPTIONS = "-Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData"

# Short, so that much is closed, fenced and retired in little time. A slow machine makes for
# more rejected messages, not for wrong ones.
SETTINGS = (
    "--bucket-width=250ms --grace=700ms --clock-ahead=200ms --clock-behind=200ms"
    " --timestamp-distance=200ms --slow-append=200ms --longest-lease=5s --lease-margin=200ms"
).split()
SETTLED_AFTER = 1.2  # seconds: a bucket and the grace
LEASE = "2500ms"

LIBC = ctypes.CDLL(None)


def die_with_parent():
    """For children: be killed when this process is (prctl PR_SET_PDEATHSIG)."""
    LIBC.prctl(1, signal.SIGKILL)


class User:
    """Whoever runs this, or another user of the store's group."""

    def __init__(self, uid=None, gid=None, groups=(), umask=0o022):
        self.how = {"umask": umask}
        if uid is not None:
            self.how.update(user=uid, group=gid, extra_groups=list(groups))
        self.uid, self.gid = uid, gid

    def can(self, what, path):
        """Whether a file can be read (-r) or run (-x)."""
        options = {name: value for name, value in self.how.items() if name != "umask"}
        return subprocess.run(["test", what, path], cwd="/", check=False, **options).returncode == 0


GROUP = 30000
USERS = {
    "self": [User()],
    "owner": [User(30001, 30001, [])],
    # The store's directories hand their group down; neither primary groups nor umasks agree.
    "group": [
        User(30001, GROUP, [], 0o022),
        User(30002, 30002, [GROUP], 0o077),
        User(30003, 30003, [GROUP], 0o027),
    ],
}


class Fleet:
    """Starts cinch processes on one store."""

    settings = SETTINGS
    settled_after = SETTLED_AFTER
    lease = LEASE
    bursts = 1, 1, 1, 2, 5, 20  # so many messages a writer is given at once
    patience = 600  # seconds: whatever takes longer hangs

    def __init__(self, place, users, work, rng):
        self.place = place
        self.users = USERS[users]
        self.work = work
        self.rng = rng
        self.counts = collections.Counter()
        self.violations = []
        self.endings = Endings(self.violation)
        self.turn = 0
        self.children = []
        self.sent = os.path.join(work, "sent")
        os.mkdir(self.sent)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.server = f"http://127.0.0.1:{self.port}"

    def store(self, mount=0):
        return os.path.join(self.place.directories[mount % len(self.place.directories)], "store")

    def address(self, mount=0):
        """What commands are given as the store; its files may be elsewhere."""
        return self.store(mount)

    def last_record(self, log):
        """Its bytes; None if there is none, or if it went while it was looked for."""
        root = os.path.join(self.store(), "logs", log, "horizon", "records")
        try:
            paths = {name: os.path.join(root, group, name) for group in os.listdir(root) for name in os.listdir(os.path.join(root, group))}
            with open(paths[max(filter(str.isdigit, paths))], "rb") as f:
                return f.read()
        except (OSError, ValueError):
            return None

    def make_store(self):
        home = self.place.directories[0]
        key = os.path.join(self.work, "key")
        os.mkdir(key)
        first = self.users[0]
        if first.uid is not None:
            several = len(self.users) > 1
            os.chown(home, first.uid, GROUP if several else first.gid)
            os.chmod(home, 0o2775)
            os.chown(key, first.uid, first.gid)
        self.key = os.path.join(key, "cinch.key")
        self.must("init", *self.settings, self.address(), turn=0)
        self.must("keygen", "--key", self.key, "--store", self.address(), turn=0)

    def start(self, *arguments, turn=None, environment=None, **options):
        """Starts a command, as the next user on the next mount unless a turn is given."""
        if turn is None:
            turn = self.turn
            self.turn += 1
        variables = dict(os.environ, CINCH_MACHINE=f"m{turn % 5}", **(environment or {}))
        variables.setdefault("CINCH_JAVA_OPTS", JAVA_OPTIONS)
        if arguments[0] not in ("init", "keygen"):
            variables["CINCH_STORE"] = self.address(turn)
        options.setdefault("stdin", subprocess.DEVNULL)
        user = self.users[turn % len(self.users)]
        child = subprocess.Popen(
            [CINCH, *arguments], cwd="/", env=variables, preexec_fn=die_with_parent, **user.how, **options
        )
        child.turn = turn
        child.signalled = collections.Counter()  # signals of ours that end a process
        child.arguments = arguments
        self.children.append(child)
        self.counts["processes"] += 1
        return child

    def closer(self):
        return Standing(self, "closer", "close", "--every", "300ms", "--trust-clock")

    def run(self, *arguments, **options):
        """Runs a command to its end: (exit code, output, complaints)."""
        options.setdefault("stdout", subprocess.PIPE)
        child = self.start(*arguments, stderr=subprocess.PIPE, **options)
        try:
            out, err = child.communicate(timeout=self.patience)
        except subprocess.TimeoutExpired:
            child.kill()
            out, err = child.communicate()
            self.violation(f"{' '.join(arguments)}: hangs; killed after {self.patience} s: {err.decode('utf-8', 'replace')[:2000]}")
        self.children.remove(child)
        self.complaints(" ".join(arguments), child.returncode, err)
        return child.returncode, out, err.decode("utf-8", "replace")

    def must(self, *arguments, **options):
        code, out, err = self.run(*arguments, **options)
        if code != 0:
            raise OSError(f"cinch {' '.join(arguments)}: exit code {code}: {err.strip()}")
        return out

    def complaints(self, what, code, err):
        """How a command ended and what it said; the first word of what names it."""
        self.endings.judge(what, code, err if isinstance(err, str) else err.decode("utf-8", "replace"))

    def violation(self, text):
        self.violations.append(text)
        print(f"VIOLATION {text}", flush=True)

    def signal(self, child, number):
        """False if it has ended."""
        if child.poll() is not None:
            return False
        child.send_signal(number)
        if number in (signal.SIGKILL, signal.SIGTERM):
            child.signalled[number] += 1
        return True

    def end(self):
        for child in list(self.children):
            if child.poll() is None:
                child.kill()
            child.wait()
        self.children.clear()


class Writer:
    """One run of "cinch append --json", fed lines that no other run sends."""

    ALPHABET = bytes(b for b in range(256) if b != 10)

    def __init__(
        self, fleet, name, log, leases=(), pace=0.03, count=None, environment=None, turn=None, more=(), large=0.004
    ):
        self.fleet, self.name, self.log, self.leases = fleet, name, log, leases
        self.rng = random.Random(fleet.rng.getrandbits(64))
        self.pace, self.left, self.large = pace, count, large
        directory = os.path.join(fleet.sent, log)
        os.makedirs(directory, exist_ok=True)
        self.base = os.path.join(directory, name)
        arguments = ["append", "--log", log, "--json", *more]
        for lease in leases:
            arguments += ["--lease", lease]
        if leases:
            arguments += ["--server", fleet.server, "--lease-for", fleet.lease]
            with open(self.base + ".leases", "w", encoding="ascii") as f:
                f.write("".join(f"{lease}\n" for lease in leases))
        self.held = False
        self.note("started")
        self.sent = open(self.base + ".sent", "wb")
        with open(self.base + ".receipts", "wb") as out, open(self.base + ".err", "wb") as err:
            self.child = fleet.start(
                *arguments, stdin=subprocess.PIPE, stdout=out, stderr=err, environment=environment, turn=turn
            )
        fleet.counts["writers"] += 1
        self.resume_at = None
        self.feeder = threading.Thread(target=self.feed, daemon=True)
        self.feeder.start()

    def feed(self):
        number = 0
        try:
            while self.left is None or self.left > 0:
                burst = self.rng.choice(self.fleet.bursts)
                if self.left is not None:
                    burst = min(burst, self.left)
                    self.left -= burst
                data = b""
                for _ in range(burst):
                    number += 1
                    data += self.message(number) + b"\n"
                self.sent.write(data)
                self.sent.flush()  # before it is handed over: what is in the store was sent
                self.child.stdin.write(data)
                self.child.stdin.flush()
                time.sleep(self.pace * self.rng.random() * 2)
        except (BrokenPipeError, ValueError):
            pass  # it was killed, or ended
        except OSError as e:
            self.fleet.violation(f"{self.name}: what it is to be given can't be kept: {e}")
        finally:
            for file in (self.sent, self.child.stdin):
                with contextlib.suppress(OSError):
                    file.close()

    def message(self, number):
        size = self.rng.choice((0, 5, 40, 40, 200, 1000))
        if self.rng.random() < self.large:
            size = self.rng.randrange(16_400, 60_000)  # so long that a fault may leave half of it
        filler = bytes(self.rng.choices(self.ALPHABET, k=size))
        return f"{self.log} {self.name} {number:06d} ".encode() + filler

    def note(self, what):
        """For leases.py: when something was so."""
        with open(f"{self.base}.{what}", "w", encoding="ascii") as f:
            f.write(f"{time.monotonic_ns()}\n")

    def holds(self):
        """Whether it has its leases, or had them: from its first receipt on."""
        if not self.held and os.path.getsize(self.base + ".receipts"):
            self.held = True
            self.note("held")
        return self.held

    def finish(self):
        """No more input: it is to end by itself."""
        self.left = 0

    def ended_at_once(self, code):
        """Another SIGTERM is no wish: who hears it has no time for receipts, as if it were killed."""
        return code == 128 + signal.SIGTERM and self.child.signalled[signal.SIGTERM] > 1

    def ended(self):
        code = self.child.poll()
        if code is None:
            return False
        first = not os.path.exists(self.base + ".exit")
        with open(self.base + ".exit", "w", encoding="ascii") as f:
            f.write(f"{-signal.SIGTERM if self.ended_at_once(code) else code}\n")
        if first:
            self.note("ended")
            with open(self.base + ".err", encoding="utf-8", errors="replace") as f:
                self.fleet.complaints(f"append {self.name}", code, f.read())
        if self.child in self.fleet.children:
            self.fleet.children.remove(self.child)
        self.feeder.join(5)
        return True
