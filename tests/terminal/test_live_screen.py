"""The live screen of the real command on a real pseudo terminal: read, stalled, vanished."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from monitor.stream.agent_process import WORTH_REPLACING_S
from tests.commands.test_real_command import MAIN, agents_of
from tests.terminal.pty_session import PtySession

pytestmark = pytest.mark.slow

FULL = "? help"
"""Only the full screen has a footer."""


def session(*arguments: str, tmp_path: Path, ignore_hang_up: bool = False, **env: str) -> PtySession:
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "", **env}
    command = [sys.executable, MAIN, *arguments]
    return PtySession(command, home, columns=120, rows=34, ignore_hang_up=ignore_hang_up)


def no_agent_left(pid: int) -> bool:
    until_s = time.monotonic() + 2
    while agents_of(pid):
        if time.monotonic() > until_s:
            return False
        time.sleep(0.02)
    return True


def test_from_the_first_byte_to_the_last(tmp_path: Path) -> None:
    with session("--demo", tmp_path=tmp_path) as one:
        assert one.read_until_shown("H100", 10), one.picture()
        first = one.written
        assert first.startswith(b"\x1b[?1049h"), "nothing is written on the main screen"
        assert one.read_until_shown(FULL, 10), one.picture()
        assert one.written.count(b"\x1b[?1049h") == 1, "Textual does not switch again"
        assert one.read_until_shown("demo-mlp", 10), one.picture()
        one.type(b"q")
        assert one.wait(5) == 0
        assert one.attributes() == one.attributes_before
        assert b"\x1b[?1049l" in one.written
        assert one.written.rstrip().endswith(b"\x1b[?25h")
        assert no_agent_left(one.process.pid)


def test_nothing_blank_between_the_first_picture_and_the_full_one(tmp_path: Path) -> None:
    blanks: list[str] = []
    seen = False
    with session("--demo", tmp_path=tmp_path) as one:

        def full() -> bool:
            nonlocal seen
            seen = seen or one.shows("H100")
            if seen and not one.picture().strip():
                blanks.append("blank")
            return one.shows(FULL)

        assert one.read_until(full, 10), one.picture()
        one.type(b"q")
        assert one.wait(5) == 0
    assert blanks == []


def test_q_during_the_first_picture(tmp_path: Path) -> None:
    with session("--demo", tmp_path=tmp_path) as one:
        assert one.read_until(lambda: b"\x1b[?1049h" in one.written, 10)
        one.type(b"q")
        assert one.wait(5) == 0
        assert one.attributes() == one.attributes_before
        assert no_agent_left(one.process.pid)


def test_this_machine_with_or_without_a_driver(tmp_path: Path) -> None:
    with session(tmp_path=tmp_path) as one:
        assert one.read_until_shown(FULL, 10), one.picture()
        one.read(0.5)
        assert one.shows("traintop")
        one.type(b"q")
        assert one.wait(5) == 0
        assert one.attributes() == one.attributes_before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_cleanly(number: signal.Signals, tmp_path: Path) -> None:
    with session("--demo", tmp_path=tmp_path) as one:
        assert one.read_until_shown(FULL, 10), one.picture()
        one.signal(number)
        assert one.wait(3) == 128 + number
        assert one.attributes() == one.attributes_before
        assert one.written.rstrip().endswith(b"\x1b[?25h")
        assert no_agent_left(one.process.pid)


def test_a_terminal_that_takes_nothing_does_not_hold_up_the_end(tmp_path: Path) -> None:
    with session("--demo", "--interval", "0.25", tmp_path=tmp_path) as one:
        assert one.read_until_shown(FULL, 10), one.picture()
        for _ in range(12):  # help on and off: whole screens that nobody reads, until the terminal is full
            one.type(b"?")
            time.sleep(0.1)
            one.type(b"\x1b")
            time.sleep(0.1)
        one.signal(signal.SIGTERM)
        assert one.process.wait(3) == 128 + signal.SIGTERM
        assert one.attributes() == one.attributes_before
        assert no_agent_left(one.process.pid)


def test_a_terminal_that_vanishes_under_nohup(tmp_path: Path) -> None:
    with session("--demo", tmp_path=tmp_path, ignore_hang_up=True) as one:
        assert one.read_until_shown(FULL, 10), one.picture()
        one.vanish()
        assert one.process.wait(2) != 0
        assert no_agent_left(one.process.pid)


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_that_cannot_be_drawn_on(term: str, tmp_path: Path) -> None:
    with session(tmp_path=tmp_path, TERM=term) as one:
        assert one.wait(15) in (0, 1)
        assert b"No live screen, because TERM is" in one.written
        assert b"\x1b[?1049h" not in one.written


def test_without_utf8_everything_is_ascii(tmp_path: Path) -> None:
    with session("--demo", tmp_path=tmp_path, LC_ALL="POSIX") as one:
        assert one.read_until_shown(FULL, 10), one.picture()
        one.read(0.5)
        assert one.written.isascii(), [byte for byte in one.written if byte > 127][:10]
        one.type(b"q")
        assert one.wait(5) == 0


def test_a_recording_is_played_from_a_pipe_with_keys_from_the_terminal(tmp_path: Path) -> None:
    recording = tmp_path / "recording"
    command = [sys.executable, MAIN, "record", str(recording), "--demo", "--seconds", "2"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    shell = f"'{sys.executable}' '{MAIN}' --replay - < '{recording}'"
    with PtySession(["/bin/sh", "-c", shell], {"HOME": str(tmp_path)}, columns=120, rows=34) as one:
        assert one.read_until_shown("demo-mlp", 10), one.picture()
        assert one.read_until_shown(FULL, 10), one.picture()
        one.type(b"q")
        assert one.wait(5) == 0


def test_what_is_no_recording_is_one_sentence(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.write_text("no recording of ours\n")
    with session("--replay", str(foreign), tmp_path=tmp_path) as one:
        assert one.wait(5) == 2
        assert str(foreign).encode() in one.written
        assert one.attributes() == one.attributes_before


def test_an_agent_that_hangs_does_not_hold_up_the_end(tmp_path: Path) -> None:
    with session("--demo", tmp_path=tmp_path) as one:
        assert one.read_until_shown(FULL, 10), one.picture()
        (agent,) = agents_of(one.process.pid)
        os.kill(int(agent), signal.SIGSTOP)
        one.read(0.3)
        one.type(b"q")
        assert one.wait(3) == 0
        assert one.attributes() == one.attributes_before
        assert no_agent_left(one.process.pid)


def test_an_agent_that_is_killed_is_replaced_and_said_so(tmp_path: Path) -> None:
    with session("--demo", "one", tmp_path=tmp_path) as one:
        assert one.read_until_shown("util", 10), one.picture()
        one.read(WORTH_REPLACING_S + 0.5)
        (agent,) = agents_of(one.process.pid)
        os.kill(int(agent), signal.SIGKILL)
        assert one.read_until_shown("Another one has taken its place", 10), one.picture()
        assert one.read_until(lambda: agents_of(one.process.pid) not in ([], [agent]), 5)
        one.type(b"q")
        assert one.wait(3) == 0
        assert no_agent_left(one.process.pid)


def test_what_is_wrong_with_settings_is_said_in_turn_and_in_full_after_the_end(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "traintop"
    (folder / "themes").mkdir(parents=True)
    (folder / "settings.toml").write_text("theme = 5\n")
    (folder / "themes" / "mine.toml").write_text("name = [[\n")
    folders = str(tmp_path / "config")
    with session("--demo", "one", "--gpus", "7", tmp_path=tmp_path, XDG_CONFIG_HOME=folders) as one:
        assert one.read_until_shown("settings.toml, line 1: theme", 10), one.picture()
        one.type(b"q")
        assert one.wait(3) == 0
        after = one.written.rpartition(b"\x1b[?1049l")[2]
    assert b"settings.toml, line 1: theme must be a name in quotes; the default is used." in after
    assert b"mine.toml is skipped" in after
    assert b"There is no GPU 7 here, but GPU 0." in after
