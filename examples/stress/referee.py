#!/usr/bin/env python3
"""Judges what writers were told against what a store holds; Python's standard library alone.

It shares no code with the store: it reads the files with ../reader.py, which was written from
docs/format.md. What writers were told stands in a directory, for each run of a writer:

    RUN.sent      what it was given, a message a line; no two lines of all runs are alike
    RUN.receipts  what "cinch append --json" printed; a last line that is cut off does not count
    RUN.exit      the exit code, if it ended by itself; no such file if it was killed
    RUN.leases    names of the leases that it wrote under, a line each; no such file: none
    RUN.err       what it complained of; with --wait, each time that it took anew leases that it had lost
    RUN.started, RUN.held, RUN.ended
                  for leases.py, nanoseconds of one monotonic clock: just before it was started; when it was
                  seen to have its leases, and to have ended, if it was; no such file: not known

Names of runs have no dot. No two runs share a lease. A lease is told from others of its name by its correlation,
which begins with the time of its grant.

Counted as violations:
  lost        a receipt says committed, and it is not there
  doubled     it is there twice
  ghosts      a receipt says rejected or refused, and it is there
  moved       it is there with another timestamp, data file or position than its receipt says
  aliens      it is there, and nobody sent these bytes
  unreceipted it is there without a receipt, though its writer ended by itself
  unordered   the messages are not in the order of (timestamp, data file, position)
  mixed       it stands behind messages under a later lease of the same name (rule F1)
  shared      it stands under the lease of another run
  retaken     its run has more leases of a name than it said that it took
  mislabelled it stands under other names of leases than its run had
  changed     what an earlier look saw settled is not what this one begins with
  unlike      with --cat: what "cinch cat" printed has other bytes
  unsettled   with --final: a receipt says committed, and its time is not settled
  misnumbered the receipts are not for the lines 1, 2, 3 and so on, each once, in this order
  unsent      a receipt for a line that the run was not given
  untold      the run ended with 0 and did not commit every line, or gave no receipt for one

Numbers that are no violation: killed runs, and receipts that say UNKNOWN, leave messages without verdict,
which may be there or not; "early" are committed ones whose time is not settled yet; "overtaken" are messages of a run
that stand after a later line of the same run, as messages that were sent again may.

Exit code 0: no violation. 1: violations, each printed. 4: the store can't be read.
"""
import argparse
import base64
import collections
import hashlib
import importlib.util
import json
import os
import sys
import time

from leases import granted

HERE = os.path.dirname(os.path.abspath(__file__))
NONE = -(1 << 63)
MOST_TOLD = 20
PAUSE = 0.5  # seconds before reading again: retiring goes on for a moment

VIOLATIONS = (
    "lost doubled ghosts moved aliens unreceipted unordered mixed shared retaken mislabelled changed unlike unsettled"
    " misnumbered unsent untold"
).split()


Lease = collections.namedtuple("Lease", "name correlation")


