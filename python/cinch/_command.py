"""One process of the command ``cinch``."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from typing import IO, Iterator, List, Mapping, Optional, Sequence, Union

Path = Union[str, "os.PathLike[str]"]

# Processes whose pipes are open here. A fork waits until one that is being started is among them.
_running: set[Command] = set()
_starting = threading.RLock()
# What a process that was forked off has of its parent's: kept, so that nothing of it is ended by being forgotten.
_inherited: List[Command] = []


class CinchError(Exception):
    """What cinch could not do: the last line of its standard error.

    code: its exit code (1 damage, 2 misuse, 3 refused, 4 unavailable), negative for a signal;
    None if it did not run, or nobody can say how it ended.
    """

    def __init__(self, message: str, code: Optional[int] = None) -> None:
        super().__init__(message)
        self.code = code


def find(cinch: Optional[Path] = None) -> str:
    """The command: what was given, or the variable CINCH says, or is on the PATH."""
    found = cinch or os.environ.get("CINCH") or shutil.which("cinch")
    if not found:
        raise CinchError("there is no cinch: put it on the PATH, set CINCH, or pass cinch=")
    return os.fspath(found)


class Command:
    """A running cinch. One thread writes to it and closes its input, one reads; any may ask it to end.

    Its exit code is what it says on standard error. The system's answer is lost where this program ignores SIGCHLD,
    or collects all of its children.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        cinch: Optional[Path] = None,
        env: Optional[Mapping[str, str]] = None,
        takes_input: bool = False,
    ) -> None:
        self._name = "cinch " + arguments[0]
        program = find(cinch)
        # No file where there is another way: the directory of temporary ones may be full.
        self._errors: IO[bytes] = (
            os.fdopen(os.memfd_create("cinch"), "w+b", 0) if hasattr(os, "memfd_create") else tempfile.TemporaryFile()
        )
        self._owner = os.getpid()
        try:
            with _starting:
                # In a session of its own: Ctrl-C is for this process, which ends it when all has been appended. Files
                # without a buffer have no lock, which a process that was forked off would find locked.
                self._process = subprocess.Popen(
                    [program, *arguments],
                    bufsize=0,
                    stdin=subprocess.PIPE if takes_input else subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=self._errors,
                    env={**os.environ, **(env or {}), "CINCH_TELL_EXIT": "yes"},
                    start_new_session=True,
                )
                _running.add(self)
        except OSError as e:
            self._errors.close()
            raise CinchError(f"{program} can't be run: {e.strerror}") from None
        self._rest = bytearray()
        self.pid = self._process.pid

    def fileno(self) -> int:
        """The descriptor of its output."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def read(self) -> Optional[List[bytes]]:
        """The lines that one more read of its output ends, maybe none; None at the end, which ends no line."""
        block = os.read(self.fileno(), 1 << 16)
        if not block:
            return None
        *lines, last = block.split(b"\n")
        if lines:
            lines[0] = bytes(self._rest + lines[0])
            self._rest.clear()
        self._rest += last
        return lines

    def blocks(self) -> Iterator[List[bytes]]:
        """The same until it ends."""
        lines = self.read()
        while lines is not None:
            yield lines
            lines = self.read()

    def lines(self) -> Iterator[bytes]:
        """The same, line by line."""
        for block in self.blocks():
            yield from block

    def write(self, data: bytes) -> bool:
        """Writes all. False if the process has ended, or its input was closed: it may have taken it or not."""
        pipe = self._process.stdin
        assert pipe is not None
        # A program that wants to be ended by SIGPIPE means its own output.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGPIPE])
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(pipe.fileno(), view) :]
            return True
        except BrokenPipeError:
            signal.sigtimedwait([signal.SIGPIPE], 0)
            return False
        except ValueError:
            return False
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def end_input(self) -> None:
        """Ends its input, unless a process that was forked off by foreign code has the other end, too."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def wait(self) -> None:
        """Waits for its end."""
        self._process.wait()

    def kill(self) -> None:
        """Ends it at once, unless it has ended, and forgets it."""
        if self._owner == os.getpid():
            self._process.kill()
            self.close()
            if self._process.stdin is not None:
                self._process.stdin.close()

    def terminate(self) -> None:
        """Asks it to end, unless it has ended."""
        if self._owner == os.getpid():
            self._process.terminate()

    def close(self) -> None:
        """Waits for its end, and forgets it but for its input."""
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._errors.close()
        _running.discard(self)

    def error(self) -> CinchError:
        """Waits for its end; why it ended, as an exception, whose code may be 0."""
        waited = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").split("\n")
        said = [line.strip() for line in lines if line.strip()]
        told = re.fullmatch("cinch: exit code ([0-9]+)", said[-1]) if said else None
        code = int(told[1]) if told else waited or None
        if told:
            said.pop()
        how = "and nobody can say how" if code is None else f"with {code}"
        return CinchError(said[-1] if said else f"{self._name} ended {how}", code)

    def _leave(self) -> None:
        """In a process that was forked off: closes what is its parent's, whose numbers stay taken."""
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None and not stream.closed:
                os.dup2(null, stream.fileno(), inheritable=False)
        os.close(null)


def _forked() -> None:
    try:
        for command in _running:
            command._leave()
        _inherited.extend(_running)
        _running.clear()
    finally:
        _starting.release()


os.register_at_fork(before=_starting.acquire, after_in_parent=_starting.release, after_in_child=_forked)
