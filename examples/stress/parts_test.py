#!/usr/bin/env python3
"""The parts of the stress test that judge, each made to find what it is for. Run: python3 parts_test.py"""
import importlib.machinery
import importlib.util
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.append(os.path.join(HERE, "..", "nfs-cluster"))
sys.dont_write_bytecode = True

import background  # noqa: E402
import endings  # noqa: E402
import fleet  # noqa: E402
import looks  # noqa: E402
import operations  # noqa: E402
import places  # noqa: E402
import reads  # noqa: E402
import referee  # noqa: E402
import rivals  # noqa: E402
import standing  # noqa: E402
import wires  # noqa: E402


class Temporary(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, text):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path


class EndingsTest(unittest.TestCase):
    def told(self, *ends):
        told = []
        judged = endings.Endings(told.append)
        for what, code, text in ends:
            judged.judge(what, code, text)
        judged.never_good()
        return told

    def test_good_ones(self):
        self.assertEqual([], self.told(("append a", 0, ""), ("close", 3, "too early"), ("gc", 4, "no such file"), ("cat", -9, "")))

    def test_codes_that_are_no_answers(self):
        for code in (1, 2, 126, 127, 134, 255, -6, -11):
            self.assertEqual(1, len(self.told(("gc", code, ""))), code)

    def test_what_no_command_may_say(self):
        for text in (
            "cinch gc: unexpected java.lang.IllegalStateException: x (a fault of this program; run with --debug and report it)",
            "cinch append: out of memory; give it more with CINCH_JAVA_OPTS=-Xmx…; 2 messages were committed",
            'Exception in thread "x" java.lang.Error',
            "x\n\tat dev.cinch.Main.main(Main.java:1)",
        ):
            self.assertEqual(1, len(self.told(("gc", 4, text))), text)

    def test_a_command_that_never_ends_well(self):
        self.assertEqual(1, len(self.told(*[("gc", 4, "x")] * 5)))
        self.assertEqual([], self.told(*[("gc", 4, "x")] * 9, ("gc", 0, "")))
        self.assertEqual([], self.told(*[("gc", -9, "")] * 9))

    def test_signals_of_others(self):
        self.assertTrue(endings.unasked(-9, set()))
        self.assertTrue(endings.unasked(134, {9}))
        self.assertFalse(endings.unasked(-9, {9}))
        self.assertFalse(endings.unasked(143, {9, 15}))
        self.assertFalse(endings.unasked(4, set()))


class StandingTest(Temporary):
    """A closer, played by a shell."""

    def told(self, script, kill, fickle=False):
        told = []
        one = fleet.Fleet(mock.Mock(directories=[self.directory], fickle=fickle), "self", tempfile.mkdtemp(dir=self.directory), None)
        one.violation = told.append
        with mock.patch.object(fleet, "CINCH", "/bin/sh"):
            process = standing.Standing(one, "closer", "-c", script)
        if kill:
            while not os.path.getsize(process.path):
                pass
            process.end()
        process.child.wait()
        self.assertTrue(process.ended())
        return told

    def test_killed_by_us(self):
        self.assertEqual([], self.told("echo too early >&2; sleep 60", True))

    def test_says_that_something_is_damaged_and_goes_on(self):
        self.assertEqual(1, len(self.told("echo 'x: damaged at byte 1' >&2; sleep 60", True)))

    def test_ends_by_itself(self):
        self.assertEqual(1, len(self.told("exit 0", False)))
        self.assertEqual(1, len(self.told("kill -9 $$", False)))
        self.assertEqual(1, len(self.told("exit 4", False)))

    def test_has_no_room(self):
        self.assertEqual([], self.told("exit 4", False, fickle=True))


