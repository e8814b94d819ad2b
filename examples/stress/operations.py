"""Commands that are killed, stopped or failed at each of their file operations, one run for each."""
import os
import shutil
import signal
import subprocess
import time

import fleet as fleets
from places import wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
COMMANDS = ("append", "lease", "close", "view", "gc")
FAULTS = ("kill", "late", "stop", "enospc", "eio", "eacces", "edquot", "erofs", "eintr", "estale")
MOST = 2000  # no command here has so many operations
FEWEST = 3  # whoever meets fewer has tested nothing
RETRIES = 8  # of a run that was refused before it came so far
LARGE = 0.2  # of the messages: enough for batches that are torn
HANGS = 120  # seconds
SHARES = {"lease": 3}  # of the time, where others have 1: who waits for the lease of the one before takes longer


def library(work):
    compiler = shutil.which("cc")
    if not compiler:
        raise OSError("there is no C compiler (cc), which faults at every operation need; --faults \"\" leaves them out")
    path = os.path.join(work, "breakpoint.so")
    built = subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-o", path, os.path.join(HERE, "breakpoint.c"), "-ldl"],
        capture_output=True,
        text=True,
    )
    if built.returncode:
        raise OSError(f"breakpoint.c: {built.stderr.strip()[:200]}")
    os.chmod(path, 0o755)
    return path


