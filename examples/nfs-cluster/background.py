"""Processes that are to go on until the run ends: lease service, closers, aggregator, readers."""
import re

from endings import DAMAGE, NOISE, noise

# What "serve --insecure" says at its start.
EXPECTED = re.compile(r"cinch serve: there is no authentication: whoever reaches \S+ may take leases")


class Background:
    """One of them. What it complains of is read when it is lost with its machine, or ended by itself, and at the end."""

    def __init__(self, cluster, name, child, err):
        self.cluster, self.name, self.child, self.err = cluster, name, child, err

    def over(self):
        """Whether it ended by itself, which none of them should."""
        code = self.cluster.fate(self.child)
        if code is None:
            return False
        self.cluster.violation(f"{self.name} ended by itself: exit code {code}: {self.complaints()[:2000]}")
        return True

    def judge(self):
        """What is no damage and no stack trace may be there; the last line is worth a look."""
        said = self.complaints()
        bad = noise(said, NOISE, DAMAGE)
        if bad:
            self.cluster.violation(f"{self.name} says, see {self.err}: {bad}")
        unexpected = [line for line in said.splitlines() if not EXPECTED.fullmatch(line)]
        return f"{self.name} complained {len(unexpected)} times, at last: {unexpected[-1]}" if unexpected else None

    def complaints(self):
        with open(self.err, encoding="utf-8", errors="replace") as f:
            return f.read().strip()


class Aggregator(Background):
    """One process after the other: each prints its exit code."""

    def __init__(self, cluster, name, child, err, codes):
        super().__init__(cluster, name, child, err)
        self.codes = codes

    def judge(self):
        with open(self.codes, encoding="ascii") as f:
            codes = f.read().split()
        if "0" not in codes or "1" in codes:
            self.cluster.violation(f"{self.name}: exit codes {' '.join(codes) or '(none)'}: {self.complaints()[:2000]}")
        said = super().judge()
        return said and f"{said} (exit codes other than 0: {sum(c != '0' for c in codes)} of {len(codes)})"
