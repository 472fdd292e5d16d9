"""Textual's Linux driver, taking over a screen that is already the alternate one without a blank moment."""

from __future__ import annotations

import re
import threading

from textual.drivers.linux_driver import LinuxDriver

from tui.terminal.ending import Attributes

_ALTERNATE_SCREEN = "\x1b[?1049h"
_NO_TEXT = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[^\[\]]|\s")
_HOLD_AT_MOST_S = 2.0


class TakeOverDriver(LinuxDriver):
    """Holds back everything until the first frame with text in it, and leaves out the switch that was already made."""

    original: Attributes | None = None
    """The terminal's attributes before the first picture changed them; set by `driver_class`."""

    _held: list[str] | None = None
    _taken_over = False

    def start_application_mode(self) -> None:
        """Start, the first time without the switch; later (after ^Z) as usual."""
        if not self._taken_over:
            self._taken_over = True
            self._lock = threading.Lock()
            self._held = []
            self._limit = threading.Timer(_HOLD_AT_MOST_S, self.release)
            self._limit.daemon = True
            self._limit.start()
        super().start_application_mode()  # type: ignore[no-untyped-call]
        # So that ^Z and the end give the shell its own terminal back, not the one of our first picture.
        self.attrs_before = self.original

    def write(self, data: str) -> None:
        """Write, or hold back while the first frame is not there."""
        if self._held is None:
            super().write(data)
            return
        if data != _ALTERNATE_SCREEN:
            with self._lock:
                self._held_or_out(data)
        if _NO_TEXT.sub("", data):
            self.release()

    def _held_or_out(self, data: str) -> None:
        if self._held is None:  # let go by the time limit in this very moment
            super().write(data)
        else:
            self._held.append(data)

    def release(self) -> None:
        """Let everything that was held back go out in one piece."""
        if self._held is None:
            return
        with self._lock:
            held, self._held = self._held, None
            if held:
                super().write("".join(held))
        self._limit.cancel()

    def stop_application_mode(self) -> None:
        """Stop; what is still held back is dropped."""
        if self._held is not None:
            with self._lock:
                self._held = None
            self._limit.cancel()
        super().stop_application_mode()


def driver_class(original_attributes: Attributes | None) -> type[TakeOverDriver]:
    """The driver for a terminal whose attributes were these."""
    return type("TakeOverDriver", (TakeOverDriver,), {"original": original_attributes})
