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

_QUERY_CELL = re.compile(rb"\x1b\[\?2026\$p|\x1b\[\?2048\$p")


class TerminalSession:
    """Runs `argv` under a pty of `columns` × `rows` and keeps an emulated screen of what it wrote."""

    def __init__(self, argv: list[str], environment: dict[str, str], columns: int = 160, rows: int = 50) -> None:
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.bytes_written = 0
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
        """End the command and reap it."""
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
        # pyte knows no private-mode queries and would print their last letter
        self._stream.feed(_QUERY_CELL.sub(b"", data))
        return True
