"""How commands ended, and what they said: which of it must never be, whatever happened to other processes."""
import collections
import re
import signal

OFTEN = 5  # so many that ended by themselves, none of them well, are no accident

# What no command may print: a stack trace, the line for what it did not expect, a lack of memory, a crash of Java.
NOISE = re.compile(
    r"^\s+at [\w.$/]+\(|^Caused by: |^Exception in thread|\(a fault of this program|out of memory; give it more"
    r"|OutOfMemoryError|fatal error has been detected",
    re.MULTILINE,
)
DAMAGE = re.compile(r"\bdamaged\b")

# All others are wrong: 1 is damage, 2 a command line, 126 and 127 no program, 134 a crash.
ENDS = {
    0: "good",
    3: "refused",
    4: "unavailable",
    -signal.SIGKILL: "killed",
    -signal.SIGTERM: "stopped",  # while it starts
    128 + signal.SIGTERM: "stopped",
}
ASKED = {
    signal.SIGKILL: (-signal.SIGKILL,),
    signal.SIGTERM: (-signal.SIGTERM, 128 + signal.SIGTERM),
}


def unasked(code, signalled):
    """Whether a process was ended by a signal that is none of those that were sent to it."""
    return (code < 0 or code > 128) and not any(code in ASKED[number] for number in signalled)


def noise(text, *patterns):
    """What is wrong in what a command printed, and what stands around; None if nothing is."""
    for found in filter(None, (pattern.search(text) for pattern in patterns or (NOISE,))):
        return text[max(0, found.start() - 500) :].strip()[:2000]
    return None


class Endings:
    def __init__(self, violation):
        self.violation = violation
        self.counts = collections.defaultdict(collections.Counter)

    def judge(self, what, code, text):
        """The first word of what names the command."""
        self.counts[what.split()[0]][ENDS.get(code, f"exit code {code}")] += 1
        if code not in ENDS:
            self.violation(f"{what}: exit code {code}: {text.strip()[:2000]}")
        elif noise(text):
            self.violation(f"{what}: exit code {code}, and it says: {noise(text)}")

    def never_good(self):
        """Each command that ended by itself often enough must have ended well at least once."""
        for command, ends in self.counts.items():
            tried = sum(count for end, count in ends.items() if end not in ("killed", "stopped"))
            if tried >= OFTEN and not ends["good"]:
                self.violation(f"{command}: not one of {tried} ended with 0")

    def lines(self):
        for command, ends in sorted(self.counts.items()):
            yield f"{command}: " + ", ".join(f"{count:,} {end}" for end, count in ends.most_common())