class Operations:
    def __init__(self, fleet, referee, step):
        self.fleet, self.referee, self.step = fleet, referee, step
        self.library = library(fleet.work)
        self.notes = os.path.join(fleet.work, "notes")
        os.mkdir(self.notes)
        os.chmod(self.notes, 0o777)
        self.trace = []
        self.turns = self.met = 0

    def all(self, command, fault, deadline):
        """Meets the operations of a command one by one: (how many it met, the log that it used)."""
        log = f"{command}-{fault}"
        background = fleets.Writer(self.fleet, "background", log, pace=0.05)
        closer = None
        if command != "close":
            closer = self.fleet.closer()
        needed = os.path.join(self.fleet.store(), "logs", log, "horizon", "records")
        if command in ("view", "gc"):
            needed = os.path.join(needed, "0000000")
        if command != "append" and command != "lease":
            wait_until(f"{log}: {needed}", lambda: os.path.isdir(needed), HANGS)
        first, begun = 1 + self.fleet.rng.randrange(self.step), time.monotonic()
        self.met = 0
        try:
            # Every second one, then the others: if time is over before all are met, these reach to the end as well.
            for n in (first, first + self.step):
                tried = unmet = 0
                while n < MOST and unmet < 2 and tried < RETRIES:
                    if time.monotonic() > (deadline if self.met >= FEWEST else max(deadline, begun + HANGS)):
                        break
                    if background.ended():  # it may be refused
                        background = fleets.Writer(self.fleet, f"background{self.turns}", log, pace=0.05)
                    note, code = self.one(command, fault, log, n)
                    if note:
                        tried = unmet = 0
                        n += 2 * self.step
                    elif code == 0:
                        unmet += 1  # twice: it has so many operations no more
                    else:
                        tried += 1  # it was refused before it came so far
                if tried == RETRIES:
                    self.fleet.violation(f"{command}, {fault} {n}: refused {tried} times before it came so far")
        finally:
            if closer:
                closer.end()
            background.finish()
        wait_until(f"{log}: the writer in the background ends", background.ended, HANGS)
        if self.met < FEWEST:
            self.fleet.violation(f"{command}: {fault} was met at {self.met} operations only")
        return self.met, log

    def one(self, command, fault, log, n):
        """Runs a command with its nth operation met, when there is something to do: as once."""
        if command in ("close", "view", "gc"):
            time.sleep(0.4)
        if command == "gc":
            self.fleet.run("view", "build", "--wait", "0s", "--log", log)
        self.turns += 1
        note, code = self.once(command, fault, log, n)
        if note:
            self.met += 1
            self.usable(log, note)
            self.trace.append(f"{command} {fault} {n} {note}")
            self.fleet.counts["operations"] += 1
            # Reading takes the longer the more there is: all of it at the end, some on the way.
            if command == "close" and self.met % 4 == 0:
                # Unharmed: what is left behind would have every close have more operations than the last.
                self.fleet.run("close", "--trust-clock", "--log", log)
            if self.met % 8 == 0:
                self.referee.look(log)
        return note, code

    def usable(self, log, note):
        """Whoever is killed in the middle must not leave a mark that others of the group can't set."""
        if len(self.fleet.users) == 1:
            return
        for directory, _, names in os.walk(os.path.join(self.fleet.store(), "logs", log, "buckets")):
            path = os.path.join(directory, "prelock")
            if "prelock" in names and os.stat(path).st_mode & 0o060 != 0o060:
                self.fleet.violation(f"{path}: the group can't set it, after {note}")

    def once(self, command, fault, log, n):
        """Runs a command with its nth operation met: (what was met, or nothing if it has fewer; the exit code)."""
        note = os.path.join(self.notes, f"{log}-{self.turns}")
        turn = self.fleet.turn
        self.fleet.turn += 1
        environment = {
            "LD_PRELOAD": self.library,
            "BREAK_DIR": self.fleet.store(turn),
            "BREAK_AT": str(n),
            "BREAK_DO": fault,
            "BREAK_NOTE": note,
        }
        if command in ("append", "lease"):
            leases, more = [], ()
            if command == "lease":
                # The last holder but one was killed most likely, so its lease must run out, and is fenced then.
                leases, more = [f"shared/{self.turns % 2}"], ("--wait", "30s")
            writer = fleets.Writer(
                self.fleet, f"op{self.turns}", log, leases, pace=0.01, count=12, environment=environment, turn=turn,
                more=more, large=LARGE,
            )
            child = writer.child
            self.wait(child, fault, log)
            writer.ended()
        else:
            arguments = {
                "close": ("close", "--now", "--trust-clock", "--log", log),
                "view": ("view", "build", "--wait", "0s", "--log", log),
                "gc": ("gc", "--retention", "1s", "--log", log),
            }[command]
            err = os.path.join(self.fleet.work, "err")
            with open(err, "wb") as f:
                child = self.fleet.start(
                    *arguments, turn=turn, environment=environment, stdout=subprocess.DEVNULL, stderr=f
                )
            self.wait(child, fault, log)
            self.fleet.children.remove(child)
            with open(err, encoding="utf-8", errors="replace") as f:
                self.fleet.complaints(f"{' '.join(arguments)}, {fault} {n}", child.returncode, f.read())
        try:
            with open(note, encoding="utf-8") as f:
                return f.readline().strip(), child.returncode
        except FileNotFoundError:
            return "", child.returncode

    def wait(self, child, fault, log):
        end = time.monotonic() + HANGS
        while child.poll() is None:
            if fault == "stop" and stopped(child):
                self.fleet.counts["stops"] += 1
                # Meanwhile its bucket is closed, merged and retired, and its lease runs out.
                time.sleep(self.fleet.settled_after)
                self.fleet.run("close", "--trust-clock", "--log", log)
                self.fleet.run("view", "build", "--wait", "0s", "--log", log)
                time.sleep(1.5)
                self.fleet.run("gc", "--retention", "1s", "--log", log)
                child.send_signal(signal.SIGCONT)
            if time.monotonic() > end:
                self.fleet.violation(f"{' '.join(child.arguments)}: hangs after {fault}; killed after {HANGS} s")
                self.fleet.signal(child, signal.SIGKILL)
            time.sleep(0.02)
        self.fleet.counts["kills"] += child.returncode == -signal.SIGKILL


def stopped(child):
    with open(f"/proc/{child.pid}/stat", encoding="ascii", errors="replace") as f:
        return f.read().rpartition(")")[2].split()[0] == "T"
