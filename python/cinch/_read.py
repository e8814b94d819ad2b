"""Messages of a log, as ``cinch cat`` prints them."""

from __future__ import annotations

import asyncio
import base64
import json
import weakref
from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from types import TracebackType
from typing import Any, Deque, Dict, Iterator, List, Optional, Sequence, Set, Tuple, Type, Union

from ._command import CinchError, Command, Path

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

Time = Union[datetime, int, str]


@dataclass(frozen=True)
class Message:
    """A message that was read."""

    payload: bytes
    id: str
    time_ns: int
    settled: bool
    """Whether its place in the order is final."""
    leases: Tuple[str, ...]
    """The names of the leases that it was written under."""

    @property
    def text(self) -> str:
        """The payload, as UTF-8; what is none is replaced."""
        return self.payload.decode("utf-8", "replace")

    @property
    def time(self) -> datetime:
        """Its timestamp in UTC, to the microsecond."""
        return _EPOCH + timedelta(microseconds=self.time_ns // 1000)

    @property
    def json(self) -> Optional[Dict[str, Any]]:
        """The payload as an object of JSON (a dict); None if it is none."""
        if not self.payload.startswith(b"{"):
            return None
        try:
            found: Dict[str, Any] = json.loads(self.payload)
            return found
        except (ValueError, RecursionError):
            return None

    @property
    def _key(self) -> Optional[str]:
        """What is the same for messages of one "id"; None if it has none."""
        if b'"id"' not in self.payload and b"\\u" not in self.payload:
            return None  # most have none, or no JSON at all
        return key((self.json or {}).get("id"))

    @staticmethod
    def _of(line: Dict[str, Any]) -> Message:
        payload = line.get("payload")
        if payload is None:
            payload = base64.b64decode(line["payloadBase64"])
        else:
            payload = payload.encode()
        leases = tuple(each["name"] for each in line["leases"])
        return Message(payload, line["id"], int(line["timestampNanos"]), line["settled"], leases)


def key(id: object) -> Optional[str]:
    """An id as JSON, in which 1, 1.0, true and "1" are four; None if it is neither text nor a number."""
    return json.dumps(id) if isinstance(id, (str, int, float)) else None


class Reading:
    """A ``cinch cat``, and what it printed. Not thread-safe."""

    def __init__(self, arguments: Sequence[str], cinch: Optional[Path], unique: bool = False) -> None:
        self.command = Command(["cat", "--json", "--end-mark", *arguments], cinch)
        self.end_mark: Optional[Dict[str, Any]] = None
        self._seen: Optional[Set[str]] = set() if unique else None
        # Also at the program's end: one that follows would never learn that nobody reads.
        self.close = weakref.finalize(self, self.command.kill)

    def messages(self, lines: List[bytes]) -> Iterator[Message]:
        """Those of some lines."""
        for line in lines:
            told = json.loads(line)
            if told.get("type") == "end":
                self.end_mark = told
                continue
            message = Message._of(told)
            if self._seen is not None:
                id = message._key
                if id in self._seen:
                    continue
                if id is not None:
                    self._seen.add(id)
            yield message

    def end(self) -> None:
        """Raises if its output is not all that was to be read."""
        if self.end_mark is None or self.end_mark["exitCode"] != 0:
            error = self.command.error()
            if not error.code:
                error = CinchError(f"cinch cat ended before it had printed all: {error}")
            raise error

    def all(self) -> Iterator[Message]:
        """Each message, until it ends; ends it if the generator is closed."""
        try:
            for lines in self.command.blocks():
                yield from self.messages(lines)
            self.end()
        finally:
            self.close()


class AsyncMessages:
    """Messages as they come, for ``async for``. A wait that is cancelled loses none: the next one goes on.

    Ends what it runs when it is closed (``aclose``, or ``async with``) or forgotten. For one task at a time.
    """

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._ready: Deque[Message] = deque()
        self._readable: Optional[asyncio.Future[None]] = None

    def __aiter__(self) -> AsyncMessages:
        return self

    async def __anext__(self) -> Message:
        while not self._ready:
            if self._reading.close.alive:
                await self._more()
            if not self._reading.close.alive:
                raise StopAsyncIteration
            try:
                lines = self._reading.command.read()  # there is something, so this does not wait
                if lines is None:
                    self._reading.end()
                    self._reading.close()
                else:
                    self._ready.extend(self._reading.messages(lines))
            except BaseException:
                self._reading.close()
                raise
        return self._ready.popleft()

    async def _more(self) -> None:
        if self._readable is not None:
            raise RuntimeError("another task waits for the next message")
        loop, output = asyncio.get_running_loop(), self._reading.command.fileno()
        self._readable = loop.create_future()
        loop.add_reader(output, self._wake)
        try:
            await self._readable
        finally:
            self._readable = None
            if self._reading.close.alive:
                loop.remove_reader(output)

    def _wake(self) -> None:
        if self._readable is not None and not self._readable.done():
            self._readable.set_result(None)

    async def aclose(self) -> None:
        """Ends it; does nothing if it has ended."""
        self._ready.clear()
        if self._readable is not None:
            self._readable.get_loop().remove_reader(self._reading.command.fileno())
            self._wake()
        self._reading.close()

    async def __aenter__(self) -> AsyncMessages:
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.aclose()


def nanos(time: Optional[Time]) -> Union[int, str, None]:
    """As an option of ``cinch`` takes it."""
    if not isinstance(time, datetime):
        return time
    if time.tzinfo is None:
        time = time.astimezone()
    return (time - _EPOCH) // timedelta(microseconds=1) * 1000
