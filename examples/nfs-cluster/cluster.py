"""Cinch's processes on the machines of a lab, and the referee."""
import os
import shlex
import shutil
import subprocess

import fleet as fleets
import looks
from machine import kvm


JAR = os.path.join(fleets.ROOT, "cli", "target", "cinch.jar")
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
    lease = "20s"
    settled_after = 7.5  # seconds: a bucket, the grace, and a little

    def __init__(self, lab, who, work, rng):
        super().__init__(None, "self", work, rng)
        self.lab, self.who = lab, who
        self.server = f"http://{lab.clients[-1].name}:{PORT}"
        self.jar = os.path.join(work, "cinch.jar")
        # Where all is emulated, what compiles costs more than it saves.
        self.java = [*shlex.split(JAVA), "-XX:TieredStopAtLevel=1" if kvm() else "-Xint"]

    def store(self, mount=0):
        return STORE

    def uid(self, machine):
        """Who appends, closes and merges there."""
        return {"root": 0, "owner": OWNER, "other": OWNER + 1 + self.lab.clients.index(machine)}[self.who]

    def prepare(self):
        """Takes along what runs in the machines; an archive of loaded classes halves the start of a process."""
        shutil.copy(JAR, self.jar)
        os.chmod(self.jar, 0o644)
        archive = os.path.join(self.work, "cinch.jsa")
        warm = [*self.java, f"-XX:ArchiveClassesAtExit={archive}", "-cp", self.jar, "dev.cinch.cli.Warmup"]
        subprocess.run(warm, capture_output=True, check=False)
        if os.path.exists(archive):
            os.chmod(archive, 0o644)
            self.java.append(f"-XX:SharedArchiveFile={archive}")

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
        self.must("keygen", "--key", KEY, "--store", STORE, turn=last)

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
        self.background(
            "serve", "serve", "--key", KEY, "--host", "0.0.0.0", "--port", str(PORT), turn=len(self.lab.clients) - 1
        )
        for _ in range(10):
            if self.run("lease", "show", "none", "--server", self.server)[0] in (0, 3):
                return
        raise OSError(f"the lease service does not answer, see {self.work}/serve.err")

    def look_after(self, turn):
        """What every machine of a site might run besides: a closer on the first two, an aggregator on the last."""
        if turn < 2:
            self.background(f"closer{turn}", "close", "--every", "2s", "--trust-clock", turn=turn)
        if turn == len(self.lab.clients) - 1:
            loop = {"before": "while sleep 25; do", "after": "; done"}
            self.background("view", "view", "build", "--wait", "0s", turn=turn, **loop)

    def lose(self, machine):
        """Everything that ran on it is gone."""
        for child in [c for c in self.children if c.machine is machine]:
            child.kill()
            child.wait()
            self.children.remove(child)


class Referee(looks.Referee):
    """Judges a copy of what stands on the server's own disk, where no cache of NFS is."""

    def __init__(self, cluster):
        super().__init__(cluster)
        self.store = os.path.join(cluster.work, "copy", "store")

    def look(self, log, **options):
        shutil.rmtree(os.path.dirname(self.store), ignore_errors=True)
        os.mkdir(os.path.dirname(self.store))
        # Records first: others go on meanwhile, but what a record lists stays as it is.
        self.copy("store/logs/*/horizon store/store.json")
        self.copy("--exclude=store/logs/*/horizon store")
        super().look(log, **options)

    def copy(self, what):
        line = f"cd {EXPORT} && tar -cf - {what} 2>/dev/null"
        server = subprocess.Popen(self.fleet.lab.server.shell(line), stdout=subprocess.PIPE)
        done = subprocess.run(["tar", "-xf", "-", "-C", os.path.dirname(self.store)], stdin=server.stdout, check=False)
        if done.returncode or server.wait() not in (0, 1):  # 1: something changed or went while it was read
            raise OSError(f"the store can't be copied from the server: exit code {server.returncode}")
