"""What an append costs in NFS calls and time, and what befalls a file that is kept open."""
import json
import re
import shlex
import subprocess
import time

import caches
import fleet as fleets

MOUNT = "/mnt/nfs"
APPENDS = 60
LOOPS = 200

# Appends a line of its input to a file that it keeps open, and forces it.
KEEP = """
import os, sys
file = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o664)
print("open", flush=True)
for line in sys.stdin:
    try:
        os.write(file, line.encode())
        os.fsync(file)
        print("written", flush=True)
    except OSError as e:
        print(e.strerror, flush=True)
"""

# An append without Java: 200 bytes forced, then the look at the prelock. The file is opened and closed each time, or kept open.
LOOP = """
import mmap, os, sys, time
directory, count, keep = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "keep"
block = mmap.mmap(-1, 4096)
def append():
    return os.open(directory + "/" + sys.argv[3], os.O_WRONLY | os.O_APPEND)
os.close(os.open(directory + "/" + sys.argv[3], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o664))
os.close(os.open(directory + "/prelock", os.O_WRONLY | os.O_CREAT, 0o664))
kept = append() if keep else None
times = []
for i in range(count):
    began = time.perf_counter()
    file = kept if keep else append()
    os.write(file, b"x" * 200)
    os.fsync(file)
    if not keep:
        os.close(file)
    look = os.open(directory + "/prelock", os.O_RDWR | os.O_DIRECT)
    os.preadv(look, [block], 0)
    os.close(look)
    os.stat(directory + "/prelock")
    times.append(time.perf_counter() - began)
print(sorted(times)[count // 2] * 1000)
"""


# An append that begins while the client is cut off: open, write, force, close, and then the look at the prelock.
LATE = """
import mmap, os, sys
path = sys.argv[1]
block = mmap.mmap(-1, 4096)
def look():
    file = os.open(path + ".prelock", os.O_RDWR | os.O_DIRECT)
    there = os.preadv(file, [block], 0)
    os.close(file)
    return max(there, os.stat(path + ".prelock").st_size)
def append():
    return os.open(path + ".data", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o664)
os.close(os.open(path + ".prelock", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o664))
os.close(append())
for i in range(4):
    look()
file = append() if sys.argv[2] == "opened before" else None
print("ready", flush=True)
sys.stdin.readline()
if file is None:
    file = append()
os.write(file, b"x" * 8)
os.fsync(file)
if sys.argv[2] != "opened before":
    os.close(file)
print(look(), flush=True)
"""


def calls(machine):
    """NFS calls of a client so far, by operation."""
    counts, here = {}, False
    for line in machine.run("cat", "/proc/self/mountstats").splitlines():
        if line.startswith("device"):
            here = f" {MOUNT} " in line
        found = re.match(r"\s+([A-Z][A-Z_0-9]*): (\d+) ", line)
        if here and found:
            counts[found[1]] = int(found[2])
    return counts


def per(before, after, times):
    """Operations and how many each time."""
    each = {op: (after[op] - before.get(op, 0)) / times for op in after}
    return ", ".join(f"{op} {n:.2f}" for op, n in sorted(each.items(), key=lambda i: -i[1]) if n >= 0.05) or "none"


