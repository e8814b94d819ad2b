"""Cinch's processes on the machines of a lab, and the referee."""
import os
import shlex
import shutil
import signal
import subprocess

import fleet as fleets
import looks
import referee
from machine import kvm
from places import wait_until


JAR = os.path.join(fleets.ROOT, "cli", "target", "cinch.jar")
READER = os.path.join(fleets.ROOT, "examples", "reader.py")
JAVA = "/usr/bin/java -XX:+UseSerialGC -XX:-UsePerfData -Xshare:auto -Xlog:disable -Xlog:all=error:stderr -Xmx200m"
EXPORT = "/mnt/disk/export/home"  # on the server
COPY = "/mnt/disk/copy"  # there, too
STORE = "/mnt/nfs/home/store"  # on clients
KEY = "/tmp/cinch.key"
PORT = 8470
NOBODY, OWNER, GROUP, STRANGER = 65534, 30001, 30000, 30009


class Cluster(fleets.Fleet):
    """The turn of a process says which client it runs on."""

    # Several times what real machines need: an emulated one stops for a second now and then.
    settings = (
        "--bucket-width=2s --grace=5s --clock-ahead=1s --clock-behind=1s --timestamp-distance=1s"
        " --slow-append=2s --longest-lease=60s --lease-margin=1s"
    ).split()
    settled_after = 7.5  # seconds: a bucket, the grace, and a little

    def __init__(self, lab, who, work, rng, lean):
        """Lean: less goes on besides the writers, and leases are shorter."""
        super().__init__(None, "self", work, rng)
        self.lab, self.who, self.lean = lab, who, lean
        self.lease = "12s" if lean else "20s"
        self.server = f"http://{lab.clients[-1].name}:{PORT}"
        self.jar = os.path.join(work, "cinch.jar")
        # Where all is emulated, what compiles costs more than it saves.
        self.java = [*shlex.split(JAVA), "-XX:TieredStopAtLevel=1" if kvm() else "-Xint"]
        self.classes = os.path.join(work, "cinch.jsa")

    def store(self, mount=0):
        return STORE

    def uid(self, machine):
        """Who appends, closes and merges there."""
        return {"root": 0, "owner": OWNER, "other": OWNER + 1 + self.lab.clients.index(machine)}[self.who]

    def prepare(self):
        """Begins to archive loaded classes, which halves the start of a process; the machines can boot meanwhile."""
        shutil.copy(JAR, self.jar)
        os.chmod(self.jar, 0o644)
        warm = [*shlex.split(JAVA), f"-XX:ArchiveClassesAtExit={self.classes}", "-cp", self.jar, "dev.cinch.cli.Warmup"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.warm = subprocess.Popen(warm, preexec_fn=fleets.die_with_parent, **quiet)

    def prepared(self):
        self.warm.wait()
        if os.path.exists(self.classes):
            os.chmod(self.classes, 0o644)
            self.java.append(f"-XX:SharedArchiveFile={self.classes}")

    def make_home(self):
        """The directory of the store, as an administrator makes it: the store's owner's and group's."""
        owner = {"root": NOBODY if self.lab.squash == "root_squash" else 0, "owner": OWNER, "other": OWNER}[self.who]
        group = GROUP if self.who == "other" else owner
        server = self.lab.server
        server.run("mkdir", EXPORT)
        server.run("chown", f"{owner}:{group}", EXPORT)
        server.run("chmod", "2775", EXPORT)

    def make_store(self):
        last = len(self.lab.clients) - 1
        self.must("init", *self.settings, STORE, turn=last, uid=OWNER if self.who == "other" else None)

    def start(self, *arguments, turn=0, uid=None, environment=None, before="", after="", **options):
        machine = self.lab.clients[turn % len(self.lab.clients)]
        uid = self.uid(machine) if uid is None else uid
        words = ["env", f"CINCH_MACHINE={machine.name}"]
        if arguments[0] not in ("init", "keygen"):
            words.append(f"CINCH_STORE={STORE}")
        if uid:
            group = GROUP if self.who == "other" and uid != STRANGER else uid
            words += ["setpriv", f"--reuid={uid}", f"--regid={group}", "--clear-groups"]
        words += [*self.java, "-cp", self.jar, "dev.cinch.cli.Main", *arguments]
        options.setdefault("stdin", subprocess.DEVNULL)
        line = f"umask 007; cd /tmp; {before or 'exec'} {shlex.join(words)}{after}"
        child = subprocess.Popen(machine.shell(line), preexec_fn=fleets.die_with_parent, **options)
        child.turn, child.arguments, child.machine = turn, arguments, machine
        self.children.append(child)
        self.counts["processes"] += 1
        return child

    def background(self, name, *arguments, turn, stdout=subprocess.DEVNULL, **options):
        """One that goes on; what it complains of is kept."""
        with open(os.path.join(self.work, f"{name}.err"), "ab") as err:
            return self.start(*arguments, turn=turn, stdout=stdout, stderr=err, **options)

    def serve(self):
        """Starts the lease service, which makes its key and has the store trust it."""
        arguments = ["serve", "--key", KEY, "--host", "0.0.0.0", "--port", str(PORT)]
        with open(os.path.join(self.work, "serve.out"), "wb") as out:
            self.background("serve", *arguments, turn=len(self.lab.clients) - 1, stdout=out)

    def served(self):
        """Waits until it listens."""
        path = os.path.join(self.work, "serve.out")
        wait_until(f"the lease service listens, see {self.work}/serve.err", lambda: os.path.getsize(path), 240)

    def look_after(self, turn):
        """What every machine of a site might run besides: a closer on the first two, an aggregator on the last; lean: one closer."""
        if turn < 2 and not (self.lean and turn == 0):
            self.background(f"closer{turn}", "close", "--every", "2s", "--trust-clock", turn=turn)
        if turn == len(self.lab.clients) - 1 and not self.lean:
            loop = {"before": "while sleep 25; do", "after": "; done"}
            self.background("view", "view", "build", "--wait", "0s", turn=turn, **loop)

    def end(self):
        self.warm.kill()
        self.warm.wait()
        super().end()

    def lose(self, machine):
        """Everything that ran on it is gone."""
        for child in [c for c in self.children if c.machine is machine]:
            child.kill()
            child.wait()
            child.returncode = -signal.SIGKILL  # ssh may have said 255 by then, as if somebody had ended by himself
            self.children.remove(child)


class Referee(looks.Referee):
    """Judges a copy of what stands on the server's own disk, where no cache of NFS is."""

    def __init__(self, cluster):
        super().__init__(cluster)
        self.store = os.path.join(cluster.work, "copy", "store")

    def look(self, log, **options):
        self.copy_all()
        super().look(log, **options)

    def settled(self, log):
        """The time through which the log is settled on the server's disk."""
        self.copy_all()
        return referee.Look(referee.load_reader(READER), self.store, log).to

    def cinch(self, *arguments):
        """What a command on the copy prints; it runs here, where nothing is emulated."""
        variables = dict(os.environ, CINCH_STORE=self.store)
        words = [*shlex.split(JAVA), "-cp", self.fleet.jar, "dev.cinch.cli.Main", *arguments]
        done = subprocess.run(words, env=variables, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        complaints = done.stderr.decode("utf-8", "replace").strip()
        if done.returncode:
            self.fleet.violation(f"{arguments[0]}, on a copy: exit code {done.returncode}: {complaints[:2000]}")
        return done.stdout

    def copy_all(self):
        shutil.rmtree(os.path.dirname(self.store), ignore_errors=True)
        os.mkdir(os.path.dirname(self.store))
        # Records first: others go on meanwhile, but what a record lists stays as it is.
        self.copy("--parents store/logs/*/horizon store/store.json", "store")
        self.copy("store", "--exclude=store/logs/*/horizon store")

    def copy(self, what, kept):
        # cp waits for a client to give its delegation of a file back, where tar would say EAGAIN.
        line = f"rm -rf {COPY} && mkdir {COPY} && cd {EXPORT} && cp -a {what} {COPY} 2>/dev/null; cd {COPY} && tar -cf - {kept} 2>/dev/null"
        server = subprocess.Popen(self.fleet.lab.server.shell(line), stdout=subprocess.PIPE)
        done = subprocess.run(["tar", "--warning=no-timestamp", "-xf", "-", "-C", os.path.dirname(self.store)], stdin=server.stdout, check=False)
        if done.returncode or server.wait() not in (0, 1):  # 1: something changed or went while it was read
            raise OSError(f"the store can't be copied from the server: exit code {server.returncode}")