class BackgroundTest(Temporary):
    """A process on a machine that was to go on to the end."""

    def complained(self, text):
        told = []
        said = background.Background(mock.Mock(violation=told.append), "serve-1", None, self.write("err", text)).judge()
        return said, len(told)

    def test_what_it_complains_of(self):
        warning = "cinch serve: there is no authentication: whoever reaches 0.0.0.0:8470 may take leases\n"
        self.assertEqual((None, 0), self.complained(""))
        self.assertEqual((None, 0), self.complained(warning))
        self.assertEqual(("serve-1 complained 2 times, at last: b", 0), self.complained(warning + "a\nb\n"))
        self.assertEqual(1, self.complained(warning + "x: damaged at byte 1\n")[1])


class FleetTest(Temporary):
    def test_what_hangs(self):
        told = []
        one = fleet.Fleet(mock.Mock(directories=[self.directory], small=False), "self", self.directory, None)
        one.violation, one.patience = told.append, 0.2
        with mock.patch.object(fleet, "CINCH", "/bin/sh"):
            one.run("-c", "exec sleep 60")
        self.assertEqual(1, len(told))
        self.assertIn("hangs", told[0])

    def test_who_was_told_twice_to_end_owes_no_receipts(self):
        one = fleet.Fleet(mock.Mock(directories=[self.directory], small=False), "self", self.directory, random.Random(1))
        deaf = self.write("deaf", "#!/bin/sh\nexec 2>&-\ntrap 'echo heard; n=$((n + 1)); [ $n -lt $MOST ] || exit 143' TERM\necho ready\nwhile :; do sleep 0.05; done\n")
        os.chmod(deaf, 0o700)
        for most, ended in ((1, True), (2, False)):
            with mock.patch.object(fleet, "CINCH", deaf):
                writer = fleet.Writer(one, f"w{most}", "log", count=0, environment={"MOST": str(most)})
            for heard in range(most):
                places.wait_until("ready", lambda n=heard: len(referee.lines(writer.base + ".receipts")) > n)
                one.signal(writer.child, signal.SIGTERM)
            places.wait_until("the end", writer.ended)
            code = referee.number(writer.base + ".exit")
            self.assertEqual(ended, code >= 0, code)


class ReadsTest(Temporary):
    def message(self, timestamp, line, run="w1"):
        place = {"timestampNanos": str(timestamp), "dataFile": "f", "position": timestamp}
        return json.dumps(dict(place, payload=f"log {run} {line:06d} x")) + "\n"

    def receipt(self, line, timestamp=None):
        if timestamp is None:
            return json.dumps({"line": line, "state": "REJECTED", "reason": "closed"}) + "\n"
        return json.dumps({"line": line, "state": "COMMITTED", "timestampNanos": str(timestamp), "dataFile": "f", "position": timestamp}) + "\n"

    def live(self, before, after, printed, complete=True):
        self.write("log/w1.receipts", before)
        live = reads.Live(self.directory, "log")
        self.write("log/w1.receipts", before + after)
        return list(live.wrong(self.write("out", printed), complete))

    def test_live(self):
        printed = self.message(5, 1) + self.message(6, 2)
        self.assertEqual([], self.live(self.receipt(1, 5), self.receipt(2), printed))

    def test_live_of_what_was_rejected_before(self):
        self.assertEqual(1, len(self.live(self.receipt(1), "", self.message(5, 1))))

    def test_live_of_what_was_committed_in_another_place(self):
        self.assertEqual(1, len(self.live(self.receipt(1, 6), "", self.message(5, 1), complete=False)))

    def test_live_twice(self):
        self.assertEqual(1, len(self.live("", "", self.message(5, 1) * 2)))

    def test_live_lacks_what_was_committed_before(self):
        self.assertEqual(1, len(self.live(self.receipt(1, 5), self.receipt(2, 6), "")))
        self.assertEqual([], self.live(self.receipt(1, 5), "", "", complete=False))

    def test_settled(self):
        settled = reads.Settled(self.directory)
        for text, expected in (("ab", 0), ("abcd", 0), ("abc", 0), ("abx", 1)):
            self.assertEqual(expected, len(list(settled.wrong("log", self.write("out", text)))), text)
        self.assertEqual([], list(settled.unlike("log", self.write("cat", "abcde"))))
        for text in ("abc", "abce"):
            self.assertEqual(1, len(list(settled.unlike("log", self.write("cat", text)))), text)


