"""The first picture: plain text on the alternate screen while Textual is still being imported."""

from __future__ import annotations

import os
import select
import signal
import termios

from tui.outputs.paint import Line, painted
from tui.terminal.ability import TerminalAbility
from tui.terminal.ending import Ending

_ENTER = "\x1b[?1049h\x1b[?25l\x1b[2J"
_QUIT_KEYS = frozenset(b"qQ\x03\x04")


class FirstScreen:
    """The alternate screen with echo and line editing off; signals from keys stay on, so ^C works."""

    def __init__(self, ending: Ending, ability: TerminalAbility, input_fd: int = 0, output_fd: int = 2) -> None:
        self._ending = ending
        self._ability = ability
        self._input_fd = input_fd
        self._output_fd = output_fd

    def enter(self) -> None:
        """Switch over. ^Z waits until Textual can handle it."""
        signal.signal(signal.SIGTSTP, signal.SIG_IGN)
        attributes = self._ending.original
        if attributes is not None:
            quiet = [*attributes[:6], list(attributes[6])]
            quiet[3] &= ~(termios.ECHO | termios.ICANON)
            termios.tcsetattr(self._input_fd, termios.TCSANOW, quiet)
        self._write(_ENTER)

    def paint(self, lines: list[Line]) -> None:
        """Show these lines from the top; the rest of the screen is cleared."""
        ability = self._ability
        rows = [
            painted(one, colours=ability.colours, unicode=ability.unicode) + "\x1b[K" for one in lines[: ability.height]
        ]
        self._write("\x1b[H" + "\r\n".join(rows) + "\x1b[J")

    def wants_quit(self) -> bool:
        """Whether a key that quits was typed. Does not wait."""
        ready, _, _ = select.select([self._input_fd], [], [], 0)
        if not ready:
            return False
        try:
            keys = os.read(self._input_fd, 256)
        except OSError:
            return True
        return not keys or any(key in _QUIT_KEYS for key in keys)

    def _write(self, text: str) -> None:
        data = text.encode()
        while data:
            data = data[os.write(self._output_fd, data) :]
