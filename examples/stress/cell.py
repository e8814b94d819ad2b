"""A cell of lease servers under faults of its network, its machines and its clocks. See cell.sh."""
import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import places  # noqa: E402
import rivals  # noqa: E402
import wires  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(HERE))
CINCH = os.environ.get("CINCH", os.path.join(ROOT, "cli/bin/cinch"))
JAR = os.path.join(ROOT, "cli/target/cinch.jar")
CLASSES = os.environ.get("CINCH_CLASSES", f"{ROOT}/examples/target/classes:{JAR}")

FAULTS = ("none", "kill", "freeze", "partition", "oneway", "loss", "duplicate", "reorder", "rate")
CLIENTS = 100  # the end of the network where writers are
LONGEST = 6.0  # of the cell's leases, and so of a quarantine; seconds
LEASE = 5.0  # as RivalWriters asks for it
LIMIT = LEASE * 1.1
RATES = (1.05, 0.95, 1.0, 1.025, 0.975)
PROCESSES, WRITERS, RIVALRIES = 3, 5, 3
# What nodes say of listening on a network, and Netty of a TUN device.
USUAL = ("there is no authentication", "usable hardware address")
PATIENCE = 60.0  # for whatever must come in the end


def say(text):
    print(f"{time.strftime('%H:%M:%S', time.gmtime())} {text}", flush=True)


