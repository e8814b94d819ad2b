"""Cinch's processes on the machines of a lab."""
import os
import shlex
import shutil
import signal
import subprocess

import fleet as fleets
import jar
from background import Aggregator, Background
from machine import kvm
from places import wait_until


JAVA = "/usr/bin/java -XX:+UseSerialGC -XX:-UsePerfData -Xshare:auto -Xlog:disable -Xlog:all=error:stderr -Xmx200m"
EXPORT = "/mnt/disk/export/home"  # on the server
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
        self.backgrounds, self.every = [], []  # those that go on, and all that ever were

    def store(self, mount=0):
        return STORE

    def uid(self, machine):
        """Who appends, closes and merges there."""
        return {"root": 0, "owner": OWNER, "other": OWNER + 1 + self.lab.clients.index(machine)}[self.who]

    def prepare(self):
        """Begins to archive loaded classes, which halves the start of a process; the machines can boot meanwhile."""
        shutil.copy(jar.PATH, self.jar)
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

    def background(self, name, *arguments, turn, stdout=subprocess.DEVNULL, codes=None, **options):
        """One that goes on; what it complains of is kept."""
        name += f"-{sum(b.name.rpartition('-')[0] == name for b in self.every) + 1}"
        path = os.path.join(self.work, f"{name}.err")
        with open(path, "wb") as err:
            child = self.start(*arguments, turn=turn, stdout=stdout, stderr=err, **options)
        made = Aggregator(self, name, child, path, codes) if codes else Background(self, name, child, path)
        self.every.append(made)
        self.backgrounds.append(made)
        return child

    def look_at_backgrounds(self):
        """None should have ended."""
        self.backgrounds = [b for b in self.backgrounds if not b.over()]

    def judge_backgrounds(self, say):
        """At the end."""
        self.look_at_backgrounds()
        for background in self.backgrounds:
            said = background.judge()
            if said:
                say(said)

    def fate(self, child):
        """The exit code of a process that ended, or None. Negative: it was killed."""
        code = child.poll()
        if code != 255:
            return code
        # Of ssh: the connection broke, or a signal ended the process. Cinch itself has no such code.
        try:
            child.machine.run("true")
        except (OSError, subprocess.SubprocessError) as e:
            raise OSError(f"the connection to {child.machine.name} broke, which is the lab's failure: {e}") from e
        child.returncode = -signal.SIGKILL
        return child.returncode

    def serve(self):
        """Starts the lease service, which makes its key and has the store trust it."""
        arguments = ["serve", "--key", KEY, "--host", "0.0.0.0", "--insecure", "--port", str(PORT), "--advertise", self.server]
        with open(os.path.join(self.work, "serve.out"), "wb") as out:
            self.background("serve", *arguments, turn=len(self.lab.clients) - 1, stdout=out)

    def served(self):
        """Waits until it listens."""
        path = os.path.join(self.work, "serve.out")
        wait_until(f"the lease service listens, see {self.work}/serve-1.err", lambda: os.path.getsize(path), 240)

    def look_after(self, turn):
        """What every machine of a site might run besides: a closer on the first two, an aggregator on the last; lean: one closer."""
        if turn < 2 and not (self.lean and turn == 0):
            self.background(f"closer{turn}", "close", "--every", "2s", "--trust-clock", turn=turn)
        if turn == len(self.lab.clients) - 1 and not self.lean:
            loop = {"before": "while sleep 25; do", "after": " > /dev/null; echo $?; done"}
            codes = os.path.join(self.work, "view.codes")
            with open(codes, "wb") as out:
                self.background("view", "view", "build", "--wait", "0s", turn=turn, stdout=out, codes=codes, **loop)

    def end(self):
        self.warm.kill()
        self.warm.wait()
        super().end()

    def lose(self, machine):
        """Everything that ran on it is gone."""
        for background in [b for b in self.backgrounds if b.child.machine is machine]:
            self.backgrounds.remove(background)
            background.judge()
        for child in [c for c in self.children if c.machine is machine]:
            child.kill()
            child.wait()
            child.returncode = -signal.SIGKILL  # ssh may have said 255 by then, as if somebody had ended by himself
            self.children.remove(child)
