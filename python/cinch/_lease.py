"""Leases, held while a program runs."""

from __future__ import annotations

import os
import threading
from types import TracebackType
from typing import Callable, Dict, Iterator, List, Optional, Type

from ._command import CinchError, Command, Path

# Holds the leases until a line comes, or its input ends, which it does at the latest when this process does.
_HOLD = 'echo "$CINCH_GRANT"; echo "$CINCH_FENCE"; read -r end'


class LeaseLost(CinchError):
    """A lease is no longer held."""


class Lease:
    """Leases by name, all or none, held within a ``with``.

    store: also fence there what earlier holders wrote: then all of it can be read, and nothing comes after.
    server: the lease service; the variable CINCH_SERVER otherwise.
    wait: how long to wait while somebody else has one, like "5m".
    lasting: how long they last without a renewal, which happens by itself, like "60s".
    on_lost: called once with the reason, in another thread, when they can't be renewed or were revoked. About a fifth
    of their time is left then, until somebody else can have them.

    Thread-safe. A process that is killed gives them up; the next holder has them at once, or when they run out. A
    process that was forked off does not hold them, and can't give them back.
    """

    def __init__(
        self,
        *names: str,
        store: Optional[Path] = None,
        server: Optional[str] = None,
        wait: str = "0s",
        lasting: Optional[str] = None,
        on_lost: Optional[Callable[[str], object]] = None,
        cinch: Optional[Path] = None,
    ) -> None:
        if not names:
            raise ValueError("no lease was named")
        self.names = names
        self.lost: Optional[str] = None
        """Why they are no longer held; None while they are."""
        self.fence: Optional[str] = None
        """The fencing token of the first one, for other storage (docs/fencing.md)."""
        self._arguments: List[str] = ["lease", "run", "--wait", wait, "--on-lost", 'echo "$CINCH_REASON"']
        for option, value in (("--store", store), ("--server", server), ("--for", lasting)):
            if value is not None:
                self._arguments += [option, str(value)]
        self._arguments += [*names, "--", "sh", "-c", _HOLD]
        self._on_lost = on_lost
        self._cinch = cinch
        self._waiting: Optional[Command] = None
        self._command: Optional[Command] = None
        self._owner: Optional[int] = None
        self._grant = ""
        self._lock = threading.Lock()

    def acquire(self) -> Lease:
        """Takes them; returns this object. Raises CinchError, with code 3 if somebody else has one."""
        if self._held_here() is not None:
            raise ValueError("the lease is held already")
        self._waiting = command = Command(self._arguments, self._cinch, takes_input=True)
        try:
            said = command.lines()
            grant, fence = (next(said, b"").decode().strip() for _ in range(2))
            if not grant:
                raise command.error()
        except BaseException:
            command.kill()
            raise
        finally:
            self._waiting = None
        self._lock = threading.Lock()  # that of a parent process may be locked
        self.lost, self.fence, self._grant, self._owner, self._command = None, fence, grant, os.getpid(), command
        threading.Thread(target=self._watch, args=(command, said), name="cinch-lease", daemon=True).start()
        return self

    def _stop_waiting(self) -> None:
        """Ends what acquire waits for in another thread."""
        command = self._waiting
        if command is not None:
            command.terminate()

    def _watch(self, command: Command, said: Iterator[bytes]) -> None:
        try:
            for line in said:  # from --on-lost
                self._lose(command, line.decode("utf-8", "replace").strip())
            if self._command is command:
                self._lose(command, str(command.error()))
        finally:
            command.close()

    def _lose(self, command: Command, why: str) -> None:
        with self._lock:
            if self._command is not command or self.lost is not None:
                return
            self.lost = why
        if self._on_lost is not None:
            self._on_lost(why)

    def _held_here(self) -> Optional[Command]:
        return self._command if self._owner == os.getpid() else None

    @property
    def held(self) -> bool:
        """Whether they are held, as far as is known here."""
        return self._held_here() is not None and self.lost is None

    def check(self) -> None:
        """Raises LeaseLost if they are not held any more."""
        if not self.held:
            forked = self._command is not None and self.lost is None
            raise LeaseLost(
                "the lease is held by the process that took it, not by this one"
                if forked
                else self.lost or "the lease is not held",
                3,
            )

    def environment(self) -> Dict[str, str]:
        """The variables by which a ``cinch append`` that is started writes under them; also in a process forked off."""
        if self._command is None or self.lost is not None:
            self.check()
        return {"CINCH_GRANT": self._grant, "CINCH_FENCE": self.fence or ""}

    def release(self) -> None:
        """Gives them back; does nothing if they are not held, or by another process."""
        command = self._held_here()
        if command is None:
            return
        with self._lock:
            if self._command is not command:
                return
            self._command = None
        command.write(b"\n")
        command.end_input()
        command.wait()

    def __enter__(self) -> Lease:
        return self.acquire()

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        lost = self.lost
        self.release()
        if lost is not None and kind is None:
            raise LeaseLost(lost, 3)
