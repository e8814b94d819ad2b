"""Leases, held while a program runs."""

import subprocess
import threading

from ._command import CinchError, Command

# Holds the leases until its input ends, which it does at the latest when this process does.
_HOLD = 'echo "$CINCH_GRANT"; echo "$CINCH_FENCE"; exec cat >/dev/null'


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

    Thread-safe. A process that is killed gives them up; the next holder has them at once, or when they run out.
    """

    def __init__(self, *names, store=None, server=None, wait="0s", lasting=None, on_lost=None, cinch=None):
        if not names:
            raise ValueError("no lease was named")
        self.names = names
        self.lost = None
        """Why they are no longer held; None while they are."""
        self.fence = None
        """The fencing token of the first one, for other storage (docs/fencing.md)."""
        self._arguments = ["lease", "run", "--wait", wait, "--on-lost", 'echo "$CINCH_REASON"']
        for option, value in (("--store", store), ("--server", server), ("--for", lasting)):
            if value is not None:
                self._arguments += [option, str(value)]
        self._arguments += [*names, "--", "sh", "-c", _HOLD]
        self._on_lost = on_lost
        self._cinch = cinch
        self._command = None
        self._grant = None
        self._lock = threading.Lock()

    def acquire(self):
        """Takes them; returns this object. Raises CinchError, with code 3 if somebody else has one."""
        if self._command is not None:
            raise ValueError("the lease is held already")
        command = Command(self._arguments, self._cinch, takes_input=True)
        try:
            grant, fence = (command.out.readline().decode().strip() for _ in range(2))
            if not grant:
                raise command.error()
        except BaseException:
            command.kill()
            raise
        self.lost, self.fence, self._grant, self._command = None, fence, grant, command
        threading.Thread(target=self._watch, args=(command,), name="cinch-lease", daemon=True).start()
        return self

    def _watch(self, command):
        for line in command.out:  # from --on-lost
            self._lose(command, line.decode("utf-8", "replace").strip())
        if self._command is command:
            self._lose(command, str(command.error()))
        command.close()

    def _lose(self, command, why):
        with self._lock:
            if self._command is not command or self.lost is not None:
                return
            self.lost = why
        if self._on_lost is not None:
            self._on_lost(why)

    @property
    def held(self):
        """Whether they are held, as far as is known here."""
        return self._command is not None and self.lost is None

    def check(self):
        """Raises LeaseLost if they are not held any more."""
        if not self.held:
            raise LeaseLost(self.lost or "the lease is not held", 3)

    def environment(self):
        """The variables by which a ``cinch append`` that is started writes under them."""
        self.check()
        return {"CINCH_GRANT": self._grant, "CINCH_FENCE": self.fence}

    def release(self):
        """Gives them back; does nothing if they are not held."""
        with self._lock:
            command, self._command = self._command, None
        if command is None:
            return
        command.end_input()
        try:
            command.wait(5)
        except subprocess.TimeoutExpired:
            command.terminate()  # a process that was forked off has the other end of the pipe, too
        command.wait()

    def __enter__(self):
        return self.acquire()

    def __exit__(self, kind, *unused):
        lost = self.lost
        self.release()
        if lost is not None and kind is None:
            raise LeaseLost(lost, 3)