class LooksTest(Temporary):
    def test_a_log_without_an_identity(self):
        told = []
        one = mock.Mock(work=self.directory, violation=told.append)
        one.store.return_value = self.directory
        looks.Referee(one).look("log")
        self.assertEqual([], told)
        looks.Referee(one).look("log", final=True)
        self.assertEqual(1, len(told))


class ReaderTest(unittest.TestCase):
    """What reader.py does when somebody retires what it reads."""

    def read(self, *passes, moves="last_checkpoint"):
        """The timestamps that are read; before each pass but the first, a checkpoint or floor is published."""
        reader = referee.load_reader(os.path.join(HERE, "..", "reader.py"))
        log = reader.Log(os.path.join(HERE, "..", "..", "docs", "vectors", "store"), "jobs")
        published = iter(range(99))
        given = iter(passes)

        def messages(checkpoint, floor, after):
            for one in next(given):
                if isinstance(one, Exception):
                    raise one
                yield one, "f", 0, b"", []

        def next_one(*_):
            count = next(published) if len(passes) > 1 else 0
            return {"messages": count, "to": count} if moves == "last_floor" else count

        with mock.patch.object(reader, moves, next_one):
            with mock.patch.object(log, "all", messages):
                try:
                    return [m[0] for m in log.messages()]
                except reader.Damaged:
                    return "damaged"

    def test_goes_on_where_it_was(self):
        self.assertEqual([1, 2, 3], self.read([1, 2, FileNotFoundError()], [1, 2, 3]))
        self.assertEqual([1, 2, 3], self.read([1, 2, OSError(116, "stale")], [2, 3]))

    def test_ends_where_messages_expired_that_it_had_not_given(self):
        self.assertEqual("damaged", self.read([1, FileNotFoundError()], [3], moves="last_floor"))

    def test_goes_on_where_those_expired_that_it_had_given(self):
        self.assertEqual([1, 2, 3], self.read([1, 2, FileNotFoundError()], [3], moves="last_floor"))

    def test_what_is_gone_for_no_reason(self):
        self.assertRaises(FileNotFoundError, self.read, [1, FileNotFoundError()])

    def test_what_stands_twice_or_in_another_order(self):
        self.assertEqual("damaged", self.read([1, 2, 2]))
        self.assertEqual("damaged", self.read([1, 3, 2]))

    def test_a_look_pauses_before_it_looks_again(self):
        pauses = []
        broken = mock.Mock(Damaged=ValueError)
        broken.Log.side_effect = ValueError
        with mock.patch("time.sleep", pauses.append), mock.patch("sys.stderr", io.StringIO()):
            self.assertRaises(ValueError, referee.look, broken, "s", "l", 3, None, None)
        self.assertEqual([0.5, 0.5], pauses)


class OperationsTest(Temporary):
    """The loop over a command's operations, with runs that are only played."""

    def met(self, outcomes):
        told = []
        one = mock.Mock(violation=told.append, users=[0], counts={"operations": 0})
        one.rng.randrange.return_value = 0
        one.store.return_value = self.directory
        with mock.patch.object(operations, "library"), mock.patch.object(operations.fleets, "Writer"):
            one.work = self.directory
            asked = operations.Operations(one, mock.Mock(), 1)
            asked.tried = []
            outcomes = iter(outcomes)

            def once(command, fault, log, n):
                asked.tried.append(n)
                return next(outcomes)

            asked.once = once
            count, _ = asked.all("append", "kill", float("inf"))
        return count, asked.tried, told

    def test_to_the_end(self):
        good, unmet = ("write f", -9), ("", 0)
        self.assertEqual((3, [1, 3, 5, 5, 2, 4, 4], []), self.met([good, good, unmet, unmet, good, unmet, unmet]))

    def test_who_was_refused_tries_again(self):
        good, refused, unmet = ("write f", -9), ("", 3), ("", 0)
        self.assertEqual(
            (3, [1, 3, 3, 5, 7, 7, 2, 2], []), self.met([good, refused, good, good, unmet, unmet, unmet, unmet])
        )

    def test_too_few(self):
        self.assertEqual(1, len(self.met([("write f", -9), *[("", 0)] * 4])[2]))

    def test_always_refused(self):
        self.assertEqual(3, len(self.met([("", 3)] * operations.RETRIES * 2)[2]))


