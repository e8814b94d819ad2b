"""The referee, who looks at a copy of what stands on the server's own disk, where no cache of NFS is."""
import glob
import os
import re
import shlex
import shutil
import subprocess
import tempfile

import fleet as fleets
import looks
import referee
from cluster import EXPORT, JAVA

READER = os.path.join(fleets.ROOT, "examples", "reader.py")
COPY = "/mnt/disk/copy"  # on the server
# Others go on while it is copied: names may go. Nothing else may be left out.
GONE = re.compile(r"cp: .*: No such file or directory$")


class Judge(looks.Referee):
    def __init__(self, cluster):
        super().__init__(cluster)
        self.store = os.path.join(cluster.work, "copy", "store")

    def look(self, log, **options):
        self.copy_all()
        if not self.exists(os.path.join(self.store, "logs", log, "identity")):
            # Or else nobody would look, and find nothing.
            self.fleet.violation(f"log {log}: no identity on the server's disk")
        super().look(log, **options)

    def settled(self, log):
        """The time through which the log is settled on the server's disk."""
        self.copy_all()
        return referee.Look(referee.load_reader(READER), self.store, log).to

    def segments(self, log):
        return glob.glob(os.path.join(self.store, "logs", log, "segments", "*"))

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
        # cp waits for a client to give its delegation of a file back, where tar would say EAGAIN. 1: some was not copied.
        line = f"rm -rf {COPY} && mkdir {COPY} && cd {EXPORT} && {{ LC_ALL=C cp -a {what} {COPY} || [ $? -eq 1 ]; }} && cd {COPY} && tar -cf - {kept}"
        with tempfile.TemporaryFile() as err:
            server = subprocess.Popen(self.fleet.lab.server.shell(line), stdout=subprocess.PIPE, stderr=err)
            done = subprocess.run(["tar", "--warning=no-timestamp", "-xf", "-", "-C", os.path.dirname(self.store)], stdin=server.stdout, check=False)
            server.stdout.close()
            code = server.wait()
            err.seek(0)
            said = [s for s in err.read().decode("utf-8", "replace").splitlines() if not GONE.fullmatch(s)]
        if done.returncode or code or said:
            raise OSError(f"the store can't be copied from the server: exit codes {code} and {done.returncode}: {' / '.join(said)[:500]}")
