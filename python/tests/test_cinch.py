"""The package against a real store and a real lease server; CINCH says which cinch, that of the checkout unless set."""

import ast
import asyncio
import datetime
import json
import logging
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import types
import unittest
import zipfile
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

# Is killed when the pipe is full, in the middle of a message.
BLOCKED = """
import fcntl, os, signal, struct, sys, termios
sys.path.insert(0, sys.argv[1])
import cinch
log = cinch.Log("blocked")
log.append("x" * 60_000)
command = log._now()._child.command
os.kill(command.pid, signal.SIGSTOP)
for _ in range(20):
    log.submit("x" * 60_000)
pipe, unread = command._process.stdin, bytearray(4)
while struct.unpack("i", unread)[0] < fcntl.fcntl(pipe, 1032):  # its size
    fcntl.ioctl(pipe, termios.FIONREAD, unread)
print(command.pid, flush=True)
sys.stdin.read()
"""


def pid(log):
    """Of the cinch append that it runs."""
    return log._now()._child.command.pid


def wrapped(logger):
    logger.exception("failed", extra={"id": {"no": "id"}, "odd": float("nan")}, stacklevel=2)


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
            with self.assertRaisesRegex(cinch.Refused, "has 67108864 bytes"):
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
            os.kill(pid(log), signal.SIGSTOP)
            futures = [log.submit({"n": n}) for n in range(1, 50)]
            os.kill(pid(log), signal.SIGKILL)
            self.assertEqual(len({future.result().id for future in futures}), 49)
            self.assertEqual([m.json["n"] for m in log.read(live=True, unique=True)], list(range(50)))
            doubled = log.append({"n": 0, "id": "7"}), log.append({"n": 0, "id": "7"})
            self.assertNotEqual(doubled[0].id, doubled[1].id)
            self.assertEqual(len(list(log.read(live=True, unique=True))), 51)

    def test_is_exact_under_a_lease_by_name(self):
        with cinch.Log("exact", lease="exact/1", lasting="5s") as log:
            self.assertEqual(log.append("0").message_id, "exact/1:1")
            first = pid(log)
            futures = []
            for n in range(1, 3000):
                futures.append(log.submit(str(n)))
                if n == 2000:
                    futures[1000].result()
                    os.kill(first, signal.SIGKILL)
            for future in futures:
                future.result()
            self.assertNotEqual(pid(log), first)
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
                os.kill(pid(log), signal.SIGSTOP)
                futures = [[log.submit({"id": id}) for _ in range(2)] for id in ("again", 0)]
                awaited = {entry.future for entry in log._now()._entries.values()}  # by flush
                os.kill(pid(log), signal.SIGCONT)
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
        writer = subprocess.Popen(
            [sys.executable, "-c", BLOCKED, str(TOP / "python")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        with writer:
            append = int(writer.stdout.readline())
            end = os.pidfd_open(append)
            writer.kill()
        os.kill(append, signal.SIGCONT)
        select.select([end], [], [])
        os.close(end)
        self.assertEqual({len(text) for text in self.texts("blocked")}, {60_000})

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
            fields = {"user": 7, "when": datetime.date(2026, 1, 2), "level": [1]}
            line = sys._getframe().f_lineno
            logger.warning("%d of %d", 1, 2, extra={"id": "w", **fields})
            try:
                raise KeyError("k")
            except KeyError:
                wrapped(logger)  # which is not the caller
        finally:
            logger.removeHandler(handler)
            handler.close()
        first, second = (json.loads(text) for text in self.texts("logged"))
        self.assertEqual(
            first,
            {"id": "w", "level": "WARNING", "logger": "test", "message": "1 of 2", "user": 7, "when": "2026-01-02"}
            | {"pathname": __file__, "lineno": line + 1, "funcName": "test_logging", "extra": {"level": [1]}},
        )
        self.assertIn("KeyError: 'k'", second["exception"])
        self.assertEqual(second["extra"], {"id": {"no": "id"}})
        self.assertEqual(second["lineno"], line + 5)
        self.assertEqual(second["odd"], "nan")

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

    # -- processes that are forked off

    def program(self, source, *arguments):
        """Runs a program that hangs if it is broken; what it prints, in words."""
        program = "import sys; sys.path.insert(0, sys.argv.pop(1)); import cinch, os, signal\n" + source
        ran = subprocess.run(
            [sys.executable, "-c", program, str(TOP / "python"), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=300,
        )
        self.assertEqual((ran.returncode, ran.stderr.decode()), (0, ""))
        return ran.stdout.decode().split()

    def test_close_waits_for_no_process_that_was_forked_off(self):
        for foreign in "", "foreign":
            for lease in "None", "'close/1'":
                with self.subTest(foreign=foreign, lease=lease):
                    said = self.program(
                        f"""if True:
                        import subprocess
                        log = cinch.Log("close", lease={lease}, lasting="10s")
                        log.append("one")
                        ends = os.pipe()
                        if sys.argv[1]:  # has the ends of all pipes, as if forked off without Python's hooks
                            inputs = [command._process.stdin for command in cinch._command._running]
                            pipes = [each.fileno() for each in inputs if each]
                            cat = subprocess.Popen(["cat"], stdin=ends[0], stdout=-3, stderr=-3, pass_fds=pipes)
                        elif os.fork() == 0:
                            os.close(ends[1])
                            os.read(ends[0], 1)  # until its parent ends
                            os._exit(0)
                        log.append("two")
                        log.close()
                        print("closed")
                        os.close(ends[1])
                        if sys.argv[1]:
                            cat.wait()
                        """,
                        foreign,
                    )
                    self.assertEqual(said, ["closed"])
        self.assertEqual(self.texts("close")[:2], ["one", "two"])

    def test_what_a_killed_program_ran_ends_though_its_worker_lives(self):
        source = """if True:
            lease = cinch.Lease("left").acquire()
            log = cinch.Log("left", lease=lease)
            log.append("one")
            following = log.follow(live=True, tail=1)
            next(following)
            ran = [str(command.pid) for command in cinch._command._running if command._process.stdin]
            if os.fork() == 0:
                try:
                    next(following)
                except cinch.CinchError:
                    print("cut", *ran, flush=True)
                signal.pause()
            signal.pause()
            """
        program = "import sys; sys.path.insert(0, sys.argv.pop(1)); import cinch, os, signal\n" + source
        with subprocess.Popen(
            [sys.executable, "-c", program, str(TOP / "python")], stdout=subprocess.PIPE, start_new_session=True
        ) as parent:
            cut, *ran = parent.stdout.readline().decode().split()  # the child's, which has nothing of its parent's
            ends = [os.pidfd_open(int(each)) for each in ran]
            parent.kill()
            for end in ends:
                select.select([end], [], [])
                os.close(end)
            os.killpg(parent.pid, signal.SIGKILL)
        self.assertEqual((cut, len(ran)), ("cut", 2))

    def test_a_process_that_was_forked_off_only_ends(self):
        said = self.program(
            """if True:
            import logging
            log = cinch.Log("only-ends")
            logging.getLogger().addHandler(cinch.Handler(log))
            with cinch.Lease("only-ends") as lease, cinch.Log("only-ends", lease=lease) as leased:
                leased.append("one")
                logging.warning("two")
                log.flush()
                messages = leased.read(live=True)
                next(messages)
                log.flush()
                os.kill(log._now()._child.command.pid, signal.SIGSTOP)
                logging.warning("has no receipt yet")
                pid = os.fork()
                if pid == 0:
                    print(lease.held, flush=True)
                    sys.exit()  # through the ends of both with, and atexit
                print(os.waitpid(pid, 0)[1])
                os.kill(log._now()._child.command.pid, signal.SIGCONT)
                lease.check()
                leased.append("three")
                logging.warning("four")
                print(len(list(messages)))
            """
        )
        self.assertEqual(said, ["False", "0", "1"])
        self.assertEqual(len(self.texts("only-ends")), 5)

    def test_a_process_that_was_forked_off_appends_by_its_own(self):
        said = self.program(
            """if True:
            import multiprocessing, threading
            log = cinch.Log("workers")
            log.append({"by": "parent"})
            pid = log._now()._child.command.pid
            def work(n):
                for _ in range(100):
                    log.submit({"by": n})
                own = log._now()._child is None or log._now()._child.command.pid != pid
                os.write(1, b"%s\\n" % str(own).encode())  # at once: others write there, too
            stop = threading.Event()
            busy = threading.Thread(target=lambda: [log.submit("x") for _ in iter(stop.is_set, True)])
            busy.start()  # holds locks at any time
            workers = [multiprocessing.get_context("fork").Process(target=work, args=(n,)) for n in range(3)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
                os.write(1, b"%d\\n" % worker.exitcode)
            stop.set()
            busy.join()
            log.append({"by": "parent"})
            log.close()
            """
        )
        self.assertEqual(sorted(said), ["0"] * 3 + ["True"] * 3)
        read = [m.json["by"] for m in cinch.Log("workers").read(live=True, unique=True) if m.json]
        self.assertEqual([read.count(by) for by in ("parent", 0, 1, 2)], [2, 100, 100, 100])

    def test_a_process_that_was_forked_off_writes_under_the_lease_of_its_parent(self):
        said = self.program(
            """if True:
            with cinch.Lease("shared/1") as lease:
                log = cinch.Log("shared", lease=lease)
                named = cinch.Log("shared", lease="shared/2")
                pid = os.fork()
                if pid == 0:
                    log.append("child's")
                    log.close()
                    try:
                        named.append("is the parent's number")
                    except cinch.CinchError as e:
                        print(e.code, flush=True)
                    os._exit(0)
                os.waitpid(pid, 0)
                log.append("parent's")
                log.close()
            """
        )
        self.assertEqual(said, ["2"])
        read = [(m.text, m.leases) for m in cinch.Log("shared").read(live=True)]
        self.assertEqual(read, [("child's", ("shared/1",)), ("parent's", ("shared/1",))])

    # -- what the environment is not

    def test_exit_codes_where_the_system_tells_none(self):
        source = """if True:
            if sys.argv[1] == "ignored":
                signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            if sys.argv[1] == "reaped":
                signal.signal(signal.SIGCHLD, lambda *unused: [None for _ in iter(reap, None)])
            def reap():
                try:
                    return os.waitpid(-1, os.WNOHANG)[0] or None
                except ChildProcessError:
                    return None
            def tell(what):
                try:
                    print(what())
                except cinch.CinchError as e:
                    print(e.code)
            log = cinch.Log("codes")
            log.append("one")
            tell(lambda: len(list(log.read(live=True))))
            tell(lambda: list(cinch.Log("missing").read()))
            tell(lambda: list(log.read(start="yesterdayish")))
            tell(lambda: cinch.Log("codes", store="/nowhere").append("lost"))
            tell(lambda: cinch.Lease("taken").acquire())
            tell(lambda: cinch.Log("codes", lease="taken", wait="0s").append("no"))
            following = log.follow(live=True, tail=1)
            print(next(following).text)
            os.kill(next(iter(c.pid for c in cinch._command._running if c._name == "cinch cat")), signal.SIGTERM)
            try:
                next(following)
            except cinch.CinchError as e:
                print("raised")
            log.close()
            """
        expected = "1 4 2 4 3 3 one raised".split()
        with cinch.Lease("taken"):
            for how in "ignored", "reaped":
                with self.subTest(how):
                    said = self.program(source.replace('"codes"', f'"codes-{how}"'), how)
                    self.assertEqual(said, expected)

    def test_output_without_its_mark_is_cut(self):
        line = (
            '{"id":"1/f.log/0","timestampNanos":"1","dataFile":"f.log","position":0,"settled":true,"leases":[],'
            '"payload":"one"}'
        )
        program = pathlib.Path(self.temp.name, "cat")
        for more, whole in (r"\n{\"type\":\"end\",\"exitCode\":0}\n", True), (r"\n", False), ("", False):
            program.write_text(f"#!/bin/sh\nprintf '%s' '{line}'\nprintf \"{more}\"\n")
            program.chmod(0o755)
            messages = cinch.Log("any", cinch=program).read()
            if whole:
                self.assertEqual([m.text for m in messages], ["one"])
            else:
                with self.assertRaisesRegex(cinch.CinchError, "before it had printed all"):
                    list(messages)

    # -- callbacks

    def test_callbacks_submit(self):
        with mock.patch.object(cinch._append, "_MOST_WAITING", 1), cinch.Log("callbacks") as log:
            handler = cinch.Handler(log)
            logger = logging.getLogger("callbacks")
            logger.addHandler(handler)
            logger.propagate = False
            refused, ended = [], threading.Event()

            def follow_up(future):
                log.submit("y" * 1000)
                logger.error("by a callback")
                try:
                    log.append("waits for itself")
                except RuntimeError as e:
                    refused.append(e)
                if len(refused) == 1:
                    sys.exit("is no end of the others")

            with mock.patch("traceback.print_exc"):
                for n in range(500):
                    log.submit("x" * 1000).add_done_callback(follow_up)
                    logger.error("by the program")
                log.submit("last").add_done_callback(lambda future: log.submit("z").add_done_callback(follow_up))
                log.close()
            logger.removeHandler(handler)
        self.assertEqual(len(refused), 501)
        texts = self.texts("callbacks")
        self.assertEqual([texts.count(each * 1000) for each in "xy"], [500, 501])
        self.assertEqual(sum("by a callback" in text for text in texts), 501)
        self.assertEqual(sum("by the program" in text for text in texts), 500)

    def test_a_callback_waits_for_nobody(self):
        program, go = (pathlib.Path(self.temp.name, name) for name in ("receiver", "submitted"))
        os.mkfifo(go)
        # Gives the first message its receipt, and reads on when its callback has submitted more than a pipe holds.
        program.write_text(
            f"""#!/usr/bin/env python3
import sys
receipt = '{{"line":%d,"state":"COMMITTED","id":"1/f.log/0","timestampNanos":"1"}}'
end = sys.argv[sys.argv.index("--end") + 1].encode()
for number, line in enumerate(iter(sys.stdin.buffer.readline, end + b"\\n"), 1):
    print(receipt % number, flush=True)
    if number == 1:
        open({str(go)!r}).read()
"""
        )
        program.chmod(0o755)
        said = self.program(
            """if True:
            import logging, threading
            cinch._append._MOST_WAITING = 1
            log = cinch.Log("any", cinch=sys.argv[1])
            def callback(future):
                for _ in range(9):
                    log.submit("x" * 100_000)
                open(sys.argv[2], "w").close()
                submitted.set()
            submitted = threading.Event()
            log.submit("first").add_done_callback(callback)
            handler = cinch.Handler(log)
            logger = logging.getLogger("any")
            logger.addHandler(handler)
            with handler.lock:  # as one that waits for room has it
                thread = threading.Thread(target=logger.error, args=("by a callback",))
                thread.start()
                thread.join()
            submitted.wait()
            log.close()
            print(log._now()._unfinished)
            """,
            str(program),
            str(go),
        )
        self.assertEqual(said, ["0"])

    def test_a_program_that_wants_to_die_of_broken_pipes(self):
        said = self.program(
            """if True:
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            log = cinch.Log("pipes")
            log.append("one")
            os.kill(log._now()._child.command.pid, signal.SIGKILL)
            for n in range(300):
                log.submit("x" * 1000)
            log.close()
            print("lives")
            """
        )
        self.assertEqual(said, ["lives"])

    # -- ids and payloads

    def test_ids_are_one_if_their_json_is(self):
        ids = [1, True, 1.0, "1", 0, False, -0.0, "", "true", 10**30]
        for first in True, False:
            with cinch.Log("ids-of-all-types", lease="types/1", lasting="5s") as log:
                futures = [log.submit({}, id=id) for id in ids]
                again = [log.submit({}, id=id) for id in ids]
                self.assertEqual([f.result().earlier for f in futures], [not first] * len(ids))
                self.assertEqual(len({f.result().message_id for f in futures + again}), len(set(ids)))
                self.assertTrue(all(id in log for id in ids))
                self.assertNotIn(2, log)
                with self.assertRaisesRegex(TypeError, "text or a number"):
                    [1] in log
        self.assertEqual(len(self.texts("ids-of-all-types")), len(ids))
        self.assertEqual(len(list(cinch.Log("ids-of-all-types").read(live=True, unique=True))), len(ids))

    def test_foreign_ids(self):
        with cinch.Log("foreign") as log:
            for line in '{"id":[1]}', '{"id":[1]}', '{"id":{"a":1}}', '{"id":null}', '{"i\\u0064":7}', '{"id":7}', "[]":
                log.append(line)
            self.assertEqual(len(list(log.read(live=True, unique=True))), 6)  # one is the second 7

    def test_what_is_no_message(self):
        log = cinch.Log("plain")
        for odd in 5, True, None, [1, 2], 1.5, ("a",), {1}:
            with self.assertRaisesRegex(TypeError, "a message is text, bytes or a dict"):
                log.append(odd)
            with self.assertRaises(TypeError):
                log.append(odd, id="x")

    def test_a_message_as_long_as_a_store_allows(self):
        store = self.temp.name + "/long"
        run("init", store)
        with cinch.Log("long", store=store) as log:
            for payload in b"x" * (1 << 20), b"\xff" * (1 << 20):
                log.append(payload)
            with self.assertRaisesRegex(cinch.Refused, "has 1048577 bytes, this store allows 1048576"):
                log.append(b"x" * ((1 << 20) + 1))
            self.assertEqual([len(m.payload) for m in log.read(live=True)], [1 << 20] * 2)

    def test_exactly_once_needs_what_was_written(self):
        with cinch.Log("expired", lease="expired/1") as log:
            log.append("one")
        for line in "later", "last":
            subprocess.run(
                [os.environ["CINCH"], "append", "--log", "expired", "--settle"], input=line.encode(), check=True
            )
            run("close", "--wait", "--log", "expired")
            run("view", "build", "--wait=0s", "--log", "expired")
        run("gc", "--retention=0s", "--log", "expired")
        run("expire", "--keep=0s", "--log", "expired")
        with self.assertRaisesRegex(cinch.CinchError, "expired, and some may be of the lease expired/1: .* since="):
            cinch.Log("expired", lease="expired/1").append("one")
        with self.assertRaisesRegex(cinch.CinchError, "since=.* is in the future"):
            cinch.Log("expired", lease="expired/1", since="2200-01-01").append("one")
        self.assertNotIn("one", self.texts("expired"))
        with cinch.Log("expired", lease="expired/1", since="now") as log:
            self.assertFalse(log.append("one").earlier)

    # -- asyncio

    def test_asyncio(self):
        async def appends():
            async with cinch.Log("tasks", lease="tasks/1", lasting="5s") as log:
                tasks = [asyncio.ensure_future(log.append_async(str(n))) for n in range(200)]
                await asyncio.sleep(0)
                for task in tasks[::2]:
                    task.cancel()
                receipts = await asyncio.gather(*tasks, return_exceptions=True)
                self.assertEqual([isinstance(r, cinch.Receipt) for r in receipts], [False, True] * 100)
                again = await log.append_async("0", id="tasks/1:1")
                self.assertEqual(again.message_id, "tasks/1:1")
                with self.assertRaises(cinch.Refused):
                    await log.append_async("x" * 70_001)

        asyncio.run(appends())
        read = [m.json["message"] for m in cinch.Log("tasks").read(live=True)]
        self.assertEqual(read, [str(n) for n in range(200)])

        async def follows():
            with cinch.Log("tasks-followed") as log:
                await log.append_async("0")
                found = []
                async with log.follow_async(live=True, tail=1) as messages:
                    found.append((await messages.__anext__()).text)
                    for n in range(1, 20):
                        waiting = asyncio.ensure_future(messages.__anext__())
                        await asyncio.sleep(0)
                        waiting.cancel()  # before there is a message
                        await log.append_async(str(n))
                        try:
                            found.append((await waiting).text)
                        except asyncio.CancelledError:
                            found.append((await messages.__anext__()).text)
                    waiting = asyncio.ensure_future(messages.__anext__())
                    await asyncio.sleep(0)
                    with self.assertRaisesRegex(RuntimeError, "another task"):
                        await messages.__anext__()
                with self.assertRaises(StopAsyncIteration):
                    await waiting
                async for message in messages:
                    self.fail(message)
                missing = cinch.Log("nowhere", store="/nowhere").follow_async()
                with self.assertRaises(cinch.CinchError) as failed:
                    await missing.__anext__()
                self.assertEqual(failed.exception.code, 4)
                self.assertEqual(found, [str(n) for n in range(20)])

        asyncio.run(follows())

    def test_the_package(self):
        for file in (TOP / "python/cinch").glob("*.py"):
            ast.parse(file.read_text(), feature_version=(3, 9))
        version = re.search("<artifactId>cinch</artifactId>\\s*<version>(.*)</version>", (TOP / "pom.xml").read_text())
        self.assertEqual(cinch.__version__, version.group(1))
        with mock.patch.object(sys, "path", [str(TOP / "python"), *sys.path]):
            import build_cinch
        wheel = zipfile.ZipFile(pathlib.Path(self.temp.name, build_cinch.build_wheel(self.temp.name)))
        packed = {name for name in wheel.namelist() if name.startswith("cinch/")}
        sources = {f"cinch/{file.name}" for file in (TOP / "python/cinch").iterdir() if file.is_file()}
        self.assertEqual(packed, sources)
        self.assertIn("cinch/py.typed", packed)
        said = wheel.read(f"cinch-{version.group(1)}.dist-info/METADATA").decode()
        for field in "Summary: Logs", "License: Apache-2.0", "Classifier: Typing :: Typed", "Requires-Python: >=3.9":
            self.assertIn("\n" + field, said)
        wheel.close()

    def test_all_has_types(self):
        for name in cinch.__all__:
            for member, owner in vars(getattr(cinch, name)).items():
                if isinstance(owner, types.FunctionType) and not member.startswith("__"):
                    self.assertIn("return", owner.__annotations__, owner.__qualname__)
        if shutil.which("mypy") is None:
            self.skipTest("there is no mypy (Debian's package of that name) to look at the types")
        checked = subprocess.run(
            ["mypy", "--strict", "--python-version=3.9", "--cache-dir=/dev/null", str(TOP / "python/cinch")],
            stdout=subprocess.PIPE,
        )
        self.assertEqual(checked.returncode, 0, checked.stdout.decode())


if __name__ == "__main__":
    unittest.main()