def load_reader(path):
    spec = importlib.util.spec_from_file_location("reader", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Run:
    """What one run of a writer was given, and told."""

    def __init__(self, directory, name):
        base = os.path.join(directory, name)
        self.name = name
        # In this order, since it may be running: a line is sent before it has a receipt, and an end is the last of all.
        self.code = number(base + ".exit")
        self.ended = self.code is not None and self.code >= 0
        self.told = [json.loads(line) for line in lines(base + ".receipts")]
        self.receipts = {receipt["line"]: receipt for receipt in self.told}
        self.sent = lines(base + ".sent", whole=False)
        self.leases = sorted(line.decode() for line in lines(base + ".leases"))
        self.anew = sum(line.endswith(b"; taking it anew") for line in lines(base + ".err"))
        self.times = {what: number(f"{base}.{what}") for what in ("started", "held", "ended")}


def number(path):
    found = lines(path)
    return int(found[0]) if found else None


def lines(path, whole=True):
    """The lines of a file without their newlines; none if there is no file. A cut-off last line counts unless whole."""
    try:
        with open(path, "rb") as f:
            data = f.read()
    except FileNotFoundError:
        return []
    parts = data.split(b"\n")
    last = parts.pop()
    if last and not whole:
        parts.append(last)
    return parts


def runs(directory):
    names = sorted(n[: -len(".sent")] for n in os.listdir(directory) if n.endswith(".sent"))
    return [Run(directory, n) for n in names]


class Look:
    """The settled messages of a log, read once: every digest and checksum was good."""

    def __init__(self, reader, store, log, printed=None, through=None):
        opened = reader.Log(store, log)
        self.messages = []
        self.to = NONE
        # Before the messages: what is settled by then is among them.
        checkpoint = reader.last_checkpoint(opened.directory, opened.id)
        if checkpoint and (through is None or checkpoint["to"] <= through):
            self.to = checkpoint["to"]
        for record in reader.records(opened.directory, opened.id, checkpoint, opened.width):
            if through is None or record["to"] <= through:
                self.to = record["to"]
        for timestamp, file, position, payload, under in cat(printed) if printed else opened.messages():
            if timestamp < self.to:
                leases = tuple(sorted(Lease(*lease) for lease in under))
                self.messages.append((timestamp, file, position, payload, leases))

    def digest(self, count):
        digest = hashlib.sha256()
        for timestamp, file, position, payload, leases in self.messages[:count]:
            under = ",".join(map("@".join, leases))
            digest.update(f"{timestamp} {file} {position} {len(payload)} {under} ".encode())
            digest.update(payload)
        return digest.hexdigest()


def cat(path):
    """What "cinch cat --json" printed."""
    for line in lines(path):
        m = json.loads(line)
        payload = m["payload"].encode() if "payload" in m else base64.b64decode(m["payloadBase64"])
        leases = [(w["name"], w["correlation"]) for w in m["leases"]]
        yield int(m["timestampNanos"]), m["dataFile"], m["position"], payload, leases


def look(reader, store, log, tries, printed, through):
    """Reads a log; again where somebody retires buckets or links records at the same time."""
    for attempt in range(tries):
        try:
            return Look(reader, store, log, printed, through)
        except (reader.Damaged, OSError) as e:
            if attempt + 1 == tries:
                raise
            print(f"reading again: {e}", file=sys.stderr)
            time.sleep(PAUSE)


class Judgement:
    def __init__(self):
        self.counts = collections.Counter()
        self.told = []

    def violation(self, kind, text):
        self.counts[kind] += 1
        if len(self.told) < MOST_TOLD:
            self.told.append(f"{kind}: {text}")

    def bad(self):
        return sum(self.counts[kind] for kind in VIOLATIONS)


def judge(judgement, all_runs, seen, final):
    counts = judgement.counts
    sent = {}
    for run in all_runs:
        for number, payload in enumerate(run.sent, 1):
            sent[payload] = (run, number)
        counts["sent"] += len(run.sent)
        counts["runs"] += 1
        counts["killed"] += not run.ended
        in_turn(judgement, run)
    found = collections.defaultdict(list)
    for message in seen.messages:
        found[message[3]].append(message)
    for payload, places in found.items():
        if payload not in sent:
            judgement.violation("aliens", f"{show(payload)} at {place(places[0])}")
        elif len(places) > 1:
            judgement.violation("doubled", f"{show(payload)} at {place(places[0])} and {place(places[1])}")
    for payload, (run, number) in sent.items():
        receipt(judgement, run, number, payload, found.get(payload, []), seen.to, final)
    in_order(judgement, sent, seen.messages)


def in_turn(judgement, run):
    """Receipts come in the order of the lines, whatever the order of the messages is; a run that was killed gave the first ones."""
    for line, told in enumerate(run.told, 1):
        if told["line"] != line:
            judgement.violation("misnumbered", f"{run.name}: receipt {line} is for line {told['line']}")
            break
    for told in run.told:
        if not 0 < told["line"] <= len(run.sent):
            judgement.violation("unsent", f"{run.name}: a receipt for line {told['line']} of {len(run.sent)}")
    if run.code == 0:
        for line in range(1, len(run.sent) + 1):
            state = run.receipts[line]["state"] if line in run.receipts else "without a receipt"
            if state != "COMMITTED":
                judgement.violation("untold", f"{run.name} ended with 0, and line {line} of {len(run.sent)} is {state}")


def receipt(judgement, run, number, payload, places, to, final):
    counts = judgement.counts
    told = run.receipts.get(number)
    who = f"{run.name} line {number}, {show(payload)}"
    if told is None or told["state"] == "UNKNOWN":
        counts["without verdict"] += 1
        counts["of these there"] += bool(places)
        if told is None and run.ended and places:
            judgement.violation("unreceipted", f"{who}, at {place(places[0])}")
    elif told["state"] == "COMMITTED":
        counts["committed"] += 1
        at = (int(told["timestampNanos"]), told["dataFile"], told["position"])
        if at[0] >= to:
            counts["early"] += 1
            if final:
                judgement.violation("unsettled", f"{who}, at {place(at)}")
        elif not places:
            judgement.violation("lost", f"{who}, by its receipt at {place(at)}")
        elif places[0][:3] != at:
            judgement.violation("moved", f"{who}, by its receipt at {place(at)}, found at {place(places[0])}")
    else:
        counts["rejected"] += 1
        if places:
            judgement.violation("ghosts", f"{who} ({told['state']}: {told['reason']}), at {place(places[0])}")


def in_order(judgement, sent, messages):
    before = None
    last_line = {}
    holders = Holders(judgement)
    for message in messages:
        if before is not None and message[:3] <= before:
            judgement.violation("unordered", f"{place(message)} after {place(before)}")
        before = message[:3]
        if message[3] not in sent:
            continue
        run, number = sent[message[3]]
        judgement.counts["overtaken"] += number < last_line.get(run.name, 0)
        last_line[run.name] = max(number, last_line.get(run.name, 0))
        names = [lease.name for lease in message[4]]
        if names != run.leases:
            judgement.violation("mislabelled", f"{run.name} line {number} under {names}, its run had {run.leases}")
        for lease in message[4]:
            holders.wrote(run, lease, f"{run.name} line {number} at {place(message)}")


class Holders:
    """Which run wrote under which lease, message by message in their order."""

    def __init__(self, judgement):
        self.judgement = judgement
        self.runs = {}  # lease: the one run that writes under it
        self.last = {}  # name: the lease of the message before

    def wrote(self, run, lease, who):
        who = f"lease {' '.join(lease)}: {who}"
        if lease not in self.runs:
            self.runs[lease] = run.name
            count = sum(of == run.name and one.name == lease.name for one, of in self.runs.items())
            if count > 1 + run.anew:
                self.judgement.violation("retaken", f"{who}, number {count} of a run that took leases anew {run.anew} times")
        elif self.runs[lease] != run.name:
            self.judgement.violation("shared", f"{who}, under that of {self.runs[lease]}")
        before = self.last.get(lease.name, lease)
        if before != lease:
            self.judgement.counts["takeovers"] += 1
            if granted(lease.correlation) <= granted(before.correlation):
                self.judgement.violation("mixed", f"{who}, after {self.runs[before]} under {before.correlation}")
        self.last[lease.name] = lease


def under_leases(all_runs, messages, log):
    """For leases.py: each run under each of its leases, with the timestamps and lines of its messages."""
    sent = {payload: (run, line) for run in all_runs for line, payload in enumerate(run.sent, 1)}
    found = {}
    for message in messages:
        run, line = sent.get(message[3], (None, 0))
        for lease in message[4] if run else ():
            holder = {"run": run.name, "log": log, **lease._asdict(), "messages": [], **run.times}
            if run.anew and line > 1:
                holder["held"] = None  # it was seen to have what its first line is under
            found.setdefault((run.name, lease), holder)["messages"].append([message[0], line])
    return list(found.values())


def show(payload):
    return repr(payload[:40])[1:] + (f"… ({len(payload)} bytes)" if len(payload) > 40 else "")


def place(message):
    return f"{message[0]} {message[1]} {message[2]}"


def prefix(judgement, seen, path):
    """Whether an earlier look is what this one begins with."""
    with open(path, encoding="utf-8") as f:
        earlier = json.load(f)
    if seen.to < earlier["to"] or seen.digest(earlier["messages"]) != earlier["digest"]:
        judgement.violation(
            "changed", f"the first {earlier['messages']} messages, settled through {earlier['to']}, are others now"
        )
        return
    more = seen.messages[earlier["messages"] :]
    if more and more[0][0] < earlier["to"]:
        judgement.violation("changed", f"{place(more[0])} came into time settled through {earlier['to']}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--store", required=True, help="the store's directory")
    parser.add_argument("--log", required=True, help="the log's name")
    parser.add_argument("--sent", help="the directory of what writers were given and told; without it order alone is judged")
    parser.add_argument("--final", action="store_true", help="everything committed must be settled by now")
    parser.add_argument("--earlier", action="append", default=[], metavar="FILE", help="an earlier look; repeatable")
    parser.add_argument("--cat", metavar="FILE", help="what \"cinch cat\" printed, which must be the same")
    parser.add_argument("--save", metavar="FILE", help="write this look there, for a later --earlier")
    parser.add_argument("--messages", metavar="FILE", help="take the messages from what \"cinch cat --json\" printed")
    parser.add_argument("--through", type=int, metavar="NANOS", help="judge only what is settled through this time")
    parser.add_argument("--tries", type=int, default=5, help="how often to read while others close and retire; 5")
    parser.add_argument("--holders", metavar="FILE", help="write there which runs wrote what under leases, for leases.py")
    parser.add_argument("--json", action="store_true", help="print the numbers as one JSON object")
    parser.add_argument("--reader", default=os.path.join(HERE, "..", "reader.py"), help="reads the format; ../reader.py")
    options = parser.parse_args()
    reader = load_reader(options.reader)
    try:
        seen = look(reader, options.store, options.log, options.tries, options.messages, options.through)
    except (reader.Damaged, OSError) as e:
        print(f"referee: {e}", file=sys.stderr)
        return 4
    judgement = Judgement()
    judgement.counts["settled"] = len(seen.messages)
    if options.sent:
        # After the look: whatever is seen was sent before, and no receipt may come for what a look did not see.
        all_runs = runs(options.sent)
        judge(judgement, all_runs, seen, options.final)
        if options.holders:
            with open(options.holders, "w", encoding="utf-8") as f:
                json.dump(under_leases(all_runs, seen.messages, options.log), f)
    else:
        in_order(judgement, {}, seen.messages)
    for path in options.earlier:
        prefix(judgement, seen, path)
    if options.cat:
        with open(options.cat, "rb") as f:
            printed = f.read()
        if printed != b"".join(m[3] + b"\n" for m in seen.messages):
            judgement.violation("unlike", f"{options.cat} has other bytes than the {len(seen.messages)} messages seen")
    if options.save:
        with open(options.save, "w", encoding="utf-8") as f:
            json.dump({"to": seen.to, "messages": len(seen.messages), "digest": seen.digest(len(seen.messages))}, f)
    for line in judgement.told:
        print(line)
    if judgement.bad() > len(judgement.told):
        print(f"and {judgement.bad() - len(judgement.told)} more")
    if options.json:
        print(json.dumps(dict(judgement.counts, violations=judgement.bad())))
    else:
        print(", ".join(f"{count} {name}" for name, count in judgement.counts.items() if count))
        print("no violation" if not judgement.bad() else f"{judgement.bad()} VIOLATIONS")
    return 1 if judgement.bad() else 0


if __name__ == "__main__":
    sys.exit(main())