@unittest.skipUnless(shutil.which("cc"), "SKIPPED: there is no C compiler (cc)")
class BreakpointTest(Temporary):
    """Python's own calls are met."""

    def run_with(self, fault, at, script):
        """What a script prints that finds a file f open, its descriptor being d; what was met, what the file holds then."""
        library = operations.library(tempfile.mkdtemp(dir=self.directory))
        file, note = self.write("store/f", ""), self.path("note")
        environment = dict(
            os.environ, LD_PRELOAD=library, BREAK_DIR=os.path.dirname(file), BREAK_AT=str(at), BREAK_DO=fault, BREAK_NOTE=note
        )
        script = f"import os; d = os.open({file!r}, os.O_RDWR)\n" + script
        done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
        with open(note, encoding="utf-8") as f, open(file, encoding="utf-8") as g:
            return done, f.read().split(" ")[0], g.read()

    def test_half_is_written(self):
        done, met, holds = self.run_with("enospc", 2, "os.write(d, b'abcd')")
        self.assertEqual(("write", "ab"), (met, holds))
        self.assertIn("No space left", done.stderr)

    def test_half_of_several_buffers_is_written(self):
        for fault in ("enospc", "late"):
            done, met, holds = self.run_with(fault, 2, "os.writev(d, [b'abc', b'', b'defgh'])")
            self.assertEqual(("writev", "abcd"), (met, holds))
        self.assertEqual(-9, done.returncode)

    def test_who_is_interrupted_has_written_nothing(self):
        _, met, holds = self.run_with("eintr", 2, "os.write(d, b'abcd')")  # Python tries again
        self.assertEqual(("write", "abcd"), (met, holds))

    def test_reads(self):
        done, met, _ = self.run_with("eio", 2, "os.pread(d, 4, 0)")
        self.assertTrue(met.startswith("pread"))
        self.assertIn("Input/output error", done.stderr)

    def test_reads_are_not_counted_where_nothing_comes_of_it(self):
        _, met, holds = self.run_with("kill", 2, "os.read(d, 4); os.write(d, b'x')")
        self.assertEqual(("write", ""), (met, holds))


class PlacesTest(Temporary):
    def test_a_signal_while_a_volume_is_made(self):
        undone = []

        def start(place, *_):
            place.undo.append(lambda: undone.append(1))
            raise SystemExit("stopped by signal 15")

        with mock.patch.multiple(places, need_root=mock.DEFAULT, need=mock.DEFAULT, start_gluster=start, listens=lambda *_: False):
            there = os.path.exists
            with mock.patch("os.path.exists", lambda path: path == "/dev/fuse" or there(path)):
                self.assertRaises(SystemExit, places.gluster, self.directory)
        self.assertEqual([1], undone)

    def test_what_is_kept(self):
        for keep, there in ((True, True), (False, False)):
            place = places.given(self.directory, self.directory)
            place.close(keep)
            self.assertEqual(there, os.path.exists(place.remains))


