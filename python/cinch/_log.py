"""Logs: appending to them, and reading them."""

from __future__ import annotations

import asyncio
import json
import os
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Dict, Iterator, List, Optional, Type, Union

from ._append import Appender, Entry, Receipt, Target, in_callback
from ._command import CinchError, Path
from ._lease import Lease
from ._read import AsyncMessages, Message, Reading, Time, key, nanos

Payload = Union[str, bytes, bytearray, memoryview, Dict[str, Any]]
Id = Union[str, int, float]


class Log:
    """A log of a store. Starts what it needs with the first message; close it, or use it in a ``with``.

    store: its directory; the variable CINCH_STORE otherwise.
    lease: a name: each message is in the log exactly once, also when cinch or this program is killed and runs again.
    Or a Lease that is held: messages are written under it. None: at least once.
    server: the lease service, for a name; the variable CINCH_SERVER otherwise.
    wait: how long to wait for that lease, like "5m". That of a run that was killed, or whose cinch was, runs out first.
    lasting: how long it lasts without a renewal; 60s unless set, or as long as the service allows.
    since: where reading what earlier runs wrote begins, as for read; the log's begin otherwise.

    Thread-safe. A process that is forked off starts a cinch of its own with its first message. Futures are their
    process's.
    """

    def __init__(
        self,
        name: str,
        store: Optional[Path] = None,
        server: Optional[str] = None,
        lease: Union[str, Lease, None] = None,
        wait: str = "5m",
        lasting: Optional[str] = None,
        since: Optional[Time] = None,
        cinch: Optional[Path] = None,
    ) -> None:
        if lease is not None and not isinstance(lease, (str, Lease)):
            raise TypeError("lease= takes a name or a Lease")
        self.name = name
        self._target = Target(
            log=name,
            store=["--store", os.fspath(store)] if store is not None else [],
            name=lease if isinstance(lease, str) else None,
            lease=lease if isinstance(lease, Lease) else None,
            lease_options=dict(store=store, server=server, wait=wait, lasting=lasting, cinch=cinch),
            since=since,
            cinch=cinch,
        )
        self._owner = os.getpid()
        self._closed = False
        # By process: one that was forked off has its parent's, with locks that nobody will release.
        self._appenders: Dict[int, Appender] = {}

    # -- appending

    def append(self, message: Payload, id: Optional[Id] = None) -> Receipt:
        """Appends a message; returns its Receipt when it is in the log. Raises Refused if it never will be.

        message: bytes or text without a newline, or a dict, which becomes a line of JSON with an "id". Under a lease by
        name text becomes one, too: {"id": …, "message": …}.
        id: what names the message. Of several with one id the first alone is written, in this run and all later ones
        under that lease. NAME:1, NAME:2, … by the name of the lease, unless given.
        """
        self._refuse_in_callbacks()
        return self._await(self._put(self._entry(message, id, True)))

    def submit(self, message: Payload, id: Optional[Id] = None) -> Future[Receipt]:
        """As append; returns a Future of the Receipt at once. What fails, flush and close raise, too.

        It waits while some megabytes are on their way, but not in a callback of such a future.
        """
        return self._put(self._entry(message, id, False)).future

    async def append_async(self, message: Payload, id: Optional[Id] = None) -> Receipt:
        """As append, for asyncio. A call that is cancelled has its message appended all the same; flush raises if not."""
        entry = self._put(self._entry(message, id, True), waits=False)
        try:
            return await asyncio.wrap_future(entry.future)
        except asyncio.CancelledError:
            entry.awaited = False
            raise

    def __contains__(self, id: object) -> bool:
        """Whether a message with this id was written under the lease's name: ``if "unit-17" in log``."""
        if self._target.name is None:
            raise ValueError("only a log with a lease's name knows what is in it")
        if not in_callback():  # there it is known already
            self._await(self._put(Entry(None, None, None, True)))
        return self._now().knows(_checked(id))

    def flush(self) -> None:
        """Waits until all that was submitted is in the log; raises why the first that is not, is not."""
        self._refuse_in_callbacks()
        self._now().flush()

    def close(self) -> None:
        """Waits as flush does, also for what callbacks submit, and gives the lease back."""
        self._refuse_in_callbacks()
        self._closed = True
        self._now().close()

    def __enter__(self) -> Log:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    async def __aenter__(self) -> Log:
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self.close)

    def _now(self) -> Appender:
        """This process's."""
        pid = os.getpid()
        return self._appenders.get(pid) or self._appenders.setdefault(pid, Appender(self._target))

    def _put(self, entry: Entry, waits: bool = True) -> Entry:
        appender = self._now()
        if self._closed and not in_callback():
            raise ValueError("the log was closed")
        return appender.put(entry, waits)

    def _await(self, entry: Entry) -> Receipt:
        try:
            return entry.future.result()
        except BaseException:
            if not entry.future.done():
                self._now().withdraw(entry)
            raise

    @staticmethod
    def _refuse_in_callbacks() -> None:
        if in_callback():
            raise RuntimeError("a callback holds up the receipts, and must not wait for one: use submit")

    def _entry(self, message: Payload, id: Optional[Id], awaited: bool) -> Entry:
        if not isinstance(message, (str, bytes, bytearray, memoryview, dict)):
            raise TypeError(f"a message is text, bytes or a dict, not {type(message).__name__}")
        if isinstance(message, dict) or id is not None or self._target.name is not None:
            if not isinstance(message, dict):
                message = {"message": message if isinstance(message, str) else bytes(message).decode()}
            named = id if id is not None else message.get("id")
            if named is None:
                named = self._number()
            known = _checked(named)
            message = {"id": named, **{key: value for key, value in message.items() if key != "id"}}
            text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
            try:
                return Entry(text.encode() + b"\n", named, known, awaited)
            except UnicodeEncodeError:
                return Entry(json.dumps(message).encode() + b"\n", named, known, awaited)
        line = message.encode() if isinstance(message, str) else bytes(message)
        if b"\n" in line:
            raise ValueError("a message of several lines: append a dict, which is written as JSON")
        return Entry(line + b"\n", None, None, awaited)

    def _number(self) -> str:
        appender = self._now()
        if self._target.name is not None and self._owner != os.getpid():
            raise CinchError(
                f"{self._target.name}:1, {self._target.name}:2, … are ids of the process that made the Log: one that was"
                " forked off gives ids, or makes a Log with a lease of its own",
                2,
            )
        return f"{appender.run}:{next(appender.numbers)}"

    # -- reading

    def read(
        self,
        start: Optional[Time] = None,
        end: Optional[Time] = None,
        lease: Optional[str] = None,
        live: bool = False,
        tail: Optional[int] = None,
        unique: bool = False,
    ) -> Iterator[Message]:
        """The settled messages, in order: a generator of Message. Raises CinchError if it can't give all of them.

        start, end: a datetime, nanoseconds since 1970, or what ``cinch cat --from`` takes, like "-1h".
        lease: only what was written under leases of this name.
        live: also what is not settled yet. tail: only the last so many.
        unique: of messages with the same "id" in their JSON only the first; remembers all of these.
        """
        yield from self._reading(start, end, lease, live, tail, unique).all()

    def follow(
        self,
        start: Optional[Time] = None,
        lease: Optional[str] = None,
        live: bool = False,
        tail: Optional[int] = None,
        unique: bool = False,
    ) -> Iterator[Message]:
        """What becomes settled from now on, or since start: a generator that waits for more, until it is closed."""
        yield from self._reading(start, None, lease, live, tail, unique, "--follow").all()

    def follow_async(
        self,
        start: Optional[Time] = None,
        lease: Optional[str] = None,
        live: bool = False,
        tail: Optional[int] = None,
        unique: bool = False,
    ) -> AsyncMessages:
        """As follow, for ``async for``."""
        return AsyncMessages(self._reading(start, None, lease, live, tail, unique, "--follow"))

    def _reading(
        self,
        start: Optional[Time],
        end: Optional[Time],
        lease: Optional[str],
        live: bool,
        tail: Optional[int],
        unique: bool,
        *more: str,
    ) -> Reading:
        arguments = ["--log", self.name, *self._target.store, *more]
        for option, value in (("--from", nanos(start)), ("--to", nanos(end)), ("--lease", lease), ("--tail", tail)):
            if value is not None:
                arguments.append(f"{option}={value}")
        if live:
            arguments.append("--live")
        return Reading(arguments, self._target.cinch, unique)

    def to_pandas(self, *args: Any, **options: Any) -> Any:
        """What read gives, as a DataFrame: "timestamp", and the members of the messages' JSON, or "message"."""
        try:
            import pandas  # type: ignore
        except ImportError:
            raise CinchError("to_pandas needs pandas, which is not installed: pip install pandas") from None
        messages = list(self.read(*args, **options))
        rows: Any = [message.json for message in messages]
        if None in rows or not rows:
            rows = {"message": [message.text for message in messages]}
        frame = pandas.DataFrame(rows)
        frame.insert(0, "timestamp", pandas.to_datetime([m.time_ns for m in messages], unit="ns", utc=True), True)
        return frame


def _checked(id: object) -> str:
    """The key of an id."""
    known = key(id)
    if known is None:
        raise TypeError("an id is text or a number")  # others are read back as something else
    return known
