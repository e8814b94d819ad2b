"""Looks at logs with referee.py, one after the other."""
import json
import os
import subprocess
import sys

MOST_SECONDS = 600
HERE = os.path.dirname(os.path.abspath(__file__))


class Referee:
    """Looks at logs with referee.py, and keeps what earlier looks saw."""

    def __init__(self, fleet):
        self.fleet = fleet
        self.store = fleet.store()
        self.saved = fleet.work
        self.looks = {}
        self.totals = {}

    def exists(self, path):
        return os.path.exists(path)

    def judge(self, arguments):
        arguments = [sys.executable, os.path.join(HERE, "referee.py"), *arguments]
        try:
            return subprocess.run(arguments, capture_output=True, text=True, timeout=MOST_SECONDS)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(arguments, 4, "", f"not done within {MOST_SECONDS} s")

    def holders(self, log):
        """Where a final look writes which runs wrote what under leases."""
        return os.path.join(self.saved, f"holders-{log}")

    def look(self, log, final=False, cat=None):
        if not self.exists(os.path.join(self.store, "logs", log, "identity")):
            if final:
                self.fleet.violation(f"referee on {log}: the log has no identity")
            return
        looks = self.looks.setdefault(log, [])
        save = os.path.join(self.saved, f"look-{log}-{len(looks)}")
        arguments = ["--store", self.store, "--log", log]
        arguments += ["--sent", os.path.join(self.fleet.sent, log), "--save", save, "--json"]
        for earlier in looks[-3:]:
            arguments += ["--earlier", earlier]
        if final:
            arguments += ["--final"]
            arguments += ["--holders", self.holders(log)]
        if cat:
            arguments += ["--cat", cat]
        done = self.judge(arguments)
        self.fleet.counts["looks"] += 1
        if done.returncode == 0:
            looks.append(save)
        else:
            self.fleet.violation(f"referee on {log}: {done.stdout}{done.stderr}".strip())
        if final and done.stdout:
            for name, count in json.loads(done.stdout.splitlines()[-1]).items():
                self.totals[name] = self.totals.get(name, 0) + count
