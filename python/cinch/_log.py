"""Logs: appending to them, and reading them."""

import atexit
import base64
import json
import threading
import uuid
from concurrent.futures import Future, wait
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Optional

from ._command import CinchError, Command
from ._lease import Lease

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
# How often a message is sent again that was refused, or a cinch started again that took nothing before it ended.
_TRIES = 3


class Refused(CinchError):
    """A message is not in the log, and never will be."""


@dataclass(frozen=True)
class Receipt:
    """A message is in the log, once, for ever."""

    id: Optional[str]
    """Where it is, as all commands name it; None if it was there before."""
    time_ns: Optional[int]
    """Its timestamp, in nanoseconds since 1970; None if it was there before."""
    message_id: Optional[str] = None
    """The member "id" of its JSON, if it has one."""
    earlier: bool = False
    """Whether it was in the log already, from an earlier run, and was not written again."""


@dataclass(frozen=True)
class Message:
    """A message that was read."""

    payload: bytes
    id: str
    time_ns: int
    settled: bool
    """Whether its place in the order is final."""
    sequence: Optional[int]
    """Its number in the log, if it is settled."""
    leases: tuple
    """The names of the leases that it was written under."""

    @property
    def text(self):
        """The payload, as UTF-8; what is none is replaced."""
        return self.payload.decode("utf-8", "replace")

    @property
    def time(self):
        """Its timestamp in UTC, to the microsecond."""
        return _EPOCH + timedelta(microseconds=self.time_ns // 1000)

    @property
    def json(self):
        """The payload as an object of JSON (a dict); None if it is none."""
        if not self.payload.startswith(b"{"):
            return None
        try:
            return json.loads(self.payload)
        except (ValueError, RecursionError):
            return None

    @staticmethod
    def _of(line):
        payload = line.get("payload")
        if payload is None:
            payload = base64.b64decode(line["payloadBase64"])
        else:
            payload = payload.encode()
        leases = tuple(each["name"] for each in line["leases"])
        return Message(payload, line["id"], int(line["timestampNanos"]), line["settled"], line.get("sequence"), leases)


class _Entry:
    """A message on its way."""

    __slots__ = ("awaited", "future", "id", "line", "tries")

    def __init__(self, line, id):
        self.line, self.id, self.tries, self.future = line, id, 0, Future()
        self.future.set_running_or_notify_cancel()


class _Child:
    """A cinch append, and the messages that it has not given a receipt for, by the numbers of their lines."""

    def __init__(self, command, lease):
        self.command, self.lease, self.waiting, self.lines, self.committed = command, lease, {}, 0, 0
        self.stopped = False

    def stop(self):
        """Lets it end; what it took has a receipt by then. Its input may only be closed by the thread that writes."""
        if not self.stopped:
            self.stopped = True
            self.command.terminate()

    def send(self, entry):
        self.lines += 1
        self.waiting[self.lines] = entry
        try:
            self.command.write(entry.line)  # if it has ended, its receipts are over soon, and that is seen to
        except CinchError:  # before it wrote anything
            del self.waiting[self.lines]
            self.lines -= 1
            raise
        except BaseException:  # Ctrl-C: nobody knows whether it wrote
            self.command.end_input()
            raise


class Log:
    """A log of a store. Starts what it needs with the first message; close it, or use it in a ``with``.

    store: its directory; the variable CINCH_STORE otherwise.
    lease: a name: each message is in the log exactly once, also when cinch or this program is killed and runs again.
    Or a Lease that is held: messages are written under it. None: at least once.
    server: the lease service, for a name; the variable CINCH_SERVER otherwise.
    wait: how long to wait for that lease, like "5m". That of a run that was killed, or whose cinch was, runs out first.
    lasting: how long it lasts without a renewal; 60s unless set, or as long as the service allows.
    since: where reading what earlier runs wrote begins, as ``cinch cat --from`` takes it; the log's begin otherwise.

    Thread-safe, and not for use on both sides of a fork.
    """

    def __init__(self, name, store=None, server=None, lease=None, wait="5m", lasting=None, since=None, cinch=None):
        self.name = name
        self._store = ["--store", str(store)] if store is not None else []
        if lease is not None and not isinstance(lease, (str, Lease)):
            raise TypeError("lease= takes a name or a Lease")
        self._name = lease if isinstance(lease, str) else None
        self._lease = lease if isinstance(lease, Lease) else None
        self._lease_options = dict(store=store, server=server, wait=wait, lasting=lasting, cinch=cinch)
        self._since = since
        self._cinch = cinch
        self._lock = threading.RLock()
        self._child = None
        self._reader = None
        self._failures = 0
        self._failed = None
        self._closed = False
        self._ids = set()  # in the log; under a lease by name alone
        self._futures = {}  # of messages on their way, by id
        self._count = 0
        self._run = self._name or uuid.uuid4().hex[:12]

    # -- appending

    def append(self, message, id=None):
        """Appends a message; returns its Receipt when it is in the log. Raises Refused if it never will be.

        message: bytes or text without a newline, or a dict, which becomes a line of JSON with an "id". Under a lease by
        name text becomes one, too: {"id": …, "message": …}.
        id: what names the message. Of several with one id the first alone is written, in this run and all later ones
        under that lease. NAME:1, NAME:2, … by the name of the lease, unless given.
        """
        return self._submit(message, id, True).result()

    def submit(self, message, id=None):
        """As append; returns a Future of the Receipt at once. What fails, flush and close raise, too."""
        return self._submit(message, id, False)

    def _submit(self, message, id, awaited):
        with self._lock:
            if self._closed:
                raise ValueError("the log was closed")
            entry = self._entry(message, id)
            entry.awaited = awaited
            if self._name is not None:
                self._open()
                known = self._futures.get(entry.id)  # first: a receipt that comes now moves it to those that are there
                if known is not None:
                    return known
                if entry.id in self._ids:
                    entry.future.set_result(Receipt(None, None, entry.id, True))
                    return entry.future
            self._open()
            self._futures[self._key(entry)] = entry.future
            self._send(entry)
            return entry.future

    def __contains__(self, id):
        """Whether a message with this id was written under the lease's name: ``if "unit-17" in log``."""
        if self._name is None:
            raise ValueError("only a log with a lease's name knows what is in it")
        with self._lock:
            self._open()
            return id in self._ids

    def flush(self):
        """Waits until all that was submitted is in the log; raises why the first that is not, is not."""
        with self._lock:
            futures = list(self._futures.values())
        wait(futures)
        failed, self._failed = self._failed, None
        if failed is not None:
            raise failed

    def close(self):
        """Waits as flush does, and gives the lease back."""
        with self._lock:
            self._closed = True
        try:
            self.flush()
        finally:
            with self._lock:
                child = self._child
                if child is not None:
                    child.command.end_input()
                reader = self._reader
            if reader is not None:
                reader.join()
            atexit.unregister(self.close)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def _entry(self, message, id):
        if isinstance(message, dict) or id is not None or self._name is not None:
            if not isinstance(message, dict):
                message = {"message": message if isinstance(message, str) else bytes(message).decode()}
            id = id if id is not None else message.get("id")
            if not isinstance(id, (str, int, float, type(None))):
                raise TypeError("an id is text or a number")  # others are read back as something else
            if id is None:
                self._count += 1
                id = f"{self._run}:{self._count}"
            message = {"id": id, **{key: value for key, value in message.items() if key != "id"}}
            text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
            try:
                return _Entry(text.encode() + b"\n", id)
            except UnicodeEncodeError:
                return _Entry(json.dumps(message).encode() + b"\n", id)
        line = message.encode() if isinstance(message, str) else bytes(message)
        if b"\n" in line:
            raise ValueError("a message of several lines: append a dict, which is written as JSON")
        return _Entry(line + b"\n", None)

    def _key(self, entry):
        """What of several messages on their way is one only; without a lease's name each message."""
        return entry if self._name is None else entry.id

    def _open(self):
        """Starts a cinch append, where there is none. Under a lease by name, that fixes all that earlier ones wrote."""
        tries = 0
        while self._child is None:
            try:
                self._start()
            except CinchError as e:
                tries += 1  # a process that was killed meanwhile is worth another
                killed = e.code not in (None, 2, 3, 4) or "Java ended with" in str(e)  # 4: nobody answered for so long
                if tries == _TRIES or not killed:
                    raise

    def _start(self):
        lease = None
        env = {}
        if self._name is not None:
            lease = Lease(self._name, on_lost=lambda why: self._over(lease), **self._lease_options).acquire()
            env = lease.environment()
        elif self._lease is not None:
            env = self._lease.environment()
        try:
            command = Command(
                ["append", "--log", self.name, "--json", *self._store], self._cinch, env, takes_input=True
            )
            try:
                if lease is not None:
                    self._ids = self._written()
            except BaseException:
                command.end_input()
                command.close()
                raise
        except BaseException:
            if lease is not None:
                lease.release()
            raise
        self._child = _Child(command, lease)
        self._reader = threading.Thread(target=self._receipts, args=(self._child,), name="cinch-receipts", daemon=True)
        self._reader.start()
        atexit.register(self.close)

    def _over(self, lease):
        """The lease is lost: ends what writes under it, so that the lease is taken anew."""
        child = self._child
        if child is not None and child.lease is lease:
            child.stop()

    def _written(self):
        try:
            told = self.read(start=self._since, lease=self._name, live=True)
            ids = (message.json["id"] for message in told if message.json is not None and "id" in message.json)
            return {id for id in ids if isinstance(id, (str, int, float))}
        except CinchError as e:
            if "there is no log" in str(e):
                return set()  # the first message makes it
            raise

    def _receipts(self, child):
        """Hands out receipts until the process ends; then starts another one for the messages without."""
        refused = []
        for line in child.command.out:
            try:
                receipt = json.loads(line)
            except ValueError:
                break  # it was killed
            entry = child.waiting.pop(receipt.get("line"), None)
            if entry is None:
                continue  # what a later version tells
            if receipt["state"] == "COMMITTED":
                child.committed += 1
                self._commit(entry, Receipt(receipt["id"], int(receipt["timestampNanos"]), entry.id))
                continue
            entry.tries += 1
            if child.lease is None or entry.tries == _TRIES:
                self._fail(entry, Refused(receipt["reason"], 3))
            else:
                refused.append(entry)
                child.stop()  # most likely the lease was lost: another try takes it anew
        error = child.command.error()
        with self._lock:  # nobody writes to it
            child.command.close()
            if child.lease is not None:
                child.lease.release()
            self._child = None
            left = refused + list(child.waiting.values())
            if left:
                self._again(left, child, error)

    def _again(self, left, child, error):
        """For messages without a receipt: of those of a killed process nobody knows the fate.

        Under a lease by name they are read back. Otherwise they may be in the log, and are written all the same.
        """
        self._failures = 0 if child.committed else self._failures + 1
        try:
            if self._failures == _TRIES or error.code == 2:
                raise error
            self._open()
        except Exception as e:  # nobody must wait for ever
            self._failures = 0
            for entry in left:
                self._fail(entry, e)
            return
        for entry in left:
            if self._name is not None and entry.id in self._ids:
                self._commit(entry, Receipt(None, None, entry.id, True))
            else:
                self._send(entry)

    def _send(self, entry):
        try:
            self._child.send(entry)
        except CinchError as e:
            self._fail(entry, e)

    def _commit(self, entry, receipt):
        if self._name is not None:
            self._ids.add(entry.id)
        self._futures.pop(self._key(entry), None)
        entry.future.set_result(receipt)

    def _fail(self, entry, error):
        if not entry.awaited:
            self._failed = self._failed or error
        self._futures.pop(self._key(entry), None)
        entry.future.set_exception(error)

    # -- reading

    def read(self, start=None, end=None, lease=None, live=False, tail=None, unique=False):
        """The settled messages, in order: a generator of Message.

        start, end: a datetime, nanoseconds since 1970, or what ``cinch cat --from`` takes, like "-1h".
        lease: only what was written under leases of this name.
        live: also what is not settled yet. tail: only the last so many.
        unique: of messages with the same "id" in their JSON only the first; remembers all of these.
        """
        return self._cat(start, end, lease, live, tail, unique, [])

    def follow(self, start=None, lease=None, live=False, tail=None, unique=False):
        """What becomes settled from now on, or since start: a generator that waits for more, until it is closed."""
        return self._cat(start, None, lease, live, tail, unique, ["--follow"])

    def _cat(self, start, end, lease, live, tail, unique, more):
        arguments = ["cat", "--log", self.name, "--json", *self._store, *more]
        for option, value in (("--from", _when(start)), ("--to", _when(end)), ("--lease", lease), ("--tail", tail)):
            if value is not None:
                arguments.append(f"{option}={value}")
        if live:
            arguments.append("--live")
        seen = set()
        command = Command(arguments, self._cinch)
        try:
            for line in command.out:
                try:
                    told = json.loads(line)
                except ValueError:
                    raise CinchError("cinch cat was killed in the middle of a line", -9) from None
                if "timestampNanos" not in told:
                    continue  # a gap, which it ends with 5 for
                message = Message._of(told)
                if unique:
                    id = (message.json or {}).get("id")
                    if id in seen:
                        continue
                    if id is not None:
                        seen.add(id)
                yield message
            if command.wait() != 0:
                raise command.error()
        finally:
            command.kill()

    def to_pandas(self, *args, **options):
        """What read gives, as a DataFrame: "timestamp", and the members of the messages' JSON, or "message"."""
        try:
            import pandas
        except ImportError:
            raise CinchError("to_pandas needs pandas, which is not installed: pip install pandas") from None
        messages = list(self.read(*args, **options))
        rows = [message.json for message in messages]
        if None in rows or not rows:
            rows = {"message": [message.text for message in messages]}
        frame = pandas.DataFrame(rows)
        frame.insert(0, "timestamp", pandas.to_datetime([m.time_ns for m in messages], unit="ns", utc=True), True)
        return frame


def _when(time):
    if not isinstance(time, datetime):
        return time
    if time.tzinfo is None:
        time = time.astimezone()
    return int((time - _EPOCH) / timedelta(microseconds=1)) * 1000
