"""The ending: whatever happens, the terminal is given back as it was and no process spins or stays.

Textual serves signals from its event loop, which stands still while the terminal takes no output, and its input thread
does not take a vanished terminal for an end. So the handlers here are plain ones that end the process at once.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import termios
import threading
import time
from types import FrameType
from typing import Any

Attributes = list[Any]
"""What `termios.tcgetattr` gives."""

RESET = (
    "\x1b[?2026l"  # synchronised output ends, so that nothing is held back
    "\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l"  # mouse
    "\x1b[?2004l\x1b[?2048l\x1b[?1004l"  # bracketed paste, in-band resize, focus reports
    "\x1b[<u"  # kitty keyboard protocol, before the alternate screen is left
    "\x1b[0m\x1b[?7h\x1b[?1049l\x1b[?25h"  # colours, line wrap, main screen, cursor
)

_RESET_WITHIN_S = 0.3
"""A terminal that takes nothing for so long is left as it is."""


class Ending:
    """Gives the terminal back. Made before anything is changed on it; each way out calls `restore` or `leave_now`."""

    def __init__(self, input_fd: int = 0, output_fd: int = 2) -> None:
        self._input_fd = input_fd
        self._output_fd = output_fd
        self.original: Attributes | None = None
        """The terminal's attributes as they were."""
        with contextlib.suppress(termios.error, OSError):
            self.original = termios.tcgetattr(input_fd)
        self._own_fd = _own_description(output_fd)

    def arm(self) -> None:
        """From now on SIGTERM, SIGHUP and a vanished terminal end the process."""
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)
        threading.Thread(target=self._wait_for_hang_up, name="hang-up", daemon=True).start()

    def restore(self) -> None:
        """Give the terminal back: its attributes, then what resets it. Waits hardly at all. Safe to call twice."""
        self._restore(drop_output=False)

    def leave_now(self, exit_status: int) -> None:
        """Restore and end the process without waiting for any thread. The agent ends with our end of its pipe."""
        # A thread may be in the middle of a frame: nothing more of it is to come after the reset.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._output_fd)
        self._restore(drop_output=True)
        os._exit(exit_status)

    def _restore(self, *, drop_output: bool) -> None:
        if self.original is not None:
            with contextlib.suppress(termios.error, OSError):
                termios.tcsetattr(self._input_fd, termios.TCSANOW, self.original)
        terminal = self._own_fd
        rest = RESET.encode()
        until_s = time.monotonic() + _RESET_WITHIN_S
        while terminal is not None and rest:
            try:
                rest = rest[os.write(terminal, rest) :]
            except BlockingIOError:  # noqa: PERF203  this loop waits on purpose
                # The terminal is full, or another thread's write holds it: that write ends when there is room.
                if time.monotonic() > until_s:
                    return
                if drop_output:
                    with contextlib.suppress(termios.error, OSError):
                        termios.tcflush(terminal, termios.TCOFLUSH)
                time.sleep(0.005)
            except OSError:
                return

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self.leave_now(128 + number)

    def _wait_for_hang_up(self) -> None:
        poll = select.poll()
        poll.register(self._input_fd, 0)  # hang-up and error are reported unasked
        while True:
            try:
                happened = poll.poll()
            except OSError:
                return
            if any(event & (select.POLLHUP | select.POLLERR | select.POLLNVAL) for _, event in happened):
                self.leave_now(128 + signal.SIGHUP)


def _own_description(descriptor: int) -> int | None:
    """The same terminal opened once more, without blocking: the shell's own descriptor must stay as it is."""
    # The link of /proc works also where the terminal's own path belongs to another mount namespace.
    for path in (f"/proc/self/fd/{descriptor}", _name(descriptor)):
        with contextlib.suppress(OSError):
            return os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    return None


def _name(descriptor: int) -> str:
    try:
        return os.ttyname(descriptor)
    except OSError:
        return ""
