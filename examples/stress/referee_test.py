#!/usr/bin/env python3
"""Every kind of violation is made once, and the referee must name it. Run: python3 referee_test.py"""
import base64
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import leases  # noqa: E402
import referee  # noqa: E402

STORE = os.path.join(HERE, "..", "..", "docs", "vectors", "store")
FILES = ["m1-" + c * 32 + ".log" for c in "ab"]


def under(granted):
    """A lease, by the time of its grant."""
    return [{"name": "job", "correlation": f"{granted:016x}{granted:016x}"}]


class Case:
    """Two runs, each under its lease of one name, and what a store holds of them; to be spoiled."""

    def __init__(self):
        self.directory = tempfile.TemporaryDirectory()
        self.messages = []
        self.sent, self.receipts = {}, {}
        self.anew = {}
        for r, run in enumerate(("one", "two")):
            self.sent[run] = [f"{run} {n}" for n in range(3)]
            self.receipts[run] = []
            for n, payload in enumerate(self.sent[run]):
                place = {"timestampNanos": str(1000 * (r + 1) + n), "dataFile": FILES[r], "position": n}
                self.messages.append(dict(place, payload=payload, leases=under(10 * (r + 1))))
                self.receipts[run].append(dict(place, line=n + 1, state="COMMITTED"))
        self.exits = {"one": "0", "two": "0"}

    def path(self, name):
        return os.path.join(self.directory.name, name)

    def write(self, name, lines):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write("".join(f"{line}\n" for line in lines))

    def move(self, run, line, timestamp, lease=None):
        """Puts a message and its receipt to another time, and under another lease if one is given."""
        message = next(m for m in self.messages if m["payload"] == self.sent[run][line - 1])
        message["timestampNanos"] = self.receipts[run][line - 1]["timestampNanos"] = str(timestamp)
        message["leases"] = lease or message["leases"]
        self.messages.sort(key=lambda m: (int(m["timestampNanos"]), m["dataFile"]))

    def judge(self, *arguments):
        for run, payloads in self.sent.items():
            self.write(f"{run}.sent", payloads)
            self.write(f"{run}.leases", ["job"])
            self.write(f"{run}.receipts", map(json.dumps, self.receipts[run]))
            if run in self.anew:
                notice = "cinch append: a lease is no longer held: it was not renewed in time; taking it anew"
                self.write(f"{run}.err", ["cinch append: there was no log", *[notice] * self.anew[run]])
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

    def found_exactly(self, **kinds):
        _, counts = self.case.judge()
        self.assertEqual(kinds, {kind: counts[kind] for kind in referee.VIOLATIONS if counts.get(kind)})
        return counts

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

    def test_unknown_ones_may_be_there(self):
        self.case.receipts["one"][0] = {"line": 1, "state": "UNKNOWN", "reason": "no answer"}
        self.found("untold")  # for it ended with 0: no ghost

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

    def test_mixed(self):
        self.case.move("one", 3, 5000)
        self.found_exactly(mixed=1)

    def test_a_run_that_takes_its_lease_anew(self):
        self.case.move("one", 3, 5000, under(30))
        self.found_exactly(retaken=1)
        self.case.anew = {"one": 1}
        self.assertEqual(2, self.found_exactly()["takeovers"])
        self.case.move("one", 2, 4000, under(25))
        self.found_exactly(retaken=1)
        self.case.anew = {"one": 2}
        self.found_exactly()

    def test_mixed_by_the_first_lease_of_a_run_that_has_another(self):
        self.case.anew = {"one": 1}
        self.case.move("one", 3, 5000, under(30))
        self.case.move("one", 2, 4000)
        self.found_exactly(mixed=1)

    def test_mixed_by_the_second_lease_of_a_run(self):
        self.case.anew = {"one": 1}
        self.case.move("one", 3, 2001, under(30))
        self.found_exactly(mixed=1)

    def test_mixed_by_one_run_alone(self):
        self.case.anew = {"one": 1}
        self.case.move("one", 1, 1000, under(11))
        self.found_exactly(mixed=1)

    def test_leases_that_were_granted_in_another_order(self):
        for line in (1, 2, 3):
            self.case.move("two", line, 2000 + line, under(5))
        self.found_exactly(mixed=1)

    def test_two_runs_under_one_lease(self):
        self.case.anew = {"one": 1, "two": 1}
        for line in (1, 2, 3):
            self.case.move("two", line, 2000 + line, under(10))
        self.found_exactly(shared=3)

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
        self.assertEqual(one, {"run": "one", "log": "jobs", **under(10)[0], "started": 5, "held": 7, "ended": None,
                               "messages": [[1000, 1], [1001, 2], [1002, 3]]})
        self.assertEqual(two["messages"][0], [2000, 1])

    def test_holders_of_a_run_that_takes_its_lease_anew(self):
        self.case.anew = {"one": 1}
        self.case.move("one", 3, 5000, under(30))
        self.case.write("one.held", ["7"])
        self.case.write("one.ended", ["9"])
        holders = self.case.path("holders")
        self.found(arguments=["--holders", holders])
        with open(holders, encoding="utf-8") as f:
            first, _, second = json.load(f)
        self.assertEqual((under(10)[0]["correlation"], 7, 9), (first["correlation"], first["held"], first["ended"]))
        self.assertEqual((under(30)[0]["correlation"], None, 9), (second["correlation"], second["held"], second["ended"]))
        self.assertEqual([[1000, 1], [1001, 2]], first["messages"])
        self.assertEqual([[5000, 3]], second["messages"])

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
        with tempfile.TemporaryDirectory() as directory:
            store = shutil.copytree(STORE, os.path.join(directory, "store"))
            command = [sys.executable, os.path.join(HERE, "referee.py"), "--store", store, "--log", "jobs", "--json", "--tries", "1"]
            lost = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(lost.returncode, 4, lost.stdout + lost.stderr)
            self.assertIn("damaged at byte", lost.stderr)
            for path in glob.glob(os.path.join(store, "logs", "jobs", "horizon", "records", "*", "0000000002*")):
                os.remove(path)  # which lists the bucket with the hole
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(json.loads(done.stdout)["settled"], len(messages) // 2)


class LeasesTest(unittest.TestCase):
    def holder(self, run, granted, messages, started=None, held=None, ended=None, log="a"):
        lines = [[timestamp, line] for line, timestamp in enumerate(messages, 1)]
        lease = {"name": "x", "correlation": f"{granted:016x}{granted:016x}"}
        return {"run": run, "log": log, **lease, "messages": lines, "started": started, "held": held, "ended": ended}

    def test_one_after_the_other(self):
        ones = [self.holder("a", 1, [1, 2], 0, 5, 9), self.holder("b", 2, [3, 4], 8, 12, 13, log="b")]
        self.assertEqual([], list(leases.disorder(ones)))

    def test_mixed_over_two_logs(self):
        ones = [self.holder("a", 1, [1, 3]), self.holder("b", 2, [2, 4], log="b")]
        self.assertEqual(1, len(list(leases.disorder(ones))))
        ones[1]["name"] = "y"
        self.assertEqual([], list(leases.disorder(ones)))

    def test_a_run_with_two_leases_and_another_between(self):
        first, between = self.holder("a", 1, [1, 2], 0, 5, 19), self.holder("b", 2, [3, 4], 6, 9, 13, log="b")
        second = self.holder("a", 3, [5, 6], 0, None, 19)
        self.assertEqual([], list(leases.disorder([first, between, second])))
        for timestamp, one in ((3, first), (4, second)):
            with mock.patch.dict(one, messages=[[2, 1], [timestamp, 2]] if one is first else [[timestamp, 1], [6, 2]]):
                self.assertEqual(1, len(list(leases.disorder([first, between, second]))))

    def test_the_later_holder_has_the_earlier_messages(self):
        ones = [self.holder("a", 2, [3, 4], 0, 5, 9), self.holder("b", 1, [1, 2], 6, 12, 13, log="b")]
        self.assertEqual(1, len(list(leases.disorder(ones))))
        ones[1]["started"] = 4  # both may have asked at once
        self.assertEqual([], list(leases.disorder(ones)))

    def test_granted_in_another_order_than_messages_stand(self):
        ones = [self.holder("a", 2, [1, 2]), self.holder("b", 1, [3, 4], log="b")]
        self.assertEqual(1, len(list(leases.disorder(ones))))

    def test_two_under_one_lease(self):
        ones = [self.holder("a", 1, [1, 2]), self.holder("b", 1, [3, 4], log="b")]
        self.assertEqual(1, len(list(leases.disorder(ones))))

    def test_a_message_of_an_earlier_holder_that_came_later(self):
        earlier, later = self.holder("a", 1, [1, 2, 3], 0, 5), self.holder("b", 2, [8], 6, 9)
        for seen, expected in (({("a", 2), ("a", 3)}, 0), ({("a", 2)}, 1)):
            handover = leases.Handover(6, ["x"], "a", 2, seen)
            self.assertEqual(expected, len(list(handover.growth([earlier, later]))))
        self.assertEqual([], list(leases.Handover(6, ["y"], "a", 2, set()).growth([earlier, later])))

    def test_a_message_under_a_lease_that_the_earlier_holder_took_anew(self):
        again = self.holder("a", 3, [9], 0, None, 12)
        self.assertEqual([], list(leases.Handover(6, ["x"], "a", 2, set()).growth([again])))


if __name__ == "__main__":
    unittest.main()