class RunTest(Temporary):
    """The command itself."""

    def refused(self, *arguments, environment=None):
        done = subprocess.run(
            [sys.executable, os.path.join(HERE, "run"), *arguments], capture_output=True, text=True, env=environment, check=False
        )
        self.assertEqual((2, "", 1), (done.returncode, done.stdout, len(done.stderr.splitlines())), done.stderr)
        return done.stderr

    def test_wrong_command_lines(self):
        self.assertIn("lease stands there twice", self.refused("--commands", "gc,lease,lease"))
        self.assertIn("x is none of append", self.refused("--commands", "x"))
        self.refused("--commands", "")
        self.refused("--faults", "kill,kill")
        self.refused("--step", "0")

    def test_no_compiler(self):
        self.assertIn("no C compiler", self.refused(environment=dict(os.environ, PATH=self.directory)))

    def test_a_store_that_cannot_be_copied_is_kept(self):
        loader = importlib.machinery.SourceFileLoader("run", os.path.join(HERE, "run"))
        run = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
        loader.exec_module(run)
        place, said = places.given(self.directory, self.directory), []
        failed = mock.Mock(returncode=2, stderr="No space left on device")
        with mock.patch.object(run.subprocess, "run", lambda *_, **__: failed), mock.patch.object(run, "say", said.append):
            run.keep_store(place, self.directory)
        self.assertTrue(os.path.exists(place.remains))
        self.assertIn("No space left", said[0])
        self.assertIn(place.remains, said[-1])


class RivalsTest(unittest.TestCase):
    """Leases of one name, and lines under them; a correlation begins with the time of its grant."""

    FIRST, SECOND = "0000000000000001aa", "0000000000000002bb"

    def told(self, *lines):
        told = rivals.Rivals()
        told.read("".join(line + "\n" for line in lines) + "HELD a-0 rival")  # which was being written
        return told

    def one(self, writer, correlation, begin, end):
        return [f"GRANTED {writer} rivalry/0 {correlation} {begin}", f"HELD {writer} rivalry/0 {correlation} {end}"]

    def doubles(self, *lines):
        return list(self.told(*lines).doubles())

    def test_leases_one_after_the_other(self):
        self.assertEqual([], self.doubles(*self.one("a-0", self.FIRST, 10, 20), *self.one("b-0", self.SECOND, 21, 30)))

    def test_a_lease_held_by_two(self):
        self.assertEqual(1, len(self.doubles(*self.one("a-0", self.FIRST, 10, 20), *self.one("b-0", self.SECOND, 19, 30))))
        self.assertEqual(1, len(self.doubles(*self.one("a-0", self.FIRST, 10, 40), *self.one("b-0", self.SECOND, 19, 30))))

    def test_an_answer_that_came_when_the_lease_was_over(self):
        late = "GRANTED c-0 rivalry/0 0000000000000003cc 35"
        self.assertEqual([], self.doubles(*self.one("a-0", self.FIRST, 10, 40), late, *self.one("b-0", self.SECOND, 41, 50)))
        self.assertEqual(1, len(self.doubles(*self.one("a-0", self.FIRST, 10, 40), late, *self.one("b-0", self.SECOND, 39, 50))))

    def test_other_names_are_other_leases(self):
        other = [line.replace("rivalry/0", "own/b-0") for line in self.one("b-0", self.SECOND, 12, 30)]
        self.assertEqual([], self.doubles(*self.one("a-0", self.FIRST, 10, 20), *other))

    def wrong(self, found, *more):
        sent = ["SENT a-0 0", "CONFIRMED a-0 0", "SENT a-0 1", "SENT b-0 0", "CONFIRMED b-0 0", *more]
        return list(self.told(*sent).disorder(found))

    def test_lines_as_they_should_be(self):
        first, unknown, second = f"a-0 0 rivalry/0 {self.FIRST}", f"a-0 1 rivalry/0 {self.FIRST}", f"b-0 0 rivalry/0 {self.SECOND}"
        self.assertEqual([], self.wrong([first, second]))
        self.assertEqual([], self.wrong([first, unknown, second]))

    def test_lines_lost_doubled_rejected_or_of_nobody(self):
        first, second = f"a-0 0 rivalry/0 {self.FIRST}", f"b-0 0 rivalry/0 {self.SECOND}"
        self.assertEqual(["line ('a-0', 0) was confirmed and is not there"], self.wrong([second]))
        self.assertIn("line ('a-0', 0) is there twice", self.wrong([first, first, second]))
        rejected = f"a-0 2 rivalry/0 {self.FIRST}"
        self.assertEqual(["line ('a-0', 2) is there and was rejected"], self.wrong([first, rejected, second], "SENT a-0 2", "REJECTED a-0 2"))
        self.assertEqual(["line ('a-0', 2) is there and was not sent"], self.wrong([first, rejected, second]))

    def test_lines_out_of_order(self):
        first, unknown, second = f"a-0 0 rivalry/0 {self.FIRST}", f"a-0 1 rivalry/0 {self.FIRST}", f"b-0 0 rivalry/0 {self.SECOND}"
        self.assertEqual(1, len(self.wrong([unknown, first, second])))
        self.assertEqual(1, len(self.wrong([second, first])))
        self.assertIn("stand before and behind", self.wrong([first, second, unknown])[0])

    def test_takeovers_of_killed_ones(self):
        told = self.told(*self.one("a-0", self.FIRST, 10, 20), *self.one("b-0", self.SECOND, 4_000_000_030, 4_000_000_040))
        self.assertEqual([4.0], told.takeovers([("a", 30)]))
        self.assertTrue(told.has_rivals_lease("a"))
        released = self.told(*self.one("a-0", self.FIRST, 10, 20), f"RELEASED a-0 rivalry/0 {self.FIRST} 25", *self.one("b-0", self.SECOND, 26, 40))
        self.assertEqual([], released.takeovers([("a", 30)]))
        self.assertFalse(released.has_rivals_lease("a"))
        left = self.told(*self.one("a-0", self.FIRST, 10, 20), "REFUSED a-0 UNAVAILABLE 28", *self.one("b-0", self.SECOND, 40, 50))
        self.assertEqual([], left.takeovers([("a", 30)]))
        before = self.told(*self.one("a-0", self.FIRST, 10, 20), *self.one("b-0", self.SECOND, 26, 40))
        self.assertEqual([], before.takeovers([("a", 30)]))


