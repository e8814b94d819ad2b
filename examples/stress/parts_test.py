#!/usr/bin/env python3
"""The parts of the stress test that judge, each made to find what it is for. Run: python3 parts_test.py"""
import importlib.machinery
import importlib.util
import io
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
import standing  # noqa: E402


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

    def told(self, script, kill, small=False):
        told = []
        one = fleet.Fleet(mock.Mock(directories=[self.directory], small=small), "self", tempfile.mkdtemp(dir=self.directory), None)
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
        self.assertEqual([], self.told("exit 4", False, small=True))


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

        with mock.patch.object(reader, moves, lambda *_: next(published) if len(passes) > 1 else 0):
            with mock.patch.object(log, "all", messages):
                try:
                    return [m[0] for m in log.messages()]
                except reader.Damaged:
                    return "damaged"

    def test_goes_on_where_it_was(self):
        self.assertEqual([1, 2, 3], self.read([1, 2, FileNotFoundError()], [1, 2, 3]))
        self.assertEqual([1, 2, 3], self.read([1, 2, OSError(116, "stale")], [2, 3]))

    def test_goes_on_where_messages_expired(self):
        self.assertEqual([1, 3], self.read([1, FileNotFoundError()], [3], moves="last_floor"))

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


if __name__ == "__main__":
    unittest.main()
