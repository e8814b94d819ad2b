"""What appends the messages of one log, in one process."""

from __future__ import annotations

import atexit
import itertools
import json
import os
import sys
import threading
import time
import traceback
import uuid
from collections import deque
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Any, Deque, Dict, List, Optional, Set, Tuple

from ._command import CinchError, Command, Path
from ._lease import Lease
from ._read import Reading, Time, nanos

# How often a message is sent again that was refused, or a cinch started again that took nothing before it ended.
_TRIES = 3
# So many bytes wait for the pipe to cinch; then submit waits, but for callbacks. And what a message counts besides its own.
_MOST_WAITING, _EACH = 4 << 20, 500
_BATCH = 1 << 16


class Refused(CinchError):
    """A message is not in the log, and never will be."""


@dataclass(frozen=True)
class Receipt:
    """A message is in the log, once, for ever."""

    id: Optional[str]
    """Where it is, as all commands name it; None if it was there before."""
    time_ns: Optional[int]
    """Its timestamp, in nanoseconds since 1970; None if it was there before."""
    message_id: Any = None
    """The member "id" of its JSON, if it has one."""
    earlier: bool = False
    """Whether it was in the log already, from an earlier run, and was not written again."""


class Entry:
    """A message on its way. Without a line it asks only that what earlier runs wrote is known."""

    __slots__ = ("awaited", "future", "id", "key", "line", "sent", "shared", "tries")

    def __init__(self, line: Optional[bytes], id: object, key: Optional[str], awaited: bool) -> None:
        self.line, self.id, self.key, self.awaited = line, id, key, awaited
        self.shared, self.sent, self.tries = False, False, 0
        self.future: Future[Receipt] = Future()
        self.future.set_running_or_notify_cancel()  # it can't be cancelled any more

    @property
    def size(self) -> int:
        return len(self.line or b"") + _EACH


@dataclass(frozen=True)
class Target:
    """Where messages go."""

    log: str
    store: List[str]
    name: Optional[str]
    lease: Optional[Lease]
    lease_options: Dict[str, Any]
    since: Optional[Time]
    cinch: Optional[Path]


class _Child:
    """A cinch append, and the messages that it has not given a receipt for, by the numbers of their lines."""

    def __init__(self, command: Command, end: bytes, lease: Optional[Lease]) -> None:
        self.command, self.lease, self._end = command, lease, end
        self.waiting: Dict[int, Entry] = {}
        self.lines = 0
        self.committed = False
        self._stopped = False

    def stop(self) -> None:
        """Lets it end; what it took has a receipt by then."""
        if not self._stopped:
            self._stopped = True
            self.command.terminate()

    def end(self) -> None:
        """Says that this was all. A process that was forked off may have the pipe's end, too, and keep it open."""
        self.command.write(self._end)
        self.command.end_input()


# One of the two is None.
_Outcome = Tuple[Entry, Optional[Receipt], Optional[Exception]]


class _Thread(threading.Thread):
    """One of those that messages go through. Whatever runs in it, as a callback does, must not wait for the others."""


def in_callback() -> bool:
    """Whether this is called where nothing may be waited for."""
    return isinstance(threading.current_thread(), _Thread)


