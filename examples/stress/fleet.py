"""The processes of a run: started, fed, killed, stopped and continued."""
import collections
import ctypes
import os
import random
import re
import signal
import socket
import subprocess
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CINCH = os.path.join(ROOT, "cli", "bin", "cinch")
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
NOISE = re.compile(r"^\s+at [\w.$/]+\(|^Caused by: |^Exception in thread", re.MULTILINE)


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
    lease = LEASE

    def __init__(self, place, users, work, rng):
        self.place = place
        self.users = USERS[users]
        self.work = work
        self.rng = rng
        self.counts = collections.Counter()
        self.violations = []
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
        self.must("init", *self.settings, self.store(), turn=0)
        self.must("keygen", "--key", self.key, "--store", self.store(), turn=0)

    def start(self, *arguments, turn=None, environment=None, **options):
        """Starts a command, as the next user on the next mount unless a turn is given."""
        if turn is None:
            turn = self.turn
            self.turn += 1
        variables = dict(os.environ, CINCH_MACHINE=f"m{turn % 5}", **(environment or {}))
        variables.setdefault("CINCH_JAVA_OPTS", JAVA_OPTIONS)
        if arguments[0] not in ("init", "keygen"):
            variables["CINCH_STORE"] = self.store(turn)
        options.setdefault("stdin", subprocess.DEVNULL)
        user = self.users[turn % len(self.users)]
        child = subprocess.Popen(
            [CINCH, *arguments], cwd="/", env=variables, preexec_fn=die_with_parent, **user.how, **options
        )
        child.turn = turn
        child.arguments = arguments
        self.children.append(child)
        self.counts["processes"] += 1
        return child

    def closer(self):
        """One that goes on; what it complains of is kept."""
        with open(os.path.join(self.work, "closer.err"), "ab") as err:
            return self.start("close", "--every", "300ms", "--trust-clock", stdout=subprocess.DEVNULL, stderr=err)

    def run(self, *arguments, **options):
        """Runs a command to its end: (exit code, output, complaints)."""
        child = self.start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        out, err = child.communicate()
        self.children.remove(child)
        self.complaints(" ".join(arguments), child.returncode, err)
        return child.returncode, out, err.decode("utf-8", "replace")

    def must(self, *arguments, **options):
        code, out, err = self.run(*arguments, **options)
        if code != 0:
            raise OSError(f"cinch {' '.join(arguments)}: exit code {code}: {err.strip()}")
        return out

    def complaints(self, what, code, err):
        """No command may find damage or print a stack trace, whatever happened to others."""
        text = err if isinstance(err, str) else err.decode("utf-8", "replace")
        if code == 1:
            self.violation(f"{what}: exit code 1: {text.strip()[:2000]}")
        elif NOISE.search(text):
            self.violation(f"{what}: exit code {code}, a stack trace: {text.strip()[:2000]}")

    def violation(self, text):
        self.violations.append(text)
        print(f"VIOLATION {text}", flush=True)

    def signal(self, child, number):
        """False if it has ended."""
        if child.poll() is not None:
            return False
        child.send_signal(number)
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

    def __init__(self, fleet, name, log, leases=(), pace=0.03, count=None, environment=None, turn=None, more=()):
        self.fleet, self.name, self.log, self.leases = fleet, name, log, leases
        self.rng = random.Random(fleet.rng.getrandbits(64))
        self.pace, self.left = pace, count
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
        self.sent = open(self.base + ".sent", "wb", buffering=0)
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
                burst = self.rng.choice((1, 1, 1, 2, 5, 20))
                if self.left is not None:
                    burst = min(burst, self.left)
                    self.left -= burst
                data = b""
                for _ in range(burst):
                    number += 1
                    data += self.message(number) + b"\n"
                self.sent.write(data)  # before it is handed over: what is in the store was sent
                self.child.stdin.write(data)
                self.child.stdin.flush()
                time.sleep(self.pace * self.rng.random() * 2)
        except (BrokenPipeError, ValueError):
            pass  # it was killed, or ended
        finally:
            self.sent.close()
            try:
                self.child.stdin.close()
            except BrokenPipeError:
                pass

    def message(self, number):
        size = self.rng.choice((0, 5, 40, 40, 200, 1000))
        if self.rng.random() < 0.004:
            size = self.rng.randrange(16_000, 60_000)  # such a batch goes in two steps
        filler = bytes(self.rng.choices(self.ALPHABET, k=size))
        return f"{self.log} {self.name} {number:06d} ".encode() + filler

    def finish(self):
        """No more input: it is to end by itself."""
        self.left = 0

    def ended(self):
        code = self.child.poll()
        if code is None:
            return False
        with open(self.base + ".exit", "w", encoding="ascii") as f:
            f.write(f"{code}\n")
        with open(self.base + ".err", encoding="utf-8", errors="replace") as f:
            self.fleet.complaints(f"append {self.name}", code, f.read())
        if self.child in self.fleet.children:
            self.fleet.children.remove(self.child)
        self.feeder.join(5)
        return True