class Measure:
    def __init__(self, cluster, say):
        self.cluster, self.say, self.lab = cluster, say, cluster.lab
        self.first, self.second = self.lab.clients[:2]

    def measure(self, what):
        if what in ("all", "calls"):
            self.calls()
        if what in ("all", "caches"):
            caches.Caches(self, self.say).all()

    def calls(self):
        for how in ("opened before", "opened after"):
            for number in range(3):
                self.late(how, number)
        self.wide_store()
        for durability in ("sync", "close"):
            self.append(durability)
        self.command("close", "close", "--store", self.store, "--trust-clock")
        self.command("cat", "cat", "--store", self.store, "--log", "sync")
        self.loops()
        self.kept_open()

    def wide_store(self):
        """One bucket an hour: entering it is told apart from appending."""
        self.store = f"{MOUNT}/home/wide"
        settings = [s for s in self.cluster.settings if not s.startswith(("--bucket-width", "--longest-lease"))]
        self.cluster.must("init", *settings, "--bucket-width=1h", "--longest-lease=3h", self.store, turn=0)

    def append(self, durability):
        child = self.cluster.start(
            "append", "--store", self.store, "--log", durability, "--json", "--durability", durability,
            turn=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        start = calls(self.first)
        self.one(child)
        entered = calls(self.first)
        for _ in range(20):
            self.one(child)
        warm = calls(self.first)
        times = sorted(self.one(child) for _ in range(APPENDS))
        self.say(f"append, {durability}, the first of a new log: {per(start, entered, 1)}")
        self.say(f"append, {durability}: {times[APPENDS // 2] * 1000:.0f} ms with Java and ssh, {per(warm, calls(self.first), APPENDS)}")
        child.stdin.close()
        child.wait()
        self.cluster.children.remove(child)

    def one(self, child):
        began = time.monotonic()
        child.stdin.write(b"x" * 200 + b"\n")
        child.stdin.flush()
        receipt = json.loads(child.stdout.readline())
        if receipt["state"] != "COMMITTED":
            raise OSError(f"measure: {receipt}")
        return time.monotonic() - began

    def command(self, name, *arguments):
        before = calls(self.first)
        self.cluster.must(*arguments, turn=0)
        self.say(f"{name}, of a process: {per(before, calls(self.first), 1)}")

    def python(self, program, *arguments, stdin=None):
        """A program on the first client, as the user that appends there."""
        words = [*self.as_user(), "/usr/bin/python3", "-u", "-c", program, *arguments]
        return subprocess.Popen(
            self.first.shell(f"umask 002; exec {shlex.join(words)}"), stdin=stdin, stdout=subprocess.PIPE, text=True,
            preexec_fn=fleets.die_with_parent,
        )  # fmt: skip

    def loops(self):
        for how in ("close", "keep"):
            directory = f"{MOUNT}/loop-{how}"
            self.lab.server.run("install", "-d", "-m", "1777", f"/mnt/disk/export/loop-{how}")
            before = calls(self.first)
            done, _ = self.python(LOOP, directory, str(LOOPS), how).communicate()
            name = "kept open" if how == "keep" else "opened and closed"
            self.say(f"200 bytes forced, {name}: {float(done):.1f} ms, {per(before, calls(self.first), LOOPS)}")

    def late(self, how, number):
        """A look at the prelock after a write that arrived when another client had long set it must see that."""
        name = f"late-{how.replace(' ', '-')}-{number}"
        child = self.python(LATE, f"{MOUNT}/{name}", how, stdin=subprocess.PIPE)
        child.stdout.readline()
        delegations = self.lab.server.run("sh", "-c", "cat /proc/fs/nfsd/clients/*/states 2>/dev/null | grep -c 'type: deleg' || true")
        self.lab.network.cut("server", self.first.name)
        self.lab.network.cut(self.first.name, "server")
        child.stdin.write("go\n")
        child.stdin.flush()
        began = time.monotonic()
        self.elsewhere("sh", "-c", f"printf 1 > {MOUNT}/{name}.prelock")
        took = time.monotonic() - began
        size = self.lab.server.run("stat", "-c", "%s", f"/mnt/disk/export/{name}.data").strip()
        time.sleep(max(0, 5 - took))
        self.lab.network.heal()
        healed = time.monotonic()
        seen = child.stdout.readline().strip()
        child.stdin.close()
        child.wait()
        self.say(
            f"late write, file {how} the cut: {delegations.strip()} delegations; to set the prelock took {took:.1f} s; {size} bytes were"
            f" there then; {time.monotonic() - healed:.1f} s after the cut the write was through, and the prelock's size seen was {seen}"
        )
        if seen != "1":
            self.cluster.violation(f"{name}: the prelock's size seen was {seen or '(none: the writer ended)'}, and it is 1")

    def kept_open(self):
        """Files that one client keeps open, and what others do to them."""
        chmod = lambda path: self.elsewhere("chmod", "0444", path)  # noqa: E731
        remove = lambda path: self.elsewhere("rm", "-f", path)  # noqa: E731
        self.kept("read-only", chmod)
        self.kept("read-only, after 50 s cut off", chmod, self.cut)
        self.kept("after the server's restart", self.restart)
        self.kept("read-only, after the server's restart", chmod, self.restart)
        self.kept("removed", remove)
        self.kept("removed, after the server's restart", remove, self.restart)

    def elsewhere(self, *words):
        """A command on the second client, as the user of the first."""
        self.second.run(*self.as_user(), *words)

    def as_user(self):
        uid = self.cluster.uid(self.first)
        return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"] if uid else []

    def cut(self, path):
        self.lab.network.cut("server", self.first.name)
        self.lab.network.cut(self.first.name, "server")
        time.sleep(50)
        self.lab.network.heal()

    def restart(self, path):
        self.lab.server.cut_power()
        self.lab.boot("server")

    def kept(self, name, *events):
        name_of_file = re.sub("[^a-z0-9]", "-", name)
        here, there = f"{MOUNT}/kept-{name_of_file}", f"/mnt/disk/export/kept-{name_of_file}"
        child = self.python(KEEP, here, stdin=subprocess.PIPE)
        child.stdout.readline()
        self.write(child)
        for event in events:
            event(here)
        answer = self.write(child)
        size = self.lab.server.run("sh", "-c", f"stat -c %s {there} 2>/dev/null || echo none").strip()
        self.say(f"kept open, {name}: {answer}; size on the server {size} (8 each)")
        child.stdin.close()
        child.wait()

    def write(self, child):
        child.stdin.write("1234567\n")
        child.stdin.flush()
        return child.stdout.readline().strip()
