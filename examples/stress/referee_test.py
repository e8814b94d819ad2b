#!/usr/bin/env python3
"""Every kind of violation is made once, and the referee must name it. Run: python3 referee_test.py"""
import base64
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
STORE = os.path.join(HERE, "..", "..", "docs", "vectors", "store")
FILES = ["m1-" + c * 32 + ".log" for c in "ab"]


class Case:
    """Two runs under one lease and what a store holds of them; to be spoiled."""

    def __init__(self):
        self.directory = tempfile.TemporaryDirectory()
        self.messages = []
        self.sent, self.receipts = {}, {}
        for r, run in enumerate(("one", "two")):
            self.sent[run] = [f"{run} {n}" for n in range(3)]
            self.receipts[run] = []
            for n, payload in enumerate(self.sent[run]):
                place = {"timestampNanos": str(1000 * (r + 1) + n), "dataFile": FILES[r], "position": n}
                self.messages.append(dict(place, payload=payload, leases=[{"name": "job"}]))
                self.receipts[run].append(dict(place, line=n + 1, state="COMMITTED"))
        self.exits = {"one": "0", "two": "0"}

    def path(self, name):
        return os.path.join(self.directory.name, name)

    def write(self, name, lines):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write("".join(f"{line}\n" for line in lines))

    def judge(self, *arguments):
        for run, payloads in self.sent.items():
            self.write(f"{run}.sent", payloads)
            self.write(f"{run}.leases", ["job"])
            self.write(f"{run}.receipts", map(json.dumps, self.receipts[run]))
            if run in self.exits:
                self.write(f"{run}.exit", [self.exits[run]])
        self.write("messages", map(json.dumps, self.messages))
        done = subprocess.run(
            [sys.executable, os.path.join(HERE, "referee.py"), "--store", STORE, "--log", "jobs", "--sent",
             self.directory.name, "--messages", self.path("messages"), "--final", "--json", *arguments],
            capture_output=True, text=True, check=False,
        )
        return done.returncode, json.loads(done.stdout.splitlines()[-1])


