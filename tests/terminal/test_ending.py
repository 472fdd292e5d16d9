"""The first picture and each way out, by a small program on a real pseudo terminal."""

from __future__ import annotations

import signal
import sys
import time

import pytest

from tests.terminal.pty_session import ROOT, PtySession
from tui.terminal.ending import RESET

_PROGRAM = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import os, time
from tui.outputs.paint import line
from tui.terminal.ability import terminal_ability
from tui.terminal.ending import Ending
from tui.terminal.first_screen import FirstScreen
ending = Ending()
ending.arm()
screen = FirstScreen(ending, terminal_ability())
screen.enter()
screen.paint([line("figures"), line("more")])
until = time.monotonic() + 20
while time.monotonic() < until and not screen.wants_quit():
    if sys.argv[1] == "flood":
        os.write(2, b"x" * 4096)
    else:
        time.sleep(0.01)
ending.restore()
"""


def session(mode: str = "still", *, ignore_hang_up: bool = False) -> PtySession:
    return PtySession([sys.executable, "-c", _PROGRAM, mode], ignore_hang_up=ignore_hang_up)


def test_the_picture_is_on_the_alternate_screen_without_echo() -> None:
    with session() as one:
        assert one.read_until_shown("figures", 5)
        assert b"\x1b[?1049h" in one.written
        assert one.attributes() != one.attributes_before
        one.type(b"z")
        one.read(0.1)
        assert not one.shows("z")
        one.type(b"q")
        assert one.wait(2) == 0
        assert one.attributes() == one.attributes_before
        assert one.written.endswith(b"\x1b[?1049l\x1b[?25h")


def test_control_c_is_a_signal() -> None:
    with session() as one:
        assert one.read_until_shown("figures", 5)
        one.type(b"\x03")
        assert one.wait(2) != 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_restores_the_terminal(number: signal.Signals) -> None:
    with session() as one:
        assert one.read_until_shown("figures", 5)
        one.signal(number)
        assert one.wait(2) == 128 + number
        assert one.attributes() == one.attributes_before
        assert RESET.encode() in one.written


def test_a_terminal_that_takes_nothing_does_not_hold_up_the_end() -> None:
    with session("flood") as one:
        assert one.read_until(lambda: b"figures" in one.written, 5)  # on the screen it may be flooded already
        time.sleep(0.3)  # the buffer is full by now and the program waits in its write
        one.signal(signal.SIGTERM)
        assert one.process.wait(2) == 128 + signal.SIGTERM
        assert one.attributes() == one.attributes_before


@pytest.mark.parametrize("ignore_hang_up", [False, True])
def test_a_terminal_that_vanishes_ends_the_program(ignore_hang_up: bool) -> None:
    with session(ignore_hang_up=ignore_hang_up) as one:
        assert one.read_until_shown("figures", 5)
        one.vanish()
        assert one.process.wait(2) != 0


def test_a_signal_in_the_middle_of_a_frame_still_resets_the_terminal() -> None:
    with session("flood") as one:
        assert one.read_until(lambda: b"figures" in one.written, 5)
        one.signal(signal.SIGTERM)  # its write waits for room just now, or soon will
        time.sleep(0.1)
        assert one.wait(3) == 128 + signal.SIGTERM
        assert one.written.endswith(RESET.encode())