class Appender:
    """Hands messages to a cinch append in one thread, takes receipts in another, and starts it anew where it ends.

    Thread-safe. No lock is held while a pipe is full, nor while callbacks run.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._owner = os.getpid()
        self._changed = threading.Condition()
        # All below is guarded by it.
        self._threads: List[_Thread] = []
        self._queue: Deque[Entry] = deque()  # not yet handed to a cinch
        self._size = 0  # of the queue
        self._entries: Dict[object, Entry] = {}  # without a receipt; under a lease's name by key
        self._unfinished = 0  # of these, and those whose callbacks run
        self._ids: Optional[Set[str]] = None  # keys of what is in the log; None until that is known
        self._child: Optional[_Child] = None
        self._starting: Optional[Lease] = None
        self._failures = 0
        self._failed: Optional[BaseException] = None
        self._closing = False
        self._over = False  # nothing is taken any more
        self._sent_all = False
        self._finalizer: Any = None
        self.numbers = itertools.count(1)
        self.run = target.name or uuid.uuid4().hex[:12]

    # -- for callers

    def put(self, entry: Entry, waits: bool = True) -> Entry:
        """Takes a message; gives the entry of an earlier one with its key that is on its way.

        waits: until there is room.
        """
        callback = in_callback()
        with self._changed:
            if waits and not callback:
                self._changed.wait_for(lambda: self._size < _MOST_WAITING or self._closing)
            if self._over or (self._closing and not callback):
                raise ValueError("the log was closed")
            known = self._entries.get(entry.key) if self._target.name is not None and entry.line is not None else None
            if known is not None:
                known.shared = True
                known.awaited = known.awaited and entry.awaited
                return known
            if self._ids is not None and (entry.line is None or entry.key in self._ids):
                entry.future.set_result(Receipt(None, None, entry.id, True))
                return entry
            self._start_threads()
            self._queue.append(entry)
            self._size += entry.size
            self._unfinished += 1
            self._entries[self._name(entry)] = entry
            if len(self._queue) == 1:
                self._changed.notify_all()
            return entry

    def withdraw(self, entry: Entry) -> None:
        """Its caller waits no longer: leaves it out, if nothing of it was written."""
        with self._changed:
            if entry.shared or entry.sent or entry not in self._queue:
                entry.awaited = False  # flush is to tell if it fails
                return
            self._queue.remove(entry)
            self._size -= entry.size
            lease = None if self._queue else self._starting
        if lease is not None:
            lease._stop_waiting()
        self._resolve([(entry, None, CinchError("its caller was interrupted"))])

    def knows(self, key: str) -> bool:
        """Whether a message with this key is known to be in the log."""
        with self._changed:
            return self._ids is not None and key in self._ids

    def failed(self, error: BaseException) -> None:
        """Something went wrong that flush and close are to raise."""
        with self._changed:
            self._failed = self._failed or error

    def flush(self) -> None:
        with self._changed:
            futures = [entry.future for entry in self._entries.values()]
        wait(futures)
        self._raise()

    def close(self) -> None:
        if self._owner != os.getpid():
            return  # in a process that was forked off, as it ends
        try:
            with self._changed:
                self._closing = True
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._unfinished == 0)
                self._over = True
                self._changed.notify_all()
        except BaseException:  # whoever interrupts this wants it to end
            self._abandon()
            raise
        finally:
            atexit.unregister(self.close)
            if self._finalizer is not None:
                self._finalizer.cancel()
        for thread in self._threads:
            thread.join()
        self._raise()

    def _raise(self) -> None:
        with self._changed:
            failed, self._failed = self._failed, None
        if failed is not None:
            raise failed

    def _abandon(self) -> None:
        with self._changed:
            self._over = True
            lease = self._starting
        if lease is not None:
            lease._stop_waiting()
        self._fail_queue(CinchError("the program was interrupted before this was appended"))

    def _name(self, entry: Entry) -> object:
        """What of several messages on their way is one only; without a lease's name each message."""
        return entry.key if self._target.name is not None and entry.line is not None else entry

    def _start_threads(self) -> None:
        if self._threads:
            return
        threads = [
            _Thread(target=self._receive, name="cinch-receipts", daemon=True),
            _Thread(target=self._send, name="cinch-append", daemon=True),
        ]
        try:
            for thread in threads:
                thread.start()
        except RuntimeError as e:
            raise CinchError(f"nothing can be appended any more: {e}") from None
        self._threads = threads
        atexit.register(self.close)
        # Its workers end without what atexit has.
        multiprocessing = sys.modules.get("multiprocessing.util")
        if multiprocessing is not None:
            self._finalizer = multiprocessing.Finalize(None, self.close, exitpriority=0)

    # -- the thread that writes

    def _send(self) -> None:
        child: Optional[_Child] = None
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._over or self._child is not child)
                ended = child if self._child is not child else None
            if ended is not None:
                ended.command.end_input()
                child = None
            elif child is None and self._queue:
                child = self._start_child()
            elif child is not None and self._queue:
                self._hand_over(child)
            elif self._over:
                break
        if child is not None:
            child.end()
        with self._changed:
            self._sent_all = True
            self._changed.notify_all()

    def _hand_over(self, child: _Child) -> None:
        lines, size = [], 0
        known: List[_Outcome] = []
        with self._changed:
            if self._child is not child:
                return
            full = self._size >= _MOST_WAITING
            while self._queue and size < _BATCH:
                entry = self._queue.popleft()
                self._size -= entry.size
                if entry.line is None or (self._ids is not None and entry.key in self._ids):
                    known.append((entry, Receipt(None, None, entry.id, True), None))
                    continue
                entry.sent = True
                child.lines += 1
                child.waiting[child.lines] = entry
                lines.append(entry.line)
                size += len(entry.line)
            if full:
                self._changed.notify_all()
        self._resolve(known)
        child.command.write(b"".join(lines))  # if it has ended, its receipts are over soon, and that is seen to

    def _start_child(self) -> Optional[_Child]:
        """Starts a cinch append. Under a lease by name, that fixes all that earlier ones wrote."""
        for tries in range(1, _TRIES + 1):
            try:
                child = self._started()
            except Exception as e:
                # A process that was killed meanwhile is worth another; 4: nobody answered for so long.
                killed = isinstance(e, CinchError) and (e.code not in (2, 3, 4) or "Java ended with" in str(e))
                if tries == _TRIES or not killed or self._over:
                    self._fail_queue(e)
                    return None
            else:
                with self._changed:
                    self._child = child
                    self._changed.notify_all()
                return child
        raise AssertionError

    def _started(self) -> _Child:
        to = self._target
        lease: Optional[Lease] = None
        env = {}
        try:
            if to.name is not None:
                lease = Lease(to.name, on_lost=lambda why: self._lost(lease), **to.lease_options)
                self._starting = lease
                env = lease.acquire().environment()
            elif to.lease is not None:
                env = to.lease.environment()
            end = uuid.uuid4().hex
            options = ["append", "--log", to.log, "--json", "--end", end, *to.store]
            child = _Child(Command(options, to.cinch, env, takes_input=True), end.encode() + b"\n", lease)
            try:
                if to.name is not None:
                    ids = self._written(to.name)
                    with self._changed:
                        self._ids = ids | (self._ids or set())
            except BaseException:
                child.end()
                child.command.close()
                raise
            return child
        except BaseException:
            if lease is not None:
                lease.release()
            raise
        finally:
            self._starting = None

    def _lost(self, lease: Optional[Lease]) -> None:
        """The lease is lost: ends what writes under it, so that the lease is taken anew."""
        child = self._child
        if child is not None and child.lease is lease:
            child.stop()

    def _written(self, name: str) -> Set[str]:
        """The keys of what is in the log under the lease."""
        to = self._target
        arguments = ["--log", to.log, *to.store, "--lease", name, "--live"]
        if to.since is not None:
            arguments.append(f"--from={nanos(to.since)}")
        try:
            reading = Reading(arguments, to.cinch)
            ids = {key for key in (message._key for message in reading.all()) if key is not None}
        except CinchError as e:
            if "there is no log" in str(e):
                return set()  # the first message makes it
            raise
        mark = reading.end_mark or {}
        if int(mark.get("fromNanos", 0)) > time.time_ns():
            raise CinchError(f"since={to.since} is in the future: say when the first message was appended", 2)
        if "expiredBefore" in mark:
            raise CinchError(
                f"messages before {mark['expiredBefore']} expired, and some may be of the lease {name}: "
                "say with since= when its first message was appended",
                3,
            )
        return ids

    # -- the thread that reads

    def _receive(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._child is not None or self._sent_all)
                child = self._child
            if child is None:
                return
            self._receipts(child)

    def _receipts(self, child: _Child) -> None:
        """Hands out receipts until the process ends; the messages without go to the next one."""
        refused: List[Entry] = []
        for lines in child.command.blocks():
            outcomes: List[_Outcome] = []
            with self._changed:
                for line in lines:
                    self._receipt(json.loads(line), child, refused, outcomes)
            self._resolve(outcomes)
        error = child.command.error()
        child.command.close()
        if child.lease is not None:
            child.lease.release()
        failing: List[Entry] = []
        with self._changed:
            self._child = None
            left = refused + list(child.waiting.values())
            self._failures = 0 if child.committed or not left else self._failures + 1
            if left and (self._failures == _TRIES or error.code == 2 or self._over):
                self._failures = 0
                failing = left
            else:
                self._queue.extendleft(reversed(left))
                self._size += sum(entry.size for entry in left)
            self._changed.notify_all()
        self._resolve([(entry, None, error) for entry in failing])
        if failing:
            self._fail_queue(error)

    def _receipt(
        self, receipt: Dict[str, Any], child: _Child, refused: List[Entry], outcomes: List[_Outcome]
    ) -> None:
        entry = child.waiting.pop(receipt.get("line", 0), None)
        if entry is None:
            return  # what a later version tells
        if receipt["state"] == "COMMITTED":
            child.committed = True
            if self._ids is not None and entry.key is not None:
                self._ids.add(entry.key)
            outcomes.append((entry, Receipt(receipt["id"], int(receipt["timestampNanos"]), entry.id), None))
            return
        entry.tries += 1
        if child.lease is None or entry.tries == _TRIES:
            outcomes.append((entry, None, Refused(receipt["reason"], 3)))
        else:
            refused.append(entry)
            child.stop()  # most likely the lease was lost: another try takes it anew

    # -- both

    def _fail_queue(self, error: Exception) -> None:
        with self._changed:
            failing = list(self._queue)
            self._queue.clear()
            self._size = 0
            self._changed.notify_all()
        self._resolve([(entry, None, error) for entry in failing])

    def _resolve(self, outcomes: List[_Outcome]) -> None:
        with self._changed:
            for entry, _, error in outcomes:
                del self._entries[self._name(entry)]
                if error is not None and not entry.awaited:
                    self._failed = self._failed or error
        for entry, receipt, error in outcomes:
            try:
                if error is not None:
                    entry.future.set_exception(error)
                elif receipt is not None:
                    entry.future.set_result(receipt)
            except BaseException:  # a callback would end the program, or its thread; the rest must not wait for ever
                traceback.print_exc()
        with self._changed:
            self._unfinished -= len(outcomes)
            if self._unfinished == 0:
                self._changed.notify_all()