class RefereeTest(unittest.TestCase):
    def setUp(self):
        self.case = Case()
        self.addCleanup(self.case.directory.cleanup)

    def found(self, *kinds, arguments=()):
        code, counts = self.case.judge(*arguments)
        self.assertEqual(code, 1 if kinds else 0, counts)
        for kind in kinds:
            self.assertTrue(counts.get(kind), counts)

    def test_nothing_is_wrong(self):
        self.found()

    def test_lost(self):
        del self.case.messages[1]
        self.found("lost")

    def test_doubled(self):
        self.case.messages.insert(1, dict(self.case.messages[0], position=7))
        self.found("doubled")

    def test_ghost(self):
        self.case.receipts["one"][0] = {"line": 1, "state": "REJECTED", "reason": "closed"}
        self.found("ghosts")

    def test_moved(self):
        self.case.messages[0]["timestampNanos"] = str(int(self.case.messages[0]["timestampNanos"]) - 1)
        self.found("moved")

    def test_other_bytes(self):
        self.case.messages[0]["payload"] += "x"
        self.found("aliens", "lost")

    def test_unreceipted(self):
        self.case.receipts["two"].pop()
        self.found("unreceipted")

    def test_killed_writers_may_leave_messages_without_verdict(self):
        self.case.receipts["two"].pop()
        del self.case.exits["two"]
        self.found()

    def test_unordered(self):
        self.case.messages[0:2] = reversed(self.case.messages[0:2])
        self.found("unordered")

    def mix(self):
        message = self.case.messages[2]
        message.update(timestampNanos="5000")
        self.case.receipts["one"][2].update(timestampNanos="5000")
        self.case.messages.sort(key=lambda m: int(m["timestampNanos"]))

    def test_mixed(self):
        self.mix()
        self.found("mixed")

    def test_a_run_that_took_its_lease_anew(self):
        self.mix()
        self.case.write("one.err", ["cinch append: a lease is no longer held: it was not renewed in time; taking it anew"])
        self.found()

    def test_a_run_that_took_its_lease_anew_once_and_came_back_twice(self):
        self.mix()
        self.case.write("one.err", ["cinch append: a lease is no longer held: it was not renewed in time; taking it anew"])
        self.case.messages[1]["timestampNanos"] = self.case.receipts["one"][1]["timestampNanos"] = "2001"
        self.case.messages[3]["timestampNanos"] = self.case.receipts["two"][1]["timestampNanos"] = "2002"
        self.case.messages[4]["timestampNanos"] = self.case.receipts["two"][2]["timestampNanos"] = "2003"
        self.case.messages.sort(key=lambda m: int(m["timestampNanos"]))
        self.found("mixed")

    def test_a_receipt_told_twice(self):
        self.case.receipts["one"].insert(1, self.case.receipts["one"][0])
        self.found("misnumbered")

    def test_a_hole_in_the_receipts(self):
        del self.case.receipts["two"][1], self.case.exits["two"]
        self.found("misnumbered")

    def test_receipts_in_another_order(self):
        self.case.receipts["two"].reverse()
        self.found("misnumbered")

    def test_committed_and_then_rejected(self):
        self.case.receipts["one"].append({"line": 2, "state": "REJECTED", "reason": "closed"})
        self.case.messages.pop(1)
        self.found("misnumbered")

    def test_a_receipt_for_what_was_not_sent(self):
        self.case.receipts["two"].append(dict(self.case.receipts["two"][2], line=4))
        del self.case.exits["two"]
        self.found("unsent")

    def test_a_good_end_without_the_last_message(self):
        self.case.receipts["two"].pop()
        self.case.messages.pop()
        self.found("untold")

    def test_a_good_end_and_a_message_that_was_rejected(self):
        self.case.receipts["two"][2] = {"line": 3, "state": "REJECTED", "reason": "closed"}
        self.case.messages.pop()
        self.found("untold")
        self.case.exits["two"] = "3"
        self.found()

    def test_who_is_stopped_may_leave_lines(self):
        self.case.receipts["two"].pop()
        self.case.messages.pop()
        self.case.exits["two"] = "143"
        self.found()

    def test_holders(self):
        self.case.write("one.started", ["5"])
        self.case.write("one.held", ["7"])
        holders = self.case.path("holders")
        self.found(arguments=["--holders", holders])
        with open(holders, encoding="utf-8") as f:
            one, two = json.load(f)
        self.assertEqual(one, {"run": "one", "log": "jobs", "leases": ["job"], "anew": 0, "started": 5, "held": 7, "ended": None,
                               "messages": [[1000, 1], [1001, 2], [1002, 3]]})
        self.assertEqual(two["messages"][0], [2000, 1])

    def test_mislabelled(self):
        self.case.messages[0]["leases"] = []
        self.found("mislabelled")

    def test_unsettled(self):
        self.case.receipts["two"][2]["timestampNanos"] = str(1 << 62)
        self.case.messages.pop()
        self.found("unsettled")

    def test_changed_before(self):
        save = self.case.path("look")
        self.found(arguments=["--save", save])
        self.found(arguments=["--earlier", save])
        self.case.messages.pop(0)
        self.found("changed", arguments=["--earlier", save])

    def test_changed_by_what_came_late(self):
        save = self.case.path("look")
        late = self.case.messages.pop()
        self.case.judge("--save", save)
        self.case.messages.append(late)
        self.found("changed", arguments=["--earlier", save])

    def test_unlike(self):
        cat = self.case.path("cat")
        self.case.write("cat", [m["payload"] for m in self.case.messages])
        self.found(arguments=["--cat", cat])
        self.case.write("cat", [m["payload"] for m in self.case.messages[1:]])
        self.found("unlike", arguments=["--cat", cat])

    def test_bytes_that_are_no_text(self):
        self.case.messages[0].pop("payload")
        self.case.messages[0]["payloadBase64"] = base64.b64encode(b"one 0").decode()
        self.found()

    def test_the_files_themselves(self):
        expected = os.path.join(HERE, "..", "..", "docs", "vectors", "expected.jsonl")
        with open(expected, encoding="utf-8") as f:
            messages = [json.loads(line) for line in f]
        done = subprocess.run(
            [sys.executable, os.path.join(HERE, "referee.py"), "--store", STORE, "--log", "jobs", "--json"],
            capture_output=True, text=True, check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(json.loads(done.stdout)["settled"], len(messages))


if __name__ == "__main__":
    unittest.main()