class Cell:
    """Nodes, writers and what happened."""

    def __init__(self, given, fault, work):
        self.given, self.fault, self.work = given, fault, work
        self.rng = random.Random(f"{given.seed} {fault}")
        self.nodes = list(range(1, given.nodes + 1))
        self.store, self.file = os.path.join(work, "store"), os.path.join(work, "cell.json")
        self.running, self.writers, self.starts = {}, {}, 0
        self.kills, self.violations, self.counts = [], [], {}
        self.wires = wires.Wires([*self.nodes, CLIENTS], random.Random(self.rng.random()))
        self.environment = dict(os.environ, CINCH_JAVA_OPTS="-Xmx128m", CINCH_STORE=self.store)

    def violation(self, text):
        say(f"VIOLATION: {text}")
        self.violations.append(text)

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def cinch(self, *arguments, space=None):
        inside = ("ip", "netns", "exec", self.wires.space(space)) if space else ()
        return subprocess.run([*inside, CINCH, *arguments], capture_output=True, text=True, env=self.environment, cwd=self.work, timeout=300, check=False)

    def must(self, *arguments):
        done = self.cinch(*arguments)
        if done.returncode:
            raise OSError(f"cinch {' '.join(arguments)}: {done.returncode}: {done.stderr.strip()[:500]}")
        return done.stdout

    def begin(self):
        self.must("init", "--key", "cinch.key", "--bucket-width", "500ms", "--longest-lease", f"{LONGEST:.0f}s", self.store)
        self.must("log", "create", "lines")
        members = [f"--node={self.wires.address(n)}:7420=http://{self.wires.address(n)}:8470" for n in self.nodes]
        rate = ["--rate-error=50000"] if self.fault == "rate" else []
        self.must("cell", "init", self.file, "--algorithm", self.given.algorithm, *rate, *members)
        for node in self.nodes:
            self.start(node, "--first")
        for node in self.nodes:
            self.await_line(node)
        for _ in range(PROCESSES):
            self.start_writers()

    def spawn(self, space, arguments, name, stdin=subprocess.DEVNULL):
        with open(os.path.join(self.work, name + ".out"), "ab") as out, open(os.path.join(self.work, name + ".err"), "ab") as err:
            return subprocess.Popen(
                ["ip", "netns", "exec", self.wires.space(space), *arguments],
                stdin=stdin, stdout=out, stderr=err, cwd=self.work, env=self.environment,
            )

    def start(self, node, *more):
        rate = [f"--clock-rate={RATES[node - 1]}"] if self.fault == "rate" else []
        self.running[node] = self.spawn(
            node,
            [CINCH, "serve", "--insecure", "--backend", self.given.algorithm, "--cell", self.file, f"--node={node}", *rate, *more],
            f"node-{node}",
        )

    def await_line(self, node):
        end = time.monotonic() + PATIENCE
        while "listening on" not in self.text(f"node-{node}.out"):
            if time.monotonic() > end or self.running[node].poll() is not None:
                raise OSError(f"node {node} does not start, exit code {self.running[node].poll()}: {self.text(f'node-{node}.err')[-500:]}")
            time.sleep(0.1)

    def text(self, name):
        with open(os.path.join(self.work, name), encoding="utf-8", errors="replace") as f:
            return f.read()

    def start_writers(self):
        prefix = "abcdefghijklmnopqrstuvwxyz"[self.starts % 26] + str(self.starts)
        self.starts += 1
        servers = ",".join(f"http://{self.wires.address(n)}:8470" for n in self.nodes)
        self.writers[prefix] = self.spawn(
            CLIENTS,
            ["java", "-Xmx192m", "-XX:+UseSerialGC", "-cp", CLASSES, "dev.cinch.examples.RivalWriters",
             self.store, servers, "lines", prefix, str(WRITERS), str(RIVALRIES)],
            f"writers-{prefix}", stdin=subprocess.PIPE,
        )

    def kill_writers(self):
        """Whose leases have to run out, and then others get them."""
        told = self.told()
        holding = [w for w in sorted(self.writers) if told.has_rivals_lease(w)]
        prefix = self.rng.choice(holding or sorted(self.writers))
        process = self.writers.pop(prefix)
        process.kill()
        self.kills.append((prefix, time.monotonic_ns()))
        process.wait()
        process.stdin.close()
        self.start_writers()

    # Faults; each takes some seconds, and ends with all as it should be.

    def victims(self):
        """One node, or now and then all of them."""
        return self.nodes if self.rng.random() < 0.25 else [self.rng.choice(self.nodes)]

    def kill(self):
        nodes = self.victims()
        for node in nodes:
            self.running[node].kill()
        for node in nodes:
            self.running[node].wait()
            self.count("nodes killed")
        time.sleep(self.rng.uniform(0.2, 3))
        for node in nodes:
            self.start(node)
        time.sleep(LONGEST + self.rng.uniform(2, 4))  # the quarantine: they need not be killed before it is over

    def freeze(self):
        """A node, all of them, or a process of writers, for longer than any lease."""
        if self.rng.random() < 0.6:
            processes = [self.running[n] for n in self.victims()]
            self.count("times nodes stopped")
        else:
            processes = [self.writers[self.rng.choice(sorted(self.writers))]]
            self.count("times writers stopped")
        for process in processes:
            process.send_signal(signal.SIGSTOP)
        time.sleep(LONGEST + self.rng.uniform(0.5, 2))
        for process in processes:
            process.send_signal(signal.SIGCONT)
        time.sleep(self.rng.uniform(1, 3))

    def apart(self, ways):
        """Cuts a minority off from the other nodes, and in half of all cases from clients."""
        alone = self.rng.sample(self.nodes, self.rng.randint(1, len(self.nodes) // 2))
        others = [n for n in self.nodes if n not in alone] + ([CLIENTS] if self.rng.random() < 0.5 else [])
        pairs = [(a, o) for a in alone for o in others]
        cut = []
        if "out" in ways:
            cut += pairs
        if "in" in ways:
            cut += [(o, a) for a, o in pairs]
        self.wires.weather = wires.Weather(cut=cut)
        self.count("partitions")
        time.sleep(self.rng.uniform(2, LONGEST + 3))
        self.wires.weather = wires.Weather()
        time.sleep(self.rng.uniform(1, 4))

    def partition(self):
        self.apart(("out", "in"))

    def oneway(self):
        self.apart(self.rng.choice((("out",), ("in",))))

    def with_weather(self, **weather):
        self.wires.weather = wires.Weather(**weather)
        time.sleep(8)
        self.wires.weather = wires.Weather()

    def loss(self):
        self.with_weather(loss=0.3)

    def duplicate(self):
        self.with_weather(duplicate=0.3)

    def reorder(self):
        self.with_weather(reorder=0.5)

    def none(self):
        time.sleep(4)

    rate = none  # the clocks run so from the start

    def rage(self, seconds):
        """Faults one after the other; and after each one or two a process of writers is killed."""
        kinds = [f for f in FAULTS if f not in ("none", "rate")] if self.fault == "mix" else [self.fault]
        began = time.monotonic()
        number = 0
        while time.monotonic() - began < seconds:
            getattr(self, self.rng.choice(kinds))()
            number += 1
            if number % 2 or self.fault in ("kill", "freeze"):
                self.kill_writers()
        return time.monotonic() - began

    def calm(self):
        """Everything is as it should be again: now each process of writers must get leases."""
        since = time.monotonic_ns()
        end = time.monotonic() + PATIENCE
        waiting = set(self.writers)
        while waiting and time.monotonic() < end:
            time.sleep(0.5)
            told = self.told()
            waiting = {w for w in waiting if not told.granted_since(w, since)}
        for prefix in sorted(waiting):
            self.violation(f"writers {prefix} got no lease for {PATIENCE:.0f} s after the last fault")

    def told(self):
        told = rivals.Rivals()
        for name in sorted(os.listdir(self.work)):
            if name.startswith("writers-") and name.endswith(".out"):
                told.read(self.text(name))
        return told

    def finish(self):
        for process in self.writers.values():
            process.stdin.close()
        for prefix, process in self.writers.items():
            try:
                if process.wait(PATIENCE):
                    self.violation(f"writers {prefix} ended with {process.returncode}")
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGQUIT)
                time.sleep(1)
                self.violation(f"writers {prefix} do not end")
        status = self.cinch("cell", "status", self.file, "--json", space=CLIENTS)
        if status.returncode:
            self.violation(f"cell status: {status.returncode}: {status.stdout[:500]} {status.stderr[:500]}")
        else:
            for node in json.loads(status.stdout)["nodes"]:
                if node["cell"].get("faults", 0):
                    self.violation(f"node {node['node']}: handlers failed: {node['cell']['faults']}")
        for node, process in self.running.items():
            process.terminate()
        for node, process in self.running.items():
            try:
                code = process.wait(PATIENCE)
                if code not in (0, 143):
                    self.violation(f"node {node} ended with {code}")
            except subprocess.TimeoutExpired:
                self.violation(f"node {node} does not end by SIGTERM")

    def judge(self):
        time.sleep(LEASE)
        self.must("close", "--trust-clock")
        found = self.must("cat", "--log", "lines").splitlines()
        told = self.told()
        for text in [*told.doubles(), *told.disorder(found)]:
            self.violation(text)
        audit = self.cinch("audit")
        say("audit: " + (audit.stdout.strip().splitlines() or ["nothing"])[-1])
        if audit.returncode:
            self.violation(f"audit: {audit.returncode}: {audit.stdout[:1000]} {audit.stderr[:1000]}")
        for text in told.odd:
            self.violation(f"writers said: {text}")
        if not found:
            self.violation("nothing was written")
        return told

    def complaints(self):
        """What nodes said on standard error that is not usual."""
        for node in self.nodes:
            for line in self.text(f"node-{node}.err").splitlines():
                if not any(usual in line for usual in USUAL):
                    yield f"node {node}: {line}"

    def close(self):
        for process in [*self.running.values(), *self.writers.values()]:
            with contextlib.suppress(OSError):
                process.kill()
                process.wait()
        self.wires.close()


HEAD = "| algorithm, nodes | fault | seconds | grants | lost | lines | refused | takeovers: median, longest | later than 5.5 s | met | violations |\n|---|---|---:|---:|---:|---:|---|---|---:|---|---:|"


def row(cell, seconds, told):
    times = told.takeovers(cell.kills)
    lines = [s for s in told.lines.values() if s == "CONFIRMED"]
    packets = {k: n for k, n in cell.wires.counts.items() if n and k != "passed"}
    met = ", ".join(f"{n:,} {what}" for what, n in {**cell.counts, **packets}.items())
    refused = ", ".join(f"{n} {why}" for why, n in sorted(told.refused.items()))
    return (
        f"| {cell.given.algorithm}, {len(cell.nodes)} | {cell.fault} | {seconds:.0f} | {len(told.tenures):,} | {told.lost} | {len(lines):,} | {refused} | "
        f"{rivals.spread(times)} | {sum(t > LIMIT for t in times)} | {met} | {len(cell.violations)} |"
    )


def run(given, fault, work):
    directory = os.path.join(work, f"{given.algorithm}-{given.nodes}-{fault}")
    os.makedirs(directory)
    cell = Cell(given, fault, directory)
    try:
        cell.begin()
        say(f"{fault}: {given.nodes} nodes of {given.algorithm}, {PROCESSES * WRITERS} writers")
        seconds = cell.rage(given.seconds)
        cell.calm()
        cell.finish()
        told = cell.judge()
        for line in list(cell.complaints())[:5]:
            say(line)
        return row(cell, seconds, told), not cell.violations
    finally:
        cell.close()


def some(text):
    names = text.split(",")
    for name in names:
        if name not in FAULTS:
            raise argparse.ArgumentTypeError(f"{name} is none of {', '.join(FAULTS)}")
    return names


def options():
    parser = argparse.ArgumentParser(prog="cell.sh", description=__doc__)
    parser.add_argument("--nodes", type=int, choices=(3, 5), default=3)
    parser.add_argument("--algorithm", choices=("paxoslease", "flease"), default="paxoslease")
    parser.add_argument("--faults", type=some, default=list(FAULTS), metavar="LIST", help="some of " + ",".join(FAULTS))
    parser.add_argument("--mix", action="store_true", help="one run, in which faults take turns; clocks are right")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31), help="of all that is random here but time")
    parser.add_argument("--keep", action="store_true", help="remove nothing at the end")
    parser.add_argument("--short", action="store_true", help="what continuous integration runs, in less than a minute")
    parser.add_argument("seconds", type=float, nargs="?", default=60)
    given = parser.parse_args()
    if given.short:
        given.mix, given.seconds = True, 15
    if given.mix:
        given.faults = ["mix"]
    elif given.algorithm == "flease":
        given.faults = [f for f in given.faults if f != "rate"]  # it goes by the wall clock
    if not os.path.exists(JAR):
        parser.error("build it first: mvn -Dquick package")
    return given


def stop(number, frame):
    raise SystemExit(f"stopped by signal {number}")


def main():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    given = options()
    work = tempfile.mkdtemp(prefix="cinch-cell.")
    good, rows = True, []
    say(f"seed {given.seed}, files in {work}")
    try:
        for fault in given.faults:
            line, fine = run(given, fault, work)
            rows.append(line)
            good = good and fine
            say(line)
    except places.Skip as e:
        print(f"SKIPPED: {e}")
        shutil.rmtree(work, ignore_errors=True)
        return 77
    except (OSError, subprocess.TimeoutExpired) as e:
        say(f"gave up: {e}")
        good = False
    print(HEAD)
    print("\n".join(rows), flush=True)
    if good and not given.keep:
        shutil.rmtree(work, ignore_errors=True)
    else:
        say(f"the files are in {work}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
