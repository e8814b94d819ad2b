"""The package against a real store and a real lease server; CINCH says which cinch, that of the checkout unless set."""

import ast
import json
import logging
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import types
import unittest
from unittest import mock

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "python"))
os.environ.setdefault("CINCH", str(TOP / "cli/bin/cinch"))

import cinch  # noqa: E402

RERUN = """
import sys
sys.path.insert(0, sys.argv[1])
import cinch
with cinch.Log("rerun", lease="rerun/1", lasting="5s") as log:
    for i in range(40):
        receipt = log.append({"text": str(i) * 4000})
        print(i, receipt.earlier, flush=True)
        if not receipt.earlier and sys.argv[2] == "killed" and i == 20:
            futures = [log.submit({"text": str(n) * 4000}) for n in range(21, 40)]
            sys.stdin.read()  # until it is killed
"""

# Is killed while it waits for a cinch that reads nothing.
BLOCKED = """
import signal, sys
sys.path.insert(0, sys.argv[1])
from cinch._command import Command
command = Command(["append"], cinch=sys.argv[2], takes_input=True)
signal.setitimer(signal.ITIMER_REAL, 0.5)
while True:
    command.write(b"x" * 9999 + b"\\n")
"""


def run(*arguments):
    return subprocess.run([os.environ["CINCH"], *arguments], check=True, stdout=subprocess.PIPE).stdout.decode()


class CinchTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temp = tempfile.TemporaryDirectory()
        store, key = cls.temp.name + "/store", cls.temp.name + "/key"
        run("init", "--bucket-width", "1s", "--message-limit", "70000", "--key", key, store)
        cls.server = subprocess.Popen(
            [os.environ["CINCH"], "serve", "--key", key, "--store", store, "--port", "0"], stdout=subprocess.PIPE
        )
        os.environ["CINCH_STORE"] = store
        os.environ["CINCH_SERVER"] = cls.server.stdout.readline().split()[-1].decode()
        drain = threading.Thread(target=cls.server.stdout.read, daemon=True)
        drain.start()

    @classmethod
    def tearDownClass(cls):
        cls.server.terminate()
        cls.server.wait()
        cls.server.stdout.close()
        subprocess.run(["chmod", "-R", "u+w", cls.temp.name], check=True)
        cls.temp.cleanup()

    def texts(self, name, **options):
        return [message.text for message in cinch.Log(name).read(live=True, **options)]

    def test_appends_and_reads(self):
        with cinch.Log("plain") as log:
            receipt = log.append("one")
            log.append(b"\xff\x00two")
            self.assertEqual(log.append({"n": 3, "id": "third"}).message_id, "third")
            with self.assertRaises(ValueError):
                log.append("two\nlines")
            with self.assertRaises(cinch.Refused) as refused:
                log.append("x" * 70001)
            self.assertIn("has 70001 bytes", str(refused.exception))
            log.submit("x" * 70001)
            with self.assertRaises(cinch.Refused):  # nobody looked at the receipt
                log.flush()
            with self.assertRaisesRegex(cinch.CinchError, "longer than a pipe"):
                log.append("x" * (64 << 20))
            read = list(log.read(live=True, start=receipt.time_ns))
        self.assertEqual([m.payload for m in read], [b"one", b"\xff\x00two", b'{"id":"third","n":3}'])
        self.assertEqual(read[0].id, receipt.id)
        self.assertEqual(read[0].leases, ())
        self.assertEqual(read[2].json, {"id": "third", "n": 3})
        self.assertEqual(read[0].time.timestamp(), receipt.time_ns // 1000 / 1e6)

    def test_sends_again_what_a_killed_process_gave_no_receipt_for(self):
        with cinch.Log("again") as log:
            log.append({"n": 0})
            os.kill(log._child.command.pid, signal.SIGSTOP)
            futures = [log.submit({"n": n}) for n in range(1, 50)]
            os.kill(log._child.command.pid, signal.SIGKILL)
            self.assertEqual(len({future.result().id for future in futures}), 49)
            self.assertEqual([m.json["n"] for m in log.read(live=True, unique=True)], list(range(50)))
            doubled = log.append({"n": 0, "id": "7"}), log.append({"n": 0, "id": "7"})
            self.assertNotEqual(doubled[0].id, doubled[1].id)
            self.assertEqual(len(list(log.read(live=True, unique=True))), 51)

    def test_is_exact_under_a_lease_by_name(self):
        with cinch.Log("exact", lease="exact/1", lasting="5s") as log:
            self.assertEqual(log.append("0").message_id, "exact/1:1")
            pid = log._child.command.pid
            futures = []
            for n in range(1, 3000):
                futures.append(log.submit(str(n)))
                if n == 2000:
                    futures[1000].result()
                    os.kill(pid, signal.SIGKILL)
            for future in futures:
                future.result()
            self.assertNotEqual(log._child.command.pid, pid)
            self.assertIn("exact/1:3000", log)
            self.assertNotIn("exact/1:3001", log)
        read = [m.json for m in cinch.Log("exact").read(live=True)]
        self.assertEqual([int(m["message"]) for m in read], list(range(3000)))
        with cinch.Log("exact", lease="exact/1") as log:
            self.assertTrue(log.append("0").earlier)
            self.assertFalse(log.append("more", id="mine").earlier)
            self.assertTrue(log.append("more", id="mine").earlier)

    def test_messages_with_one_id_that_are_on_their_way(self):
        for lease, most in (None, 2), ("ids/1", 1):
            with cinch.Log("ids", lease=lease, lasting="5s") as log:
                log.append({"id": "first", "odd": {"id": [1]}})
                os.kill(log._child.command.pid, signal.SIGSTOP)
                futures = [[log.submit({"id": id}) for _ in range(2)] for id in ("again", 0)]
                awaited = set(log._futures.values())  # by flush
                os.kill(log._child.command.pid, signal.SIGCONT)
                for both in futures:
                    self.assertEqual(len(set(both)), most)
                    self.assertTrue(awaited.issuperset(both))
                with self.assertRaisesRegex(TypeError, "text or a number"):
                    log.append({"id": (1, 2)})

    def test_what_others_wrote_under_its_lease_is_no_id(self):
        deep = b'{"a":' + b"[" * 30_000 + b"]" * 30_000 + b"}"
        with cinch.Lease("odd/1") as lease, cinch.Log("odd", lease=lease) as log:
            for line in b'{"id":[1]}', b'{"id":{}}', b"{", deep, b'{"id":"known"}':
                log.append(line)
        with cinch.Log("odd", lease="odd/1") as log:
            self.assertTrue(log.append("again", id="known").earlier)

    def test_a_program_that_is_killed_and_runs_again(self):
        def start(how):
            return subprocess.Popen(
                [sys.executable, "-c", RERUN, str(TOP / "python"), how], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )

        with start("killed") as first:
            for line in first.stdout:
                if line.startswith(b"20 "):
                    break
            first.kill()
        with start("whole") as second:
            out = second.communicate()[0].decode().splitlines()
        self.assertEqual(second.returncode, 0)
        self.assertEqual([line for line in out[:21] if "False" in line], [])
        self.assertEqual(len(out), 40)
        read = [json.loads(text) for text in self.texts("rerun")]  # none is cut
        self.assertEqual([m["text"] for m in read], [str(i) * 4000 for i in range(40)])

    def test_never_leaves_a_part_of_a_line(self):
        go, file, program = (pathlib.Path(self.temp.name, name) for name in ("go", "taken", "taker"))
        os.mkfifo(go)
        os.mkfifo(file)
        program.write_text(f"#!/bin/sh\nread word <{go}; exec cat >{file}\n")
        program.chmod(0o755)
        writer = subprocess.run([sys.executable, "-c", BLOCKED, str(TOP / "python"), str(program)])
        self.assertEqual(writer.returncode, -signal.SIGALRM)
        go.write_text("now\n")
        lines = file.read_bytes().split(b"\n")
        self.assertEqual({len(line) for line in lines[:-1]}, {9999})
        self.assertEqual(lines[-1], b"")

    def test_leases(self):
        lost = threading.Event()
        lease = cinch.Lease("job", store=os.environ["CINCH_STORE"], on_lost=lambda why: lost.set())
        with self.assertRaises(cinch.LeaseLost):
            with lease:
                lease.check()
                self.assertTrue(lease.fence)
                with self.assertRaises(cinch.CinchError) as held:
                    cinch.Lease("job").acquire()
                self.assertEqual(held.exception.code, 3)
                self.assertIn("job is held by", str(held.exception))
                with cinch.Log("leased", lease=lease) as log:
                    log.append("under it")
                    self.assertEqual([m.leases for m in log.read(live=True)], [("job",)])
                run("lease", "revoke", "--reason", "test", "--token-file", self.temp.name + "/key.tokens.admin", "job")
                lost.wait()
                with self.assertRaises(cinch.LeaseLost):
                    lease.check()
        with cinch.Lease("other"):
            pass
        with cinch.Lease("other"):  # was given back
            pass

    def test_follows_until_it_is_closed(self):
        with cinch.Log("followed") as log:
            log.append("before")
            followed = log.follow(live=True, tail=1)
            self.assertEqual(next(followed).text, "before")
            log.append("after")
            self.assertEqual(next(followed).text, "after")
            followed.close()

    def test_logging(self):
        logger = logging.getLogger("test")
        log = cinch.Log("logged")
        handler = cinch.Handler(log)
        handler.setFormatter(logging.Formatter(logging.BASIC_FORMAT))  # as basicConfig does
        logger.addHandler(handler)
        try:
            logger.warning("%d of %d", 1, 2, extra={"id": "w"})
            try:
                raise KeyError("k")
            except KeyError:
                logger.exception("failed")
        finally:
            logger.removeHandler(handler)
            handler.close()
        first, second = (json.loads(text) for text in self.texts("logged"))
        self.assertEqual(first, {"id": "w", "level": "WARNING", "logger": "test", "message": "1 of 2"})
        self.assertIn("KeyError: 'k'", second["exception"])

    def test_pandas(self):
        with mock.patch.dict(sys.modules, {"pandas": None}):
            with self.assertRaisesRegex(cinch.CinchError, "pip install pandas"):
                cinch.Log("plain").to_pandas()
        with cinch.Log("table") as log:
            log.append({"n": 1})
            log.append({"n": 2})

            class DataFrame(dict):  # stands for pandas
                def __init__(self, data):
                    self.data = data

                def insert(self, *arguments):
                    self.inserted = arguments

            pandas = types.SimpleNamespace(DataFrame=DataFrame, to_datetime=lambda all, unit, utc: (len(all), unit, utc))
            with mock.patch.dict(sys.modules, {"pandas": pandas}):
                frame = log.to_pandas(live=True)
                self.assertEqual([row["n"] for row in frame.data], [1, 2])
                self.assertEqual(frame.inserted, (0, "timestamp", (2, "ns", True), True))
                log.append("text")
                self.assertEqual(log.to_pandas(live=True).data["message"][2], "text")

    def test_errors_are_one_line(self):
        with mock.patch.dict(os.environ, {"PATH": "/nowhere", "CINCH": ""}):
            with self.assertRaisesRegex(cinch.CinchError, "there is no cinch"):
                list(cinch.Log("plain").read())
        with self.assertRaisesRegex(cinch.CinchError, "can't be run"):
            list(cinch.Log("plain", cinch="/nowhere/cinch").read())
        log = cinch.Log("plain", store="/nowhere")
        with self.assertRaises(cinch.CinchError) as failed:
            log.append("lost")
        self.assertEqual(failed.exception.code, 4)
        self.assertRegex(str(failed.exception), "^cinch append: .*/nowhere.*$")
        log.submit("lost, too")
        with self.assertRaises(cinch.CinchError):
            log.close()

    def test_the_package(self):
        for file in (TOP / "python/cinch").glob("*.py"):
            ast.parse(file.read_text(), feature_version=(3, 9))
        version = re.search("<artifactId>cinch</artifactId>\\s*<version>(.*)</version>", (TOP / "pom.xml").read_text())
        self.assertEqual(cinch.__version__, version.group(1))


if __name__ == "__main__":
    unittest.main()
