"""A command on a pseudo terminal that is its controlling one: read, not read any more, or gone."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import pyte

ROOT = Path(__file__).resolve().parents[2]
_TAKE_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)
_IGNORE_HANG_UP = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); "


class PtySession:
    """Runs one command; everything it writes is kept and shown on an emulated screen."""

    def __init__(
        self,
        command: Sequence[str],
        env: dict[str, str] | None = None,
        *,
        columns: int = 100,
        rows: int = 30,
        ignore_hang_up: bool = False,
        cwd: str | None = None,
    ) -> None:
        self.master, self._slave = pty.openpty()
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.attributes_before: list[Any] = termios.tcgetattr(self._slave)
        self.written = b""
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        prelude = _IGNORE_HANG_UP if ignore_hang_up else ""
        self.started_s = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-c", prelude + _TAKE_TERMINAL, *command],
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            env={**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **(env or {})},
            cwd=cwd,
            start_new_session=True,
        )

    def __enter__(self) -> PtySession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait(5)
        for descriptor in (self.master, self._slave):
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def read(self, seconds: float) -> None:
        """Read for so long."""
        self.read_until(lambda: False, seconds)

    def read_until(self, enough: Any, seconds: float) -> bool:
        """Read until `enough()` or the time is over; whether it was enough."""
        until_s = time.monotonic() + seconds
        while not enough():
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                return False
            ready, _, _ = select.select([self.master], [], [], min(0.05, left_s))
            if not ready:
                continue
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return bool(enough())
            self.written += data
            # What our screen library does not know (queries and the like) must not end the test.
            with contextlib.suppress(Exception):
                self._stream.feed(data)
        return True

    def shows(self, text: str) -> bool:
        """Whether the text is on the emulated screen."""
        return any(text in row for row in self.screen.display)

    def read_until_shown(self, text: str, seconds: float) -> bool:
        """Read until the text is on the screen."""
        return self.read_until(lambda: self.shows(text), seconds)

    def picture(self) -> str:
        """The emulated screen."""
        return "\n".join(row.rstrip() for row in self.screen.display)

    def type(self, keys: bytes) -> None:
        """Type keys."""
        os.write(self.master, keys)

    def attributes(self) -> list[Any]:
        """The terminal's attributes now."""
        return termios.tcgetattr(self._slave)

    def vanish(self) -> None:
        """The terminal is gone, as when a connection breaks."""
        os.close(self._slave)
        os.close(self.master)

    def wait(self, seconds: float) -> int:
        """The exit status; reads meanwhile, as a terminal does."""
        self.read_until(lambda: self.process.poll() is not None, seconds)
        status = self.process.wait(0.1)
        while select.select([self.master], [], [], 0.05)[0]:  # what it wrote last is still in the terminal
            before = len(self.written)
            self.read(0.01)
            if len(self.written) == before:
                break
        return status

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self.process.send_signal(number)
