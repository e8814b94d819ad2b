"""A process that goes on until it is killed, such as a closer; what it complains of is kept, and read."""
import os
import signal
import subprocess

from endings import DAMAGE, NOISE, noise, unasked

UNAVAILABLE = 4


class Standing:
    def __init__(self, fleet, name, *arguments, **options):
        self.fleet, self.name = fleet, name
        fleet.counts[name + "s"] += 1
        self.path = os.path.join(fleet.work, f"{name}-{fleet.counts[name + 's']}.err")
        with open(self.path, "wb") as err:
            self.child = fleet.start(*arguments, stdout=subprocess.DEVNULL, stderr=err, **options)

    def ended(self):
        """Whether it has ended, which none does by itself."""
        if self.child.poll() is None:
            return False
        if self.child in self.fleet.children:
            self.fleet.children.remove(self.child)
            self.judge()
        return True

    def judge(self):
        with open(self.path, encoding="utf-8", errors="replace") as f:
            text = f.read()
        bad = noise(text, NOISE, DAMAGE)  # "close --every" says so and goes on
        if bad:
            self.fleet.violation(f"{self.name} says, see {self.path}: {bad}")
        code = self.child.returncode
        if self.fleet.place.fickle and code == UNAVAILABLE:
            return  # a lease server can't start where there is no room
        if not self.child.signalled or unasked(code, self.child.signalled):
            self.fleet.violation(f"{self.name}: ended with {code}, unasked: {text.strip()[-2000:]}")

    def end(self):
        self.fleet.signal(self.child, signal.SIGCONT)
        self.fleet.signal(self.child, signal.SIGKILL)
        self.child.wait()
        self.ended()