class WiresTest(unittest.TestCase):
    """What happens to a packet from 1 to 2, without namespaces."""

    class Pipes(wires.Wires):
        def __init__(self):  # no namespaces
            self.rng, self.weather = random.Random(1), wires.Weather()
            self.counts = dict.fromkeys(("passed", "lost", "cut", "doubled", "delayed"), 0)
            self.fds, self.late, self.number = {1: None, 2: None}, [], 0
            self.sent = []

        def put(self, target, packet):
            self.sent.append(packet)

    def sent(self, weather, count=1000):
        pipes = self.Pipes()
        pipes.fds[2] = 2
        pipes.weather = weather
        for _ in range(count):
            pipes.take(1, bytes([0x45]) + bytes(18) + b"\x02")
        return len(pipes.sent), len(pipes.late)

    def test_weathers(self):
        self.assertEqual((1000, 0), self.sent(wires.Weather()))
        self.assertEqual((0, 0), self.sent(wires.Weather(cut=[(1, 2)])))
        self.assertEqual((1000, 0), self.sent(wires.Weather(cut=[(2, 1)])))
        self.assertTrue(600 < self.sent(wires.Weather(loss=0.3))[0] < 800)
        now, late = self.sent(wires.Weather(duplicate=0.3))
        self.assertTrue(now == 1000 and 200 < late < 400)
        now, late = self.sent(wires.Weather(reorder=0.5))
        self.assertTrue(now + late == 1000 and 400 < late < 600)


if __name__ == "__main__":
    unittest.main()
