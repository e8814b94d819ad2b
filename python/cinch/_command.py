"""One process of the command ``cinch``."""

import fcntl
import os
import select
import shutil
import struct
import subprocess
import tempfile
import termios

# Linux's; in fcntl since Python 3.10.
_SET_PIPE_SIZE, _GET_PIPE_SIZE = 1031, 1032


class CinchError(Exception):
    """What cinch could not do: the last line of its standard error.

    code: its exit code (1 damage, 2 misuse, 3 refused, 4 unavailable, 5 messages expired), negative for a signal;
    None if it did not run.
    """

    def __init__(self, message, code=None):
        super().__init__(message)
        self.code = code


def find(cinch=None):
    """The command: what was given, or the variable CINCH says, or is on the PATH."""
    found = cinch or os.environ.get("CINCH") or shutil.which("cinch")
    if not found:
        raise CinchError("there is no cinch: put it on the PATH, set CINCH, or pass cinch=")
    return os.fspath(found)


class Command:
    """A running cinch. Its input takes whole lines only, also if this process is killed while it writes one."""

    def __init__(self, arguments, cinch=None, env=None, takes_input=False):
        self._name = "cinch " + arguments[0]
        program = find(cinch)
        self._errors = tempfile.TemporaryFile()
        try:
            # In a session of its own: Ctrl-C is for this process, which ends it when all has been appended.
            self._process = subprocess.Popen(
                [program, *arguments],
                stdin=subprocess.PIPE if takes_input else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=dict(os.environ, **(env or {})),
                start_new_session=True,
            )
        except OSError as e:
            self._errors.close()
            raise CinchError(f"{program} can't be run: {e.strerror}") from None
        self.out = self._process.stdout
        self.pid = self._process.pid

    def write(self, line):
        """Writes a line. False if the process has ended, or its input was closed: it may have taken it or not."""
        pipe = self._process.stdin
        try:
            if len(line) > 4096:
                self._wait_for_room(pipe, len(line))
            view = memoryview(line)
            while view:
                view = view[os.write(pipe.fileno(), view) :]
            return True
        except (BrokenPipeError, ValueError):
            return False

    @staticmethod
    def _wait_for_room(pipe, length):
        # Linux writes 4,096 bytes or none of them. More it writes whole only if there is room for all of them: if this
        # process was killed while it waits for room, cinch would take a part of the line for a message.
        if fcntl.fcntl(pipe, _GET_PIPE_SIZE) < length:
            try:
                fcntl.fcntl(pipe, _SET_PIPE_SIZE, length)
            except OSError:
                raise CinchError(f"a message of {length - 1} bytes is longer than a pipe may be here") from None
        unread = bytearray(4)
        broken = select.poll()
        broken.register(pipe, 0)
        while fcntl.ioctl(pipe, termios.FIONREAD, unread) == 0 and struct.unpack("i", unread) != (0,):
            if broken.poll(1):  # milliseconds
                return

    def end_input(self):
        """Lets it end by itself."""
        try:
            self._process.stdin.close()
        except OSError:
            pass

    def wait(self, timeout=None):
        """Its exit code."""
        return self._process.wait(timeout)

    def kill(self):
        """Ends it at once, unless it has ended."""
        self._process.kill()
        self.close()

    def terminate(self):
        """Asks it to end, unless it has ended."""
        self._process.terminate()

    def close(self):
        """Waits for its end, and forgets it, and why."""
        self._process.wait()
        for stream in (self._process.stdin, self.out, self._errors):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    pass

    def error(self):
        """Why it ended, as an exception."""
        code = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").split("\n")
        said = [line.strip() for line in lines if line.strip()]
        return CinchError(said[-1] if said else f"{self._name} ended with {code}", code)
