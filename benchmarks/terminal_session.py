"""A command under a pseudo terminal: what it writes, when, and what a user would see."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from types import TracebackType

import pyte

_UNKNOWN_TO_PYTE = re.compile(rb"\x1bP[^\x1b]*\x1b\\\\|\x1b\[\?\d+\$p|\x1b\[>[0-9;]*[a-z]|\x1b\[=[0-9;]*[a-z]")
"""Sequences of which pyte would print the last letters."""
_ANSWERS = (
    (re.compile(rb"\x1bP\+q[^\x1b]*\x1b\\\\"), b"\x1bP0+r\x1b\\"),
    (re.compile(rb"\x1b\[0?c"), b"\x1b[?62;22c"),
    (re.compile(rb"\x1b\[6n"), b"\x1b[1;1R"),
)
"""What a terminal answers at once; without it a peer waits for seconds and is measured slower than it is."""


class TerminalSession:
    """Runs `argv` under a pty of `columns` × `rows` and keeps an emulated screen of what it wrote."""

    def __init__(self, argv: list[str], environment: dict[str, str], columns: int = 160, rows: int = 50) -> None:
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.bytes_written = 0
        self._closing = False
        self.started_s = time.monotonic()
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            # before the command can ask
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execvpe(argv[0], argv, {**environment, "TERM": "xterm-256color"})  # noqa: S606 - a list, no shell

    def __enter__(self) -> TerminalSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def pump(self, seconds: float) -> bool:
        """Read for `seconds`; False when the command has ended."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            ready, _, _ = select.select([self._fd], [], [], left)
            if not ready:
                return True
            if not self._read():
                return False
        return True

    def wait_for(self, pattern: str, timeout_s: float = 20.0) -> float | None:
        """Seconds since the start until the screen shows `pattern`; `None` when it never does."""
        wanted = re.compile(pattern)
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            ready, _, _ = select.select([self._fd], [], [], 0.05)
            if ready and not self._read():
                return None
            if wanted.search("\n".join(self.screen.display)):
                return time.monotonic() - self.started_s
        return None

    def send(self, keys: str) -> None:
        """Type `keys`."""
        os.write(self._fd, keys.encode())

    def close(self) -> None:
        """End the command and reap it.

        What it still writes is no picture: a command may drop half a sequence at its end.
        """
        self._closing = True
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)
        end = time.monotonic() + 3
        while time.monotonic() < end:
            self.pump(0.05)
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                break
        else:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        with contextlib.suppress(OSError):
            os.close(self._fd)

    def _read(self) -> bool:
        try:
            data = os.read(self._fd, 65536)
        except OSError:
            return False
        if not data:
            return False
        self.bytes_written += len(data)
        if self._closing:
            return True
        for query, answer in _ANSWERS:
            for _ in query.findall(data):
                os.write(self._fd, answer)
        self._stream.feed(_UNKNOWN_TO_PYTE.sub(b"", data))
        return True
