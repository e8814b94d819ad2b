"""What RivalWriters told, judged: who held what when, and which lines there must be. Times are nanoseconds of one clock."""
import statistics


class Tenure:
    """A lease of one writer."""

    def __init__(self, writer, name, correlation, granted):
        self.writer, self.name, self.correlation = writer, name, correlation
        self.granted = granted  # when the answer came, which may be long after the lease is over
        self.held = None  # the last moment at which it was held for certain
        self.ended = None  # when it was given back, or found to be lost

    def __str__(self):
        return f"{self.writer}'s lease {self.correlation} on {self.name}"


class Rivals:
    def __init__(self):
        self.tenures = {}
        self.open = {}  # for each writer those that it has not given back
        self.lines = {}  # (writer, number): SENT, CONFIRMED or REJECTED
        self.refused = {}
        self.lost = 0
        self.odd = []

    def read(self, text):
        """One process's; a last line that has no end was being written when it was killed."""
        for line in text.split("\n")[:-1]:
            self.tell(line.split(" "))

    def tell(self, words):
        what = words[0]
        if what == "GRANTED":
            time = int(words[4])
            self.left(words[1], time)  # but for other names of the same grant
            tenure = self.tenures[words[3]] = Tenure(words[1], words[2], words[3], time)
            self.open.setdefault(words[1], []).append(tenure)
        elif what in ("HELD", "RELEASED", "LOST"):
            tenure = self.tenures[words[3]]
            if what == "HELD":
                tenure.held = max(tenure.held or 0, int(words[4]))
            else:
                tenure.ended = int(words[4])
                self.lost += what == "LOST"
        elif what in ("SENT", "CONFIRMED", "REJECTED"):
            self.lines[words[1], int(words[2])] = what
        elif what == "REFUSED":
            self.refused[words[2]] = self.refused.get(words[2], 0) + 1
            self.left(words[1], int(words[3]))
        elif what != "ENDED":
            self.odd.append(" ".join(words))

    def left(self, writer, time):
        """A writer that asks for other leases has no more to do with what it had, also if giving that back was not answered."""
        for tenure in self.open.get(writer, []):
            if tenure.ended is None and tenure.granted != time:
                tenure.ended = time
        self.open[writer] = [t for t in self.open.get(writer, []) if t.ended is None]

    def by_name(self):
        names = {}
        for tenure in sorted(self.tenures.values(), key=lambda t: t.granted):
            names.setdefault(tenure.name, []).append(tenure)
        return names

    def doubles(self):
        """Yields a line for each lease that was held for certain while another one of its name was."""
        for tenures in self.by_name().values():
            last = None
            for tenure in (t for t in tenures if t.held):
                if last and tenure.granted <= last.held:
                    yield f"{tenure} was granted {(last.held - tenure.granted) / 1e6:.3f} ms before {last} was held for the last time"
                if last is None or tenure.held > last.held:
                    last = tenure

    def disorder(self, found):
        """
        Yields a line for each thing that is wrong with what the store has.

        found: the payloads, "WRITER NUMBER" and "NAME CORRELATION" of each lease, in the order of the log.
        """
        seen, last, current, over = set(), {}, {}, set()
        for payload in found:
            writer, number, *leases = payload.split(" ")
            key = writer, int(number)
            if key in seen:
                yield f"line {key} is there twice"
            seen.add(key)
            if key not in self.lines:
                yield f"line {key} is there and was not sent"
            elif self.lines[key] == "REJECTED":
                yield f"line {key} is there and was rejected"
            if last.get(writer, -1) >= key[1]:
                yield f"line {key} stands behind {last[writer]}"
            last[writer] = key[1]
            for name, correlation in zip(leases[::2], leases[1::2]):
                before = current.get(name)
                if before == correlation:
                    continue
                if correlation in over:
                    yield f"lines of lease {correlation} on {name} stand before and behind those of {before}"
                if before is not None and granted(correlation) <= granted(before):
                    yield f"lines of lease {correlation} on {name} stand behind those of {before}, which was granted later"
                over.add(before)
                current[name] = correlation
        for key, state in self.lines.items():
            if state == "CONFIRMED" and key not in seen:
                yield f"line {key} was confirmed and is not there"

    def held_by(self, prefix, killed):
        """Leases that the process with this prefix had when it was killed."""
        return [t for t in self.tenures.values() if t.writer.startswith(prefix + "-") and t.ended is None and t.granted <= killed]

    def has_rivals_lease(self, prefix):
        """Whether a writer of this process has a lease that others want."""
        return any(t.ended is None and t.name.startswith("rivalry/") and t.writer.startswith(prefix + "-") for t in self.tenures.values())

    def takeovers(self, kills):
        """For each lease of a killed process: the seconds until another one was granted its name. kills: prefix and time."""
        names = self.by_name()
        times = []
        for prefix, killed in kills:
            for tenure in self.held_by(prefix, killed):
                after = min((t.granted for t in names[tenure.name] if t.granted > tenure.granted), default=0)
                if after > killed:
                    times.append((after - killed) / 1e9)
        return times

    def granted_since(self, prefix, time):
        return any(t.granted > time and t.writer.startswith(prefix + "-") for t in self.tenures.values())


def granted(correlation):
    """When, by the service's clock: the first half."""
    return int(correlation[:16], 16)


def spread(times):
    """How many, median and highest, for people."""
    return f"{len(times)}: {statistics.median(times):.2f}, {max(times):.2f} s" if times else "0"
